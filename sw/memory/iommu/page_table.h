// Second-stage paging structures in memory, as a remapping unit walks them (VT-d "Second-Stage Translation"): maps
// ranges by the largest pages that fit, and gives tables back when they are empty. Knows no caches: whoever changes
// entries that were present must invalidate before the returned tables are released.
#pragma once

#include "abi/iommu/tables.h"
#include "sw/memory/buffer.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sw::memory::iommu {

inline constexpr std::uint64_t page_bytes = std::uint64_t{1} << abi::iommu::page_shift;

struct Rights {
    bool read = true, write = true;
    bool operator==(const Rights&) const = default;
};

/// What the unit that walks the tables can do.
struct PageTableFormat {
    unsigned levels = 4; ///< 3 to 5: addresses of 39, 48 or 57 bits
    bool pages_2m = true, pages_1g = true;

    unsigned address_bits() const { return abi::iommu::page_shift + levels * abi::iommu::level_bits; }
};

class PageTable {
public:
    /// An empty table; its memory, and that of all tables below it, comes from `machine`.
    static Result<PageTable> create(transport::Transport& machine, const PageTableFormat& format);

    /// Bus address of the table of the highest level.
    std::uint64_t root() const { return root_->memory.bus(); }
    const PageTableFormat& format() const { return format_; }

    /// [iova, +bytes) leads to [physical, +bytes); whole pages, of which none is mapped. When memory for tables runs
    /// out nothing stays mapped. Tables that are empty then go to `empty`: a unit may hold their addresses, so they are
    /// to be kept until it has invalidated the range.
    Result<void> map(std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes, Rights rights,
                     std::vector<Buffer>& empty);
    /// What was mapped by whole calls of map().
    void unmap(std::uint64_t iova, std::uint64_t bytes, std::vector<Buffer>& empty);

    struct Leaf {
        std::uint64_t physical; ///< of the byte that was asked for
        std::uint64_t bytes;    ///< of the page
        Rights rights;
    };
    /// What a walk finds.
    std::optional<Leaf> find(std::uint64_t iova) const;
    std::size_t table_count() const { return table_count_; }

private:
    static constexpr std::size_t entries = std::size_t{1} << abi::iommu::level_bits;
    struct Table {
        Buffer memory;
        unsigned used = 0; ///< entries that are present
        std::array<std::unique_ptr<Table>, entries> below;
    };
    PageTable(transport::Transport& machine, const PageTableFormat& format) : machine_(&machine), format_(format) {}
    Result<std::unique_ptr<Table>> make_table();
    unsigned largest_level(std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes) const;
    Result<void> put(std::uint64_t iova, std::uint64_t physical, unsigned level, Rights rights);
    std::uint64_t clear(Table& table, unsigned level, std::uint64_t iova, std::vector<Buffer>& empty);
    void drop_if_empty(Table& table, std::size_t index, std::vector<Buffer>& empty);

    transport::Transport* machine_;
    PageTableFormat format_;
    std::unique_ptr<Table> root_;
    std::size_t table_count_ = 0;
};

} // namespace sw::memory::iommu
