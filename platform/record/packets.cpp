#include "platform/record/packets.h"

#include "model/wire/builder.h"
#include "model/wire/parser.h"

namespace platform::record {

using namespace model;

void become(port::Packet& packet, std::span<const std::byte> frame, port::Encapsulation encapsulation) {
    packet.clear();
    if (encapsulation == port::Encapsulation::infiniband || wire::is_roce(frame)) {
        packet.image.assign(frame.begin(), frame.end());
    } else {
        packet.become_plain_frame();
        packet.payload.append_copy(frame);
    }
}

bool change(std::vector<std::byte>& frame, bool is_infiniband, const std::function<void(port::Packet&)>& to) {
    port::Packet packet;
    std::vector<std::byte> image;
    const auto encapsulation = is_infiniband ? port::Encapsulation::infiniband : port::Encapsulation::roce_v2_ipv4;
    if (!wire::parse(frame, encapsulation, packet) || packet.is_plain_frame())
        return false;
    packet.image.clear();
    wire::build(packet, image);
    if (image != frame)
        return false;
    to(packet);
    wire::build(packet, frame);
    return true;
}

} // namespace platform::record
