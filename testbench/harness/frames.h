// Frames to test with: where their transport part lies, and how to make their checks right after somebody changed them.
// Takes hostile bytes; knows only what the abi says.
#pragma once

#include "abi/wire/ethernet.h"
#include "abi/wire/icrc.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"

#include <span>

namespace testbench {

inline void put_low_first(std::span<std::byte> at, std::uint64_t value) {
    for (auto& b : at)
        b = static_cast<std::byte>(value), value >>= 8;
}

struct FrameEnds {
    std::size_t bth = 0;  ///< where the BTH begins
    std::size_t icrc = 0; ///< where the ICRC begins; 0: the frame has no such place
    bool is_ipv6 = false;
};

/// Finds the ends of the transport part as far as the frame's own lengths allow.
inline FrameEnds locate(std::span<std::byte> frame, bool is_infiniband) {
    using namespace abi::wire;
    using abi::ConstView;
    FrameEnds f;
    if (is_infiniband) {
        if (frame.size() < Lrh::size + Bth::size + icrc_bytes + vcrc_bytes)
            return f;
        const bool has_grh = ConstView<Lrh>(frame).get<"next_header">() == LinkNextHeader::global;
        f.bth = Lrh::size + (has_grh ? Grh::size : 0);
        f.icrc = frame.size() - vcrc_bytes - icrc_bytes;
    } else {
        if (frame.size() < Ethernet::size + Ipv4::size)
            return f;
        const auto ip = frame.subspan(Ethernet::size);
        f.is_ipv6 = ConstView<Ethernet>(frame).get<"type">() == static_cast<std::uint16_t>(EtherType::ipv6);
        if (f.is_ipv6 && ip.size() < Ipv6::size)
            return f;
        const auto header = f.is_ipv6 ? Ipv6::size : Ipv4::size;
        const auto length = f.is_ipv6 ? Ipv6::size + ConstView<Ipv6>(ip).get<"payload_length">()
                                      : ConstView<Ipv4>(ip).get<"total_length">();
        if (length > ip.size() || length < header + Udp::size + Bth::size + icrc_bytes)
            return f;
        f.bth = Ethernet::size + header + Udp::size;
        f.icrc = Ethernet::size + length - icrc_bytes;
    }
    if (f.icrc < f.bth + Bth::size)
        f.icrc = 0;
    return f;
}

/// Makes every check right that is computable.
inline void repair(std::span<std::byte> frame, bool is_infiniband) {
    using namespace abi::wire;
    using abi::View;
    const auto f = locate(frame, is_infiniband);
    if (f.icrc == 0)
        return;
    if (is_infiniband) {
        View<Lrh>(frame).set<"length">(static_cast<std::uint32_t>((frame.size() - vcrc_bytes) / 4));
        put_low_first(frame.subspan(f.icrc, 4), icrc_infiniband(frame.first(f.icrc)));
        put_low_first(frame.last(vcrc_bytes), vcrc(frame.first(frame.size() - vcrc_bytes)));
        return;
    }
    const auto ip = frame.subspan(Ethernet::size);
    if (!f.is_ipv6) {
        View<Ipv4>(ip).set<"checksum">(0);
        View<Ipv4>(ip).set<"checksum">(internet_checksum(ip.first(Ipv4::size)));
    }
    put_low_first(frame.subspan(f.icrc, 4), icrc_roce_v2(ip.first(f.icrc - Ethernet::size), f.is_ipv6));
}

} // namespace testbench
