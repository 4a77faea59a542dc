// Second-stage page tables: from a guest address to a page of the host, or to the first entry that forbids it. Reads
// the tables through Dma and remembers the upper levels. VT-d "Second-Stage Translation", "Paging-Structure Caches".
#pragma once

#include "abi/iommu/tables.h"
#include "model/iommu/associative.h"
#include "model/iommu/request.h"
#include "model/port/dma.h"

#include <array>
#include <cstdint>
#include <expected>

namespace model::iommu {

/// What went wrong in a walk; legacy and scalable mode have different reasons for it.
enum class WalkError : std::uint8_t { access, reserved, no_read, no_write };

/// The tables of an address space.
struct TableRoot {
    std::uint64_t table = 0;
    unsigned levels = 0;
    std::uint64_t owner = 0; ///< of cached entries: the domain
};

struct Page {
    std::uint64_t address = 0; ///< of the first byte, in the host
    std::uint8_t shift = 0;
    bool is_readable = false, is_writable = false;
};

/// Memory reads of a walk, and when the last was done.
struct WalkCost {
    port::Time at{};
    unsigned reads = 0;
};

class PageTable {
public:
    static constexpr unsigned max_levels = 5;

    PageTable(const IommuConfig& config, port::Dma& memory);

    /// Finds the page of `address`, which is within the width of the tables. Every level must allow the access.
    std::expected<Page, WalkError> walk(const TableRoot& root, std::uint64_t address, Access access, bool is_empty,
                                        WalkCost& cost);

    /// Cached entries of upper levels: of everybody, of an owner, of an owner for a range.
    void forget_all();
    void forget(std::uint64_t owner);
    void forget(std::uint64_t owner, std::uint64_t begin, std::uint64_t last);

    /// Of the cache of entries of `level`, 2 to 5.
    const CacheCounters& counters(unsigned level) const { return structures_[level - 2].counters(); }

private:
    struct Pointer { ///< what an entry above the leaves says
        std::uint64_t table = 0;
        bool is_readable = false, is_writable = false;
    };
    std::uint64_t reserved_bits(unsigned level, bool is_leaf) const;

    port::Dma& memory_;
    std::array<Associative<Pointer>, max_levels - 1> structures_;
    std::array<std::uint64_t, max_levels + 1> reserved_table_{}, reserved_leaf_{}; ///< by level
    std::array<bool, max_levels + 1> has_leaves_{};                                ///< by level
};

/// Bits of address below an entry of this level.
constexpr unsigned shift_of(unsigned level) { return abi::iommu::page_shift + (level - 1) * abi::iommu::level_bits; }

} // namespace model::iommu
