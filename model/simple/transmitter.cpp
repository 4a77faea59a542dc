#include "model/simple/transmitter.h"

#include <algorithm>

namespace model::simple {

using port::Time;

port::Packet& Transmitter::begin(const QueuePair& qp, abi::Psn psn, abi::wire::Operation operation) {
    auto& packet = wire_.next();
    packet.clear();
    packet.path = qp.path;
    auto& head = packet.rdma();
    head.operation = operation;
    head.pkey = 0xffff; // the default partition, which every port is in (IBA 10.9)
    head.destination = qp.remote;
    head.psn = psn;
    return packet;
}

bool Transmitter::load(port::Packet& packet, abi::Key key, std::uint64_t address, std::uint32_t length, Time& at) {
    auto there = at;
    const bool is_read = regions_.visit(key, address, length, [&](const Segment& segment) {
        const auto result =
            memory_.read(segment.address, packet.payload.extend(segment.length), at, port::Purpose::payload);
        there = std::max(there, result.done);
        return result.is_ok();
    });
    at = there;
    return is_read;
}

Time Transmitter::send(port::Packet& packet, Time at) {
    departure_ = std::max(departure_, at);
    ++counters_.packets_sent;
    if (events_.is_on()) {
        const auto& head = packet.rdma();
        packet.cause =
            events_.emit(departure_, traces::PacketSent{head.destination.value, head.psn.value, head.opcode(),
                                                        static_cast<std::uint32_t>(packet.payload.size())});
    }
    return wire_.send(departure_);
}

} // namespace model::simple
