// What one HCA counts: for the run's table and benchmarks, and the Q counter sets that drivers read.
#pragma once

#include "model/hca/counted.h"
#include "model/port/time.h"

#include <algorithm>
#include <cstdint>

namespace model::hca {

/// Whole device. Monotonic since the start of the simulation.
struct Counters {
    std::uint64_t doorbells = 0, doorbells_ignored = 0;
    std::uint64_t wqes_fetched = 0;
    std::uint64_t messages_completed = 0;
    std::uint64_t packets_sent = 0, packets_received = 0, packets_dropped = 0;
    std::uint64_t payload_received = 0; ///< bytes
    std::uint64_t bytes_received = 0;   ///< of whole frames; of those sent the cable knows
    std::uint64_t multicast_sent = 0, multicast_received = 0, multicast_bytes_sent = 0, multicast_bytes_received = 0;
    /// Of those received, the ones that have come by the way inside the port: no cable has carried them.
    std::uint64_t packets_turned = 0, bytes_turned = 0, multicast_turned = 0, multicast_bytes_turned = 0;
    std::uint64_t packets_damaged = 0, management_dropped = 0;
    std::uint64_t frames_without_receiver = 0;              ///< plain frames, which an Ethernet port would take
    std::uint64_t packets_misaddressed = 0;                 ///< came in at the port and were for another
    std::uint64_t pkey_violations = 0, qkey_violations = 0; ///< packets with a bad P_Key or Q_Key
    std::uint64_t acks_sent = 0, naks_sent = 0;
    std::uint64_t packets_marked = 0, cnps_sent = 0, cnps_handled = 0; ///< marked by a switch, and what follows
    std::uint64_t window_cuts = 0, window_waits = 0; ///< windows became smaller; a queue pair waited for its window
    std::uint64_t window_waited_ps = 0;              ///< so long, all of them together
    std::uint64_t rates_limited = 0, rate_waits = 0; ///< queue pairs slowed by CNPs; one waited for its rate
    std::uint64_t rate_waited_ps = 0, rate_longest_wait_ps = 0; ///< so long, all of them together; one of them
    std::uint64_t round_trips = 0, round_trips_ps = 0;          ///< measured for windows; their sum
    std::uint64_t retries = 0, timeouts = 0, rnr_waits = 0, duplicates = 0;
    std::uint64_t adaptive_timeouts = 0; ///< of the time-outs, those by adaptive retransmission
    std::uint64_t completions_ok = 0, completions_error = 0;
    std::uint64_t events_written = 0, interrupts = 0;
    std::uint64_t turns = 0; ///< the scheduler gave a queue pair a turn
    std::uint64_t translations = 0, refusals = 0;
    std::uint64_t page_faults = 0; ///< told to software
    std::uint64_t mkey_hits = 0, mkey_misses = 0, mtt_hits = 0, mtt_misses = 0;
    std::uint64_t qpc_hits = 0, qpc_misses = 0;   ///< contexts of queue pairs
    std::uint64_t cqc_hits = 0, cqc_misses = 0;   ///< of completion queues
    std::uint64_t srqc_hits = 0, srqc_misses = 0; ///< of shared receive queues

    void waited_for_rate(port::Time span) {
        const auto waited = static_cast<std::uint64_t>(span.count());
        ++rate_waits;
        rate_waited_ps += waited;
        rate_longest_wait_ps = std::max(rate_longest_wait_ps, waited);
    }
};

/// One counter set, as QUERY_Q_COUNTER returns it (PRM "Q counters").
struct QCounters {
    std::uint32_t rx_write_requests = 0, rx_read_requests = 0, rx_atomic_requests = 0;
    std::uint32_t out_of_buffer = 0, out_of_sequence = 0, duplicate_request = 0;
    std::uint32_t rnr_nak_retry_err = 0, packet_seq_err = 0, implied_nak_seq_err = 0, local_ack_timeout_err = 0;
    std::uint32_t req_rnr_retries_exceeded = 0, req_transport_retries_exceeded = 0;
    std::uint32_t resp_local_length_error = 0, req_local_length_error = 0, resp_local_qp_error = 0;
    std::uint32_t local_operation_error = 0, resp_local_protection = 0, req_local_protection = 0;
    std::uint32_t resp_cqe_error = 0, req_cqe_error = 0, req_bad_response = 0;
    std::uint32_t req_remote_invalid_request = 0, resp_remote_invalid_request = 0;
    std::uint32_t req_remote_access_errors = 0, resp_remote_access_errors = 0, req_remote_operation_errors = 0;
    std::uint32_t roce_adp_retrans = 0;
    std::uint32_t cq_overflow = 0, resp_cqe_flush_error = 0, req_cqe_flush_error = 0;
};

/// A counter set as an object: queue pairs refer to it and count in it.
struct CounterSet : Counted, QCounters {};

} // namespace model::hca
