#include "model/management/datagram.h"

#include <utility>

namespace model::management {

using namespace abi::wire;

std::optional<Datagram> take(const port::Packet& packet) {
    if (packet.rdma().service != Service::ud || packet.rdma().operation != Operation::send_only ||
        packet.payload.size() != mad_bytes)
        return {};
    if (packet.rdma().destination == general_services && packet.rdma().deth.qkey != general_services_key)
        return {};
    Datagram mad;
    packet.payload.copy_to(mad);
    return mad;
}

void put(const Datagram& mad, port::Packet& packet) {
    packet.payload.clear();
    packet.payload.append_copy(mad);
}

void reverse(port::Packet& packet) {
    std::swap(packet.path.source_lid, packet.path.destination_lid);
    std::swap(packet.path.source_gid, packet.path.destination_gid);
    std::swap(packet.rdma().destination, packet.rdma().deth.source_qpn);
    packet.rdma().deth.qkey = packet.rdma().destination == subnet_management ? 0 : general_services_key;
    packet.rdma().solicited = false;
}

namespace {
abi::ConstView<MadHeader> header_of(const Datagram& mad) {
    return abi::ConstView<MadHeader>(std::span<const std::byte, mad_bytes>(mad).first<MadHeader::size>());
}
} // namespace

MadClass class_of(const Datagram& mad) { return static_cast<MadClass>(header_of(mad).get<"mgmt_class">()); }

bool is_request(const Datagram& mad) {
    const auto method = static_cast<MadMethod>(header_of(mad).get<"method">());
    return method == MadMethod::get || method == MadMethod::set;
}

} // namespace model::management
