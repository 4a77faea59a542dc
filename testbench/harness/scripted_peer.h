// One HCA core on a cable whose other end is played by the test: it sees every packet the core sends, and sends the
// core any packet it likes, also those that no working HCA would send.
#pragma once

#include "model/net/link.h"
#include "testbench/harness/hca_node.h"

#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace harness {

/// A packet as the peer saw it.
struct Seen {
    model::port::Packet header; ///< its payload is empty, see `payload`
    std::vector<std::byte> payload;
    Time at{};
    abi::wire::Operation operation() const { return header.rdma().operation; }
    std::uint32_t psn() const { return header.rdma().psn.value; }
    std::uint8_t syndrome() const { return header.rdma().aeth.syndrome; }
};

class ScriptedPeer final : public model::port::Receiver {
public:
    explicit ScriptedPeer(model::port::Wire& wire) : wire_(wire) {}
    void receive(model::port::Packet& packet, Time at) override;
    void received_all(Time) override {}
    void ready(Time) override {}

    /// Sends one packet. `fill(packet)` has the last word on its headers.
    using Fill = std::function<void(model::port::Packet&)>;
    void send(abi::wire::Operation operation, std::uint32_t psn, std::span<const std::byte> payload, Time at,
              const Fill& fill);
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

    using Change = std::function<void(model::hca::queue::QueuePairAttributes&)>;
    using Fill = ScriptedPeer::Fill;
    explicit OneHca(const Change& change = {}, const model::hca::HcaConfig& config = untimed());
    ~OneHca();
    void send(const Post& wr);
    void settle() { link.pump(clock.now()); }
    void run(Time limit);
    /// The peer sends one packet, and what follows from it happens.
    void receive(abi::wire::Operation operation, std::uint32_t at_psn, std::size_t payload = 0, const Fill& fill = {});
    /// The peer answers with this AETH syndrome.
    void answer(std::uint32_t at_psn, std::uint8_t syndrome);
    /// As receive(), but several packets can form one batch; settle() ends it.
    void hand_over(abi::wire::Operation operation, std::uint32_t at_psn, std::size_t payload, const Fill& fill = {});
    model::hca::queue::QueuePair& core() { return a.core(qp); }

    TestClock clock;
    model::net::Link link;
    Node a;
    ScriptedPeer peer;
    TestCq cq;
    TestQp qp;

private:
    static model::hca::HcaConfig untimed();
};

} // namespace harness
