// Accesses of units of so many bytes that are done at once, as they make no difference (port/dma.h).
#include "model/tlm/initiator.h"

#include <algorithm>

namespace model::tlm {

using pcie::Window;
using port::Purpose;
using port::Time;

/// The window of an access that may be done at once; nullptr where it goes unit by unit.
Window* Initiator::window_of_units(std::uint64_t address, std::size_t length, std::uint32_t unit) {
    const auto sizes = request_.extension.sizes;
    const auto request = std::uint64_t{1} << std::max(sizes.read_shift, sizes.payload_shift);
    if (tags_ != nullptr || is_observed_ || address % request != 0 || unit % request != 0)
        return nullptr;
    auto* window = windows_.find(address, Purpose::payload);
    const bool is_plain = window != nullptr && window->remapper == nullptr && window->target.memory != nullptr &&
                          !window->is_delayed && length <= window->left(address);
    return is_plain ? window : nullptr;
}

const std::byte* Initiator::lend_units(abi::BusAddress address, std::size_t length, std::uint32_t unit) {
    auto* window = window_of_units(address.value, length, unit);
    if (window == nullptr)
        return nullptr;
    const auto* data = window->target.memory + (address.value - window->begin);
    if (window->target.posted != nullptr && window->target.posted->is_held(data, length)) [[unlikely]]
        return nullptr; // in part it is not in memory yet
    window->route.read(address.value, length, {}, Purpose::payload);
    return data;
}

bool Initiator::write_units(abi::BusAddress address, std::span<const std::byte> from, std::uint32_t unit) {
    auto* window = window_of_units(address.value, from.size(), unit);
    if (window == nullptr)
        return false;
    lost_.clear();
    put(*window, address.value, from, Time{}, Purpose::payload);
    return true;
}

} // namespace model::tlm
