// ./dev bench: how fast the whole platform moves WRITEs from VRAM to VRAM, with the timing model off and on, beside
// memcpy in the same run; and what a message costs in each room. `./dev bench iommu`: see remapping.h; `./dev bench
// record`: see recording.h; `./dev bench nvme`: see drive_load.h; `./dev bench objects`: see object_load.h.
#include "testbench/bench/drive_load.h"
#include "testbench/harness/isolate.h"
#include "testbench/bench/object_load.h"
#include "testbench/bench/recording.h"
#include "testbench/bench/remapping.h"
#include "testbench/bench/write_load.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <systemc>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Case {
    const char* key; ///< of the JSON; "_timed" is appended with the timing model on
    const char* text;
    bench::Load load;
    bool is_ratio; ///< the JSON has the ratio to memcpy instead of messages a second
};

const std::array cases{
    Case{"write_8b_qd64_per_s", "8 B, depth 64", {.message_bytes = 8, .depth = 64}, false},
    Case{"write_8b_qd1_per_s", "8 B, depth 1", {.message_bytes = 8, .depth = 1}, false},
    Case{"write_8b_qd64_64qp_per_s",
         "8 B, depth 64, 64 queue pairs",
         {.message_bytes = 8, .depth = 64, .queue_pairs = 64},
         false},
    Case{"write_64k_over_memcpy", "64 KiB, depth 16", {.message_bytes = 64 << 10, .depth = 16}, true},
    Case{"write_64k_64qp_over_memcpy",
         "64 KiB, depth 4, 64 queue pairs",
         {.message_bytes = 64 << 10, .depth = 4, .queue_pairs = 64},
         true},
    Case{"write_1m_over_memcpy", "1 MiB, depth 4", {.message_bytes = 1 << 20, .depth = 4}, true},
};

std::string rate(double bytes_per_s) { return fmt::format("{:.2f} GB/s", bytes_per_s / 1e9); }

/// The room that speaks with the event of this type, in the order of traces::Event.
constexpr std::array rooms{
    "driver, doorbell",
    "doorbell (ignored)",
    "completion (arm)",
    "queue/scheduler",
    "queue/wqe_reader",
    "queue (state)",
    "tpt/translate",
    "tpt (refused)",
    "port/dma, pcie: read",
    "port/dma, pcie: write",
    "requester/packetize",
    "net/link, wire",
    "wire (dropped)",
    "net (fault)",
    "responder",
    "responder (duplicate)",
    "responder (NAK)",
    "requester/answers",
    "requester/retry",
    "completion/cqe_writer",
    "completion (overrun)",
    "event/event_queue",
    "event/msix",
    "firmware",
    "umr",
    "umr (refused)",
    "umr (invalidated)",
    "firmware (refused)",
    "completion (error)",
    "iommu (fault)",
    "iommu (queue)",
    "pcie (blocked)",
    "paging",
    "paging (answer)",
    "ownership (stale)",
    "pcie (write lost)",
    "net (forwarded)",
    "hca/ingress (frame dropped)",
    "nvme (doorbell)",
    "nvme (doorbell ignored)",
    "nvme (fetched)",
    "nvme (refused)",
    "nvme (completed)",
    "nvme (state)",
    "nvme (failed)",
    "nvme (namespace)",
    "nvme (event reported)",
    "hca/event (lost)",
};
static_assert(rooms.size() == bench::event_types);

void print_rooms(const char* title, const bench::RoomCosts& costs) {
    fmt::print("\nwhat a message costs in each room, {}: ns of wall time (events)\n", title);
    for (std::size_t i = 0; i < rooms.size(); ++i)
        if (costs.events[i] > 0.01)
            fmt::print("  {:<24} {:>8.1f}  ({:.2f})\n", rooms[i], costs.nanoseconds[i], costs.events[i]);
    fmt::print("  {:<24} {:>8.1f}  (each reading of the clock, {:.1f} ns, is taken off)\n", "sum", costs.total_ns,
               costs.probe_ns);
}

} // namespace

int sc_main(int argc, char** argv) {
    CLI::App app{"measures WRITEs from VRAM to VRAM through the whole platform"};
    std::string json;
    std::vector<std::string> only;
    double seconds = 0.5;
    unsigned samples = 5;
    app.add_option("--json", json, "write the figures to this file");
    app.add_option("--seconds", seconds, "wall time of one sample")->check(CLI::Range(0.01, 60.0));
    app.add_option("--samples", samples, "samples of each case; the median counts")->check(CLI::Range(1, 99));
    std::vector<std::string> keys;
    for (const char* suffix : {"", "_timed"})
        for (const auto& one : cases)
            keys.push_back(one.key + std::string(suffix));
    app.add_option("--only", only, "measure this case only, by its JSON key, and no room costs; may be repeated")
        ->check(CLI::IsMember(keys));
    unsigned accesses = 100'000;
    auto* iommu = app.add_subcommand(
        "iommu", "random accesses to host memory through the remapping unit, beside published figures");
    iommu->add_option("--accesses", accesses, "accesses of each measurement")->check(CLI::Range(1000, 10'000'000));
    std::string directory = std::filesystem::temp_directory_path().string();
    auto* record = app.add_subcommand("record", "what it costs to record a loop of WRITEs, which does nothing else");
    record->add_option("--into", directory,
                       "where the recordings are written, and removed (default: for temporary "
                       "files)");
    auto* nvme = app.add_subcommand("nvme", "commands of a drive a second, by our own driver, beside memcpy");
    bench::ObjectNumbers numbers;
    auto* objects =
        app.add_subcommand("objects", "time and memory of memory keys and queue pairs, while few and while many exist");
    objects->add_option("--keys", numbers.keys, "memory keys")->check(CLI::Range(100, 1'048'000));
    objects->add_option("--queue-pairs", numbers.queue_pairs, "queue pairs")->check(CLI::Range(100, 130'000));
    CLI11_PARSE(app, argc, argv);
    if (record->parsed()) {
        fmt::print("{}", bench::measure_recording(directory, seconds, samples));
        return 0;
    }
    if (nvme->parsed()) {
        fmt::print("{}", bench::measure_drive(seconds, samples));
        return 0;
    }
    if (objects->parsed()) {
        fmt::print("{}", bench::measure_objects(numbers));
        return 0;
    }
    if (iommu->parsed()) {
        const auto report = bench::measure_remapping(accesses);
        fmt::print("{}", report.text);
        return report.is_near ? 0 : 1;
    }

    std::vector<std::pair<std::string, double>> figures;
    fmt::print("{:<32} {:<7} {:>12} {:>12} {:>12} {:>8} {:>12} {:>9} {:>6}\n", "WRITE", "timing", "messages/s", "bytes",
               "memcpy", "ratio", "simulated", "packets", "ACKs");
    for (const bool timed : {false, true}) {
        for (const auto& one : cases) {
            const auto key = std::string(one.key) + (timed ? "_timed" : "");
            if (!only.empty() && std::ranges::find(only, key) == only.end())
                continue;
            auto load = one.load;
            load.timed = timed;
            load.seconds = seconds;
            load.samples = samples;
            const auto measured = harness::in_process_of_its_own([&] { return bench::measure(load); });
            if (!measured) {
                fmt::print(stderr, "bench: '{}' failed\n", one.text);
                return 1;
            }
            fmt::print("{:<32} {:<7} {:>12.0f} {:>12} {:>12} {:>8.3f} {:>12} {:>9.2f} {:>6.2f}\n", one.text,
                       timed ? "on" : "off", measured->messages_per_s, rate(measured->bytes_per_s),
                       rate(measured->memcpy_bytes_per_s), measured->over_memcpy,
                       timed ? rate(measured->sim_bytes_per_s) : "-", measured->packets_per_message,
                       measured->acks_per_message);
            std::fflush(stdout);
            figures.emplace_back(key, one.is_ratio ? measured->over_memcpy : measured->messages_per_s);
        }
    }
    for (const auto& [title, index] : {std::pair{"8 B, depth 64", 0}, std::pair{"64 KiB, depth 16", 3}}) {
        if (!only.empty())
            break;
        auto load = cases[static_cast<std::size_t>(index)].load;
        load.seconds = seconds;
        if (const auto costs = harness::in_process_of_its_own([&] { return bench::measure_rooms(load); }))
            print_rooms(title, *costs);
    }
    if (!json.empty()) {
        std::ofstream file(json);
        file << "{\n";
        for (std::size_t i = 0; i < figures.size(); ++i)
            file << fmt::format("  \"{}\": {:.6g}{}\n", figures[i].first, figures[i].second,
                                i + 1 < figures.size() ? "," : "");
        file << "}\n";
        if (!file.flush()) {
            fmt::print(stderr, "bench: {} cannot be written\n", json);
            return 1;
        }
    }
    return 0;
}
