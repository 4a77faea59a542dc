#include "testbench/scenario/gpudirect_fit.h"

#include "testbench/scenario/endpoint.h"
#include "testbench/scenario/gpudirect.h"

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
    CHECK(refusal(config, (1 << 19) + 1) == "the payload, 524289 bytes, does not fit twice into gpu.vram = 1 MiB; "
                                            "choose a smaller --payload or a larger gpu.vram");
    CHECK(refusal(config, 0).find("empty") != std::string::npos);
}

TEST_CASE("of a payload that is moved in pieces, a piece fits twice into VRAM", "[unit][scenario]") {
    Config config;
    config.gpu.vram_bytes = 128ULL << 20;
    CHECK(refusal(config, 1ULL << 43).find("messages") != std::string::npos); // and not the memory
    CHECK(refusal(config, 1ULL << 30).empty());

    config.gpu.vram_bytes = 64ULL << 20;

    CHECK(refusal(config, 1ULL << 30)
              .starts_with("a piece of the payload, 67108864 bytes, does not fit twice into gpu.vram = 64 MiB"));
}

TEST_CASE("pieces are whole messages, the last one shorter, and a message larger than a piece is one",
          "[unit][scenario]") {
    scenario::GpuDirectOptions options{.payload = {1000, nullptr}, .message_bytes = 30, .most_piece_bytes = 100};
    CHECK(options.piece_bytes() == 90);
    CHECK(options.largest_piece_bytes() == 90);
    CHECK(options.piece_at(90).bytes == 90);
    CHECK_FALSE(options.is_last(options.piece_at(900)));
    CHECK(options.piece_at(990).bytes == 10);
    CHECK(options.is_last(options.piece_at(990)));

    options.message_bytes = 400;
    CHECK(options.piece_bytes() == 400);
    options.payload = {20, nullptr};
    CHECK(options.largest_piece_bytes() == 20);
    CHECK(options.is_last(options.piece_at(0)));
}

TEST_CASE("a payload of more messages than one waits for is refused with the message size that would do",
          "[unit][scenario]") {
    Config config;
    config.scenario.message_bytes = 1;

    CHECK(refusal(config, scenario::max_messages).empty());
    CHECK(refusal(config, 10'000'000).find("a scenario.message of 3 bytes or more") != std::string::npos);
    config.scenario.message_bytes = 3;
    CHECK(refusal(config, 10'000'000).empty());
}

TEST_CASE("queue pairs are those whose numbers the firmware gives, not all that have so many bits",
          "[unit][scenario]") {
    Config config;
    config.hca.log_max_qp = 4;
    config.scenario.queue_pairs = 8;
    CHECK(refusal(config).empty());

    config.scenario.queue_pairs = 9;

    CHECK(refusal(config) == "scenario.qps = 9 is more than the 8 queue pairs of hca.log_max_qp = 4; choose fewer or a "
                             "larger hca.log_max_qp");
}

TEST_CASE("a completion queue takes what all queue pairs have under way", "[unit][scenario]") {
    Config config;
    config.hca.log_max_cq_size = 10;
    config.scenario.message_bytes = 1;
    config.scenario.queue_depth = 64;
    config.scenario.queue_pairs = 16;
    CHECK(refusal(config).empty());

    config.scenario.queue_pairs = 17;

    CHECK(refusal(config).ends_with("choose less or a hca.log_max_cq_size of 11"));
    CHECK(refusal(config, 1024).empty()); // there are no more messages than that
}

TEST_CASE("queues are as deep as there are messages for them, and no deeper than asked", "[unit][scenario]") {
    const auto needed = [](std::uint64_t payload, std::uint32_t depth, std::uint32_t qps) {
        return scenario::Endpoint::needed(
            {.payload = {payload, nullptr}, .message_bytes = 1, .queue_depth = depth, .queue_pairs = qps});
    };
    CHECK(needed(10'000, 8192, 4).depth == 2500);
    CHECK(needed(10'001, 8192, 4).depth == 2501); // the first queue pair has one more
    CHECK(needed(10'000, 64, 4).depth == 64);
    CHECK(needed(10'000, 64, 4).completions == 256);
    CHECK(needed(10'000, 64, 1000).completions == 10'000);
    CHECK(needed(10, 64, 1).depth == 32); // less saves nothing: a ring has a page
    CHECK(needed(10, 8, 1).depth == 8);
    CHECK(needed(0, 64, 4).depth == 64); // nobody has said what is to be moved
}

TEST_CASE("the rings of all queue pairs have room in the DRAM of both hosts", "[unit][scenario]") {
    Config config;
    config.scenario.message_bytes = 1;
    config.scenario.queue_pairs = 4096;
    config.hosts[1].memory_bytes = 128 << 20;
    CHECK(refusal(config).empty());

    config.hosts[1].memory_bytes = 64 << 20;

    CHECK(refusal(config).find("host.B.memory is 64 MiB") != std::string::npos);
}
