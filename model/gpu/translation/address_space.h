// Address spaces of GFX11: a virtual address of one of the 16 contexts becomes a physical one, by a walk through page
// tables in VRAM or by what the translation cache remembers of earlier walks. A page table that changes has no effect
// on what is remembered, until it is invalidated. The first fault is on record until software clears it.
#pragma once

#include "abi/gpu/page_table.h"
#include "abi/gpu/registers.h"
#include "model/gpu/memory/below.h"
#include "model/port/grant.h"

#include <array>
#include <expected>
#include <optional>
#include <span>

namespace model::gpu::translation {

using memory::Mtype;
using memory::Physical;

/// A context, as its registers say it.
struct Context {
    std::uint32_t control = 0;                   ///< abi::gpu::ContextControl
    std::uint64_t base = 0;                      ///< the root, as a directory entry
    std::uint64_t first_page = 0, last_page = 0; ///< what it covers, in pages of 4 KiB

    bool operator==(const Context&) const = default;
};

struct Page {
    Physical physical;      ///< of the address asked for
    std::uint64_t left = 0; ///< bytes from there to the end of the page
    Mtype mtype = Mtype::nc;
    bool is_readable = false, is_writeable = false;
    bool is_prt = false; ///< there is no memory: loads give zero, stores are dropped
    bool is_noalloc = false;
};

enum class Kind : std::uint8_t { read, write, atomic };

enum class Reason : std::uint8_t {
    no_context,  ///< the context is off, or does not cover the address
    not_valid,   ///< a directory or table entry is not valid
    walk_failed, ///< a table lies where there is no memory
    no_right,
};

/// Client of the graphics hub that faults of waves are booked on: vector memory.
inline constexpr unsigned client_tcp = 8;

struct Fault {
    Reason reason = Reason::not_valid;
    std::uint64_t address = 0;
    unsigned vmid = 0;
    Kind kind = Kind::read;
    port::Time at{};
    unsigned client = client_tcp;
};

class AddressSpaces {
public:
    explicit AddressSpaces(memory::Below& below) : below_(below) {}

    Context& context(unsigned vmid) { return contexts_[vmid]; }
    const Context& context(unsigned vmid) const { return contexts_[vmid]; }

    /// Where `address` is, for an access of this kind; a fault is recorded unless there is one on record.
    std::expected<Page, Fault> translate(unsigned vmid, std::uint64_t address, Kind kind, port::Time at,
                                         unsigned client = client_tcp);
    /// Is told of each translation to an address of the bus: the page is granted since its entry was walked to, however
    /// long it is remembered. nullptr: nobody.
    void set_watch(port::GrantWatch* watch) { watch_ = watch; }
    /// What goes to the bus from now on has not been translated.
    void tell_none() const {
        if (watch_ != nullptr) [[unlikely]]
            tell({});
    }
    /// The entry that a walk finds now, whatever is remembered; for whoever shows page tables. Level 0 is a table
    /// entry.
    struct Found {
        abi::gpu::Pte entry;
        unsigned level = 0;
    };
    std::expected<Found, Reason> find_entry(unsigned vmid, std::uint64_t address, port::Time at);

    /// An invalidation request of an engine of the graphics hub, as far as it concerns translations.
    void invalidate(abi::gpu::InvalidateRequest request);

    /// The first fault since it was cleared.
    const std::optional<Fault>& fault() const { return fault_; }
    std::uint32_t fault_status() const; ///< abi::gpu::FaultStatus
    void clear_fault() { fault_.reset(), has_more_faults_ = false; }

    /// Contexts are off, nothing is remembered.
    void reset();

private:
    struct Entry {             ///< of the translation cache: a fragment
        std::uint64_t tag = 0; ///< number of the fragment; meaningful while `order` is
        std::uint8_t vmid = 0;
        std::uint8_t order = 0; ///< covers 4 KiB << (order - 1); 0: nothing
        abi::gpu::Pte pte;
        port::Time since{}; ///< it was walked to
    };
    static constexpr std::size_t entries = 1024;

    Entry& slot(unsigned vmid, std::uint64_t number, unsigned order) {
        return cache_[(number * 0x9e3779b97f4a7c15u >> 40 ^ vmid * 61u ^ order * 7u) % entries];
    }
    std::unexpected<Fault> record(const Fault& fault);

    void tell(const Entry& entry, std::uint64_t address, std::uint64_t bus, std::uint64_t left) const;
    void tell(std::span<const port::Allowance> allowances) const;

    memory::Below& below_;
    port::GrantWatch* watch_ = nullptr;
    std::array<Context, abi::gpu::contexts> contexts_{};
    std::array<Entry, entries> cache_{};
    std::array<std::uint64_t, abi::gpu::contexts> orders_{}; ///< which orders a context has entries of, by bit
    std::optional<Fault> fault_;
    bool has_more_faults_ = false;
};

} // namespace model::gpu::translation
