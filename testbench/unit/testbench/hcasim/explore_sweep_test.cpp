#include "testbench/hcasim/explore_sweep.h"

#include "testbench/scenario/race_rdma.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace hcasim;
using scenario::race::rdma;

namespace {

bool has(const Variant& variant, const std::string& key) {
    return std::ranges::find(variant.overrides, key) != variant.overrides.end();
}
std::size_t count(const std::vector<Variant>& all, const std::string& key) {
    return static_cast<std::size_t>(std::ranges::count_if(all, [&](const Variant& one) { return has(one, key); }));
}

} // namespace

TEST_CASE("a sweep has each combination of latency, rate, fabric and remapping", "[unit][hcasim][explore]") {
    const auto all = variants(rdma(), Sweep::all, {});

    CHECK(all.size() == 3 * 2 * 2 * 2);
    CHECK(count(all, "link.latency_ns=30000") == 8);
    CHECK(count(all, "link.rate_gbps=1") == 12);
    CHECK(count(all, "fabric.switch=true") == 12);
    CHECK(count(all, "iommu.present=true") == 12);
    std::set<std::vector<std::string>> different;
    for (const auto& one : all)
        different.insert(one.overrides);
    CHECK(different.size() == all.size());
}

TEST_CASE("a switch is between InfiniBand ports, and a cable between Ethernet ports", "[unit][hcasim][explore]") {
    for (const auto& one : variants(rdma(), Sweep::all, {}))
        CHECK(has(one, "fabric.switch=true") == has(one, "link.encapsulation=infiniband"));
}

TEST_CASE("what somebody sets is held while the rest is swept", "[unit][hcasim][explore]") {
    const std::vector<std::string> latency{"link.latency_ns=2500"}, other{"link.latency_ns=77"},
        ports{"link.encapsulation=roce_v2_ipv6"};

    CHECK(variants(rdma(), Sweep::all, latency).size() == 8);
    CHECK(count(variants(rdma(), Sweep::all, other), "link.latency_ns=500") == 0);
    CHECK(variants(rdma(), Sweep::all, other).size() == 8);
    CHECK(count(variants(rdma(), Sweep::all, ports), "fabric.switch=true") == 0);
    CHECK(variants(rdma(), Sweep::all, ports).size() == 12);
}

TEST_CASE("pairs are few variants that have each two settings together", "[unit][hcasim][explore]") {
    const auto all = variants(rdma(), Sweep::all, {}), few = variants(rdma(), Sweep::pairs, {});

    const auto pairs_of = [](const std::vector<Variant>& some) {
        std::set<std::pair<std::pair<std::size_t, unsigned>, std::pair<std::size_t, unsigned>>> pairs;
        for (const auto& one : some)
            for (std::size_t i = 0; i < one.settings.size(); ++i)
                for (std::size_t j = 0; j < i; ++j)
                    pairs.insert({{i, one.settings[i]}, {j, one.settings[j]}});
        return pairs;
    };
    CHECK(pairs_of(few) == pairs_of(all));
    CHECK(few.size() < all.size() / 2);
}

TEST_CASE("two transfers by one key and two importers take turns, unless somebody says how many",
          "[unit][hcasim][explore]") {
    const std::vector<std::string> said{"scenario.qps=3"};
    const auto all = variants(rdma(), Sweep::all, {});

    CHECK(count(all, "scenario.qps=2") == 8);
    CHECK(std::ranges::count(all, 2u, &Variant::importers) == 8);
    for (const auto* setting : {"fabric.switch=true", "iommu.present=true", "link.rate_gbps=1"})
        CHECK(std::ranges::any_of(all, [&](const Variant& one) { return has(one, setting) && one.importers == 2; }));
    CHECK(count(variants(rdma(), Sweep::all, said), "scenario.qps=2") == 0);
    CHECK(std::ranges::count(variants(rdma(), Sweep::all, said), 1u, &Variant::importers) == 24);
    CHECK(std::ranges::count(variants(rdma(), Sweep::all, {}, 3), 3u, &Variant::importers) == 24);
    CHECK(variants(rdma(), Sweep::none, {}).size() == 1);
    CHECK(variants(rdma(), Sweep::none, {}).front().overrides.empty());
}

TEST_CASE("an explored configuration takes the smallest steps, and what somebody sets", "[unit][hcasim][explore]") {
    const std::vector<std::string> mine{"hca.packets_per_turn=3"}, wrong{"hca.packets_per_turn=0"};
    const auto swept = variants(rdma(), Sweep::all, {}).back();

    CHECK(explored(rdma(), swept, {}, 20000)->hca.packets_per_turn == 1);
    CHECK(explored(rdma(), swept, {}, 20000)->link.quantum == model::port::Time{});
    CHECK(explored(rdma(), swept, {}, 20000)->fabric.has_switch);
    CHECK(explored(rdma(), swept, mine, 20000)->hca.packets_per_turn == 3);
    CHECK(explored(rdma(), swept, {}, 20000)->gpu.vram_bytes == 1 << 20);
    CHECK(explored(rdma(), swept, {}, 4 << 20)->gpu.vram_bytes == 32 << 20);
    CHECK_FALSE(explored(rdma(), swept, wrong, 20000));
}

TEST_CASE("keys of another workload are refused by the explorer", "[unit][hcasim][explore]") {
    const auto plain = variants(rdma(), Sweep::none, {}).front();
    for (const std::string one : {"scenario.name=kv", "traffic.messages=3", "storage.warm_up=2"}) {
        const auto config = explored(rdma(), plain, std::vector{one}, 20000);
        REQUIRE_FALSE(config);
        CHECK(config.error().starts_with("--set " + one + ": the explorer has transfers of its own"));
    }
    CHECK(explored(rdma(), plain, std::vector<std::string>{"scenario.qps=2"}, 20000));
}

TEST_CASE("a host that is served is not explored", "[unit][hcasim][explore]") {
    const std::vector<std::string> served{"B.served=true"};

    CHECK(explored(rdma(), variants(rdma(), Sweep::none, {}).front(), served, 20000).error() ==
          "host B is served: its drivers are elsewhere, and the explorer has its own; leave B.served out");
}
