// Page tables: from a requester's address to a page of the host, or to the first entry that forbids it. Second-stage
// tables, and first-stage ones in the processor's format. Reads the tables through Dma and remembers the upper levels.
// VT-d "First-Stage Translation", "Second-Stage Translation", "Paging-Structure Caches".
#pragma once

#include "abi/iommu/tables.h"
#include "model/iommu/associative.h"
#include "model/iommu/request.h"
#include "model/port/dma.h"

#include <array>
#include <cstdint>
#include <expected>

namespace model::iommu {

/// What went wrong in a walk; which reason of fault that is depends on the tables.
enum class WalkError : std::uint8_t { access, reserved, not_present, no_read, no_write, no_user };

enum class TableFormat : std::uint8_t { second_stage, first_stage };

/// The tables of an address space.
struct TableRoot {
    std::uint64_t table = 0;
    unsigned levels = 0;
    std::uint64_t owner = 0; ///< of cached entries: the domain; of first-stage tables also PASID + 1, from bit 16 on
    TableFormat format = TableFormat::second_stage;
    bool is_write_protected = false; ///< first stage: read-only pages are read-only for supervisors, too
};

/// What a walk is for.
struct Wanted {
    std::uint64_t address = 0;
    Access access = Access::read;
    bool is_empty = false;     ///< a zero-length read, and these may go to write-only pages
    bool is_any_right = false; ///< a translation request: any right is enough
    bool is_supervisor = false;
};

struct Page {
    std::uint64_t address = 0; ///< of the first byte, in the host
    std::uint8_t shift = 0;
    bool is_readable = false, is_writable = false;
    bool is_clean = false; ///< the dirty bit is not set yet: the first write walks the tables
    bool is_user = true;   ///< users may use it, not only supervisors
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

    /// Finds the page of an address within the width of the tables. Every level must allow the access.
    std::expected<Page, WalkError> walk(const TableRoot& root, const Wanted& wanted, WalkCost& cost);

    /// Cached entries of upper levels: of everybody, of those who belong to an owner, of those for a range.
    void forget_all();
    template <class Owns> void forget(Owns&& owns) {
        for (auto& cache : structures_)
            cache.invalidate([&](const CacheKey& key, const Pointer&) { return owns(key.owner); });
    }
    template <class Owns> void forget(Owns&& owns, std::uint64_t begin, std::uint64_t last);

    /// Of the cache of entries of `level`, 2 to 5.
    const CacheCounters& counters(unsigned level) const { return structures_[level - 2].counters(); }

private:
    struct Rights {
        bool read = true, write = true, user = true;
    };
    struct Pointer { ///< what an entry above the leaves says
        std::uint64_t table = 0;
        Rights rights;
    };
    struct Decoded {
        std::uint64_t address = 0;
        bool is_present = false, is_reserved = false, is_leaf = false;
        Rights rights;
    };
    Decoded decode(TableFormat format, std::uint64_t entry, unsigned level) const;
    bool mark(std::uint64_t at, std::uint64_t entry, bool is_dirty, WalkCost& cost);
    static std::expected<void, WalkError> allow(const TableRoot& root, const Wanted& wanted, const Rights& rights);

    using ByLevel = std::array<std::uint64_t, max_levels + 1>;
    struct Reserved {
        ByLevel table{}, leaf{};
    };
    port::Dma& memory_;
    std::array<Associative<Pointer>, max_levels - 1> structures_;
    Reserved second_stage_, first_stage_;
    std::array<bool, max_levels + 1> has_leaves_{}; ///< by level
};

/// Bits of address below an entry of this level.
constexpr unsigned shift_of(unsigned level) { return abi::iommu::page_shift + (level - 1) * abi::iommu::level_bits; }

template <class Owns> void PageTable::forget(Owns&& owns, std::uint64_t begin, std::uint64_t last) {
    for (unsigned level = 2; level <= max_levels; ++level) {
        const auto shift = shift_of(level);
        structures_[level - 2].invalidate([&](const CacheKey& key, const Pointer&) {
            return owns(key.owner) && key.page >= begin >> shift && key.page <= last >> shift;
        });
    }
}

} // namespace model::iommu
