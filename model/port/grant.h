// What allows a device its accesses to memory: a memory key, an entry of a command's data pointer, the place of a
// queue, a page of a GPU. The device says it where it decides, before the accesses; whoever watches where they land
// (pcie/landing.h) knows then by what each of them went there. There need be no watch, and no device asks its watch.
#pragma once

#include "model/port/dma.h"

#include <cstdint>
#include <optional>
#include <span>

namespace model::port {

enum class GrantKind : std::uint8_t {
    none,
    memory_key,       ///< object: the key
    prp,              ///< object: the command's identifier; holder: its queue; part: which entry, from 1
    sgl,              ///< the same; part: which descriptor that has data
    metadata,         ///< the same
    submission_queue, ///< object: its number
    completion_queue,
    shadow_doorbells,
    gpu_page, ///< object: its virtual address; holder: the VMID
    gpu_line, ///< object: its bus address; what a cache holds of it goes there later
};

/// One grant, in the numbers of its kind.
struct Grant {
    GrantKind kind = GrantKind::none;
    std::uint64_t object = 0;
    std::uint32_t holder = 0, part = 0;
    /// When software gave it. What has another owner since then is no longer what it was given for.
    Time since{};
};

/// A grant with where it leads.
struct Allowance {
    Grant grant;
    std::uint64_t address = 0, length = ~std::uint64_t{0}; ///< as the device has them
    /// Of a grant whose pages were entered one by one: under which number give() has them, with times of their own.
    std::optional<std::uint64_t> table{};
};

class GrantWatch {
public:
    virtual ~GrantWatch() = default;
    /// Accesses of this purpose are by the first of these that leads to where they go, until the next call.
    virtual void use(Purpose purpose, std::span<const Allowance> allowances) = 0;
    /// The table with this number leads to [address, address + length) from now on.
    virtual void give(std::uint64_t table, std::uint64_t address, std::uint64_t length) = 0;
    /// It leads nowhere.
    virtual void take(std::uint64_t table) = 0;
};

/// A device that says what allows its accesses, beside what else it is.
class Grantor {
public:
    /// Is told from now on; nullptr: nobody. It outlives the device.
    virtual void set_watch(GrantWatch* watch) = 0;

protected:
    ~Grantor() = default;
};

} // namespace model::port
