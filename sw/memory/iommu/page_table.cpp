#include "sw/memory/iommu/page_table.h"

#include "abi/layout.h"
#include "sw/base/barrier.h"

#include <cassert>

namespace sw::memory::iommu {

using abi::iommu::SecondStageEntry;

namespace {

unsigned shift_of(unsigned level) { return abi::iommu::page_shift + (level - 1) * abi::iommu::level_bits; }
std::uint64_t bytes_of(unsigned level) { return std::uint64_t{1} << shift_of(level); }
std::size_t index_of(std::uint64_t iova, unsigned level) {
    return static_cast<std::size_t>(iova >> shift_of(level)) & ((1u << abi::iommu::level_bits) - 1);
}

SecondStageEntry load(const Buffer& table, std::size_t index) {
    return SecondStageEntry{
        abi::load<std::uint64_t, abi::Endian::little>(table.data() + index * SecondStageEntry::size)};
}
void store(const Buffer& table, std::size_t index, const SecondStageEntry& entry) {
    abi::store<std::uint64_t, abi::Endian::little>(table.data() + index * SecondStageEntry::size, entry.value());
}
bool is_present(const SecondStageEntry& entry) { return entry.get<"r">() || entry.get<"w">(); }
bool is_leaf(const SecondStageEntry& entry, unsigned level) { return level == 1 || entry.get<"ps">(); }

} // namespace

Result<PageTable> PageTable::create(transport::Transport& machine, const PageTableFormat& format) {
    PageTable made(machine, format);
    auto root = made.make_table();
    if (!root)
        return std::unexpected(std::move(root.error()));
    made.root_ = std::move(*root);
    return made;
}

Result<std::unique_ptr<PageTable::Table>> PageTable::make_table() {
    auto memory = Buffer::allocate(*machine_, page_bytes);
    if (!memory)
        return std::unexpected(std::move(memory.error()));
    ++table_count_;
    return std::unique_ptr<Table>(new Table{std::move(*memory), 0, {}});
}

/// The level whose pages are the largest that may begin here.
unsigned PageTable::largest_level(std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes) const {
    const auto fits = [&](unsigned level) {
        return level < format_.levels && bytes >= bytes_of(level) && ((iova | physical) & (bytes_of(level) - 1)) == 0;
    };
    if (format_.pages_1g && fits(3))
        return 3;
    return format_.pages_2m && fits(2) ? 2 : 1;
}

Result<void> PageTable::map(std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes, Rights rights,
                            std::vector<Buffer>& empty) {
    assert((iova | physical | bytes) % page_bytes == 0 && (rights.read || rights.write));
    for (std::uint64_t done = 0; done < bytes;) {
        const auto level = largest_level(iova + done, physical + done, bytes - done);
        if (auto put_in = put(iova + done, physical + done, level, rights); !put_in) {
            unmap(iova, done, empty);
            clear(*root_, format_.levels, iova + done, empty); // tables that were made for it
            return put_in;
        }
        done += bytes_of(level);
    }
    return {};
}

Result<void> PageTable::put(std::uint64_t iova, std::uint64_t physical, unsigned leaf_level, Rights rights) {
    auto* table = root_.get();
    for (auto level = format_.levels; level > leaf_level; --level) {
        const auto index = index_of(iova, level);
        auto& below = table->below[index];
        if (!below) {
            auto made = make_table();
            if (!made)
                return std::unexpected(std::move(made.error()));
            below = std::move(*made);
            base::dma_wmb(); // the table is zero before the entry leads to it
            store(table->memory, index,
                  SecondStageEntry{}.set<"r">(true).set<"w">(true).set<"addr">(below->memory.bus()));
            ++table->used;
        }
        table = below.get();
    }
    const auto index = index_of(iova, leaf_level);
    assert(!is_present(load(table->memory, index)) && "a range is mapped once");
    store(table->memory, index,
          SecondStageEntry{}
              .set<"r">(rights.read)
              .set<"w">(rights.write)
              .set<"ps">(leaf_level != 1)
              .set<"addr">(physical));
    ++table->used;
    return {};
}

void PageTable::unmap(std::uint64_t iova, std::uint64_t bytes, std::vector<Buffer>& empty) {
    for (const auto end = iova + bytes; iova < end;)
        iova += clear(*root_, format_.levels, iova, empty);
}

/// Clears the leaf at `iova`, if there is one, and on the way back the tables that are empty; returns the leaf's size.
std::uint64_t PageTable::clear(Table& table, unsigned level, std::uint64_t iova, std::vector<Buffer>& empty) {
    const auto index = index_of(iova, level);
    const auto entry = load(table.memory, index);
    if (!is_present(entry))
        return bytes_of(level);
    if (is_leaf(entry, level)) {
        store(table.memory, index, {});
        --table.used;
        return bytes_of(level);
    }
    const auto cleared = clear(*table.below[index], level - 1, iova, empty);
    drop_if_empty(table, index, empty);
    return cleared;
}

void PageTable::drop_if_empty(Table& table, std::size_t index, std::vector<Buffer>& empty) {
    auto& below = table.below[index];
    if (below->used != 0)
        return;
    store(table.memory, index, {});
    --table.used;
    --table_count_;
    empty.push_back(std::move(below->memory));
    below = nullptr;
}

std::optional<PageTable::Leaf> PageTable::find(std::uint64_t iova) const {
    const auto* table = root_.get();
    for (auto level = format_.levels;; --level) {
        const auto index = index_of(iova, level);
        const auto entry = load(table->memory, index);
        if (!is_present(entry))
            return std::nullopt;
        if (is_leaf(entry, level))
            return Leaf{entry.get<"addr">() + (iova & (bytes_of(level) - 1)),
                        bytes_of(level),
                        {entry.get<"r">(), entry.get<"w">()}};
        table = table->below[index].get();
    }
}

} // namespace sw::memory::iommu
