#include "testbench/workload/drive_part.h"

#include "testbench/load/bytes.h"
#include "testbench/load/random.h"

#include <algorithm>

namespace workload {

bool DrivePart::is_free(const BlockRange& range, bool is_write) const {
    return std::ranges::none_of(std::span(blocks_).subspan(range.first, range.count),
                                [&](const Block& one) { return one.is_written || (is_write && one.reads != 0); });
}

void DrivePart::begin(const BlockRange& range, bool is_write) {
    for (auto& one : std::span(blocks_).subspan(range.first, range.count)) {
        if (is_write)
            one.is_written = true, ++one.version;
        else
            ++one.reads;
    }
}

void DrivePart::end(const BlockRange& range, bool is_write) {
    for (auto& one : std::span(blocks_).subspan(range.first, range.count)) {
        if (is_write)
            one.is_written = false;
        else
            --one.reads;
    }
}

/// Of its bytes, by part, block and version.
std::uint64_t DrivePart::content(std::uint64_t block) const {
    return load::Random::mix(load::Random::mix(number_ + 1) ^ block) + blocks_[block].version;
}

void DrivePart::fill(const BlockRange& range, std::span<std::byte> into) const {
    for (std::uint32_t i = 0; i < range.count; ++i) {
        const auto bytes = into.subspan(std::size_t{i} * drive_block_bytes, drive_block_bytes);
        if (blocks_[range.first + i].version == 0)
            std::ranges::fill(bytes, std::byte{});
        else
            load::fill(bytes, content(range.first + i));
    }
}

std::optional<DrivePart::Foreign> DrivePart::find_foreign(const BlockRange& range,
                                                          std::span<const std::byte> bytes) const {
    for (std::uint32_t i = 0; i < range.count; ++i) {
        const auto block = range.first + i;
        const auto found = bytes.subspan(std::size_t{i} * drive_block_bytes, drive_block_bytes);
        std::optional<std::size_t> wrong;
        if (blocks_[block].version != 0)
            wrong = load::find_foreign(found, content(block));
        else if (const auto at = std::ranges::find_if(found, [](std::byte one) { return one != std::byte{}; });
                 at != found.end())
            wrong = static_cast<std::size_t>(at - found.begin());
        if (wrong)
            return Foreign{block, *wrong};
    }
    return std::nullopt;
}

} // namespace workload
