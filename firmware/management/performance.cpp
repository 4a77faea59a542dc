// The counters of the port, for its performance agent (IBA 16.1.3.5) and for the commands that read them. Counters of
// errors that the model cannot have are zero.
#include "firmware/management/agent.h"

#include "abi/wire/infiniband.h"

namespace firmware::management {

Traffic port_traffic(const State& state) {
    const auto& count = state.hca.counters();
    const auto sent = state.hca.sent();
    // From the LRH up to the ICRC: the VCRC does not count; Ethernet has none.
    const std::uint64_t behind = state.config().is_ethernet ? 0 : abi::wire::vcrc_bytes;
    const auto of = [behind](std::uint64_t packets, std::uint64_t bytes) {
        return Traffic::Count{packets, bytes - packets * behind};
    };
    Traffic traffic{.multicast_sent = of(count.multicast_sent, count.multicast_bytes_sent),
                    .multicast_received = of(count.multicast_received, count.multicast_bytes_received),
                    .damaged = {.packets = count.packets_damaged}};
    traffic.unicast_sent = of(sent.packets, sent.bytes) - traffic.multicast_sent;
    traffic.unicast_received = of(count.packets_received, count.bytes_received) - traffic.multicast_received;
    return traffic;
}

model::management::PortTotals port_totals(const State& state) {
    const auto t = port_traffic(state);
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
            .management_dropped = state.hca.counters().management_dropped};
}

} // namespace firmware::management
