// What a device sees of memory: addresses that lead to pages of the host and to BARs of peers (the shape is that of
// iommufd's I/O address spaces). Areas are mapped and unmapped whole; unmapping returns when no cache of the unit and
// of the attached devices leads there any more. Decides nothing about which device sees it.
#pragma once

#include "abi/pcie/capability.h"
#include "abi/types.h"
#include "sw/memory/bus_range.h"
#include "sw/memory/iommu/page_table.h"
#include "sw/memory/iova.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace sw::memory::iommu {

class Unit;

/// Addresses [begin, end).
struct Span {
    std::uint64_t begin = 0, end = 0;
};

class AddressSpace {
public:
    /// Requests to these are interrupt messages, whatever the tables say (VT-d "Interrupt-Range").
    static constexpr Span interrupts{abi::pcie::interrupts_begin, abi::pcie::interrupts_end};
    /// Where areas go for which nobody names a place: above 4 GiB, below where platforms have their BARs, so that no
    /// switch takes such an address for a peer's.
    static constexpr Span automatic{1ull << 32, 1ull << 40};

    static Result<std::unique_ptr<AddressSpace>> create(Unit& unit);
    /// No device may be attached.
    ~AddressSpace();
    AddressSpace(const AddressSpace&) = delete;
    AddressSpace& operator=(const AddressSpace&) = delete;

    /// [iova, +bytes) leads to [physical, +bytes). Whole pages, else EINVAL; EOVERFLOW when a range wraps or leaves
    /// what the tables reach; EADDRINUSE when it touches an area or the interrupt range.
    Result<void> map_at(std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes, Rights rights = {});
    /// The same at a place of our choice, which agrees with `physical` below `alignment` (a power of two) and below the
    /// largest page that fits.
    Result<abi::Iova> map(std::uint64_t physical, std::uint64_t bytes, std::uint64_t alignment = page_bytes,
                          Rights rights = {});
    /// One area that leads to pieces of memory, in their order: at `iova`, or at a place of our choice. Whole pages;
    /// errors as map_at(). Returns where.
    Result<std::uint64_t> map_list(std::span<const BusRange> pieces, std::optional<std::uint64_t> iova = {},
                                   Rights rights = {});
    /// Takes all areas in [iova, +bytes) away; returns when nothing leads there any more. ENOENT, and nothing happens,
    /// when there is none or the range cuts one.
    Result<void> unmap(std::uint64_t iova, std::uint64_t bytes);

    /// Where a request of a device goes.
    std::optional<PageTable::Leaf> find(std::uint64_t iova) const { return table_.find(iova); }
    std::size_t area_count() const { return areas_.size(); }
    std::size_t table_count() const { return table_.table_count(); }

    Unit& unit() const { return unit_; }
    std::uint16_t domain() const { return domain_; }
    std::uint64_t root() const { return table_.root(); }

private:
    AddressSpace(Unit& unit, PageTable table, std::uint16_t domain)
        : unit_(unit), table_(std::move(table)), domain_(domain) {}
    Result<void> check(std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes) const;
    bool is_free(std::uint64_t iova, std::uint64_t bytes) const;
    Result<void> map_checked(std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes, Rights rights);
    Result<void> map_pieces(std::uint64_t iova, std::span<const BusRange> pieces, Rights rights);

    Unit& unit_;
    PageTable table_;
    std::uint16_t domain_;
    std::map<std::uint64_t, std::uint64_t> areas_; ///< bytes by iova
    IovaSpace places_{automatic.begin, automatic.end};
};

} // namespace sw::memory::iommu
