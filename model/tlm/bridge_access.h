// A configuration request that has arrived at a port's own function.
#pragma once

#include "model/pcie/bridge_space.h"
#include "model/tlm/extension.h"

#include <algorithm>
#include <array>

namespace model::tlm {

struct BridgeEffect {
    bool is_routing_changed = false; ///< windows, bus numbers or enables
    bool is_reset = false;           ///< the secondary bus is reset
};

inline BridgeEffect access(pcie::BridgeSpace& space, ::tlm::tlm_generic_payload& payload) {
    const auto data = bytes_of(payload);
    const auto offset = static_cast<std::uint16_t>(payload.get_address());
    std::array<std::byte, 4> value{};
    if (data.size() > value.size()) {
        set_status(payload, port::DmaStatus::unsupported_request);
        return {};
    }
    set_status(payload, port::DmaStatus::ok);
    const auto bytes = static_cast<unsigned>(data.size());
    if (payload.is_read()) {
        abi::store<std::uint32_t, abi::Endian::little>(value.data(), space.read(offset, bytes));
        std::copy_n(value.begin(), data.size(), data.begin());
        return {};
    }
    std::ranges::copy(data, value.begin());
    const auto before = space.meaning();
    BridgeEffect effect;
    effect.is_reset = space.write(offset, bytes, abi::load<std::uint32_t, abi::Endian::little>(value.data()));
    effect.is_routing_changed = !(space.meaning() == before);
    return effect;
}

} // namespace model::tlm
