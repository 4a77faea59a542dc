#include "testbench/bench/recording.h"

#include "platform/record/recording.h"
#include "platform/topology/description.h"
#include "platform/topology/what_to_record.h"
#include "testbench/harness/isolate.h"
#include "testbench/bench/sampling.h"
#include "testbench/bench/write_load.h"

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

namespace bench {

namespace {

struct Case {
    const char* text;
    std::uint32_t message_bytes, depth;
    bool is_all_different;
};
constexpr std::array cases{
    Case{"8 B, depth 64", 8, 64, false},
    Case{"64 KiB, depth 16, all the same", 64 << 10, 16, false},
    Case{"64 KiB, depth 16, all different", 64 << 10, 16, true},
};

/// What is recorded, and how much of it.
struct What {
    const char* text;
    const char* at; ///< as `--at` has it; nullptr: nothing
};
constexpr std::array whats{What{"nothing", nullptr}, What{"one HCA", "A.hca"}, What{"its port", "A.hca.port1"},
                           What{"all", "all"}};

struct Taken {
    Measured measured;
    double file_bytes;
};

Taken take(Load load, const char* at, const std::string& path) {
    if (at == nullptr)
        return {measure(load), 0};
    platform::topology::Config config;
    const auto description = platform::topology::describe(config).value();
    auto chosen = platform::topology::choose_recorded(description, std::array{std::string(at)});
    if (!chosen)
        give_up(chosen.error());
    auto recording = platform::record::Recording::create(path, {.revision = "bench",
                                                                .configuration = {},
                                                                .subjects = std::move(chosen->subjects),
                                                                .has_events = chosen->has_events});
    if (!recording)
        give_up(recording.error());
    load.recording = recording->get();
    Taken taken{measure(load), 0};
    if (const auto closed = (*recording)->close(); !closed)
        give_up(closed.error());
    taken.file_bytes = static_cast<double>(std::filesystem::file_size(path));
    return taken;
}

} // namespace

std::string measure_recording(const std::string& directory, double seconds, unsigned samples) {
    auto text = fmt::format("{:<32} {:<7} {:<9} {:>12} {:>12} {:>16} {:>8}\n", "WRITE", "timing", "recorded",
                            "messages/s", "bytes", "file, a message", "time");
    const auto path = fmt::format("{}/hcasim-bench-{}", directory, ::getpid());
    for (const bool timed : {false, true})
        for (const auto& one : cases) {
            double bare = 0;
            for (const auto& what : whats) {
                Load load{.message_bytes = one.message_bytes, .depth = one.depth};
                load.timed = timed;
                load.seconds = seconds;
                load.samples = samples;
                load.is_all_different = one.is_all_different;
                const auto taken = harness::in_process_of_its_own([&] { return take(load, what.at, path); });
                std::filesystem::remove(path);
                if (!taken)
                    give_up(fmt::format("'{}' failed", one.text));
                const auto rate = taken->measured.messages_per_s;
                bare = what.at == nullptr ? rate : bare;
                text += fmt::format("{:<32} {:<7} {:<9} {:>12.0f} {:>7.2f} GB/s {:>14.0f} B {:>7.2f}x\n", one.text,
                                    timed ? "on" : "off", what.text, rate, taken->measured.bytes_per_s / 1e9,
                                    taken->file_bytes / taken->measured.messages, bare / rate);
            }
        }
    return text;
}

} // namespace bench
