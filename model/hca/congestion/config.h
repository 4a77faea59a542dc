// Parameters of DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015) under the names
// that the firmware of ConnectX cards gives them (`mlxconfig`), with the defaults that it shows.
#pragma once

#include "model/port/time.h"

#include <cstdint>

namespace model::hca::congestion {

struct DcqcnConfig {
    bool is_on = false; ///< packets can be marked, marked ones are answered with CNPs, and CNPs slow queue pairs down
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

} // namespace model::hca::congestion
