// The lists of capabilities in a function's configuration space, walked through a transport (PCIe 6.0 §7.5.1.1.11,
// §7.6.3).
#pragma once

#include "abi/pcie/capability.h"
#include "abi/pcie/config_space.h"
#include "sw/transport/transport.h"

#include <cstdint>

namespace sw::transport {

/// Offset of a capability; 0: the function has none. Stops at broken lists.
inline std::uint16_t find_capability(Transport& transport, abi::pcie::CapabilityId id) {
    using abi::pcie::CapabilityHeader;
    using abi::pcie::CommonHeader;
    constexpr std::uint16_t first = CommonHeader::field<"capabilities_pointer">::offset;
    constexpr unsigned most = (256 - CommonHeader::size) / CapabilityHeader::size;
    auto at = static_cast<std::uint16_t>(transport.config_read(first, 1) & 0xfc);
    for (unsigned i = 0; i < most && at >= CommonHeader::size && at < 256; ++i) {
        abi::Block<CapabilityHeader> header;
        abi::store<std::uint32_t, abi::Endian::little>(header.bytes.data(), transport.config_read(at, 4));
        if (header.view().get<"id">() == id)
            return at;
        at = header.view().get<"next">() & 0xfc;
    }
    return 0;
}

/// As above, in the list of extended capabilities.
inline std::uint16_t find_capability(Transport& transport, abi::pcie::ExtendedCapabilityId id) {
    using abi::pcie::ExtendedCapabilityHeader;
    constexpr std::uint16_t first = abi::pcie::first_extended_capability, end = 4096;
    constexpr unsigned most = (end - first) / ExtendedCapabilityHeader::size;
    auto at = first;
    for (unsigned i = 0; i < most && at >= first && at < end; ++i) {
        const auto value = transport.config_read(at, 4);
        if (value == 0 || value == ~std::uint32_t{0})
            break;
        abi::Block<ExtendedCapabilityHeader> header;
        abi::store<std::uint32_t, abi::Endian::little>(header.bytes.data(), value);
        if (header.view().get<"id">() == id)
            return at;
        at = header.view().get<"next">() & 0xffc;
    }
    return 0;
}

} // namespace sw::transport
