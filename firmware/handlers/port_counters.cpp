// PRM "Vport counters" and the counters of the port behind ACCESS_REG (PPCNT): what mlx5_ib answers performance
// management and /sys/class/infiniband/*/ports/*/counters from.
#include "firmware/handlers/port_counters.h"

#include "firmware/handlers/handlers.h"
#include "firmware/management/agent.h"

#include <algorithm>

namespace firmware::handlers {

namespace {
/// A counter stops at its largest value.
template <class L, abi::Name F> void put(abi::View<L> out, std::uint64_t value) {
    using Field = typename L::template field<F>;
    out.template set<F>(static_cast<typename Field::type>(std::min(value, ~std::uint64_t{0} >> (64 - Field::width))));
}
template <abi::Name High, abi::Name Low>
void put_wide(abi::View<prm::IbExtendedPortCounters> out, std::uint64_t value) {
    out.template set<High>(static_cast<std::uint32_t>(value >> 32))
        .template set<Low>(static_cast<std::uint32_t>(value));
}
} // namespace

Reply query_vport_counter(State& state, const Call&, In<prm::QueryVportCounterIn> in,
                          Out<prm::QueryVportCounterOut> out) {
    if (in.get<"other_vport">() || in.get<"vport_number">() != 0 || in.get<"port_num">() > 1)
        return refuse("query_vport_counter.vport");
    const auto total = management::port_traffic(state);
    const auto& cleared = state.cleared;
    const auto tell = [](abi::View<prm::TrafficCounter> counter, const Traffic::Count& count) {
        counter.set<"packets">(count.packets).set<"octets">(count.bytes);
    };
    tell(out.sub<"received_errors">(), total.damaged - cleared.damaged);
    tell(out.sub<"received_ib_unicast">(), total.unicast_received - cleared.unicast_received);
    tell(out.sub<"transmitted_ib_unicast">(), total.unicast_sent - cleared.unicast_sent);
    tell(out.sub<"received_ib_multicast">(), total.multicast_received - cleared.multicast_received);
    tell(out.sub<"transmitted_ib_multicast">(), total.multicast_sent - cleared.multicast_sent);
    if (in.get<"clear">())
        state.cleared = total;
    return accepted;
}

Reply read_port_counters(State& state, std::span<const std::byte> in, std::span<std::byte> out) {
    const abi::ConstView<prm::PpcntReg> asked(in);
    const auto group = asked.get<"grp">();
    // mlx5_ib reads the first group of RoCE ports, too, for the counters of errors in sysfs (Linux, "IB/mlx5: Modify
    // MAD reading counters method to use counter registers").
    if (group != prm::ppcnt_infiniband && (group != prm::ppcnt_infiniband_extended || state.config().is_ethernet))
        return refuse("access_reg.counter_group");
    using Kind = model::management::PerformanceAgent::Kind;
    const auto kind = group == prm::ppcnt_infiniband ? Kind::classic : Kind::extended;
    const auto count = state.performance.read(kind, 1, management::port_totals(state), asked.get<"clr">() != 0);
    abi::View<prm::PpcntReg>(out).set<"local_port">(1).set<"grp">(group);
    const auto behind = out.subspan(8);
    if (kind == Kind::classic) {
        const abi::View<prm::IbPortCounters> counters(behind);
        put<prm::IbPortCounters, "port_rcv_errors">(counters, count.receive_errors);
        put<prm::IbPortCounters, "port_xmit_discards">(counters, count.discards);
        put<prm::IbPortCounters, "vl_15_dropped">(counters, count.management_dropped);
        put<prm::IbPortCounters, "port_xmit_wait">(counters, count.transmit_waits);
        return accepted;
    }
    constexpr unsigned word = 4;
    const abi::View<prm::IbExtendedPortCounters> counters(behind);
    put_wide<"port_xmit_data_high", "port_xmit_data_low">(counters, count.data_sent * word);
    put_wide<"port_rcv_data_high", "port_rcv_data_low">(counters, count.data_received * word);
    put_wide<"port_xmit_pkts_high", "port_xmit_pkts_low">(counters, count.packets_sent);
    put_wide<"port_rcv_pkts_high", "port_rcv_pkts_low">(counters, count.packets_received);
    put_wide<"port_unicast_xmit_pkts_high", "port_unicast_xmit_pkts_low">(counters, count.unicast_sent);
    put_wide<"port_unicast_rcv_pkts_high", "port_unicast_rcv_pkts_low">(counters, count.unicast_received);
    put_wide<"port_multicast_xmit_pkts_high", "port_multicast_xmit_pkts_low">(counters, count.multicast_sent);
    put_wide<"port_multicast_rcv_pkts_high", "port_multicast_rcv_pkts_low">(counters, count.multicast_received);
    return accepted;
}

} // namespace firmware::handlers
