// What is done alike for every packet that leaves: it gets its addresses and the head of its transport header, goes
// through the pipeline, and is counted and reported. Whoever makes a packet fills in the rest between `begin` and
// `send`.
#pragma once

#include "abi/wire/ip.h"
#include "model/hca/address/identity.h"
#include "model/hca/pipe.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/report.h"
#include "model/port/wire.h"

#include <cstdint>

namespace model::hca::egress {

class Outbox {
public:
    Outbox(const HcaConfig& config, const address::Identity& identity, const Report& report)
        : pipe_("transmit pipeline", config), identity_(identity), report_(report),
          ecn_(config.controls_congestion_by(congestion::Algorithm::dcqcn) ? abi::wire::ecn_can_be_marked : 0) {}

    /// When the pipeline can work on a packet whose work arrives at `at`.
    port::Time enter_pipe(port::Time at) { return pipe_.enter(at); }
    /// Forgets what is in the pipeline.
    void reset() { pipe_.reset(); }
    time::Account account() const { return pipe_.account(); }
    /// The next packet of this outlet, with the addresses and the head of the queue pair's connection.
    port::Packet& begin(const queue::QueuePair& qp, port::Wire& wire, abi::Psn psn) const {
        auto& packet = wire.next();
        packet.path = qp.path;
        // Where they are not 0, software has chosen, or a switch has marked the packet.
        if ((packet.path.traffic_class & abi::wire::ecn_mask) == 0)
            packet.path.traffic_class |= ecn_;
        auto& head = packet.rdma();
        head.pkey = identity_.pkey(qp.attributes.path.pkey_index);
        head.destination = qp.attributes.remote_qpn;
        head.service = qp.service.on_wire;
        head.psn = psn;
        return packet;
    }
    /// While the result lives, what leaves belongs to work that this earlier event began.
    traces::Cause because(std::uint64_t event) const { return {report_.events, event}; }
    /// Counts a complete packet, or a train, and reports that it leaves.
    void note(port::Packet& packet, port::Time at) const {
        report_.counters.packets_sent += packet.train.packets;
        if (report_.events.is_on()) [[unlikely]] {
            const auto& head = packet.rdma();
            packet.cause = report_.events.emit(
                at, traces::PacketSent{head.destination.value, head.psn.value, head.opcode(), packet.payload.size()});
        }
    }
    /// Counts, reports and sends a packet. Returns when its last bit is out.
    port::Time send(port::Wire& wire, port::Packet& packet, port::Time at) const {
        note(packet, at);
        return wire.send(at);
    }
    /// The same for a packet that goes through the pipeline only now.
    port::Time send_through_pipe(port::Wire& wire, port::Packet& packet, port::Time at) {
        note(packet, at);
        return wire.send(pipe_.enter(at));
    }

private:
    Pipe pipe_;

    const address::Identity& identity_;
    Report report_;
    std::uint8_t ecn_;
};

} // namespace model::hca::egress
