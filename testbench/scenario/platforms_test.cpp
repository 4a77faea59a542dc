// Platforms of many parts: bytes go from any GPU to any other one, by the ways that their places in tree and fabric
// leave, and what is built costs no more than what is used.
#include "platform/topology/platform_module.h"
#include "platform/topology/read.h"
#include "testbench/harness/heap.h"
#include "testbench/harness/source_tree.h"
#include "testbench/scenario/gpudirect_run.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <systemc>

using platform::topology::PartKind;

namespace {

platform::topology::Config platform_file(const std::string& name, const std::vector<std::string>& overrides) {
    const auto config =
        platform::topology::read_config(testbench::source_tree() + "/platform/configs/" + name + ".toml", overrides);
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    return *config;
}

scenario::Result moved(const std::string& name, const std::vector<std::string>& overrides) {
    const auto config = platform_file(name, overrides);
    std::vector<std::byte> bytes(300'001);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
    const scenario::PayloadSource payload{std::span<const std::byte>(bytes)};
    platform::observe::Sources sources;
    auto result = scenario::run_gpudirect({.config = config, .payload = payload, .sources = sources});
    REQUIRE(result.has_value());
    CHECK(result->failure.empty());
    CHECK(result->verified);
    CHECK(result->host_dram_payload_bytes == 0);
    return *result;
}

std::uint64_t payload_on(const scenario::Result& result, std::string_view link) {
    const auto found = std::ranges::find(result.pcie_links, link, &scenario::PcieLink::name);
    REQUIRE(found != result.pcie_links.end());
    return found->payload_up + found->payload_down;
}

std::uint64_t bytes_on(const scenario::Result& result, std::string_view wire) {
    const auto found = std::ranges::find(result.wires, wire, &scenario::Wire::name);
    REQUIRE(found != result.wires.end());
    return found->bytes;
}

constexpr std::uint64_t most = 300'000; ///< a pass of the payload is more than this

} // namespace

TEST_CASE("a GPU below the HCA's own switch is reached without the root complex", "[scenario][platforms]") {
    const auto result = moved("gpu_server", {"scenario.from=A.gpu1", "scenario.to=B.gpu0"});

    CHECK(result.transfers.at(0).name == "WRITE A.gpu1 -> B.gpu0");
    CHECK(result.transfers.at(1).name == "READ B.gpu0 -> A.gpu1");
    CHECK(result.redirected_payload_bytes == 0);
    CHECK(result.p2p_payload_bytes >= 6 * most);
    CHECK(payload_on(result, "A.gpu1") > 3 * most);
    CHECK(payload_on(result, "A.sw0.upstream") < most);
    CHECK(payload_on(result, "A.gpu0") < most);
    CHECK(bytes_on(result, "A.hca0 -> rail.1") > 2 * most);
    CHECK(bytes_on(result, "A.hca1 -> rail.2") == 0);
}

TEST_CASE("a GPU below another root port is reached through the root complex", "[scenario][platforms]") {
    const auto result = moved("gpu_server", {"scenario.from=A.gpu0", "scenario.through=A.hca3", "scenario.to=B.gpu7"});

    CHECK(payload_on(result, "A.sw0.upstream") > 2 * most);
    CHECK(payload_on(result, "A.sw3.upstream") > 2 * most);
    CHECK(payload_on(result, "B.sw3.upstream") < most);
    CHECK(bytes_on(result, "A.hca3 -> rail.4") > 2 * most);
}

TEST_CASE("two GPUs of one server reach each other by two of its HCAs", "[scenario][platforms]") {
    const auto result = moved("gpu_server", {"scenario.from=A.gpu2", "scenario.to=A.gpu5"});

    CHECK(bytes_on(result, "A.hca1 -> rail.2") > 2 * most);
    CHECK(bytes_on(result, "A.hca2 -> rail.3") > most);
    CHECK(bytes_on(result, "B.hca0 -> rail.5") == 0);
}

TEST_CASE("two GPUs of one server behind a remapping unit reach each other", "[scenario][platforms]") {
    moved("gpu_server", {"scenario.from=A.gpu0", "scenario.to=A.gpu7", "iommu.present=true", "host.acs=redirect"});
}

TEST_CASE("a GPU goes by an HCA of another socket at both ends", "[scenario][platforms]") {
    moved("gpu_server", {"scenario.from=B.gpu6", "scenario.through=B.hca0", "scenario.to=A.gpu1",
                         "scenario.to_through=A.hca2", "timed=false"});
}

TEST_CASE("hosts of one leaf reach each other by it alone", "[scenario][platforms]") {
    const auto result = moved("two_levels", {"scenario.from=F.gpu0", "scenario.to=H.gpu0"});

    CHECK(bytes_on(result, "F.hca0 -> leaf1.2") > 2 * most);
    CHECK(bytes_on(result, "leaf1.5 -> spine0.2") == 0);
    CHECK(bytes_on(result, "leaf1.6 -> spine1.2") == 0);
}

TEST_CASE("hosts of two leaves reach each other by a spine", "[scenario][platforms]") {
    const auto result = moved("two_levels", {"scenario.from=A.gpu0", "scenario.to=P.gpu0"});

    CHECK(bytes_on(result, "A.hca0 -> leaf0.1") > 2 * most);
    CHECK(bytes_on(result, "leaf0.5 -> spine0.1") + bytes_on(result, "leaf0.6 -> spine1.1") > 2 * most);
    CHECK(bytes_on(result, "P.hca0 -> leaf3.4") > most);
    CHECK(bytes_on(result, "B.hca0 -> leaf0.2") == 0);
}

TEST_CASE("a slow cable at the far end holds the sender back through every switch, and nothing is lost",
          "[scenario][platforms][credits]") {
    const auto result = moved(
        "two_levels", {"scenario.from=A.gpu0", "scenario.to=P.gpu0", "link.credit_blocks=132", "cable15.rate_gbps=10"});

    CHECK(result.retries == 0);
    CHECK(result.packets_dropped == 0);
    const auto wire = std::ranges::find(result.wires, "A.hca0 -> leaf0.1", &scenario::Wire::name);
    REQUIRE(wire != result.wires.end());
    CHECK(wire->waited_ps > 0);
    const auto held_back = std::ranges::find(result.bottlenecks, wire->name, &scenario::Bottleneck::device);
    REQUIRE(held_back != result.bottlenecks.end());
    CHECK(held_back->waited_for == "credit blocks");
    const auto slow = std::ranges::find(result.wires, "leaf3.4 -> P.hca0", &scenario::Wire::name);
    REQUIRE(slow != result.wires.end());
    CHECK(slow->waited_ps == 0);
}

TEST_CASE("each exception by name reaches the part that is built", "[scenario][platforms]") {
    const auto config =
        platform_file("gpu_server", {"A.hca1.mtt_cache_entries=64", "B.gpu3.vram=4 MiB", "A.gpu7.pcie.width=4",
                                     "A.sw2.pcie.generation=3", "B.memory=128 MiB"});
    platform::observe::Sources sources;
    platform::topology::Platform platform(config, nullptr, sources);

    CHECK(platform.card("B.gpu3").vram().bytes().size() == 4 << 20);
    CHECK(platform.card("B.gpu2").vram().bytes().size() == 1 << 30);
    CHECK(platform.machine("A").host->slot_link(platform.card("A.gpu7").slot)->config().width == 4);
    CHECK(platform.machine("A").host->slot_link(platform.card("A.gpu6").slot)->config().width == 16);
    CHECK(platform.machine("A").host->upstream_link(2)->config().generation == 3);
    CHECK(platform.machine("A").host->upstream_link(1)->config().generation == 4);
    CHECK(platform.machine("B").host->config().memory_bytes == 128 << 20);
    CHECK(platform.card("A.root1.sw1.hca1").name == "A.hca1");
    CHECK(platform.card("A.hca1").path == "A.root1.sw1.hca1");
    CHECK(sources.size() ==
          16 + 8 + 1 + 8 + 2); // HCAs with their functions, cables, rail, PCIe switches, root complexes
}

TEST_CASE("enumeration finds every card of a server and gives each its addresses", "[scenario][platforms]") {
    const auto config = platform_file("gpu_server", {});
    platform::observe::Sources sources;
    platform::topology::Platform platform(config, nullptr, sources);

    sc_core::sc_start(sc_core::SC_ZERO_TIME);

    for (auto& machine : platform.machines()) {
        const auto& found = machine.host->enumeration();
        CHECK(found.problems.empty());
        std::vector<std::uint16_t> numbers;
        for (const auto& card : machine.cards) {
            const auto* function = found.find(card.bdf());
            REQUIRE(function != nullptr);
            CHECK((function->device_id == 0x101b) == (card.kind == PartKind::hca));
            numbers.push_back(card.bdf().value);
        }
        std::ranges::sort(numbers);
        CHECK(std::ranges::adjacent_find(numbers) == numbers.end());
        CHECK(numbers.size() == 12);
    }
}

TEST_CASE("a part of any kind in the table of devices is built", "[scenario][platforms]") {
    const auto config = platform::topology::parse_config(
        "[[hosts]]\nname = \"A\"\nparts = [\"root0.sw0.copy0..1\", { path = \"root1.copy2\", pcie.width = 4 }]\n",
        "copies.toml", {});
    REQUIRE(config.has_value());
    platform::observe::Sources sources;
    platform::topology::Platform platform(*config, nullptr, sources);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);

    auto& host = *platform.machine("A").host;
    for (const auto* name : {"A.copy0", "A.copy1", "A.copy2"})
        CHECK(host.enumeration().find(platform.card(name).bdf()) != nullptr);
    CHECK(host.slot_link(platform.card("A.copy2").slot)->config().width == 4);
    CHECK(host.slot_link(platform.card("A.copy1").slot)->config().width == 16);
    CHECK(platform.is_quiet());
}

TEST_CASE("64 hosts with an HCA and a GPU each elaborate in less than 64 MiB", "[scenario][platforms]") {
    const auto before = harness::heap_bytes();
    const auto config = platform::topology::parse_config(
        "[link]\nencapsulation = \"infiniband\"\n[gpu]\nvram = \"256 MiB\"\n[[hosts]]\nname = \"node\"\ncount = 64\n"
        "parts = [\"root0.sw0.hca0\", \"root0.sw0.gpu0\"]\n[fabric]\n"
        "switches = [{ name = \"leaf0..3\", ports = 20 }, { name = \"spine0..3\", ports = 4 }]\n"
        "cables = [\"node0..63.hca0 -- leaf0..3\", \"leaf0..3 >< spine0..3\"]\n",
        "many.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    platform::observe::Sources sources;
    platform::topology::Platform platform(*config, nullptr, sources);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);

    CHECK(harness::heap_bytes() - before < 64U << 20);
    for (auto& machine : platform.machines()) {
        CHECK(machine.host->memory().allocated_bytes() == 0);
        CHECK(machine.host->enumeration().functions.size() == 6); // root port, switch of three ports, two cards
    }
    CHECK(sources.size() == 64 * 4 + 80 + 8);
}
