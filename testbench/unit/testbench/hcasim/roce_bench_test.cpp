// Captured requests, a responder that answers them, and the recording of it.
#include "testbench/hcasim/roce_bench.h"

#include "platform/card/mlx5_device.h"
#include "platform/record/replay.h"
#include "testbench/unit/platform/importer/capture_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace capture_bench;
using Catch::Matchers::ContainsSubstring;
namespace record = platform::record;

namespace {

struct Driven {
    hcasim::Answers answers;
    std::uint64_t written_bytes = 0;
    Bytes trace;
    hcasim::Responder responder;
};
std::expected<Driven, std::string> drive(const std::vector<Written>& frames) {
    const auto file = pcap_of(frames);
    const auto open = opened(file);
    const auto demand = read_demand(open, {});
    if (!demand)
        return std::unexpected(demand.error());
    auto destination = std::make_unique<trace_bench::MemoryDestination>();
    auto* bytes = destination.get();
    hcasim::WrittenBytes written;
    Driven driven{.answers = {}, .trace = {}, .responder = hcasim::responder_for(*demand)};
    record::Recording recording(driven.responder.recording, std::move(destination), "trace");
    const auto answers = hcasim::drive_responder(driven.responder, open, *demand, recording, written);
    if (!answers)
        return std::unexpected(answers.error());
    driven.answers = *answers;
    driven.written_bytes = written.bytes;
    REQUIRE(recording.close());
    driven.trace = bytes->bytes;
    return driven;
}
Driven driven(const std::vector<Written>& frames) {
    auto result = drive(frames);
    if (!result)
        FAIL(result.error());
    return std::move(*result);
}

} // namespace

TEST_CASE("a responder does what captured requests ask for, over either IP", "[unit][importer]") {
    Requester requester(GENERATE(Encapsulation::roce_v2_ipv4, Encapsulation::roce_v2_ipv6));
    auto frames = requester.write(3);
    frames.push_back({.frame = requester.next(Operation::read_request, 0, 2000, 2)});
    frames.push_back({.frame = requester.next(Operation::send_only, 100)});
    frames.push_back({.frame = requester.next(Operation::write_only_with_immediate, 8, 8)});
    frames.push_back({.frame = requester.next(Operation::fetch_add, 0)});
    append(frames, requester.write(1));

    const auto result = driven(frames);
    const auto& answers = result.answers;

    CHECK(answers.sent == 8);
    CHECK(answers.naks.empty());
    CHECK(answers.rnr_naks == 0);
    CHECK(answers.acks > 0);
    CHECK(answers.read_bytes == 2000);
    CHECK(answers.received == 2);
    CHECK(result.written_bytes >= 4 * 1024 + 8u);
}

TEST_CASE("more receives than a queue holds are posted as they are used", "[unit][importer]") {
    Requester requester;
    std::vector<Written> frames;
    for (int i = 0; i < 200; ++i)
        frames.push_back({.frame = requester.next(Operation::send_only, 16)});

    const auto answers = driven(frames).answers;

    CHECK(answers.received == 200);
    CHECK(answers.rnr_naks == 0);
}

TEST_CASE("a responder goes on behind a gap of the capture", "[unit][importer]") {
    Requester requester;
    auto frames = requester.write(2);
    auto broken = requester.write(3);
    broken.erase(broken.begin() + 1);
    append(frames, broken);
    append(frames, requester.write(2));

    const auto result = driven(frames);
    const auto& answers = result.answers;

    CHECK(answers.naks.empty());
    CHECK(result.written_bytes == 4 * 1024u);
    CHECK(answers.losses.messages == 1);
}

TEST_CASE("what a responder has done for a capture plays again, bit for bit", "[unit][importer]") {
    Requester requester;
    auto frames = requester.write(3);
    frames.push_back({.frame = requester.next(Operation::read_request, 0, 2000, 2), .time_ns = 5'000'000'000});

    const auto result = driven(frames);

    trace_bench::MemorySource source(result.trace);
    traces::codec::Reader reader(source);
    REQUIRE(reader.open());
    CHECK(reader.head().configuration == result.responder.recording.configuration);
    CHECK(reader.head().interfaces.at(0).name == result.responder.part);
    record::Replay replay(reader, {.functions = {0}, .ports = {{1, Encapsulation::roce_v2_ipv4}}},
                          record::Replay::Mode::strict);
    platform::card::Mlx5Device device(result.responder.core, replay.ports(), {});
    const auto played = replay.run(device);
    CHECK((played.divergence ? played.divergence->text() : "") == "");
    CHECK((played.fault ? played.fault->text() : "") == "");
    CHECK(played.calls > 50);
}

TEST_CASE("requests for more memory than a responder has are refused", "[unit][importer]") {
    Requester requester;
    std::vector<Written> frames{{.frame = requester.next(Operation::write_only, 8, 8)},
                                {.frame = requester.next(Operation::read_request, 0, 0x7fff'ffff, 1)}};

    const auto result = drive(frames);

    REQUIRE_FALSE(result);
    CHECK_THAT(result.error(), ContainsSubstring("key 0xabcd") && ContainsSubstring("memory of 1073741824 bytes"));
}
