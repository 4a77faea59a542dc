// A payload that goes piece by piece: what is said about it is said of the whole, and a piece whose bytes did not come
// is seen, whatever lay in memory before.
#include "platform/topology/platform_module.h"
#include "testbench/harness/cable_address.h"
#include "testbench/harness/host_functions.h"
#include "testbench/scenario/gpudirect.h"
#include "testbench/scenario/gpudirect_drive.h"
#include "testbench/scenario/programs.h"
#include "testbench/scenario/sha256.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace scenario;
using platform::topology::Platform;

namespace {

constexpr std::uint64_t piece = 64 << 10, message = 16 << 10;
constexpr std::uint64_t payload = 2 * piece + 5000; // three pieces, the last message short

using Bytes = std::vector<std::byte>;

/// Every piece has the bytes of the one before: what a lost piece leaves behind looks like what it should have brought.
Bytes alike() {
    Bytes bytes(payload);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(((i % piece) * 7 + (i % piece) / 256 + 1) & 0xff);
    return bytes;
}

platform::topology::Config small() {
    platform::topology::Config config;
    config.gpu.vram_bytes = 1 << 20;
    config.timed = config.hca.timed = config.link.timed = false;
    return config;
}

/// Two hosts and the programs on them.
struct Streaming {
    explicit Streaming(const Bytes& bytes) {
        options.payload = PayloadSource(std::span(bytes));
        options.message_bytes = message;
        options.most_piece_bytes = piece;
        for (unsigned i = 0; i < 2; ++i)
            programs.add("program_" + seats[i].machine.name, [this, i] { take_part(i); });
    }
    void take_part(unsigned i) {
        auto& seat = seats[i];
        const auto functions = harness::HostFunctions::open(*seat.machine.host);
        const auto hca = (*functions)->function(seat.hca.bdf()), gpu = (*functions)->function(seat.gpu.bdf());
        const Machine host{.name = seat.machine.name,
                           .gid = harness::cable_address(i, false),
                           .hca = **hca,
                           .gpu = **gpu,
                           .peer = queues.end(i),
                           .vram = [&](std::uint64_t at) {
                               if (before_look)
                                   before_look(i);
                               return vram(i).subspan(at);
                           }};
        const auto outcome = i == 0 ? initiate(host, options, report) : respond(host, options);
        if (!outcome && failure.empty())
            failure = outcome.error().what;
        queues.close(i);
    }
    std::span<std::byte> vram(unsigned i) { return seats[i].gpu.vram().bytes(); }

    platform::observe::Sources sources;
    Platform platform{small(), nullptr, sources};
    std::array<platform::topology::Seat, 2> seats{platform.seat("A.hca", "A.gpu"), platform.seat("B.hca", "B.gpu")};
    GpuDirectOptions options;
    GpuDirectReport report;
    MessageQueues queues;
    Programs programs;
    std::function<void(unsigned machine)> before_look; ///< of a program at its GPU's memory
    std::string failure;
};

/// The second piece of a step is as if nothing of it had come to machine `where`; which steps are then found to be
/// right.
std::array<bool, 3> verified_without(std::size_t step, unsigned where) {
    const auto bytes = alike();
    Streaming two(bytes);
    unsigned begun = 0;
    Bytes before;
    two.options.boundary = [&](std::size_t number, bool is_over) {
        if (number == step && !is_over && ++begun == 2)
            before.assign(two.vram(where).begin(), two.vram(where).end());
    };
    two.before_look = [&](unsigned machine) {
        if (machine == where)
            std::ranges::copy(std::exchange(before, {}), two.vram(where).begin());
    };

    REQUIRE(two.programs.run());

    CHECK(two.failure.empty());
    CHECK(begun == 3);
    CHECK(two.report.source_sha256 == sha256(bytes));
    const auto& steps = two.report.steps;
    return {steps[0].is_verified, steps[1].is_verified, steps[2].is_verified};
}

} // namespace

TEST_CASE("a payload of several pieces is counted and hashed as a whole", "[scenario][streaming]") {
    auto bytes = alike();
    std::ranges::generate(bytes, [n = 0u]() mutable { return static_cast<std::byte>(n++ * 2654435761u >> 24); });
    Streaming two(bytes);
    std::vector<std::uint64_t> progress;
    two.options.progress = [&](std::string_view step, std::uint64_t done, std::uint64_t all) {
        CHECK(all == payload);
        if (step == "WRITE")
            progress.push_back(done);
    };

    REQUIRE(two.programs.run());

    CHECK(two.failure.empty());
    CHECK(two.report.source_sha256 == sha256(bytes));
    for (const auto& step : two.report.steps) {
        CHECK(step.is_verified);
        CHECK(step.sha256 == sha256(bytes));
        CHECK(step.bytes == payload);
        CHECK(step.messages == 9);
    }
    CHECK(std::ranges::is_sorted(progress));
    CHECK(progress.back() == payload);
}

TEST_CASE("a piece that WRITEs did not bring is seen, although the piece before had the same bytes",
          "[scenario][streaming]") {
    CHECK(verified_without(0, 1) == std::array{false, false, true}); // READs bring back what is there
}

TEST_CASE("a piece that READs did not bring is seen, although the piece before had the same bytes",
          "[scenario][streaming]") {
    CHECK(verified_without(1, 0) == std::array{true, false, true});
}

TEST_CASE("a piece that SENDs did not bring is seen, although the WRITEs had brought the same bytes",
          "[scenario][streaming]") {
    CHECK(verified_without(2, 1) == std::array{true, true, false});
}
