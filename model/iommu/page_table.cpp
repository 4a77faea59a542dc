#include "model/iommu/page_table.h"

#include <array>
#include <cassert>

namespace model::iommu {

using abi::iommu::FirstStageEntry;
using abi::iommu::SecondStageEntry;

namespace {
constexpr std::uint64_t below(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
constexpr std::uint64_t index_mask = below(abi::iommu::level_bits);
constexpr std::size_t entry_bytes = 8;
static_assert(SecondStageEntry::size == entry_bytes && FirstStageEntry::size == entry_bytes);
} // namespace

PageTable::PageTable(const IommuConfig& config, port::Dma& memory)
    : memory_(memory), structures_{Associative<Pointer>(config.structures), Associative<Pointer>(config.structures),
                                   Associative<Pointer>(config.structures), Associative<Pointer>(config.structures)} {
    has_leaves_[1] = true;
    has_leaves_[2] = config.pages_2m;
    has_leaves_[3] = config.pages_1g;
    // VT-d "Second-Stage Paging Entries", "First-Stage Paging Entries": address bits of the host's width and above.
    const auto beyond_host = SecondStageEntry::mask<"addr"> & ~below(config.host_address_bits);
    for (unsigned level = 1; level <= max_levels; ++level) {
        const auto within_page = SecondStageEntry::mask<"addr"> & below(shift_of(level));
        // A pointer to a table has neither snoop bit nor transient mapping; where no large page exists its bit is
        // reserved.
        second_stage_.table[level] =
            beyond_host | SecondStageEntry::mask<"snp"> | SecondStageEntry::mask<"tm"> | SecondStageEntry::mask<"ps">;
        // A large page begins at a multiple of its size.
        second_stage_.leaf[level] = beyond_host | within_page | (config.device_tlb ? 0 : SecondStageEntry::mask<"tm">) |
                                    (config.snoop_control ? 0 : SecondStageEntry::mask<"snp">);
        first_stage_.table[level] = beyond_host | FirstStageEntry::mask<"ps">;
        // Bit 12 of a large page is its PAT bit.
        first_stage_.leaf[level] = beyond_host | (level == 1 ? 0 : within_page & ~(std::uint64_t{1} << 12));
    }
}

PageTable::Decoded PageTable::decode(TableFormat format, std::uint64_t word, unsigned level) const {
    if (format == TableFormat::first_stage) {
        const FirstStageEntry entry{word};
        const bool is_leaf = level == 1 || (has_leaves_[level] && entry.get<"ps">());
        const auto reserved = (is_leaf ? first_stage_.leaf : first_stage_.table)[level];
        const auto address = is_leaf ? entry.get<"addr">() & ~below(shift_of(level)) : entry.get<"addr">();
        return {
            address, entry.get<"p">(), (word & reserved) != 0, is_leaf, {true, entry.get<"rw">(), entry.get<"us">()}};
    }
    const SecondStageEntry entry{word};
    const bool is_leaf = level == 1 || (has_leaves_[level] && entry.get<"ps">());
    const auto reserved = (is_leaf ? second_stage_.leaf : second_stage_.table)[level];
    const bool is_present = entry.get<"r">() || entry.get<"w">();
    return {
        entry.get<"addr">(), is_present, (word & reserved) != 0, is_leaf, {entry.get<"r">(), entry.get<"w">(), true}};
}

std::expected<Page, WalkError> PageTable::walk(const TableRoot& root, const Wanted& wanted, WalkCost& cost) {
    assert(root.levels >= 2 && root.levels <= max_levels);
    const bool is_first = root.format == TableFormat::first_stage;
    const auto address = wanted.address & below(shift_of(root.levels + 1));
    Pointer pointer{root.table, {}};
    unsigned level = root.levels;
    // Begins at the lowest level whose table is known.
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
        std::array<std::byte, entry_bytes> bytes;
        const auto at = pointer.table + (address >> shift_of(level) & index_mask) * entry_bytes;
        const auto result = memory_.read(abi::BusAddress{at}, bytes, cost.at);
        cost.at = result.done;
        ++cost.reads;
        if (!result.is_ok())
            return std::unexpected(WalkError::access);
        const auto word = abi::load<std::uint64_t, abi::Endian::little>(bytes.data());
        const auto entry = decode(root.format, word, level);
        if (is_first && !entry.is_present)
            return std::unexpected(WalkError::not_present);
        if (entry.is_present && entry.is_reserved)
            return std::unexpected(WalkError::reserved);
        auto& rights = pointer.rights;
        rights.read = rights.read && entry.rights.read;
        rights.write = rights.write && entry.rights.write;
        rights.user = rights.user && entry.rights.user;
        if (const auto allowed = allow(root, wanted, rights); !allowed)
            return std::unexpected(allowed.error());
        const bool may_write = rights.write || (is_first && wanted.is_supervisor && !root.is_write_protected);
        const bool is_dirty = entry.is_leaf && wanted.access != Access::read && may_write;
        if (is_first && !mark(at, word, is_dirty, cost))
            return std::unexpected(WalkError::access);
        if (entry.is_leaf)
            return Page{.address = entry.address,
                        .shift = static_cast<std::uint8_t>(shift_of(level)),
                        .is_readable = rights.read,
                        .is_writable = rights.write,
                        .is_clean = is_first && !is_dirty,
                        .is_user = rights.user};
        pointer.table = entry.address;
        structures_[level - 2].insert({root.owner, address >> shift_of(level)}, pointer);
    }
}

std::expected<void, WalkError> PageTable::allow(const TableRoot& root, const Wanted& wanted, const Rights& rights) {
    if (root.format == TableFormat::first_stage) {
        if (!wanted.is_supervisor && !rights.user)
            return std::unexpected(WalkError::no_user);
        if (!wanted.is_any_right && wanted.access != Access::read && !rights.write &&
            !(wanted.is_supervisor && !root.is_write_protected))
            return std::unexpected(WalkError::no_write);
        return {};
    }
    if (wanted.is_any_right) {
        if (!rights.read && !rights.write)
            return std::unexpected(WalkError::not_present);
        return {};
    }
    const bool may_read = rights.read || (wanted.is_empty && rights.write);
    if (wanted.access != Access::read && !rights.write)
        return std::unexpected(WalkError::no_write);
    if (wanted.access != Access::write && !may_read)
        return std::unexpected(WalkError::no_read);
    return {};
}

/// Sets the accessed bit, and the dirty bit of a page that is written (VT-d "Accessed and Dirty Flags").
bool PageTable::mark(std::uint64_t at, std::uint64_t word, bool is_dirty, WalkCost& cost) {
    FirstStageEntry entry{word};
    entry.set<"a">(true);
    if (is_dirty)
        entry.set<"d">(true);
    if (entry.value() == word)
        return true;
    const auto result = memory_.write(abi::BusAddress{at}, entry.bytes(), cost.at);
    cost.at = result.done;
    return result.is_ok();
}

void PageTable::forget_all() {
    for (auto& cache : structures_)
        cache.clear();
}

} // namespace model::iommu
