#include "firmware/register_spaces.h"

#include <algorithm>

namespace firmware {

using abi::prm::InitialSegment;
using model::port::Time;

namespace {
constexpr std::uint32_t word = 4;
/// Where every tool looks for the number of the silicon (mstflint, "DEVID").
constexpr std::uint32_t silicon_address = 0xf0014;
/// The rows of the initialization segment end here; behind them the structure is reserved.
constexpr std::uint32_t segment_end = InitialSegment::field<"real_time_l">::offset + word;

/// The number of the silicon behind a PCI device number (mstflint's table of devices).
struct Silicon {
    std::uint16_t device_id, number;
};
constexpr std::array silicons{Silicon{0x1013, 0x209}, Silicon{0x1015, 0x20b}, Silicon{0x1017, 0x20d},
                              Silicon{0x1019, 0x20d}, Silicon{0x101b, 0x20f}, Silicon{0x101d, 0x212},
                              Silicon{0x101f, 0x216}, Silicon{0x1021, 0x218}};

/// Words that rows of the segment name: a sweep leaves out what is reserved.
constexpr auto is_named = [] {
    std::array<bool, segment_end / word> named{};
    for (const auto& row : InitialSegment::fields)
        for (auto at = row.offset; at < row.offset + row.bytes; at += word)
            named[at / word] = true;
    return named;
}();
} // namespace

std::uint32_t RegisterSpaces::size(Space space) const {
    switch (space) {
    case Space::cr: return silicon_address + word;
    case Space::scan_cr: return segment_end;
    case Space::semaphores: return static_cast<std::uint32_t>(semaphores_.size());
    default: return 0;
    }
}

std::optional<std::uint32_t> RegisterSpaces::read(Space space, std::uint32_t address, Time at) {
    if (address >= size(space))
        return {};
    if (space == Space::semaphores)
        return semaphores_[address];
    if (address % word != 0)
        return {};
    if (address == silicon_address) {
        const auto row = std::ranges::find(silicons, config_.device_id, &Silicon::device_id);
        return row != silicons.end() ? row->number : config_.device_id;
    }
    if (address >= segment_end)
        return {};
    std::array<std::byte, word> bytes;
    segment_.read(address, bytes, at);
    return abi::load<std::uint32_t, InitialSegment::endian>(bytes.data());
}

bool RegisterSpaces::write(Space space, std::uint32_t address, std::uint32_t value) {
    if (space != Space::semaphores)
        return address < size(space) && address % word == 0 && (address < segment_end || address == silicon_address);
    if (address >= semaphores_.size())
        return false;
    auto& holder = semaphores_[address];
    if (holder == 0 || value == 0)
        holder = value;
    return true;
}

std::optional<std::uint32_t> RegisterSpaces::next(Space space, std::uint32_t address) const {
    if (space != Space::scan_cr)
        return {};
    const auto from = is_named.begin() + std::min<std::ptrdiff_t>(address / word + 1, is_named.size());
    return static_cast<std::uint32_t>(std::find(from, is_named.end(), true) - is_named.begin()) * word;
}

} // namespace firmware
