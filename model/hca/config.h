// Sizes and latencies of one HCA. The firmware derives the capability pages from this, so that the card advertises
// nothing that it does not have.
#pragma once

#include "model/hca/congestion/config.h"
#include "model/port/time.h"

#include <cstdint>

namespace model::hca {

struct HcaConfig {
    // Identity
    std::uint64_t node_guid = 0x0002c90300000001;
    std::uint16_t device_id = 0x101b; ///< ConnectX-6
    std::uint16_t lid = 1;            ///< InfiniBand port
    double port_rate_gbps = 100;      ///< of the cable that is plugged in; 0: serialisation costs no time
    bool is_managed = false;          ///< InfiniBand port: a subnet manager gives the LID and makes it active
    bool is_ethernet = true;          ///< port type; the wire is RoCEv2 on Ethernet, LRH/VCRC on InfiniBand

    // Limits, log2 unless said otherwise
    std::uint8_t log_max_qp = 17;
    std::uint8_t log_max_qp_size = 15; ///< WQEBBs, or receive WQEs
    std::uint8_t log_max_cq = 16;
    std::uint8_t log_max_cq_size = 22; ///< entries
    std::uint8_t log_max_eq = 6;
    std::uint8_t log_max_eq_size = 16;
    std::uint8_t log_max_mkey = 20;
    std::uint8_t log_max_pd = 16;
    std::uint8_t log_max_transport_domain = 10;
    std::uint8_t log_max_srq = 16;
    std::uint8_t log_max_srq_size = 15; ///< WQEs
    std::uint8_t log_max_xrcd = 10;
    std::uint8_t log_max_message = 30;
    std::uint8_t log_max_read_requester = 4; ///< outstanding READs and atomics a queue pair may send
    std::uint8_t log_max_read_responder = 4; ///< and may answer
    std::uint16_t max_wqe_size_sq = 1024;    ///< bytes
    std::uint16_t max_wqe_size_rq = 512;     ///< bytes
    std::uint16_t max_q_counters = 32;       ///< count
    std::uint16_t uar_pages = 1024;          ///< count, those of the initialization segment included
    std::uint16_t first_uar = 16;            ///< pages below it hold the initialization segment and MSI-X
    std::uint16_t msix_vectors = 32;         ///< count
    /// User contexts have UAR pages of their own, the second half: whoever serves the card finds their doorbells by the
    /// records in memory (dispatch/polled_records.h).
    bool polled_doorbells = false;
    bool blue_flame = false;      ///< told to software; bursts are understood either way
    bool on_demand_paging = true; ///< accesses to absent pages of a key wait for software
    std::uint32_t boot_pages = 16, init_pages = 64, pages_per_1024_objects = 16; ///< 4 KiB pages asked of the driver

    // Caches of contexts on the chip: entries, 0 = none (every look-up misses)
    std::uint32_t qp_cache_entries = 1024;
    std::uint32_t cq_cache_entries = 1024;
    std::uint32_t srq_cache_entries = 256;
    std::uint32_t mkey_cache_entries = 4096;
    std::uint32_t mtt_cache_entries = 16384;
    std::uint32_t cache_ways = 8;
    std::uint32_t miss_engines = 4; ///< misses of all of them that are under way at a time

    // Units that work on requests. Defaults: ConnectX-6 sends 215 million messages a second (its product brief); how
    // many of them one queue pair can is assumed.
    std::uint32_t units = 8;             ///< each queue pair belongs to one of them
    std::uint32_t atomic_buckets = 4096; ///< locks of atomics, by low address bits; a power of two

    // Timing; all zero cost when `timed` is false
    bool timed = true;
    port::Time doorbell_latency = std::chrono::nanoseconds{50};
    port::Time wqe_latency = std::chrono::nanoseconds{40};   ///< decode and schedule, a message
    port::Time unit_wqe = std::chrono::nanoseconds{37};      ///< how long a WQE keeps its unit busy
    port::Time unit_read = std::chrono::nanoseconds{37};     ///< and one of a READ or an atomic
    port::Time packet_latency = std::chrono::nanoseconds{5}; ///< pipeline occupancy, a packet, each direction
    port::Time responder_latency = std::chrono::nanoseconds{60};
    port::Time cqe_latency = std::chrono::nanoseconds{30};
    port::Time mkey_miss = std::chrono::nanoseconds{250}; ///< beside the read of the context
    port::Time mtt_miss = std::chrono::nanoseconds{250};
    port::Time command_latency = std::chrono::microseconds{2};
    std::uint32_t internal_timer_khz = 1'000'000; ///< device_frequency_khz
    /// A latency from above, or nothing when the timing model is off.
    port::Time cost(port::Time latency) const { return timed ? latency : port::Time{}; }
    /// The first UAR page of user contexts; behind the last one where they have none of their own.
    std::uint16_t first_polled_uar() const {
        return static_cast<std::uint16_t>(polled_doorbells ? first_uar + (uar_pages - first_uar) / 2 : uar_pages);
    }

    // Scheduling
    /// A queue pair sends so many of 4 KiB, or as many bytes in smaller ones, before the next one has its turn.
    std::uint32_t packets_per_turn = 16;
    /// Packets of a WRITE go through an untimed cable as one, where nobody looks: faster, and nothing else.
    bool packet_trains = true;

    /// A reliable connection keeps packets behind a gap, and only the missing ones are sent again
    /// (RDMA_SELECTIVE_REPEAT_EN); otherwise all from the gap on are.
    bool selective_repeat = false;
    std::uint32_t reorder_packets = 512; ///< kept in each direction of a queue pair, the missing ones counted

    /// Time-outs of RoCE connections that the card chooses itself (ROCE_ACCL, roce_adp_retrans_en).
    struct Adaptive {
        bool is_on = false;
        port::Time first =
            std::chrono::nanoseconds{4096} * 1024; ///< of the first try; requester/retry.cpp has the others
        std::uint32_t tries = 6;                   ///< from the first on, that do not count as retries
        bool operator==(const Adaptive&) const = default;
    } adaptive;
    bool has_adaptive_retransmission() const { return adaptive.is_on && is_ethernet; }

    /// How work queues are read ahead of their use.
    struct WqePrefetch {
        std::uint32_t bytes = 1024; ///< of one read, at most
        std::uint32_t reads = 1;    ///< that are under way or unused, beside the one whose entries are used
        bool operator==(const WqePrefetch&) const = default;
    } wqe_prefetch;

    congestion::Algorithm congestion_control = congestion::Algorithm::none;
    congestion::DcqcnConfig dcqcn{};
    congestion::SwiftConfig swift{};
    bool controls_congestion_by(congestion::Algorithm algorithm) const {
        return congestion_control == algorithm && timed && is_ethernet;
    }

    bool operator==(const HcaConfig&) const = default;
};

} // namespace model::hca
