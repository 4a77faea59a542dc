// What the performance agent tells of the port (IBA 16.1.3.5). What the model cannot lose is zero.
#include "firmware/management/agent.h"

#include "abi/wire/infiniband.h"

namespace firmware::management {

model::management::PortTotals port_totals(const State& state) {
    const auto& count = state.hca.counters();
    const auto sent = state.hca.sent();
    // Data counts in 32-bit words, without the VCRC.
    const auto words = [](std::uint64_t bytes, std::uint64_t packets) { return (bytes - packets * abi::wire::vcrc_bytes) / 4; };
    return {.data_sent = words(sent.bytes, sent.packets),
            .data_received = words(count.bytes_received, count.packets_received),
            .packets_sent = sent.packets,
            .packets_received = count.packets_received,
            .unicast_sent = sent.packets - count.multicast_sent,
            .unicast_received = count.packets_received - count.multicast_received,
            .multicast_sent = count.multicast_sent,
            .multicast_received = count.multicast_received,
            .receive_errors = count.packets_damaged,
            .management_dropped = count.management_dropped};
}

} // namespace firmware::management
