#include "platform/topology/effect.h"

#include "platform/topology/description.h"
#include "platform/topology/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace platform::topology {
namespace {

using model::hca::congestion::Algorithm;

/// A key, or all keys that begin alike, and what must hold of some part for them to have an effect. What is asked is
/// the configuration as that part has it (is_met_somewhere).
struct Need {
    std::string_view path; ///< a trailing dot or underscore: all that begin with it
    bool (*is_met)(const Config&);
    std::string_view why_not;
};

bool has_several_ways(const Config& c) { return !c.is_pair(); }
bool has_device_tlb(const Config& c) { return c.hca_ats.entries != 0; }
bool is_ethernet(const Config& c) { return c.link.encapsulation != model::port::Encapsulation::infiniband; }
bool has_ethernet_switch(const Config& c) { return c.fabric.has_switch && is_ethernet(c) && c.timed; }
bool has_infiniband_switch(const Config& c) { return c.fabric.has_switch && !is_ethernet(c) && c.timed; }
constexpr std::string_view no_lifetime = "only a timed InfiniBand switch discards packets that are too old";
constexpr std::string_view no_buffer = "only a timed Ethernet switch has a buffer to run out of";
bool has_scalable_mode(const Config& c) { return c.iommu.unit.scalable_mode; }

constexpr std::array needs{
    Need{"link.seed",
         [](const Config& c) { return c.link.loss + c.link.duplicate + c.link.reorder + c.link.corrupt > 0; },
         "link.loss, .duplicate, .reorder and .corrupt are 0, nothing is left to chance"},
    Need{"link.reorder_", [](const Config& c) { return c.link.reorder > 0; }, "link.reorder is 0"},
    Need{"pcie.device.tags", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"pcie.device.tlp_ns", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"pcie.device.posted_credits", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"pcie.upstream.posted_credits", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"pcie.device.nonposted_credits", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"pcie.upstream.nonposted_credits", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"pcie.upstream.completion_credits", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"link.credit_blocks", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"link.credit_blocks",
         [](const Config& c) { return c.link.encapsulation == model::port::Encapsulation::infiniband; },
         "link.encapsulation is not infiniband"},
    Need{"link.rate_gbps", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"collective.reduce_gbps", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"kv.copy_gbps", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"fabric.adaptive_routing", has_several_ways, "between two hosts there is one way"},
    Need{"fabric.routing", has_several_ways, "between two hosts there is one way"},
    Need{"fabric.switch_", [](const Config& c) { return c.fabric.has_switch; },
         "there is no switch (fabric.switch is false)"},
    Need{"fabric.switch_hoq_life", has_infiniband_switch, no_lifetime},
    Need{"fabric.switch_vl_stall_count", has_infiniband_switch, no_lifetime},
    Need{"fabric.switch_vl_stall_count",
         [](const Config& c) { return c.fabric.lifetime.hoq_life <= model::net::LifetimeConfig::largest; },
         "no packet is too old: fabric.switch_hoq_life is more than 19"},
    Need{"fabric.switch_buffer", has_ethernet_switch, no_buffer},
    Need{"fabric.switch_alpha", has_ethernet_switch, no_buffer},
    Need{"fabric.switch_pfc", has_ethernet_switch, no_buffer},
    Need{"fabric.switch_headroom", [](const Config& c) { return has_ethernet_switch(c) && c.fabric.buffer.has_pfc; },
         "it needs a timed Ethernet switch with fabric.switch_pfc"},
    Need{"fabric.switch_ecn", has_ethernet_switch, no_buffer},
    Need{"fabric.switch_ecn_", [](const Config& c) { return has_ethernet_switch(c) && c.fabric.buffer.has_ecn; },
         "it needs a timed Ethernet switch with fabric.switch_ecn"},
    Need{"hca.reorder_packets", [](const Config& c) { return c.hca.selective_repeat; },
         "hca.selective_repeat is false"},
    Need{"hca.adaptive_retransmission", is_ethernet, "adaptive retransmission is for RoCE, not for InfiniBand"},
    Need{"hca.adaptive_retransmission_", [](const Config& c) { return c.hca.adaptive.is_on; },
         "hca.adaptive_retransmission is false"},
    Need{"hca.congestion_control", [](const Config& c) { return c.timed && is_ethernet(c); },
         "congestion control needs timed and an Ethernet port"},
    Need{"hca.dcqcn.", [](const Config& c) { return c.hca.controls_congestion_by(Algorithm::dcqcn); },
         "congestion control is off: it needs hca.dcqcn.enabled, timed and an Ethernet port"},
    Need{"hca.swift.", [](const Config& c) { return c.hca.controls_congestion_by(Algorithm::swift); },
         "it needs hca.congestion_control = swift, timed and an Ethernet port"},
    Need{"hca.", [](const Config& c) { return c.hca_model == HcaModel::connectx; },
         "hca.model is simple, which has the keys of [simple]"},
    Need{"simple.", [](const Config& c) { return c.hca_model == HcaModel::simple; }, "hca.model is not simple"},
    Need{"iommu.", [](const Config& c) { return c.iommu.is_present; },
         "there is no remapping unit (iommu.present is false)"},
    Need{"iommu.iotlb_ways", [](const Config& c) { return c.iommu.unit.iotlb.entries != 0; },
         "iommu.iotlb_entries is 0"},
    Need{"iommu.pasid_entries", has_scalable_mode, "iommu.scalable_mode is false"},
    Need{"iommu.first_stage", has_scalable_mode, "iommu.scalable_mode is false"},
    Need{"iommu.page_requests", [](const Config& c) { return has_scalable_mode(c) && c.iommu.unit.device_tlb; },
         "it needs iommu.scalable_mode and iommu.device_tlb"},
    Need{"hca.device_tlb_", has_device_tlb, "the card has no TLB of its own (hca.device_tlb_entries is 0)"},
    Need{"hca.device_tlb_entries", [](const Config& c) { return c.iommu.is_present && c.iommu.unit.device_tlb; },
         "nobody answers a card that translates: it needs iommu.present and iommu.device_tlb"},
    Need{"hca.page_requests", has_device_tlb, "the card has no TLB of its own (hca.device_tlb_entries is 0)"},
    Need{"hca.cache_ways",
         [](const Config& c) {
             return c.hca.qp_cache_entries + c.hca.cq_cache_entries + c.hca.srq_cache_entries +
                        c.hca.mkey_cache_entries + c.hca.mtt_cache_entries !=
                    0;
         },
         "the card has no cache (hca.qp_, cq_, srq_, mkey_ and mtt_cache_entries are 0)"},
    Need{"hca.miss_engines", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"hca.units", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"hca.atomic_buckets", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"host.bar.loads", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"host.bar.store_gbps", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"host.bar.posted", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"pcie.upstream.mrrs", [](const Config&) { return false; },
         "a switch reads nothing for itself; what its cards may ask for is pcie.device.mrrs"},
    Need{"host.llc", [](const Config& c) { return c.timed; }, "timed is false"},
    Need{"host.llc_", [](const Config& c) { return c.timed && c.cache.bytes != 0; },
         "there is no cache (host.llc is 0)"},
    Need{"host.ddio_ways", [](const Config& c) { return c.timed && c.cache.bytes != 0; },
         "there is no cache (host.llc is 0)"},
    Need{"host.peer_forwarding", [](const Config& c) { return c.peers.acs != AcsMode::off; },
         "no request of a device reaches the root complex on its way to another (host.acs is off)"},
};

bool is_meant(const Need& need, std::string_view path) {
    return need.path == path ||
           (need.path.back() == '.' || need.path.back() == '_' ? path.starts_with(need.path) : false);
}

/// Whether a key switches something on: such a key has an effect by itself.
bool is_switch(std::string_view path) {
    return path == "iommu.present" || path == "hca.device_tlb_entries" || path == "hca.model";
}

bool is_of_processor(std::string_view path) {
    constexpr std::array<std::string_view, 4> costs{"host.post_ns", "host.poll_ns", "host.store_ns",
                                                    "host.interrupt_ns"};
    return path.starts_with("host.bar.") || path.starts_with("host.llc") || path == "host.ddio_ways" ||
           std::ranges::find(costs, path) != costs.end();
}

bool is_of_workload(std::string_view path) {
    constexpr std::array<std::string_view, 6> tables{"scenario.", "traffic.", "collective.",
                                                     "kv.",       "storage.", "checkpoint."};
    return std::ranges::any_of(tables, [&](std::string_view table) { return path.starts_with(table); });
}

/// Keys of [scenario] that only some workloads look at.
std::string reason_of_scenario(std::string_view name, std::string_view path) {
    const bool has_roles = name == "gpudirect" || name == "dmabuf"; // testbench/scenario/roles.h
    if (path == "scenario.through" && !has_roles && name != "remote_storage")
        return "scenario.name is none of gpudirect, dmabuf, remote_storage";
    if ((path == "scenario.from" || path == "scenario.to" || path == "scenario.to_through") && !has_roles)
        return "scenario.name is neither gpudirect nor dmabuf";
    if ((path == "scenario.adversary" || path == "scenario.omit") && name != "gpu_rdma")
        return "scenario.name is not gpu_rdma";
    constexpr std::array<std::string_view, 6> without_chance{"gpudirect", "dmabuf",         "nvme",
                                                             "gpu_nvme",  "storage_stream", "remote_storage"};
    if (path == "scenario.seed" && std::ranges::find(without_chance, name) != without_chance.end())
        return fmt::format("the scenario {} draws nothing; what a cable loses follows from link.seed", name);
    return {};
}

/// Keys of the table of a workload that is not run.
std::string reason_of_workload(const Config& config, std::string_view path) {
    const auto& name = config.scenario.name;
    if (path.starts_with("scenario."))
        return reason_of_scenario(name, path);
    const bool is_collective = name == "allreduce" || name == "alltoall" || name == "parameter_server";
    if (path.starts_with("collective.")) {
        if (!is_collective)
            return "scenario.name is none of allreduce, alltoall, parameter_server";
        if (path == "collective.algorithm" && name != "allreduce")
            return "scenario.name is not allreduce";
        if (path == "collective.servers" && name != "parameter_server")
            return "scenario.name is not parameter_server";
    }
    if (path.starts_with("kv.") && name != "kv")
        return "scenario.name is not kv";
    if (path.starts_with("storage.") && name != "storage")
        return "scenario.name is not storage";
    if (path.starts_with("checkpoint.") && name != "checkpoint")
        return "scenario.name is not checkpoint";
    if (!path.starts_with("traffic.") || name == "traffic")
        return {};
    constexpr std::array<std::string_view, 7> common{"traffic.memory",      "traffic.page",        "traffic.reads",
                                                     "traffic.ack_timeout", "traffic.retry_count", "traffic.intervals",
                                                     "traffic.verify"};
    if (is_collective && std::ranges::find(common, path) != common.end())
        return {};
    if (name == "kv" && path != common.front() && path != "traffic.verify" &&
        std::ranges::find(common, path) != common.end())
        return {};
    constexpr std::array<std::string_view, 4> of_connections{"traffic.reads", "traffic.ack_timeout",
                                                             "traffic.retry_count", "traffic.intervals"};
    if ((name == "storage" || name == "checkpoint") && std::ranges::find(of_connections, path) != of_connections.end())
        return {};
    return "scenario.name is not traffic";
}

/// Whether it is met by a part that the keys are of. Parts may have keys of their own, so each one is asked with its
/// values in the place of those of its class.
bool is_met_somewhere(const Need& need, const Config& config, const Description& platform) {
    auto seen = config;
    const auto host_has_it = [&](const DescribedHost& host) {
        seen.peers = host.peers;
        seen.cache = host.cache;
        seen.iommu = host.iommu;
        return need.is_met(seen);
    };
    const auto hca_has_it = [&](const PartAt& at) {
        const auto& hca = platform.part(at).hca();
        seen.hca_model = hca.model;
        seen.hca = hca.core;
        seen.hca_ats = hca.ats;
        seen.link = platform.cables[hca.cable].link;
        return host_has_it(platform.hosts[at.host]);
    };
    const auto cable_has_it = [&](const Cable& cable) {
        seen.link = cable.link;
        return need.is_met(seen);
    };
    const auto switch_has_it = [&](const FabricSwitch& one) {
        using model::port::Encapsulation;
        seen.fabric.has_switch = true;
        seen.fabric.buffer = one.buffer;
        seen.fabric.lifetime = one.lifetime;
        seen.link.encapsulation = one.is_ethernet ? Encapsulation::roce_v2_ipv4 : Encapsulation::infiniband;
        return need.is_met(seen);
    };
    if (need.path.starts_with("hca.") || need.path.starts_with("simple."))
        return std::ranges::any_of(platform.hcas, hca_has_it);
    if (need.path.starts_with("iommu.") || need.path.starts_with("host."))
        return std::ranges::any_of(platform.hosts, host_has_it);
    if (need.path.starts_with("link."))
        return std::ranges::any_of(platform.cables, cable_has_it);
    if (need.path.starts_with("fabric.switch_"))
        return std::ranges::any_of(platform.switches, switch_has_it);
    return need.is_met(config);
}

std::string reason(const Config& config, const Description& platform, const Key& key, Work work) {
    if (work == Work::of_drivers && is_of_workload(key.path))
        return "drivers elsewhere bring work of their own";
    if (auto why = reason_of_workload(config, key.path); !why.empty())
        return why;
    if (work == Work::of_drivers && is_of_processor(key.path))
        return "drivers elsewhere have a processor of their own";
    if (key.kind == Kind::time && !config.timed)
        return "timed is false";
    if (key.path == "fabric.reroute_ns" && config.written.failures.empty())
        return "no cable fails: there are no [[failures]]";
    if (platform.hcas.empty() &&
        (key.path.starts_with("hca.") || key.path.starts_with("simple.") || key.path.starts_with("link.")))
        return "the platform has no HCA";
    for (const auto& need : needs)
        if (is_meant(need, key.path) && !(is_switch(key.path) && need.path != key.path) &&
            !is_met_somewhere(need, config, platform))
            return std::string(need.why_not);
    return {};
}

} // namespace

std::vector<IdleKey> idle_keys(const Config& config, Work work) {
    static const Config defaults;
    const auto platform = describe(config);
    if (!platform)
        return {}; // it is refused, with what is wrong
    std::vector<IdleKey> idle;
    for (const auto& given : config.given) {
        const auto* key = find_key(given.path);
        if (key == nullptr || key->get(config) == key->get(defaults))
            continue;
        const auto again = std::ranges::find(idle, given.path, &IdleKey::path);
        if (again != idle.end())
            again->where = given.where; // of settings of the same key the last one counts
        else if (auto why = reason(config, *platform, *key, work); !why.empty())
            idle.push_back({given.path, given.where, std::move(why)});
    }
    return idle;
}

} // namespace platform::topology
