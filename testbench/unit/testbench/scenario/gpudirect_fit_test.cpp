#include "testbench/scenario/gpudirect_fit.h"

#include <catch2/catch_test_macros.hpp>

using platform::topology::Config;
using scenario::fits;

namespace {

/// The refusal of a payload of `bytes`, or an empty text.
std::string refusal(const Config& config, std::uint64_t bytes = 1 << 20) {
    const auto fit = fits(config, bytes);
    return fit ? "" : fit.error();
}

} // namespace

TEST_CASE("a payload fits twice into VRAM, and is not empty", "[unit][scenario]") {
    Config config;
    config.gpu.vram_bytes = 1 << 20;

    CHECK(refusal(config, 1 << 19).empty());
    CHECK(refusal(config, (1 << 19) + 1) ==
          "the payload, 524289 bytes, does not fit twice into gpu.vram = 1 MiB; choose a smaller --payload or a larger gpu.vram");
    CHECK(refusal(config, 0).find("empty") != std::string::npos);
}

TEST_CASE("a payload of more messages than one waits for is refused with the message size that would do", "[unit][scenario]") {
    Config config;
    config.scenario.message_bytes = 1;

    CHECK(refusal(config, scenario::max_messages).empty());
    CHECK(refusal(config, 10'000'000).find("a scenario.message of 3 bytes or more") != std::string::npos);
    config.scenario.message_bytes = 3;
    CHECK(refusal(config, 10'000'000).empty());
}

TEST_CASE("queue pairs are those whose numbers the firmware gives, not all that have so many bits", "[unit][scenario]") {
    Config config;
    config.hca.log_max_qp = 4;
    config.scenario.queue_pairs = 8;
    CHECK(refusal(config).empty());

    config.scenario.queue_pairs = 9;

    CHECK(refusal(config) == "scenario.qps = 9 is more than the 8 queue pairs of hca.log_max_qp = 4; choose fewer or a larger hca.log_max_qp");
}

TEST_CASE("a completion queue takes what all queue pairs have under way", "[unit][scenario]") {
    Config config;
    config.hca.log_max_cq_size = 10;
    config.scenario.queue_depth = 64;
    config.scenario.queue_pairs = 16;
    CHECK(refusal(config).empty());

    config.scenario.queue_pairs = 17;

    CHECK(refusal(config).ends_with("choose less or a hca.log_max_cq_size of 11"));
}

TEST_CASE("the rings of all queue pairs have room in the DRAM of both hosts", "[unit][scenario]") {
    Config config;
    config.scenario.queue_pairs = 4096;
    config.hosts[1].memory_bytes = 128 << 20;
    CHECK(refusal(config).empty());

    config.hosts[1].memory_bytes = 64 << 20;

    CHECK(refusal(config).find("host.B.memory is 64 MiB") != std::string::npos);
}
