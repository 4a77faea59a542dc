// A run of whole hosts recorded at every device: each of them plays its part again alone, bit for bit and at the same
// times.
#include "platform/topology/read.h"
#include "testbench/harness/recorded_platform.h"
#include "testbench/harness/source_tree.h"
#include "testbench/scenario/registry.h"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

namespace {

/// Runs the scenario of a file, and plays each device of it; returns what differs.
std::string played(const std::string& file, const std::vector<std::string>& overrides, std::size_t bytes) {
    const auto config =
        platform::topology::read_config(testbench::source_tree() + "/platform/configs/" + file + ".toml", overrides);
    INFO((config ? "" : config.error()));
    REQUIRE(config);
    std::vector<std::byte> payload(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        payload[i] = static_cast<std::byte>(i * 7 + i / 251);
    harness::RecordedPlatform recorded(*config);
    platform::observe::Sources sources;
    const auto result = scenario::find_scenario(config->scenario.name)
                            ->run({.config = *config,
                                   .payload = scenario::PayloadSource{std::span<const std::byte>(payload)},
                                   .sources = sources,
                                   .events = recorded.recording.events(),
                                   .recording = &recorded.recording});
    REQUIRE(result);
    REQUIRE(result->failure == "");
    return recorded.play_all();
}

} // namespace

TEST_CASE("each device of a run in simulated time plays its part again", "[scenario][record]") {
    CHECK(played("gpudirect", {"scenario.message=64 KiB", "gpu.vram=64 MiB"}, 1'000'001) == "");
}

TEST_CASE("each device of a run without time plays its part again", "[scenario][record]") {
    CHECK(played("gpudirect", {"timed=false", "scenario.message=64 KiB", "gpu.vram=64 MiB"}, 1'000'001) == "");
}

TEST_CASE("each device plays its part again behind a lossy cable and a remapping unit", "[scenario][record]") {
    CHECK(played("gpudirect",
                 {"link.loss=0.01", "link.reorder=0.01", "link.corrupt=0.01", "iommu.present=true", "gpu.vram=64 MiB",
                  "scenario.mtu=1024"},
                 500'001) == "");
}
