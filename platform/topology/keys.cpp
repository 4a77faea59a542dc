#include "platform/topology/keys.h"

#include "model/pcie/link.h"
#include "platform/topology/congestion_keys.h"
#include "platform/topology/key_rows.h"
#include "platform/topology/names.h"
#include "platform/topology/simple_keys.h"
#include "platform/topology/traffic_keys.h"
#include "platform/topology/workload_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace platform::topology {
namespace {

using namespace key_rows;

constexpr std::array<std::int64_t, 5> mtus{256, 512, 1024, 2048, 4096};
constexpr std::array<std::int64_t, 4> access_sizes{8, 16, 32, 64};
constexpr std::array<std::int64_t, 6> tlp_sizes{128, 256, 512, 1024, 2048, 4096};
constexpr std::array<std::int64_t, 5> widths{1, 2, 4, 8, 16};
constexpr std::array<std::int64_t, 5> way_counts{1, 2, 4, 8, 16};
constexpr std::array<std::int64_t, 7> iotlb_ways{1, 2, 4, 8, 16, 32, 64};

// The member behind a key, const or not.
#define AT(member) ([](auto& c) -> auto& { return c.member; })

constexpr std::array platform_rows{
    key<AT(timed)>("timed", anything, "the timing model; false: purely functional, nothing costs simulated time"),

    key<AT(scenario.name)>("scenario.name", anything, "the workload to run, one of those `hcasim --help` lists"),
    key<AT(scenario.payload)>("scenario.payload", anything, "the file to move; none: the program itself"),
    size<AT(scenario.message_bytes)>("scenario.message", range(1, GiB), "bytes a work request moves"),
    bytes<AT(scenario.mtu_bytes)>("scenario.mtu", one_of(mtus), "path MTU, bytes"),
    key<AT(scenario.queue_depth)>("scenario.queue_depth", range(1, 8192), "messages under way on a queue pair"),
    key<AT(scenario.queue_pairs)>("scenario.qps", range(1, 1 << 20),
                                  "queue pairs the payload is spread over, at most 2^hca.log_max_qp"),

    key<AT(scenario.from)>("scenario.from", anything, "the GPU that has the payload, A.gpu0; none: the first one"),
    key<AT(scenario.through)>("scenario.through", anything,
                              "the HCA it goes through, A.hca0; none: of its host the nearest to the GPU; "
                              "remote_storage: whose memory it passes at the target, of A.gpu0, A.nvme0 or A"),
    key<AT(scenario.to)>("scenario.to", anything, "the GPU it goes to, B.gpu0; none: the first one of another host"),
    key<AT(scenario.to_through)>("scenario.to_through", anything, "and the HCA there, B.hca0; none: the nearest"),
    key<AT(scenario.has_adversary)>(
        "scenario.adversary", anything,
        "of a GPU program stores come late, shuffled and merged, and loads early, as far as "
        "is legal"),
    key<AT(scenario.omit)>(
        "scenario.omit", anything,
        "a fence that a GPU program leaves out, by its name; a name that there is none of lists them"),
    key<AT(scenario.seed)>("scenario.seed", range(0, 0xffff'ffff),
                           "of what an adversary draws, a traffic, and workloads"),

    size<AT(hosts[0].memory_bytes)>("host.A.memory", range(64 * MiB, 512 * GiB),
                                    "DRAM of host A; costs nothing until touched"),
    size<AT(hosts[1].memory_bytes)>("host.B.memory", range(64 * MiB, 512 * GiB), "DRAM of host B"),
    Key{"host.acs",
        Kind::text,
        {.names = names<AcsMode>},
        "access control at ports: redirect sends peer requests and their completions up to the root complex, "
        "direct_translated only requests that the card has not translated (hca.device_tlb_entries)",
        set_member<AT(peers.acs)>,
        get_member<AT(peers.acs)>},
    key<AT(peers.is_forwarding)>("host.peer_forwarding", anything,
                                 "the root complex passes requests of devices on to devices; false: it refuses them"),
    key<AT(software.post)>("host.post_ns", latency, "a processor makes a work request, or a command of a drive"),
    key<AT(software.poll)>("host.poll_ns", latency, "and takes in a completion"),
    key<AT(software.store)>("host.store_ns", latency, "and stores to a register, as to ring a doorbell"),
    key<AT(software.interrupt)>("host.interrupt_ns", latency, "from an interrupt to the thread that waits for it"),
    size<AT(cache.bytes)>("host.llc", range(0, 256 * MiB),
                          "the processor's last-level cache in front of DRAM, for devices; 0: memory answers them as "
                          "that cache does"),
    key<AT(cache.ways)>("host.llc_ways", range(1, 64), "its associativity"),
    key<AT(cache.io_ways)>("host.ddio_ways", range(0, 64),
                           "of these, into which devices write (DDIO); 0: they write to DRAM"),
    key<AT(cache.miss)>("host.llc_miss_ns", latency, "what DRAM takes longer than that cache"),
    bytes<AT(bar_access.load_bytes)>("host.bar.load", one_of(access_sizes),
                                     "bytes that a processor's load brings from memory behind a BAR, at most"),
    key<AT(bar_access.loads)>("host.bar.loads", range(1, 1024), "such loads under way at a time"),
    bytes<AT(bar_access.store_bytes)>(
        "host.bar.store", one_of(access_sizes),
        "bytes that are combined into one store to such memory, at most; 8: nothing is combined"),
    key<AT(bar_access.store_gbps)>("host.bar.store_gbps", range(0.001, 3200),
                                   "Gbit/s at which full stores leave the processor"),
    key<AT(bar_access.posted)>("host.bar.posted", range(1, 65536),
                               "such stores that are made and have not left the root port, at a time"),
    key<AT(iommu.is_present)>("iommu.present", anything,
                              "each root complex has a remapping unit (VT-d); drivers turn it on"),
    key<AT(iommu.unit.iotlb.entries)>("iommu.iotlb_entries", range(0, 1 << 20),
                                      "pages the IOTLB holds, of any size; 0: every request walks"),
    key<AT(iommu.unit.iotlb.ways)>("iommu.iotlb_ways", one_of(iotlb_ways), "its associativity"),
    key<AT(iommu.unit.contexts.entries)>("iommu.context_entries", range(0, 1 << 16), "entries of the context cache"),
    key<AT(iommu.unit.pasids.entries)>("iommu.pasid_entries", range(0, 1 << 20), "entries of the PASID cache"),
    key<AT(iommu.unit.structures.entries)>("iommu.structure_entries", range(0, 1 << 16),
                                           "entries of the paging-structure cache of each level"),
    key<AT(iommu.unit.pages_2m)>("iommu.pages_2m", anything, "pages of 2 MiB are supported"),
    key<AT(iommu.unit.pages_1g)>("iommu.pages_1g", anything, "pages of 1 GiB are supported"),
    key<AT(iommu.unit.caching_mode)>("iommu.caching_mode", anything,
                                     "what is not present may be cached, as by units in virtual machines"),
    key<AT(iommu.unit.scalable_mode)>("iommu.scalable_mode", anything, "PASID tables are supported"),
    key<AT(iommu.unit.first_stage)>("iommu.first_stage", anything,
                                    "in scalable mode: tables in the processor's format are supported"),
    key<AT(iommu.unit.device_tlb)>("iommu.device_tlb", anything,
                                   "devices may translate addresses themselves, see hca.device_tlb_entries"),
    key<AT(iommu.unit.page_requests)>("iommu.page_requests", anything,
                                      "in scalable mode, with device-TLBs: devices may ask for pages"),
    key<AT(iommu.hit_latency)>("iommu.hit_latency_ns", latency, "a translation"),
    key<AT(iommu.miss_latency)>("iommu.miss_latency_ns", latency,
                                "a translation that reads tables, beyond the reads themselves"),
    key<AT(iommu.walkers)>("iommu.walkers", range(0, 1024), "table walks at a time; 0: any number"),
    size<AT(gpu.vram_bytes)>("gpu.vram", power_of_two(MiB, 256 * GiB), "VRAM of each GPU and size of its BAR"),

    choice<AT(hca_model)>("hca.model", "the architecture of each HCA; one that is simple has the keys of [simple], and "
                                       "the others of [hca] are not its own"),
    key<AT(hca.log_max_qp)>("hca.log_max_qp", range(4, 20), "log2 of the number of queue pairs"),
    key<AT(hca.log_max_qp_size)>("hca.log_max_qp_size", range(4, 15), "log2 of the WQEBBs of a send queue"),
    key<AT(hca.log_max_cq)>("hca.log_max_cq", range(4, 20), "log2 of the number of completion queues"),
    key<AT(hca.log_max_cq_size)>("hca.log_max_cq_size", range(4, 22), "log2 of the entries of a completion queue"),
    key<AT(hca.log_max_eq)>("hca.log_max_eq", range(2, 8), "log2 of the number of event queues"),
    key<AT(hca.log_max_eq_size)>("hca.log_max_eq_size", range(4, 22), "log2 of the entries of an event queue"),
    key<AT(hca.log_max_mkey)>("hca.log_max_mkey", range(4, 22), "log2 of the number of memory keys"),
    key<AT(hca.log_max_pd)>("hca.log_max_pd", range(2, 20), "log2 of the number of protection domains"),
    key<AT(hca.log_max_transport_domain)>("hca.log_max_transport_domain", range(2, 16),
                                          "log2 of the number of transport domains"),
    key<AT(hca.log_max_message)>("hca.log_max_message", range(12, 31), "log2 of the bytes of a message"),
    key<AT(hca.log_max_read_requester)>("hca.log_max_read_requester", range(0, 7),
                                        "log2 of READs and atomics a queue pair may have outstanding"),
    key<AT(hca.log_max_read_responder)>("hca.log_max_read_responder", range(0, 7),
                                        "log2 of READs and atomics a queue pair answers at once"),
    key<AT(hca.uar_pages)>("hca.uar_pages", range(32, 32768),
                           "UAR pages, those of the initialization segment included"),
    key<AT(hca.polled_doorbells)>("hca.polled_doorbells", anything,
                                  "hcasim serve lets programs map UAR pages, and finds their doorbells in memory"),
    key<AT(hca.msix_vectors)>("hca.msix_vectors", range(1, 2048), "MSI-X vectors"),
    key<AT(hca.blue_flame)>("hca.blue_flame", anything,
                            "drivers write WQEs with doorbells; behind a hypervisor each such burst is 8 accesses"),
    key<AT(hca.on_demand_paging)>("hca.on_demand_paging", anything,
                                  "accesses to pages that a key does not have wait until the driver brings them"),
    key<AT(hca.qp_cache_entries)>("hca.qp_cache_entries", range(0, 1 << 22),
                                  "contexts of queue pairs on the chip; 0: every look-up misses"),
    key<AT(hca.cq_cache_entries)>("hca.cq_cache_entries", range(0, 1 << 22), "of completion queues"),
    key<AT(hca.srq_cache_entries)>("hca.srq_cache_entries", range(0, 1 << 22), "of shared receive queues"),
    key<AT(hca.mkey_cache_entries)>("hca.mkey_cache_entries", range(0, 1 << 22),
                                    "entries of the MKey cache; 0: every look-up misses"),
    key<AT(hca.mtt_cache_entries)>("hca.mtt_cache_entries", range(0, 1 << 24),
                                   "entries of the MTT cache; 0: every look-up misses"),
    key<AT(hca.cache_ways)>("hca.cache_ways", one_of(way_counts), "associativity of these five"),
    key<AT(hca.miss_engines)>("hca.miss_engines", range(1, 256),
                              "misses of the five, each a read of the pages that the driver has lent, at a time"),
    key<AT(hca.units)>("hca.units", range(1, 1024),
                       "processing units for send WQEs; each queue pair belongs to one of them"),
    key<AT(hca.atomic_buckets)>("hca.atomic_buckets", power_of_two(1, 65536),
                                "locks of atomics, by the low bits of the address"),
    key<AT(hca_ats.entries)>("hca.device_tlb_entries", range(0, 1 << 20),
                             "pages the card's own TLB for PCIe addresses holds (ATS); 0: it has none"),
    key<AT(hca_ats.ways)>("hca.device_tlb_ways", one_of(iotlb_ways), "its associativity"),
    key<AT(hca_ats.hit_latency)>("hca.device_tlb_latency_ns", latency, "a look-up in it"),
    key<AT(hca_ats.has_page_requests)>("hca.page_requests", anything,
                                       "the card has the page request interface; it comes with a device-TLB"),
    key<AT(hca_ats.pasid_bits)>("hca.pasid_bits", range(0, 20), "width of its PASIDs; 0: it has none"),
    key<AT(hca.doorbell_latency)>("hca.doorbell_latency_ns", latency, "from the doorbell's arrival to the scheduler"),
    key<AT(hca.wqe_latency)>("hca.wqe_latency_ns", latency, "decode and schedule, a message"),
    key<AT(hca.unit_wqe)>("hca.unit_wqe_ns", latency, "occupancy of a processing unit, a WQE"),
    key<AT(hca.unit_read)>("hca.unit_read_ns", latency, "occupancy of a processing unit, a WQE of a READ or atomic"),
    key<AT(hca.packet_latency)>("hca.packet_latency_ns", latency, "pipeline occupancy, a packet, each direction"),
    key<AT(hca.responder_latency)>("hca.responder_latency_ns", latency,
                                   "from the arrival of a request or an answer to its execution"),
    key<AT(hca.cqe_latency)>("hca.cqe_latency_ns", latency, "making of a completion"),
    key<AT(hca.mkey_miss)>("hca.mkey_miss_ns", latency, "a miss in the MKey cache, beside its read"),
    key<AT(hca.mtt_miss)>("hca.mtt_miss_ns", latency, "a miss in the MTT cache, beside its read"),
    key<AT(hca.command_latency)>("hca.command_latency_ns", latency, "execution of a command"),
    key<AT(hca.internal_timer_khz)>("hca.internal_timer_khz", range(1, 4e6),
                                    "device_frequency_khz; completions carry this clock"),
    key<AT(hca.packets_per_turn)>("hca.packets_per_turn", range(1, 4096),
                                  "packets of 4 KiB, or as many bytes in smaller ones, that a queue pair sends before "
                                  "the next one has its turn"),
    key<AT(hca.packet_trains)>("hca.packet_trains", anything,
                               "without timing, packets of a WRITE go through a cable as one where nobody looks at "
                               "them: less wall time, and nothing else"),
    key<AT(hca.selective_repeat)>("hca.selective_repeat", anything,
                                  "a reliable connection keeps packets behind a gap, and only the missing ones come "
                                  "again (RDMA_SELECTIVE_REPEAT_EN): of both ends; otherwise all from the gap on"),
    key<AT(hca.reorder_packets)>("hca.reorder_packets", range(2, 65536),
                                 "kept so, in each direction of a queue pair, the missing ones counted"),

    key<AT(hca.adaptive.is_on)>("hca.adaptive_retransmission", anything,
                                "time-outs of RoCE connections are the card's own at first, and more of them than "
                                "retry_count (ROCE_ACCL, roce_adp_retrans_en); false: 4.096 us << ack_timeout"),
    key<AT(hca.adaptive.first)>("hca.adaptive_retransmission_ns", range(1 * us, 10 * s),
                                "the first of these; those behind it are 1, 1.5, 3, 6, 16, 32 and 64 times that"),
    key<AT(hca.adaptive.tries)>("hca.adaptive_retransmission_tries", range(0, 8),
                                "of these, from the first on, that do not count as retries"),
    key<AT(hca.wqe_prefetch.bytes)>("hca.wqe_prefetch", range(0, 1024),
                                    "bytes of WQEs that one read of a work queue brings, at most; below 128: one at a "
                                    "time"),

    key<AT(device_link.generation)>("pcie.device.generation", range(1, 5), "of the links between switch and devices"),
    key<AT(device_link.width)>("pcie.device.width", one_of(widths), "lanes"),
    bytes<AT(device_link.mps_bytes)>("pcie.device.mps", one_of(tlp_sizes), "maximum payload of a TLP, bytes"),
    bytes<AT(device_link.mrrs_bytes)>("pcie.device.mrrs", one_of(tlp_sizes), "maximum read request, bytes"),
    key<AT(device_link.tags)>("pcie.device.tags", range(1, model::pcie::most_tags),
                              "requests of a function that may wait for completions at a time"),
    key<AT(device_link.posted_credits)>("pcie.device.posted_credits", range(0, model::pcie::most_posted_credits),
                                        "room of a receiver for posted writes, in 16 bytes; 0: without limit"),
    key<AT(device_link.nonposted_credits)>("pcie.device.nonposted_credits",
                                           range(0, model::pcie::most_nonposted_credits),
                                           "room of a receiver for requests of reads; 0: without limit"),
    key<AT(device_link.tlp_time)>("pcie.device.tlp_ns", range(0, 100 * us),
                                  "least time that a device takes for each TLP it sends, beside its bytes"),
    key<AT(device_link.latency)>("pcie.device.latency_ns", range(0, 100 * us), "one way"),
    key<AT(upstream_link.generation)>("pcie.upstream.generation", range(1, 5),
                                      "of the link between root port and switch"),
    key<AT(upstream_link.width)>("pcie.upstream.width", one_of(widths), "lanes"),
    bytes<AT(upstream_link.mps_bytes)>("pcie.upstream.mps", one_of(tlp_sizes), "maximum payload of a TLP, bytes"),
    bytes<AT(upstream_link.mrrs_bytes)>("pcie.upstream.mrrs", one_of(tlp_sizes), "maximum read request, bytes"),
    key<AT(upstream_link.posted_credits)>("pcie.upstream.posted_credits", range(0, model::pcie::most_posted_credits),
                                          "room of a receiver for posted writes, in 16 bytes; 0: without limit"),
    key<AT(upstream_link.nonposted_credits)>("pcie.upstream.nonposted_credits",
                                             range(0, model::pcie::most_nonposted_credits),
                                             "room of a receiver for requests of reads; 0: without limit"),
    key<AT(upstream_link.completion_credits)>(
        "pcie.upstream.completion_credits", range(0, model::pcie::most_posted_credits),
        "room of the switch for completions that come down, in 16 bytes; 0: without limit, as devices and root "
        "complexes have it"),
    key<AT(upstream_link.latency)>("pcie.upstream.latency_ns", range(0, 100 * us), "one way"),

    Key{"link.encapsulation",
        Kind::text,
        {.names = names<Encapsulation>},
        "what packets are on the wire",
        set_member<AT(link.encapsulation)>,
        get_member<AT(link.encapsulation)>},
    key<AT(link.latency)>("link.latency_ns", latency, "propagation, one way"),
    key<AT(link.rate_gbps)>(
        "link.rate_gbps", range(0, 3200),
        "Gbit/s, at least 0.001; 0: serialisation costs no time. Ports say the next lower speed there is"),
    key<AT(link.credit_blocks)>(
        "link.credit_blocks", range(0, 65536),
        "receive buffer of each end of an InfiniBand cable, blocks of 64 bytes, at least 66 (a packet): the cable "
        "carries min(rate, this / round trip); IBA 7.9.4 can grant 2048. 0: no flow control"),
    key<AT(link.loss)>("link.loss", probability, "probability that a packet is lost"),
    key<AT(link.duplicate)>("link.duplicate", probability, "probability that a packet arrives twice"),
    key<AT(link.reorder)>("link.reorder", probability, "probability that a packet is held back and overtaken"),
    key<AT(link.reorder_depth)>("link.reorder_depth", range(1, 1024),
                                "a held packet lets 1 to so many later ones pass"),
    key<AT(link.reorder_delay)>("link.reorder_delay_ns", latency, "and is held no longer than so"),
    key<AT(link.corrupt)>("link.corrupt", probability, "probability that a bit of a packet flips"),
    key<AT(link.seed)>("link.seed", range(0, 9e15), "of the four above; each cable draws numbers of its own from it"),
    key<AT(link.exact_bytes)>("link.exact_bytes", anything,
                              "every packet crosses as its frame, not only those somebody looks at"),

    key<AT(fabric.topology)>("fabric.topology", anything,
                             "switches and cables in one line, as in fat_tree(k=4); platform/topology/README.md has "
                             "all; none: as written, or of the pair"),
    key<AT(fabric.has_switch)>("fabric.switch", anything,
                               "a switch between the HCAs, which have port 1 and 2; InfiniBand or Ethernet as "
                               "link.encapsulation says"),
    key<AT(fabric.is_managed)>(
        "fabric.managed", anything,
        "a subnet manager in a guest gives LIDs, routes and port states; false: the platform does"),
    choice<AT(fabric.routing)>("fabric.routing",
                               "of several ways: the fewest switches; up a tree and down; auto: the fewest, unless "
                               "InfiniBand credits could then wait for each other in a circle"),
    key<AT(fabric.has_adaptive_routing)>(
        "fabric.adaptive_routing", anything,
        "InfiniBand switches send each packet of a reliable connection by the least busy of equal ways; it may "
        "overtake others, which a responder then refuses"),
    key<AT(fabric.reroute)>("fabric.reroute_ns", range(0, 100 * s),
                            "from a change of a cable ([[failures]]) until the tables of the switches go by it"),
    key<AT(fabric.switch_ports)>("fabric.switch_ports", range(2, 36), "ports of the switch"),
    key<AT(fabric.switch_latency)>("fabric.switch_latency_ns", latency, "from a packet's arrival to its departure"),
    key<AT(fabric.lifetime.hoq_life)>(
        "fabric.switch_hoq_life", range(0, 31),
        "HOQLife of InfiniBand switch ports: a packet at the head of its queue for 4.096 us << n is discarded; above "
        "19: none is. Subnet managers may set another"),
    key<AT(fabric.lifetime.vl_stall_count)>(
        "fabric.switch_vl_stall_count", range(0, 7),
        "VLStallCount: after so many in a row, all that come in the next 8 times that are discarded; 0: never"),
    bytes<AT(fabric.buffer.bytes)>("fabric.switch_buffer", range(64 * KiB, 4 * GiB),
                                   "packet buffer that the ports of an Ethernet switch share"),
    key<AT(fabric.buffer.alpha)>("fabric.switch_alpha", range(1.0 / 1024, 1024),
                                 "a queue may have so many times what is free of it (dynamic thresholds)"),
    key<AT(fabric.buffer.has_pfc)>("fabric.switch_pfc", anything,
                                   "an Ethernet switch pauses senders (priority flow control), and drops nothing; "
                                   "false: it drops what finds no room"),
    bytes<AT(fabric.buffer.headroom)>("fabric.switch_headroom", range(0, 16 * MiB),
                                      "of each port, for what comes after its sender was asked to pause"),
    key<AT(fabric.buffer.has_ecn)>("fabric.switch_ecn", anything,
                                   "an Ethernet switch marks packets that can be marked (of DCQCN)"),
    bytes<AT(fabric.buffer.ecn_min)>("fabric.switch_ecn_min", range(0, 1 * GiB),
                                     "a queue up to which nothing is marked (Kmin)"),
    bytes<AT(fabric.buffer.ecn_max)>("fabric.switch_ecn_max", range(0, 1 * GiB),
                                     "a queue from which on everything is marked (Kmax)"),
    key<AT(fabric.buffer.ecn_probability)>("fabric.switch_ecn_probability", probability,
                                           "that a packet is marked just below that (Pmax)"),

    key<AT(observe.has_ownership)>(
        "observe.ownership", anything,
        "the detector of stale mappings: DMA to a page that has another owner than when it was "
        "mapped is an event, with its history under --explain"),
};
#undef AT

template <class Range> std::string list(std::string text, const Range& range) {
    for (const auto& one : range)
        text += fmt::format(" {}", one);
    return text;
}

std::string print_limit(const Key& key, double limit) {
    if (key.kind == Kind::number)
        return print(key.kind, limit);
    return print(key.kind, static_cast<std::int64_t>(limit));
}

} // namespace

std::span<const Key> keys() {
    static const auto table = [] {
        std::vector<Key> all(platform_rows.begin(), platform_rows.end());
        const auto of_congestion = congestion_keys(); // those of a table stand together
        all.insert(std::ranges::find(all, "pcie.device.generation", &Key::path), of_congestion.begin(),
                   of_congestion.end());
        for (const auto rows : {simple_keys(), traffic_keys(), workload_keys()})
            all.insert(all.end(), rows.begin(), rows.end());
        return all;
    }();
    return table;
}

const Key* find_key(std::string_view path) {
    const auto found = std::ranges::find(keys(), path, &Key::path);
    return found == keys().end() ? nullptr : &*found;
}

unsigned most_switch_ports() { return static_cast<unsigned>(find_key("fabric.switch_ports")->limits.maximum); }

std::string print_limits(const Key& key) {
    if (!key.limits.names.empty())
        return list("one of", key.limits.names);
    if (!key.limits.choices.empty())
        return list("one of", key.limits.choices);
    if (key.kind == Kind::boolean || key.kind == Kind::text)
        return "";
    return fmt::format("{}{} to {}", key.limits.is_power_of_two ? "a power of two from " : "",
                       print_limit(key, key.limits.minimum), print_limit(key, key.limits.maximum));
}

std::expected<void, std::string> check(const Key& key, const Value& value) {
    const auto& limits = key.limits;
    bool is_allowed = true;
    if (const auto* text = std::get_if<std::string>(&value)) {
        is_allowed = limits.names.empty() || std::ranges::count(limits.names, *text) != 0;
    } else if (const auto* number = std::get_if<double>(&value)) {
        is_allowed = *number >= limits.minimum && *number <= limits.maximum;
    } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        const auto as_number = static_cast<double>(*whole);
        is_allowed = limits.choices.empty() ? as_number >= limits.minimum && as_number <= limits.maximum
                                            : std::ranges::count(limits.choices, *whole) != 0;
        if (limits.is_power_of_two && !std::has_single_bit(static_cast<std::uint64_t>(*whole)))
            is_allowed = false;
    }
    if (!is_allowed)
        return std::unexpected(
            fmt::format("= {} is out of range, allowed is {}", print(key.kind, value), print_limits(key)));
    return {};
}

std::string_view nearest_key(std::string_view path) {
    std::string_view best;
    std::size_t best_distance = std::numeric_limits<std::size_t>::max();
    constexpr std::size_t longest = 256; // a longer word resembles no key, and comparing it would take long
    if (path.size() > longest)
        return best;
    for (const auto& candidate : keys()) {
        // A right name in the wrong table is one mistake, however long the table's name; a forgotten unit is one too.
        const auto by_name = edit_distance(last_word(path), last_word(candidate.path)) + 1;
        const bool is_begun = path.size() > 3 && candidate.path.starts_with(path) && candidate.path[path.size()] == '_';
        const auto distance =
            std::min({edit_distance(path, candidate.path), by_name, is_begun ? std::size_t{1} : by_name});
        if (distance < best_distance)
            best_distance = distance, best = candidate.path;
    }
    return best_distance <= std::max<std::size_t>(2, last_word(path).size() / 2) ? best : std::string_view{};
}

} // namespace platform::topology
