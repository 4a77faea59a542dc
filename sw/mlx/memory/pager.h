// Brings pages that the device does not find (PRM "Page fault"): takes page fault events, finds their regions, brings
// the pages and sends PAGE_FAULT_RESUME. Whoever polls an event queue hands the events over; the work is done by a
// thread of its own, which calls wait(). Bringing pages takes locks and waits for fences, and the thread that polls may
// hold them.
#pragma once

#include "abi/layout.h"
#include "abi/prm/eqe.h"
#include "abi/types.h"
#include "sw/base/result.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace sw::mlx {

class Device;

class Pager {
public:
    /// Makes [address, address + length), addresses of the key's own, present in the device. With an Error they never
    /// will be.
    using Bring = std::function<Result<void>(std::uint64_t address, std::uint64_t length)>;

    Pager(Device& device, unsigned vector) : device_(device), vector_(vector) {}

    /// `bring` keeps alive what it works on: a thread may still be inside it when erase() gives up waiting.
    void insert(abi::Key key, Bring bring);
    /// Returns when no thread brings pages of the key any more. Locks that Bring takes must not be held.
    void erase(abi::Key key);

    /// An event of the page fault queue.
    void take(abi::ConstView<abi::prm::Eqe> event);
    /// Answers what was taken; returns how many faults that were.
    unsigned service();
    /// The same, after waiting for events when there are none.
    unsigned wait(std::chrono::nanoseconds timeout);

    std::uint64_t brought() const { return brought_; }
    std::uint64_t refused() const { return refused_; } ///< faults whose pages could not be brought
    /// Why the last one was refused.
    const std::string& last_refusal() const { return last_refusal_; }

private:
    struct Fault {
        abi::prm::PageFaultSubtype subtype{};
        abi::prm::PageFaultType type{};
        std::uint32_t token = 0, queue = 0;
        std::uint64_t committed = 0; ///< bytes that need nothing more
        std::uint16_t wqe_index = 0;
        abi::Key key{};
        std::uint64_t address = 0, length = 0;
    };
    struct Region {
        abi::Key key{};
        Bring bring;
        unsigned inside = 0; ///< threads that bring pages
    };

    Result<void> resolve(const Fault& fault);
    Result<void> resolve_work_request(const Fault& fault);
    Result<void> bring(abi::Key key, std::uint64_t address, std::uint64_t length);
    Result<void> resume(const Fault& fault, bool is_error);

    Device& device_;
    unsigned vector_;
    std::deque<Fault> faults_;
    std::map<std::uint32_t, std::shared_ptr<Region>> regions_; ///< by key index
    std::uint64_t brought_ = 0, refused_ = 0;
    std::string last_refusal_;
};

} // namespace sw::mlx
