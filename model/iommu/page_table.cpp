#include "model/iommu/page_table.h"

#include <array>
#include <cassert>

namespace model::iommu {

using abi::iommu::SecondStageEntry;

namespace {
constexpr std::uint64_t below(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
constexpr std::uint64_t index_mask = below(abi::iommu::level_bits);
} // namespace

PageTable::PageTable(const IommuConfig& config, port::Dma& memory)
    : memory_(memory), structures_{Associative<Pointer>(config.structures), Associative<Pointer>(config.structures),
                                   Associative<Pointer>(config.structures), Associative<Pointer>(config.structures)} {
    has_leaves_[1] = true;
    has_leaves_[2] = config.pages_2m;
    has_leaves_[3] = config.pages_1g;
    const auto beyond_host = SecondStageEntry::mask<"addr"> &
                             ~below(config.host_address_bits); // HAW and above (VT-d "Second-Stage Paging Entries")
    for (unsigned level = 1; level <= max_levels; ++level) {
        // A pointer to a table has neither snoop bit nor transient mapping; where no large page exists its bit is
        // reserved.
        reserved_table_[level] =
            beyond_host | SecondStageEntry::mask<"snp"> | SecondStageEntry::mask<"tm"> | SecondStageEntry::mask<"ps">;
        // A large page begins at a multiple of its size.
        reserved_leaf_[level] = beyond_host | SecondStageEntry::mask<"tm"> |
                                (SecondStageEntry::mask<"addr"> & below(shift_of(level))) |
                                (config.snoop_control ? 0 : SecondStageEntry::mask<"snp">);
    }
}

std::expected<Page, WalkError> PageTable::walk(const TableRoot& root, std::uint64_t address, Access access,
                                               bool is_empty, WalkCost& cost) {
    assert(root.levels >= 2 && root.levels <= max_levels);
    Pointer pointer{root.table, true, true};
    unsigned level = root.levels;
    // From the lowest upper level that is known.
    for (unsigned known = 2; known <= root.levels; ++known) {
        auto& cache = structures_[known - 2];
        const auto* found = cache.find({root.owner, address >> shift_of(known)});
        cache.note(found != nullptr);
        if (found != nullptr) {
            pointer = *found;
            level = known - 1;
            break;
        }
    }
    for (;; --level) {
        std::array<std::byte, SecondStageEntry::size> bytes;
        const auto index = address >> shift_of(level) & index_mask;
        const auto result =
            memory_.read(abi::BusAddress{pointer.table + index * SecondStageEntry::size}, bytes, cost.at);
        cost.at = result.done;
        ++cost.reads;
        if (!result.is_ok())
            return std::unexpected(WalkError::access);
        const auto entry = SecondStageEntry::from(bytes);
        const bool is_leaf = level == 1 || (has_leaves_[level] && entry.get<"ps">());
        const bool is_present = entry.get<"r">() || entry.get<"w">();
        if (is_present && (entry.value() & (is_leaf ? reserved_leaf_ : reserved_table_)[level]) != 0)
            return std::unexpected(WalkError::reserved);
        pointer.is_readable = pointer.is_readable && entry.get<"r">();
        pointer.is_writable = pointer.is_writable && entry.get<"w">();
        const bool may_read = pointer.is_readable || (is_empty && pointer.is_writable);
        if (access != Access::read && !pointer.is_writable)
            return std::unexpected(WalkError::no_write);
        if (access != Access::write && !may_read)
            return std::unexpected(WalkError::no_read);
        if (is_leaf)
            return Page{entry.get<"addr">(), static_cast<std::uint8_t>(shift_of(level)), pointer.is_readable,
                        pointer.is_writable};
        pointer.table = entry.get<"addr">();
        structures_[level - 2].insert({root.owner, address >> shift_of(level)}, pointer);
    }
}

void PageTable::forget_all() {
    for (auto& cache : structures_)
        cache.clear();
}

void PageTable::forget(std::uint64_t owner) {
    for (auto& cache : structures_)
        cache.invalidate([&](const CacheKey& key, const Pointer&) { return key.owner == owner; });
}

void PageTable::forget(std::uint64_t owner, std::uint64_t begin, std::uint64_t last) {
    for (unsigned level = 2; level <= max_levels; ++level) {
        const auto shift = shift_of(level);
        structures_[level - 2].invalidate([&](const CacheKey& key, const Pointer&) {
            return key.owner == owner && key.page >= begin >> shift && key.page <= last >> shift;
        });
    }
}

} // namespace model::iommu
