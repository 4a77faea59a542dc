// One HCA core on a cable whose other end is played by the test: it sees every packet the core sends, and sends the core any
// packet it likes, also those that no working HCA would send.
#pragma once

#include "model/net/link.h"
#include "testbench/harness/hca_node.h"

#include <deque>
#include <utility>
#include <vector>

namespace harness {

/// A packet as the peer saw it.
struct Seen {
    model::port::Packet header; ///< its payload is empty, see `payload`
    std::vector<std::byte> payload;
    Time at{};
    abi::wire::Operation operation() const { return header.operation; }
    std::uint32_t psn() const { return header.psn.value; }
    std::uint8_t syndrome() const { return header.aeth.syndrome; }
};

class ScriptedPeer final : public model::port::Receiver {
public:
    explicit ScriptedPeer(model::port::Wire& wire) : wire_(wire) {}
    void receive(model::port::Packet& packet, Time at) override {
        Seen packet_seen{.header = packet, .payload = std::vector<std::byte>(packet.payload.size()), .at = at};
        packet.payload.copy_to(packet_seen.payload);
        packet_seen.header.payload.clear();
        seen.push_back(std::move(packet_seen));
    }
    void received_all(Time) override {}
    void ready(Time) override {}

    /// Sends one packet. `fill(packet)` has the last word on its headers.
    template <class Fill> void send(abi::wire::Operation operation, std::uint32_t psn, std::span<const std::byte> payload, Time at, Fill&& fill) {
        auto& packet = wire_.next();
        packet.path = path;
        packet.pkey = 0xffff;
        packet.operation = operation;
        packet.destination = target;
        packet.psn = abi::Psn{psn};
        packet.aeth = {.syndrome = abi::wire::ack_syndrome(), .msn = 0};
        packet.payload.append_copy(payload);
        fill(packet);
        wire_.send(at);
    }
    /// What came since the last call.
    std::vector<Seen> take() { return std::exchange(seen, {}); }

    abi::Qpn target{};
    model::port::Path path; ///< of what it sends
    std::vector<Seen> seen;

private:
    model::port::Wire& wire_;
};

/// Node a with one queue pair in RTS, and the peer at the other end. Sends from PSN 100 and expects PSN 5100 first.
class OneHca {
public:
    static constexpr std::uint32_t first_psn = 100, peer_psn = 5100;
    static constexpr abi::Qpn peer_qpn{0x99};

    template <class Change = void (*)(model::hca::queue::QueuePairAttributes&)>
    explicit OneHca(Change&& change = [](model::hca::queue::QueuePairAttributes&) {}, const model::hca::HcaConfig& config = untimed())
        : link(cable(), clock, {}), a(config, clock, link.end(0), 1), peer(link.end(1)) {
        link.attach(0, a.hca);
        link.attach(1, peer);
        a.make_eq();
        cq = a.make_cq();
        auto attributes = a.attributes(cq);
        change(attributes);
        qp = a.make_qp(attributes);
        a.connect(qp, peer_qpn, first_psn, peer_psn, clock.now());
        peer.target = qp.number;
        peer.path = reversed(core().path);
    }
    void send(const Post& wr) {
        a.post(qp, wr);
        a.ring(qp, clock.now());
        settle();
    }
    void settle() { link.pump(clock.now()); }
    void run(Time limit) {
        settle();
        while (clock.next() <= limit) {
            const auto now = std::max(clock.next(), clock.now());
            clock.set(now);
            link.wake(now);
            a.hca.wake(now);
            settle();
        }
    }
    /// The peer sends one packet, and what follows from it happens.
    template <class Fill> void receive(abi::wire::Operation operation, std::uint32_t at_psn, std::size_t payload, Fill&& fill) {
        hand_over(operation, at_psn, payload, fill);
        settle();
    }
    void receive(abi::wire::Operation operation, std::uint32_t at_psn, std::size_t payload = 0) {
        receive(operation, at_psn, payload, [](model::port::Packet&) {});
    }
    /// The peer answers with this AETH syndrome.
    void answer(std::uint32_t at_psn, std::uint8_t syndrome) {
        receive(abi::wire::Operation::acknowledge, at_psn, 0, [&](model::port::Packet& packet) { packet.aeth.syndrome = syndrome; });
    }
    /// As receive(), but several packets can form one batch; settle() ends it.
    template <class Fill> void hand_over(abi::wire::Operation operation, std::uint32_t at_psn, std::size_t payload, Fill&& fill) {
        std::vector<std::byte> bytes(payload);
        for (std::size_t i = 0; i < payload; ++i)
            bytes[i] = static_cast<std::byte>(at_psn + i);
        peer.send(operation, at_psn, bytes, clock.now(), fill);
    }
    model::hca::queue::QueuePair& core() { return a.core(qp); }

    TestClock clock;
    model::net::Link link;
    Node a;
    ScriptedPeer peer;
    TestCq cq;
    TestQp qp;

private:
    static model::hca::HcaConfig untimed() {
        model::hca::HcaConfig config;
        config.timed = false;
        return config;
    }
    static model::net::LinkConfig cable() {
        model::net::LinkConfig config;
        config.timed = false;
        return config;
    }
};

} // namespace harness
