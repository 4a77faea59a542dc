#include "testbench/harness/scripted_peer.h"

namespace harness {

namespace {
model::net::LinkConfig cable() {
    model::net::LinkConfig config;
    config.timed = false;
    return config;
}
} // namespace

void ScriptedPeer::receive(model::port::Packet& packet, Time at) {
    Seen packet_seen{.header = packet, .payload = std::vector<std::byte>(packet.payload.size()), .at = at};
    packet.payload.copy_to(packet_seen.payload);
    packet_seen.header.payload.clear();
    seen.push_back(std::move(packet_seen));
}

void ScriptedPeer::send(abi::wire::Operation operation, std::uint32_t psn, std::span<const std::byte> payload, Time at,
                        const Fill& fill) {
    auto& packet = wire_.next();
    packet.path = path;
    packet.rdma().pkey = 0xffff;
    packet.rdma().operation = operation;
    packet.rdma().destination = target;
    packet.rdma().psn = abi::Psn{psn};
    packet.rdma().aeth = {.syndrome = abi::wire::ack_syndrome(), .msn = 0};
    packet.payload.append_copy(payload);
    if (fill)
        fill(packet);
    wire_.send(at);
}

model::hca::HcaConfig OneHca::untimed() {
    model::hca::HcaConfig config;
    config.timed = false;
    return config;
}

OneHca::OneHca(const Change& change, const model::hca::HcaConfig& config)
    : link(cable(), clock, {}), a(config, clock, link.end(0), 1), peer(link.end(1)) {
    link.attach(0, a.hca);
    link.attach(1, peer);
    a.make_eq();
    cq = a.make_cq();
    auto attributes = a.attributes(cq);
    if (change)
        change(attributes);
    qp = a.make_qp(attributes);
    a.connect(qp, peer_qpn, first_psn, peer_psn, clock.now());
    peer.target = qp.number;
    peer.path = reversed(core().path);
}

OneHca::~OneHca() = default;

void OneHca::send(const Post& wr) {
    a.post(qp, wr);
    a.ring(qp, clock.now());
    settle();
}

void OneHca::run(Time limit) {
    settle();
    while (clock.next() <= limit) {
        const auto now = std::max(clock.next(), clock.now());
        clock.set(now);
        link.wake(now);
        a.hca.wake(now);
        settle();
    }
}

void OneHca::receive(abi::wire::Operation operation, std::uint32_t at_psn, std::size_t payload, const Fill& fill) {
    hand_over(operation, at_psn, payload, fill);
    settle();
}

void OneHca::answer(std::uint32_t at_psn, std::uint8_t syndrome) {
    receive(abi::wire::Operation::acknowledge, at_psn, 0,
            [&](model::port::Packet& packet) { packet.rdma().aeth.syndrome = syndrome; });
}

void OneHca::hand_over(abi::wire::Operation operation, std::uint32_t at_psn, std::size_t payload, const Fill& fill) {
    std::vector<std::byte> bytes(payload);
    for (std::size_t i = 0; i < payload; ++i)
        bytes[i] = static_cast<std::byte>(at_psn + i);
    peer.send(operation, at_psn, bytes, clock.now(), fill);
}

} // namespace harness
