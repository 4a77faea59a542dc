// Which congestion control a card has, and its parameters. Those of DCQCN (Zhu et al., "Congestion Control for
// Large-Scale RDMA Deployments", SIGCOMM 2015) are under the names that the firmware of ConnectX cards gives them
// (`mlxconfig`), with the defaults that it shows; those of Swift (Kumar et al., SIGCOMM 2020) under those of the paper.
#pragma once

#include "model/port/time.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace model::hca::congestion {

enum class Algorithm : std::uint8_t {
    none,
    dcqcn, ///< packets can be marked, marked ones are answered with CNPs, and CNPs slow queue pairs down
    swift, ///< round trips are measured, and long ones make windows smaller
};
inline constexpr std::array<std::string_view, 3> algorithms{"none", "dcqcn", "swift"};

struct DcqcnConfig {
    // The reaction point: a queue pair that sends.
    port::Time time_reset = std::chrono::microseconds{300}; ///< RPG_TIME_RESET: from one increase by time to the next
    std::uint32_t byte_reset = 32767;                       ///< RPG_BYTE_RESET: bytes from one increase to the next
    std::uint32_t threshold = 1;                            ///< RPG_THRESHOLD: increases of fast recovery
    double ai_rate_mbps = 5;                                ///< RPG_AI_RATE: additive increase
    double hai_rate_mbps = 50;                              ///< RPG_HAI_RATE: hyper increase
    std::uint32_t gd = 11;                                  ///< RPG_GD: a CNP takes alpha / 2^gd of the rate
    std::uint32_t min_dec_fac = 50;                         ///< RPG_MIN_DEC_FAC: least that is left by a CNP, percent
    double min_rate_mbps = 1;                               ///< RPG_MIN_RATE
    port::Time rate_reduce_period = std::chrono::microseconds{4}; ///< RATE_REDUCE_MONITOR_PERIOD
    std::uint32_t dce_tcp_g = 1019;                               ///< DCE_TCP_G: of 1024, what alpha keeps
    port::Time dce_tcp_rtt = std::chrono::microseconds{1};        ///< DCE_TCP_RTT: from one update of alpha to the next
    std::uint32_t initial_alpha = 1023;                           ///< INITIAL_ALPHA_VALUE, of 1024
    double first_rate_mbps = 0;                                   ///< RATE_TO_SET_ON_FIRST_CNP; 0: as alpha has it
    bool clamp_target = false;               ///< CLAMP_TGT_RATE: each CNP lowers the rate to come back to
    bool clamp_target_after_increase = true; ///< CLAMP_TGT_RATE_AFTER_TIME_INC: if the timer has raised it since
    // The notification point: who receives marked packets.
    port::Time min_time_between_cnps = std::chrono::microseconds{4}; ///< MIN_TIME_BETWEEN_CNPS, of a queue pair
    bool operator==(const DcqcnConfig&) const = default;
};

/// The names are the paper's. The values are those of htsim's model of it (Broadcom, csg-htsim, sim/swift.cpp), which
/// calls them guesses.
struct SwiftConfig {
    port::Time base_target = std::chrono::microseconds{25}; ///< base_target: of a path with few flows
    port::Time flow_range = std::chrono::microseconds{125}; ///< fs_range: what flow scaling adds at most
    double flow_min_window = 0.1;                           ///< fs_min_cwnd: packets, at which it adds all of that
    double flow_max_window = 100;                           ///< fs_max_cwnd: packets, from which on it adds nothing
    double increase = 1;                                    ///< ai: packets a round trip
    double decrease = 0.8;                                  ///< beta: of the share of the delay beyond the target
    double most_decrease = 0.5;                             ///< max_mdf: share that one decrease takes at most
    double min_window = 0.01;                               ///< min_cwnd: packets
    double max_window = 1000;                               ///< max_cwnd: packets
    double first_window = 10;                               ///< packets; not the paper's: that of TCP (RFC 6928)
    std::uint32_t reset_after = 5; ///< RETX_RESET_THRESHOLD: time-outs in a row, until the window is the least
    std::uint32_t answers = 4;     ///< ACKs that a window asks for, at least; not the paper's, whose peers answer all
    bool operator==(const SwiftConfig&) const = default;
};

} // namespace model::hca::congestion
