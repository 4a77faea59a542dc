#include "platform/ranks/packets.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace platform::ranks {

namespace {

using namespace model::port;

/// The longest packet, a jumbo frame with all that may be around it.
constexpr std::size_t most_bytes = 1 << 16;

/// Members that are values, in the order in which they are sent.
template <class P, class Visit> void each_value(P& path, auto& rdma, Visit&& visit) {
    visit(path.encapsulation), visit(path.has_grh), visit(path.service_level), visit(path.traffic_class);
    visit(path.hop_limit), visit(path.source_lid), visit(path.destination_lid), visit(path.udp_source_port);
    visit(path.flow_label);
    visit(rdma.service), visit(rdma.operation), visit(rdma.solicited), visit(rdma.migrated), visit(rdma.ack_request);
    visit(rdma.fecn), visit(rdma.becn), visit(rdma.pkey), visit(rdma.destination.value), visit(rdma.psn.value);
    visit(rdma.immediate);
    visit(rdma.reth.address), visit(rdma.reth.rkey.value), visit(rdma.reth.length);
    visit(rdma.aeth.syndrome), visit(rdma.aeth.msn);
    visit(rdma.atomic.address), visit(rdma.atomic.rkey.value), visit(rdma.atomic.swap_or_add);
    visit(rdma.atomic.compare), visit(rdma.atomic_original), visit(rdma.invalidate.value);
    visit(rdma.deth.qkey), visit(rdma.deth.source_qpn.value), visit(rdma.xrc_srq);
}

/// Members that are bytes.
template <class P, class Visit> void each_address(P& path, Visit&& visit) {
    visit(std::span(path.source_mac)), visit(std::span(path.destination_mac));
    visit(std::span(path.source_gid)), visit(std::span(path.destination_gid));
}

/// Whether they are as a port fills them: devices look numbers up in tables.
bool is_filled(const RdmaHeaders& rdma, const Path& path) {
    constexpr std::uint8_t most_service = 7; // three bits of the opcode, and five of the operation
    return path.encapsulation <= Encapsulation::infiniband && static_cast<std::uint8_t>(rdma.service) <= most_service &&
           static_cast<std::uint8_t>(rdma.operation) < abi::wire::operations.size() &&
           rdma.psn.value <= abi::Psn::mask && rdma.destination.value <= abi::Psn::mask;
}

} // namespace

void put_packet(Writer& writer, const Packet& packet) {
    writer.put(packet.is_plain_frame());
    if (!packet.is_plain_frame()) {
        each_value(packet.path, packet.rdma(), [&](const auto& value) { writer.put(value); });
        each_address(packet.path, [&](auto bytes) { writer.append(bytes); });
    }
    const auto pieces = packet.payload.pieces();
    writer.put(static_cast<std::uint8_t>(pieces.size()));
    for (const auto& piece : pieces)
        writer.put(static_cast<std::uint32_t>(piece.size()));
    for (const auto& piece : pieces)
        writer.append(piece);
    writer.put(std::span<const std::byte>(packet.image));
}

bool get_packet(Reader& reader, Packet& packet) {
    if (reader.get<bool>()) {
        packet.become_plain_frame();
    } else {
        auto& rdma = packet.rdma();
        each_value(packet.path, rdma, [&]<class T>(T& value) { value = reader.get<T>(); });
        each_address(packet.path, [&](auto bytes) {
            const auto from = reader.take(bytes.size());
            std::copy(from.begin(), from.end(), bytes.begin());
        });
        if (!reader.is_good() || !is_filled(rdma, packet.path))
            return false;
    }
    std::array<std::uint32_t, Payload::max_pieces> sizes{};
    const auto count = reader.get<std::uint8_t>();
    if (count > sizes.size())
        return false;
    std::size_t length = 0;
    for (auto& size : std::span(sizes).first(count)) {
        size = reader.get<std::uint32_t>();
        length += size;
        if (size == 0 || length > most_bytes)
            return false;
    }
    packet.payload.become_copy(reader.take(length), std::span(sizes).first(count));
    const auto image = reader.get_bytes();
    if (image.size() > 2 * most_bytes)
        return false;
    packet.image.assign(image.begin(), image.end());
    return reader.is_good();
}

} // namespace platform::ranks
