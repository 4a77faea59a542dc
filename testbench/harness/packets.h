// Packets to test with: one of every operation, filled at random from a seed, and what two packets must share to be the
// same on the wire. Knows nothing of queue pairs; the fields are not meant to make sense to a responder.
#pragma once

#include "model/port/packet.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace testbench {

struct ServiceOperation {
    abi::wire::Service service;
    abi::wire::Operation operation;
};

namespace packets_detail {
using namespace model::port;

template <std::size_t N> std::array<std::byte, N> random_bytes(std::mt19937_64& random) {
    std::array<std::byte, N> bytes;
    std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
    return bytes;
}

inline Gid random_gid(Encapsulation encapsulation, std::mt19937_64& random) {
    auto gid = random_bytes<16>(random);
    if (encapsulation == Encapsulation::roce_v2_ipv4) {
        std::fill_n(gid.begin(), 10, std::byte{});
        gid[10] = gid[11] = std::byte{0xff};
    }
    return gid;
}

inline std::vector<std::byte> bytes_of(const Payload& payload) {
    std::vector<std::byte> bytes(payload.size());
    payload.copy_to(bytes);
    return bytes;
}

} // namespace packets_detail

/// Every opcode that a port speaks: RC, UC and UD operations, and the congestion notification.
inline std::vector<ServiceOperation> all_operations() {
    using abi::wire::Operation;
    using abi::wire::Service;
    std::vector<ServiceOperation> all;
    for (const auto service : {Service::rc, Service::uc, Service::ud, Service::cnp})
        for (unsigned op = 0; op < 32; ++op)
            if (is_defined(service, static_cast<Operation>(op)))
                all.push_back({service, static_cast<Operation>(op)});
    return all;
}

/// Overwrites `p` with random headers of that operation and, where it has one, a payload of up to `max_payload` bytes.
/// `grh` counts for InfiniBand only.
inline void fill_packet(model::port::Packet& p, ServiceOperation what, model::port::Encapsulation encapsulation,
                        bool grh, std::size_t max_payload, std::mt19937_64& random) {
    using namespace model::port;
    using namespace packets_detail;
    using abi::wire::Service;
    p.clear();
    const auto flag = [&] { return (random() & 1) != 0; };
    const auto u32 = [&] { return static_cast<std::uint32_t>(random()); };
    const auto u16 = [&] { return static_cast<std::uint16_t>(random()); };
    const auto u8 = [&] { return static_cast<std::uint8_t>(random()); };
    p.path = {};
    p.path.encapsulation = encapsulation;
    const bool is_ib = encapsulation == Encapsulation::infiniband;
    p.path.has_grh = is_ib && grh;
    if (is_ib) {
        p.path.service_level = u8() & 0xf;
        p.path.source_lid = u16();
        p.path.destination_lid = u16();
    } else {
        p.path.udp_source_port = u16();
        p.path.source_mac = random_bytes<6>(random);
        p.path.source_mac[0] &= std::byte{0xfe}; // a station's own address is no group's
        p.path.destination_mac = random_bytes<6>(random);
    }
    if (!is_ib || grh) {
        p.path.traffic_class = u8();
        p.path.hop_limit = u8();
        p.path.flow_label = encapsulation == Encapsulation::roce_v2_ipv4 ? 0 : u32() & 0xfffff;
        p.path.source_gid = random_gid(encapsulation, random);
        p.path.destination_gid = random_gid(encapsulation, random);
    }
    p.rdma().service = what.service;
    p.rdma().operation = what.operation;
    p.rdma().solicited = flag();
    p.rdma().migrated = flag();
    p.rdma().ack_request = flag();
    p.rdma().fecn = flag();
    p.rdma().becn = flag();
    p.rdma().pkey = u16();
    p.rdma().destination = abi::Qpn{u32() & 0xffffff};
    p.rdma().psn = abi::Psn{u32()};
    p.rdma().reth = {random(), abi::Key{u32()}, u32()};
    p.rdma().aeth = {u8(), u32() & 0xffffff};
    p.rdma().atomic = {random(), abi::Key{u32()}, random(), random()};
    p.rdma().atomic_original = random();
    p.rdma().immediate = u32();
    p.rdma().invalidate = abi::Key{u32()};
    p.rdma().deth = {u32(), abi::Qpn{u32() & 0xffffff}};
    if (p.traits().has_payload && what.service != Service::cnp)
        std::ranges::generate(p.payload.extend(random() % (max_payload + 1)),
                              [&] { return static_cast<std::byte>(random()); });
}

/// Empty when `a` and `b` make the same frame; else the name of the first member that differs.
inline std::string difference(const model::port::Packet& a, const model::port::Packet& b) {
    using namespace model::port;
    using abi::wire::Service;
    using packets_detail::bytes_of;
    const auto same_path = [&](const Path& x, const Path& y) {
        const bool is_ib = x.encapsulation == Encapsulation::infiniband;
        if (x.encapsulation != y.encapsulation || (is_ib && x.has_grh != y.has_grh))
            return false;
        if (is_ib && (x.service_level != y.service_level || x.source_lid != y.source_lid ||
                      x.destination_lid != y.destination_lid))
            return false;
        if (!is_ib && (x.udp_source_port != y.udp_source_port || x.source_mac != y.source_mac ||
                       x.destination_mac != y.destination_mac))
            return false;
        if (is_ib && !x.has_grh)
            return true;
        return x.traffic_class == y.traffic_class && x.hop_limit == y.hop_limit && x.source_gid == y.source_gid &&
               x.destination_gid == y.destination_gid &&
               (x.encapsulation == Encapsulation::roce_v2_ipv4 || x.flow_label == y.flow_label);
    };
    const auto& t = a.traits();
    if (a.rdma().service != b.rdma().service || a.rdma().operation != b.rdma().operation)
        return "opcode";
    if (!same_path(a.path, b.path))
        return "path";
    if (a.rdma().solicited != b.rdma().solicited || a.rdma().migrated != b.rdma().migrated ||
        a.rdma().ack_request != b.rdma().ack_request || a.rdma().fecn != b.rdma().fecn ||
        a.rdma().becn != b.rdma().becn)
        return "BTH flags";
    if (a.rdma().pkey != b.rdma().pkey)
        return "pkey";
    if (a.rdma().destination != b.rdma().destination)
        return "destination";
    if (a.rdma().psn != b.rdma().psn)
        return "psn";
    if (a.rdma().service == Service::cnp)
        return {};
    if (a.rdma().service == Service::ud &&
        (a.rdma().deth.qkey != b.rdma().deth.qkey || a.rdma().deth.source_qpn != b.rdma().deth.source_qpn))
        return "deth";
    if (t.has_reth && (a.rdma().reth.address != b.rdma().reth.address || a.rdma().reth.rkey != b.rdma().reth.rkey ||
                       a.rdma().reth.length != b.rdma().reth.length))
        return "reth";
    if (t.has_aeth && (a.rdma().aeth.syndrome != b.rdma().aeth.syndrome || a.rdma().aeth.msn != b.rdma().aeth.msn))
        return "aeth";
    if (t.has_atomic &&
        (a.rdma().atomic.address != b.rdma().atomic.address || a.rdma().atomic.rkey != b.rdma().atomic.rkey ||
         a.rdma().atomic.swap_or_add != b.rdma().atomic.swap_or_add ||
         a.rdma().atomic.compare != b.rdma().atomic.compare))
        return "atomic";
    if (t.has_atomic_ack && a.rdma().atomic_original != b.rdma().atomic_original)
        return "atomic_original";
    if (t.has_immediate && a.rdma().immediate != b.rdma().immediate)
        return "immediate";
    if (t.has_invalidate && a.rdma().invalidate != b.rdma().invalidate)
        return "invalidate";
    if (bytes_of(a.payload) != bytes_of(b.payload))
        return "payload";
    return {};
}

} // namespace testbench
