// An Ethernet frame of any capture as an RDMA packet of ours: VLAN tags and what was cut off are no obstacle.
#pragma once

#include "model/port/packet.h"
#include "platform/importer/capture_file.h"

#include <cstdint>
#include <vector>

namespace platform::importer {

enum class FrameKind : std::uint8_t {
    packet,    ///< of RoCEv2
    other,     ///< no RoCEv2
    cut_short, ///< RoCEv2, and not even its headers were captured
    malformed, ///< RoCEv2 that no port takes: options or fragments of IP, lengths that contradict each other
};

class RoceFrame {
public:
    /// Reads a frame; `packet` and what is said below hold when it is one.
    FrameKind read(const CapturedFrame& frame);

    model::port::Packet packet;
    bool is_cut = false;        ///< the end of its payload was not captured, and is zero here
    bool has_good_icrc = false; ///< as it was captured

private:
    FrameKind strip(const CapturedFrame& frame);

    std::vector<std::byte> image_;
};

} // namespace platform::importer
