#include "platform/topology/keys.h"

#include "platform/topology/contradictions.h"
#include "platform/topology/read.h"

#include "model/pcie/link.h"
#include "model/pcie/root_complex.h"

#include <catch2/catch_test_macros.hpp>

#include <set>

using namespace platform::topology;

TEST_CASE("every default satisfies its own key", "[unit][topology]") {
    const Config defaults;

    for (const auto& key : keys()) {
        INFO(key.path);
        CHECK(check(key, key.get(defaults)).has_value());
    }
}

TEST_CASE("every key sets a member of its own, and gives back both ends of its range", "[unit][topology]") {
    const auto before = effective(Config{});
    // The older key says of the newer one whether it is "dcqcn".
    const std::set<std::string_view> one_member{"hca.dcqcn.enabled", "hca.congestion_control"};
    std::set<std::string_view> paths;
    for (const auto& key : keys()) {
        INFO(key.path);
        CHECK(paths.insert(key.path).second);
        std::vector<Value> values;
        if (key.kind == Kind::boolean)
            values = {true, false};
        else if (!key.limits.names.empty())
            values = {std::string(key.limits.names.front()), std::string(key.limits.names.back())};
        else if (!key.limits.choices.empty())
            values = {key.limits.choices.front(), key.limits.choices.back()};
        else if (key.kind == Kind::text)
            values = {std::string("x"), std::string("y")};
        else if (key.kind == Kind::number)
            values = {key.limits.minimum, key.limits.maximum};
        else
            values = {static_cast<std::int64_t>(key.limits.minimum), static_cast<std::int64_t>(key.limits.maximum)};
        for (const auto& value : values) {
            REQUIRE(check(key, value).has_value());
            Config config;
            key.set(config, value);
            CHECK(key.get(config) == value);
            const auto after = effective(config);
            for (std::size_t i = 0; i < before.size(); ++i)
                if (before[i].first != key.path &&
                    !(one_member.contains(before[i].first) && one_member.contains(key.path)))
                    CHECK(after[i] == before[i]);
        }
    }
}

TEST_CASE("whatever PCIe link a configuration may ask for can be built", "[unit][topology]") {
    const auto is_buildable = [](const PcieLinkConfig& config) {
        const model::pcie::LinkConfig link{.generation = config.generation,
                                           .width = config.width,
                                           .max_payload = config.mps_bytes,
                                           .max_read_request = config.mrrs_bytes,
                                           .tags = config.tags,
                                           .posted_credits = config.posted_credits,
                                           .nonposted_credits = config.nonposted_credits,
                                           .completion_credits = config.completion_credits,
                                           .latency = config.latency};
        return model::pcie::find_fault(link) == nullptr;
    };
    for (const auto& key : keys()) {
        if (!key.path.starts_with("pcie."))
            continue;
        INFO(key.path);
        for (std::int64_t value = 0; value <= 8192; ++value) { // beyond every whole-number range of these
            if (!check(key, value).has_value())
                continue;
            Config config;
            key.set(config, value);
            INFO(value);
            if (!contradictions(config).empty())
                continue;
            CHECK((is_buildable(config.device_link) && is_buildable(config.upstream_link)));
        }
    }
    CHECK(check(*find_key("pcie.device.generation"), std::int64_t{5}).has_value());
    CHECK(check(*find_key("pcie.upstream.generation"), std::int64_t{6}).error() ==
          "= 6 is out of range, allowed is 1 to 5");
}

TEST_CASE("the largest DRAM ends below the windows of devices", "[unit][topology]") {
    for (const auto* path : {"host.A.memory", "host.B.memory"}) {
        const auto bytes = static_cast<std::uint64_t>(find_key(path)->limits.maximum);
        const model::pcie::MemoryMap map{.dram_bytes = bytes};
        CHECK(map.high_dram_range().end <= map.high_mmio.begin);
    }
}

TEST_CASE("a value beyond its range is refused with the range", "[unit][topology]") {
    const auto* loss = find_key("link.loss");
    const auto* mtu = find_key("scenario.mtu");
    const auto* vram = find_key("gpu.vram");
    const auto* encapsulation = find_key("link.encapsulation");
    REQUIRE((loss && mtu && vram && encapsulation));

    CHECK(check(*loss, 3.0).error() == "= 3 is out of range, allowed is 0 to 1");
    CHECK(check(*mtu, std::int64_t{1500}).error() ==
          "= 1500 is out of range, allowed is one of 256 512 1024 2048 4096");
    CHECK(check(*vram, std::int64_t{3} << 20).error() ==
          "= 3 MiB is out of range, allowed is a power of two from 1 MiB to 256 GiB");
    CHECK(check(*encapsulation, std::string("roce")).error() ==
          "= roce is out of range, allowed is one of roce_v2 roce_v2_ipv6 infiniband");
    CHECK_FALSE(check(*find_key("scenario.qps"), std::int64_t{-1}).has_value());
    CHECK_FALSE(check(*find_key("gpu.vram"), std::int64_t{-1}).has_value());
}

TEST_CASE("a mistyped key is near to the right one, nonsense to none", "[unit][topology]") {
    CHECK(nearest_key("link.los") == "link.loss");
    CHECK(nearest_key("link.rate") == "link.rate_gbps");
    CHECK(nearest_key("host.A.memroy") == "host.A.memory");
    CHECK(nearest_key("gpu.loss") == "link.loss");
    CHECK(nearest_key("loss") == "link.loss");
    CHECK(nearest_key("scenario.queuedepth") == "scenario.queue_depth");
    CHECK(nearest_key("tiemd") == "timed");
    CHECK(nearest_key("link.xyzzyx").empty());
}

TEST_CASE("the listing names every key with its range and default", "[unit][topology]") {
    const auto text = print_keys();

    for (const auto& key : keys()) {
        CHECK(text.find(key.path) != text.npos);
        CHECK(text.find(key.help) != text.npos);
        CHECK(text.find(print_limits(key)) != text.npos);
    }
    CHECK(text.find("one of 256 512 1024 2048 4096; default 4096") != text.npos);
}

TEST_CASE("a configuration that is printed reads back as the same one", "[unit][topology]") {
    Config config;
    config.link.loss = 0.015625;
    config.link.latency = model::port::Time{1'500};
    config.scenario.payload = "a \"quoted\"\tname\\";
    config.hosts[1].memory_bytes = 65ULL << 20;
    config.timed = false;

    const auto read = parse_config(print_toml(config), "printed.toml", {});

    REQUIRE(read.has_value());
    CHECK(effective(*read) == effective(config));
}

TEST_CASE("the listing for programs has numbers with their unit", "[unit][topology]") {
    const auto text = keys_as_json();

    for (const auto& key : keys())
        CHECK(text.find("\"" + std::string(key.path) + "\": {") != text.npos);
    CHECK(text.find("\"kind\": \"time_ns\",\n    \"help\": \"propagation, one way\",\n    \"default\": 500,") !=
          text.npos);
    CHECK(name_in_json(*find_key("host.A.memory")) == "host.A.memory_bytes");
    CHECK(name_in_json(*find_key("scenario.mtu")) == "scenario.mtu_bytes");
    CHECK(name_in_json(*find_key("link.latency_ns")) == "link.latency_ns");
}
