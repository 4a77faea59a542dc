#include "testbench/scenario/storage_stream_run.h"

#include "model/tlm/time.h"
#include "platform/topology/description.h"
#include "platform/topology/platform_module.h"
#include "testbench/harness/cable_address.h"
#include "testbench/harness/host_functions.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/nvme_run.h"
#include "testbench/scenario/roles.h"
#include "testbench/scenario/runs.h"
#include "testbench/scenario/storage_stream.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>

namespace scenario {

using platform::topology::Description;
using platform::topology::PartAt;
using platform::topology::Platform;

namespace {

struct Side {
    PartAt hca, gpu, drive;
};

/// The first two hosts that have all three.
std::vector<Side> find_sides(const Description& described) {
    std::vector<Side> sides;
    for (std::size_t host = 0; host < described.hosts.size() && sides.size() < 2; ++host) {
        const auto [hca, gpu, drive] = first_parts(described, host);
        if (hca && gpu && drive)
            sides.push_back({*hca, *gpu, *drive});
    }
    return sides;
}

/// One host's program.
sw::Result<void> take_part(Platform& platform, const Side& side, OutOfBand& peer, bool begins,
                           const StreamOptions& options, StreamReport& report) {
    const auto functions = harness::HostFunctions::open(*platform.machines()[side.hca.host].host);
    if (!functions)
        return std::unexpected(functions.error());
    auto &hca_card = platform.card(side.hca), &gpu_card = platform.card(side.gpu);
    const auto drive_bdf = platform.card(side.drive).bdf();
    const auto hca = (*functions)->function(hca_card.bdf()), gpu = (*functions)->function(gpu_card.bdf()),
               drive = (*functions)->function(drive_bdf);
    for (const auto* one : {&hca, &gpu, &drive})
        if (!*one)
            return std::unexpected(one->error());
    const StreamMachine machine{.name = platform.description().hosts[side.hca.host].name,
                                .gid = harness::cable_address(static_cast<unsigned>(hca_card.number),
                                                              is_ipv6(platform.description(), side.hca)),
                                .hca = **hca,
                                .gpu = **gpu,
                                .drive = **drive,
                                .peer = peer,
                                .vram = [&](std::uint64_t at) { return gpu_card.vram().bytes().subspan(at); },
                                .filled = [&](std::uint64_t at, std::uint64_t bytes) { gpu_card.filled(at, bytes); }};
    return begins ? stream_from(machine, options, report) : stream_to(machine, options, report);
}

} // namespace

std::expected<void, std::string> storage_stream_fits(const platform::topology::Config& config,
                                                     std::uint64_t payload_bytes) {
    const auto described = platform::topology::describe(config).value();
    const auto sides = find_sides(described);
    if (sides.size() < 2)
        return std::unexpected(std::string("fewer than two hosts have a GPU, an HCA and a drive: parts such as "
                                           "\"root0.sw0.gpu0\", \"root0.sw0.hca0\" and \"root0.sw0.nvme0\""));
    for (const auto& side : sides)
        if (const auto ours = is_driven_here(described, side.drive); !ours)
            return ours;
    constexpr std::uint64_t page = 4096, most_slots = 1024;
    if (config.scenario.message_bytes % page != 0)
        return std::unexpected(
            fmt::format("scenario.message = {} is not whole pages of {} bytes", config.scenario.message_bytes, page));
    if (config.scenario.queue_depth > most_slots)
        return std::unexpected(fmt::format("scenario.queue_depth = {} is more than the {} chunks that this scenario "
                                           "has on their way",
                                           config.scenario.queue_depth, most_slots));
    if (config.scenario.queue_pairs != 1)
        return std::unexpected(
            fmt::format("scenario.qps = {}: this scenario has one queue pair", config.scenario.queue_pairs));
    for (const auto& side : sides)
        if (const auto vram = described.part(side.gpu).gpu().vram_bytes;
            config.scenario.message_bytes > vram / config.scenario.queue_depth)
            return std::unexpected(fmt::format("{} chunks of scenario.message = {} bytes (scenario.queue_depth) do not "
                                               "fit into the {} bytes of {}",
                                               config.scenario.queue_depth, config.scenario.message_bytes, vram,
                                               described.name_of(side.gpu)));
    if (payload_bytes == 0)
        return std::unexpected(std::string("the payload is empty"));
    for (const auto& side : sides)
        if (const auto fit = payload_fits_drive(described, side.drive, payload_bytes); !fit)
            return fit;
    return {};
}

std::expected<Result, std::string> run_storage_stream(const Context& context) {
    const auto& config = context.config;
    if (const auto fit = storage_stream_fits(config, context.payload.size()); !fit)
        return std::unexpected(fit.error());
    const auto wall_begin = std::chrono::steady_clock::now();
    const auto described = platform::topology::describe(config).value();
    const auto sides = find_sides(described);
    std::optional<Platform> built;
    if (const auto done = build(built, context, context.events); !done)
        return std::unexpected(done.error());
    Result result;
    result.scenario = config.scenario.name;
    result.payload_bytes = context.payload.size();
    MovedPayload before, after;
    std::chrono::steady_clock::time_point stream_begin{}, stream_end{};
    StreamReport report;
    const StreamOptions options{.payload = context.payload,
                                .chunk_bytes = config.scenario.message_bytes,
                                .slots = config.scenario.queue_depth,
                                .mtu_bytes = config.scenario.mtu_bytes,
                                .boundary =
                                    [&](bool is_over) {
                                        (is_over ? after : before) = moved_payload(*built);
                                        (is_over ? stream_end : stream_begin) = std::chrono::steady_clock::now();
                                    },
                                .progress = [&](std::string_view step, std::uint64_t done,
                                                std::uint64_t all) { context.tell(step, done, all); }};
    run_pair(
        context, {described.hosts[sides[0].hca.host].name, described.hosts[sides[1].hca.host].name},
        [&](unsigned i, OutOfBand& peer) { return take_part(*built, sides[i], peer, i == 0, options, report); },
        result);
    count(*built, result);
    (after - before).show(result);
    result.sha256_source = report.source_sha256;
    result.sha256_target = report.target_sha256;
    const bool is_equal = !report.source_sha256.empty() && report.source_sha256 == report.target_sha256;
    if (result.failure.empty() && !is_equal)
        result.failure = "what the second drive has differs from what the first one had";
    result.verified = result.failure.empty();
    const auto names =
        std::array{fmt::format("read {}", described.name_of(sides[0].drive)),
                   fmt::format("WRITE {} -> {}", described.name_of(sides[0].gpu), described.name_of(sides[1].gpu)),
                   fmt::format("write {}", described.name_of(sides[1].drive))};
    const std::array stages{report.read, report.wire, report.write};
    for (std::size_t i = 0; i < stages.size(); ++i)
        result.transfers.push_back({.name = names[i],
                                    .verified = is_equal,
                                    .sha256_target = report.target_sha256,
                                    .bytes = stages[i].bytes,
                                    .messages = stages[i].chunks,
                                    .completions_ok = stages[i].chunks,
                                    .sim_time_ps = stages[i].took().count() * 1000,
                                    .wall_seconds = std::chrono::duration<double>(stream_end - stream_begin).count()});
    auto& wire = result.transfers[1]; // nothing else is on it
    wire.packets = result.wire_packets;
    wire.retries = result.retries;
    wire.timeouts = result.timeouts;
    wire.rnr_waits = result.rnr_waits;
    wire.naks = result.naks;
    result.sim_time_ps = model::tlm::kernel_now().count();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    return result;
}

} // namespace scenario
