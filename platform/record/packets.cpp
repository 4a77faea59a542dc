#include "platform/record/packets.h"

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

} // namespace platform::record
