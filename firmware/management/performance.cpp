// The counters of the port, for its performance agent (IBA 16.1.3.5) and for the commands that read them. Counters of
// errors that the model cannot have are zero.
#include "firmware/management/agent.h"

#include "abi/wire/infiniband.h"

namespace firmware::management {

namespace {

/// What the port has sent to itself. The vport has sent and received it, the port neither.
struct Turned {
    Traffic::Count unicast{}, multicast{};
};
Traffic::Count count_of(const State& state, std::uint64_t packets, std::uint64_t bytes) {
    // From the LRH up to the ICRC: the VCRC does not count; Ethernet has none.
    const std::uint64_t behind = state.config().is_ethernet ? 0 : abi::wire::vcrc_bytes;
    return {packets, bytes - packets * behind};
}
Turned turned(const State& state) {
    const auto& count = state.hca.counters();
    const auto multicast = count_of(state, count.multicast_turned, count.multicast_bytes_turned);
    return {count_of(state, count.packets_turned, count.bytes_turned) - multicast, multicast};
}

} // namespace

Traffic port_traffic(const State& state) {
    const auto& count = state.hca.counters();
    const auto sent = state.hca.sent();
    const auto of = [&state](std::uint64_t packets, std::uint64_t bytes) { return count_of(state, packets, bytes); };
    Traffic traffic{.multicast_sent = of(count.multicast_sent, count.multicast_bytes_sent),
                    .multicast_received = of(count.multicast_received, count.multicast_bytes_received),
                    .damaged = {.packets = count.packets_damaged}};
    traffic.unicast_sent = of(sent.packets, sent.bytes) - traffic.multicast_sent;
    traffic.unicast_received = of(count.packets_received, count.bytes_received) - traffic.multicast_received;
    // A copy of a multicast packet that turns round is of a packet that the cable carries, too, and was counted.
    const auto own = turned(state).unicast;
    traffic.unicast_sent.packets += own.packets;
    traffic.unicast_sent.bytes += own.bytes;
    return traffic;
}

model::management::PortTotals port_totals(const State& state) {
    auto t = port_traffic(state);
    const auto own = turned(state);
    t.unicast_sent = t.unicast_sent - own.unicast;
    t.unicast_received = t.unicast_received - own.unicast;
    t.multicast_received = t.multicast_received - own.multicast;
    const auto hindered = state.hca.hindered();
    const auto ticks = hindered.waited / model::management::tick(state.config().port_rate_gbps);
    constexpr unsigned word = 4;
    return {.data_sent = (t.unicast_sent.bytes + t.multicast_sent.bytes) / word,
            .data_received = (t.unicast_received.bytes + t.multicast_received.bytes) / word,
            .packets_sent = t.unicast_sent.packets + t.multicast_sent.packets,
            .packets_received = t.unicast_received.packets + t.multicast_received.packets,
            .unicast_sent = t.unicast_sent.packets,
            .unicast_received = t.unicast_received.packets,
            .multicast_sent = t.multicast_sent.packets,
            .multicast_received = t.multicast_received.packets,
            // A packet for another port's LID is malformed at this one, like one with a wrong CRC (IBA 7.3, 16.1.3.5).
            .receive_errors = t.damaged.packets + state.hca.counters().packets_misaddressed,
            .discards = hindered.discarded,
            .management_dropped = state.hca.counters().management_dropped,
            .transmit_waits = static_cast<std::uint64_t>(ticks)};
}

} // namespace firmware::management
