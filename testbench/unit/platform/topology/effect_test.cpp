#include "platform/topology/effect.h"

#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>

using namespace platform::topology;

namespace {

/// "where path" of each.
std::vector<std::string> idle(std::string_view text, const std::vector<std::string>& overrides = {},
                              Work work = Work::of_scenario) {
    const auto config = parse_config(text, "p2p.toml", overrides);
    REQUIRE(config.has_value());
    std::vector<std::string> found;
    for (const auto& key : idle_keys(*config, work)) {
        CHECK_FALSE(key.why.empty());
        found.push_back(key.where + " " + key.path);
    }
    return found;
}
using Found = std::vector<std::string>;

} // namespace

TEST_CASE("what nobody has set, and what has its default, is not named", "[unit][topology]") {
    CHECK(idle("").empty());
    CHECK(idle("[link]\nseed = 1\nloss = 0.0\n[fabric]\nswitch_ports = 8\n").empty());
}

TEST_CASE("a key that changes nothing is named where it stands, with what it lacks", "[unit][topology]") {
    CHECK(idle("[link]\nseed = 2\n") == Found{"p2p.toml:2 link.seed"});
    CHECK(idle("[link]\nseed = 2\nloss = 0.1\n").empty());
    CHECK(idle("[link]\nseed = 2\n", {"link.seed=3"}) == Found{"--set link.seed"});
    CHECK(idle("[fabric]\nswitch_ports = 4\nswitch_latency_ns = 1\n") ==
          Found{"p2p.toml:2 fabric.switch_ports", "p2p.toml:3 fabric.switch_latency_ns"});
    CHECK(idle("[fabric]\nswitch = true\nswitch_ports = 4\n[link]\nencapsulation = \"infiniband\"\n").empty());
    CHECK(idle("", {"link.reorder_depth=2"}) == Found{"--set link.reorder_depth"});
    CHECK(idle("", {"iommu.walkers=2"}) == Found{"--set iommu.walkers"});
    CHECK(idle("", {"iommu.walkers=2", "iommu.present=true"}).empty());
    CHECK(idle("", {"iommu.present=true", "iommu.iotlb_entries=0", "iommu.iotlb_ways=2"}) ==
          Found{"--set iommu.iotlb_ways"});
    CHECK(idle("", {"iommu.present=true", "iommu.pasid_entries=32"}) == Found{"--set iommu.pasid_entries"});
    CHECK(idle("", {"iommu.present=true", "iommu.first_stage=true"}) == Found{"--set iommu.first_stage"});
    CHECK(idle("", {"iommu.present=true", "iommu.page_requests=true"}) == Found{"--set iommu.page_requests"});
    CHECK(idle("", {"hca.page_requests=true"}) == Found{"--set hca.page_requests"});
    CHECK(idle("", {"hca.cache_ways=1", "hca.qp_cache_entries=0", "hca.cq_cache_entries=0", "hca.srq_cache_entries=0",
                    "hca.mkey_cache_entries=0", "hca.mtt_cache_entries=0"}) == Found{"--set hca.cache_ways"});
    CHECK(
        idle("timed = false\n", {"pcie.device.tags=8", "hca.miss_engines=1", "hca.units=2", "hca.atomic_buckets=1"}) ==
        Found{"--set pcie.device.tags", "--set hca.miss_engines", "--set hca.units", "--set hca.atomic_buckets"});
    CHECK(idle("timed = false\n",
               {"host.bar.loads=1", "host.bar.store_gbps=1", "host.bar.posted=1", "host.bar.load=8"}) ==
          Found{"--set host.bar.loads", "--set host.bar.store_gbps", "--set host.bar.posted"});
    CHECK(idle("", {"hca.device_tlb_ways=2"}) == Found{"--set hca.device_tlb_ways"});
    CHECK(idle("", {"hca.device_tlb_entries=64"}) == Found{"--set hca.device_tlb_entries"});
    CHECK(idle("", {"hca.device_tlb_entries=64", "iommu.present=true", "iommu.device_tlb=true"}).empty());
    CHECK(idle("", {"link.credit_blocks=128"}) == Found{"--set link.credit_blocks"});
    CHECK(idle("timed = false\n", {"pcie.device.nonposted_credits=8", "pcie.upstream.nonposted_credits=8",
                                   "pcie.upstream.completion_credits=64"}) ==
          Found{"--set pcie.device.nonposted_credits", "--set pcie.upstream.nonposted_credits",
                "--set pcie.upstream.completion_credits"});
    CHECK(idle("[fabric]\nswitch = true\n", {"fabric.switch_hoq_life=10", "fabric.switch_vl_stall_count=1"}) ==
          Found{"--set fabric.switch_hoq_life", "--set fabric.switch_vl_stall_count"});
    CHECK(idle("[fabric]\nswitch = true\n[link]\nencapsulation = \"infiniband\"\n",
               {"fabric.switch_hoq_life=10", "fabric.switch_vl_stall_count=1"})
              .empty());
    CHECK(idle("[fabric]\nswitch = true\n[link]\nencapsulation = \"infiniband\"\n",
               {"fabric.switch_hoq_life=20", "fabric.switch_vl_stall_count=1"}) ==
          Found{"--set fabric.switch_vl_stall_count"});
    CHECK(idle("", {"hca.adaptive_retransmission=true"}).empty());
    CHECK(idle("", {"hca.adaptive_retransmission=true", "link.encapsulation=infiniband"}) ==
          Found{"--set hca.adaptive_retransmission"});
    CHECK(idle("", {"hca.adaptive_retransmission_tries=3", "hca.adaptive_retransmission_ns=1000000"}) ==
          Found{"--set hca.adaptive_retransmission_tries", "--set hca.adaptive_retransmission_ns"});
    CHECK(idle("", {"link.credit_blocks=128", "link.encapsulation=infiniband"}).empty());
    CHECK(idle("", {"traffic.batch=2"}) == Found{"--set traffic.batch"});
    CHECK(idle("", {"traffic.batch=2", "scenario.name=traffic"}).empty());
    CHECK(idle("", {"traffic.batch=2", "scenario.name=traffic"}, Work::of_drivers).size() == 2);
    CHECK(idle("", {"collective.warm_up=2", "kv.keys=2"}) == Found{"--set collective.warm_up", "--set kv.keys"});
    for (const std::string name : {"allreduce", "alltoall", "parameter_server"})
        CHECK(idle("", {"collective.warm_up=2", "traffic.page=8192", "traffic.memory=vram", "kv.keys=2",
                        "traffic.batch=2", "scenario.name=" + name}) == Found{"--set kv.keys", "--set traffic.batch"});
    CHECK(idle("", {"collective.algorithm=tree", "scenario.name=allreduce"}).empty());
    CHECK(idle("", {"collective.algorithm=tree", "scenario.name=alltoall"}) == Found{"--set collective.algorithm"});
    CHECK(idle("", {"collective.servers=A", "scenario.name=parameter_server"}).empty());
    CHECK(idle("", {"collective.servers=A", "scenario.name=allreduce"}) == Found{"--set collective.servers"});
    CHECK(idle("", {"kv.keys=2", "traffic.page=8192", "traffic.memory=vram", "traffic.verify=false",
                    "collective.warm_up=2", "scenario.name=kv"}) ==
          Found{"--set traffic.memory", "--set traffic.verify", "--set collective.warm_up"});
    for (const std::string name : {"storage", "checkpoint"})
        CHECK(idle("", {"storage.warm_up=2", "checkpoint.warm_up=2", "traffic.reads=2", "traffic.intervals=7",
                        "traffic.page=8192", "kv.keys=2", "scenario.name=" + name}) ==
              Found{name == "storage" ? "--set checkpoint.warm_up" : "--set storage.warm_up", "--set traffic.page",
                    "--set kv.keys"});
    CHECK(idle("", {"storage.warm_up=2", "checkpoint.warm_up=2"}) ==
          Found{"--set storage.warm_up", "--set checkpoint.warm_up"});
    CHECK(idle("", {"storage.warm_up=2", "scenario.name=storage"}, Work::of_drivers).size() == 2);
    CHECK(idle("", {"collective.warm_up=2", "kv.keys=2", "scenario.name=kv"}, Work::of_drivers).size() == 3);
    CHECK(idle("", {"link.credit_blocks=128", "link.encapsulation=infiniband", "timed=false"}) ==
          Found{"--set link.credit_blocks"});
    CHECK(idle("", {"host.peer_forwarding=false"}) == Found{"--set host.peer_forwarding"});
    CHECK(idle("", {"host.peer_forwarding=false", "host.acs=redirect"}).empty());
}

TEST_CASE("without simulated time no latency changes anything", "[unit][topology]") {
    CHECK(idle("timed = false\n[link]\nlatency_ns = 7\nrate_gbps = 1\n") ==
          Found{"p2p.toml:3 link.latency_ns", "p2p.toml:4 link.rate_gbps"});
    CHECK(idle("[link]\nlatency_ns = 7\n").empty());
}

TEST_CASE("a platform that is served has no use for a workload", "[unit][topology]") {
    CHECK(idle("[scenario]\nqps = 2\n", {}, Work::of_drivers) == Found{"p2p.toml:2 scenario.qps"});
    CHECK(idle("[scenario]\nqps = 2\n").empty());
}

TEST_CASE("what a processor costs has no effect where drivers have one of their own", "[unit][topology]") {
    for (const std::string key : {"host.post_ns", "host.poll_ns", "host.interrupt_ns", "host.bar.loads"}) {
        CHECK(idle("", {key + "=7"}, Work::of_drivers) == Found{"--set " + key});
        CHECK(idle("", {key + "=7"}).empty());
    }
}

TEST_CASE("the largest read of a switch's own link has no effect", "[unit][topology]") {
    CHECK(idle("[pcie.upstream]\nmrrs = 1024\n") == Found{"p2p.toml:2 pcie.upstream.mrrs"});
    CHECK(idle("[pcie.device]\nmrrs = 1024\n").empty());
}

namespace {

/// Two hosts with an HCA each, as somebody has written them.
constexpr std::string_view written = "[[hosts]]\nname = \"A..B\"\nparts = [\"root0.sw0.hca0\"]\n"
                                     "[fabric]\ncables = [\"A.hca0 -- B.hca0\"]\n";

} // namespace

TEST_CASE("hosts that somebody has written have keys without effect as the pair has", "[unit][topology]") {
    const std::string base(written);

    CHECK(idle(base, {"fabric.switch_pfc=false"}) == Found{"--set fabric.switch_pfc"});
    CHECK(idle(base, {"iommu.iotlb_entries=5"}) == Found{"--set iommu.iotlb_entries"});
    CHECK(idle(base, {"link.seed=3"}) == Found{"--set link.seed"});
    CHECK(idle(base, {"hca.dcqcn.rpg_ai_rate=7"}) == Found{"--set hca.dcqcn.rpg_ai_rate"});
    CHECK(idle(base, {"link.encapsulation=infiniband", "hca.congestion_control=dcqcn"}) ==
          Found{"--set hca.congestion_control"});
    CHECK(idle(base, {"hca.congestion_control=dcqcn", "hca.dcqcn.rpg_ai_rate=7"}).empty());
    CHECK(idle(base, {"timed=false", "link.rate_gbps=10"}) == Found{"--set link.rate_gbps"});
}

TEST_CASE("a key has an effect as soon as one part has what it needs", "[unit][topology]") {
    const std::string base(written);

    CHECK(idle(base, {"iommu.iotlb_entries=5", "B.iommu.present=true"}).empty());
    CHECK(idle(base, {"link.seed=3", "cable0.loss=0.1"}).empty());
    CHECK(idle(base, {"hca.dcqcn.rpg_ai_rate=7", "B.hca0.congestion_control=dcqcn"}).empty());
    CHECK(idle("[fabric]\nswitch = true\n", {"link.seed=3", "A.hca.mtt_cache_entries=64"}) == Found{"--set link.seed"});
}

TEST_CASE("a platform without HCAs has no use for their keys, nor for those of cables", "[unit][topology]") {
    CHECK(idle("[[hosts]]\nname = \"A\"\nparts = [\"root0.gpu0\"]\n", {"hca.mtt_cache_entries=64", "link.loss=0.1"}) ==
          Found{"--set hca.mtt_cache_entries", "--set link.loss"});
}

TEST_CASE("keys of the scenario are named where the chosen one does not look at them", "[unit][topology]") {
    for (const std::string name : {"kv", "storage", "traffic"})
        CHECK(
            idle("", {"scenario.from=A.gpu", "scenario.through=A.hca", "scenario.to=B.gpu", "scenario.to_through=B.hca",
                      "scenario.adversary=true", "scenario.omit=x", "scenario.seed=2", "scenario.name=" + name}) ==
            Found{"--set scenario.from", "--set scenario.through", "--set scenario.to", "--set scenario.to_through",
                  "--set scenario.adversary", "--set scenario.omit"});
    CHECK(idle("", {"scenario.from=A.gpu", "scenario.through=A.hca", "scenario.seed=2"}) ==
          Found{"--set scenario.seed"});
    CHECK(idle("", {"scenario.through=A.gpu", "scenario.name=remote_storage"}).empty());
    CHECK(idle("", {"scenario.adversary=true", "scenario.seed=2", "scenario.name=gpu_rdma"}).empty());
}
