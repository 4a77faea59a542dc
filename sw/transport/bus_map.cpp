#include "sw/transport/bus_map.h"

#include <iterator>

namespace sw::transport {

Result<std::uint64_t> BusMap::place(std::uint64_t size, bool is_64bit) {
    const auto address = (is_64bit ? high_ : low_).allocate(size, size);
    if (!address)
        return std::unexpected(address.error());
    bars_.emplace(address->value, size);
    return address->value;
}

void BusMap::remove(std::uint64_t address) {
    if (bars_.erase(address) == 0)
        return;
    low_.release(abi::Iova{address});
    high_.release(abi::Iova{address});
}

std::optional<std::uint64_t> BusMap::find(std::uint64_t address, std::uint64_t size) const {
    const auto after = bars_.upper_bound(address);
    if (after == bars_.begin())
        return {};
    const auto& [begin, length] = *std::prev(after);
    const auto offset = address - begin;
    if (offset > length || size > length - offset)
        return {};
    return begin;
}

} // namespace sw::transport
