#include "platform/topology/congestion_keys.h"

#include "platform/topology/key_rows.h"

#include <array>

namespace platform::topology {
namespace {

using namespace key_rows;
using model::hca::congestion::Algorithm;

#define AT(member) ([](auto& c) -> auto& { return c.member; })

/// Two keys say which congestion control there is, the older one of DCQCN alone; contradictions() refuses two answers.
void decide_control(Config& config) {
    const auto by_older_key = config.said_dcqcn.value_or(false) ? Algorithm::dcqcn : Algorithm::none;
    config.hca.congestion_control = config.said_control.value_or(by_older_key);
}
void say_control(Config& config, const Value& value) {
    set_member<AT(hca.congestion_control)>(config, value);
    config.said_control = config.hca.congestion_control;
    decide_control(config);
}
void say_dcqcn(Config& config, const Value& value) {
    config.said_dcqcn = std::get<bool>(value);
    decide_control(config);
}
Value is_dcqcn(const Config& config) { return config.hca.congestion_control == Algorithm::dcqcn; }

constexpr std::array rows{
    Key{"hca.congestion_control",
        Kind::text,
        {.names = names<Algorithm>},
        "of RoCE connections: dcqcn, rates by CNPs for packets that a switch has marked (fabric.switch_ecn); swift, "
        "windows by round trips",
        say_control,
        get_member<AT(hca.congestion_control)>},
    Key{"hca.dcqcn.enabled", Kind::boolean, anything, "true: hca.congestion_control is dcqcn", say_dcqcn, is_dcqcn},
    key<AT(hca.dcqcn.time_reset)>("hca.dcqcn.rpg_time_reset_ns", range(1 * us, 100 * ms),
                                  "from one increase of a rate by time to the next"),
    key<AT(hca.dcqcn.byte_reset)>("hca.dcqcn.rpg_byte_reset", range(1, 4e9), "bytes from one increase to the next"),
    key<AT(hca.dcqcn.threshold)>("hca.dcqcn.rpg_threshold", range(1, 31), "increases of fast recovery"),
    key<AT(hca.dcqcn.ai_rate_mbps)>("hca.dcqcn.rpg_ai_rate", range(1, 1e6), "additive increase, Mbit/s"),
    key<AT(hca.dcqcn.hai_rate_mbps)>("hca.dcqcn.rpg_hai_rate", range(1, 1e6), "hyper increase, Mbit/s"),
    key<AT(hca.dcqcn.gd)>("hca.dcqcn.rpg_gd", range(0, 15), "a CNP takes alpha / 2^this of the rate"),
    key<AT(hca.dcqcn.min_dec_fac)>("hca.dcqcn.rpg_min_dec_fac", range(0, 100), "least that a CNP leaves, percent"),
    key<AT(hca.dcqcn.min_rate_mbps)>("hca.dcqcn.rpg_min_rate", range(1, 1e6), "least rate, Mbit/s"),
    key<AT(hca.dcqcn.rate_reduce_period)>("hca.dcqcn.rate_reduce_monitor_period_ns", range(0, 100 * ms),
                                          "a rate is reduced no more often"),
    key<AT(hca.dcqcn.dce_tcp_g)>("hca.dcqcn.dce_tcp_g", range(0, 1023), "of 1024, what alpha keeps in a period"),
    key<AT(hca.dcqcn.dce_tcp_rtt)>("hca.dcqcn.dce_tcp_rtt_ns", range(100 * us / 1000, 100 * ms), "period of alpha"),
    key<AT(hca.dcqcn.initial_alpha)>("hca.dcqcn.initial_alpha_value", range(0, 1023), "of 1024"),
    key<AT(hca.dcqcn.first_rate_mbps)>("hca.dcqcn.rate_to_set_on_first_cnp", range(0, 1e6),
                                       "Mbit/s; 0: as alpha has it"),
    key<AT(hca.dcqcn.clamp_target)>("hca.dcqcn.clamp_tgt_rate", anything,
                                    "each CNP lowers the rate that a queue pair comes back to"),
    key<AT(hca.dcqcn.clamp_target_after_increase)>("hca.dcqcn.clamp_tgt_rate_after_time_inc", anything,
                                                   "it does when time has raised the rate since"),
    key<AT(hca.dcqcn.min_time_between_cnps)>("hca.dcqcn.min_time_between_cnps_ns", range(0, 100 * ms),
                                             "of a queue pair"),
    key<AT(hca.swift.base_target)>("hca.swift.base_target_ns", range(1 * us, 100 * ms),
                                   "round trip of a path with few flows, above which a window becomes smaller"),
    key<AT(hca.swift.flow_range)>("hca.swift.fs_range_ns", range(0, 100 * ms),
                                  "what small windows add to it at most (flow scaling)"),
    key<AT(hca.swift.flow_min_window)>("hca.swift.fs_min_cwnd", range(0.001, 1),
                                       "packets, up to which they add it all"),
    key<AT(hca.swift.flow_max_window)>("hca.swift.fs_max_cwnd", range(2, 1e6), "and from which on they add nothing"),
    key<AT(hca.swift.increase)>("hca.swift.ai", range(0.001, 1000), "packets that a round trip adds to a window"),
    key<AT(hca.swift.decrease)>("hca.swift.beta", range(0.01, 1),
                                "of a window, times the share of the round trip beyond the target, a decrease takes"),
    key<AT(hca.swift.most_decrease)>("hca.swift.max_mdf", range(0.01, 0.99), "of a window it takes at most"),
    key<AT(hca.swift.min_window)>("hca.swift.min_cwnd", range(0.001, 1), "least window, packets of the path MTU"),
    key<AT(hca.swift.max_window)>("hca.swift.max_cwnd", range(1, 1e6), "largest window, packets"),
    key<AT(hca.swift.first_window)>("hca.swift.first_cwnd", range(0.001, 1e6),
                                    "a queue pair begins with, packets, within these two"),
    key<AT(hca.swift.reset_after)>("hca.swift.retx_reset_threshold", range(1, 1000),
                                   "time-outs in a row after which a window is the least"),
    key<AT(hca.swift.answers)>("hca.swift.acks_per_window", range(1, 64),
                               "acknowledgements that a window asks for at least, as far as it has packets"),
};
#undef AT

} // namespace

std::span<const Key> congestion_keys() { return rows; }

} // namespace platform::topology
