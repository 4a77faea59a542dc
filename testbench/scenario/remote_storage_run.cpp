#include "testbench/scenario/remote_storage_run.h"

#include "model/nvme/config.h"
#include "model/tlm/time.h"
#include "platform/topology/description.h"
#include "platform/topology/platform_module.h"
#include "testbench/harness/host_functions.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/nvme_run.h"
#include "testbench/scenario/remote_storage.h"
#include "testbench/scenario/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace scenario {

using platform::topology::Description;
using platform::topology::PartAt;
using platform::topology::Platform;

namespace {

struct Side {
    PartAt hca;
    std::optional<PartAt> gpu{}, drive{};
};

/// The first host with an HCA and a drive, and the first other one with an HCA.
std::optional<std::array<Side, 2>> find_sides(const Description& described) {
    std::vector<Side> targets, hosts;
    for (std::size_t host = 0; host < described.hosts.size(); ++host) {
        const auto [hca, gpu, drive] = first_parts(described, host);
        if (hca)
            (drive && targets.empty() ? targets : hosts).push_back({*hca, gpu, drive});
    }
    if (targets.empty() || hosts.empty())
        return std::nullopt;
    return std::array{targets.front(), hosts.front()};
}

const model::nvme::NvmeConfig& drive_of(const Description& described, const Side& side) {
    return described.part(*side.drive).other().as<model::nvme::NvmeConfig>();
}

/// Whose memory data pass at the target: what scenario.through names, else the GPU's, the drive's, or the host's, the
/// first that there is.
std::expected<TargetBuffers, std::string> find_buffers(const platform::topology::Config& config,
                                                       const Description& described, const Side& target) {
    const auto own = drive_of(described, target).memory_buffer;
    const auto& asked = config.scenario.through;
    if (asked.empty())
        return target.gpu ? TargetBuffers::vram : own != 0 ? TargetBuffers::drive : TargetBuffers::host;
    if (target.gpu && asked == described.name_of(*target.gpu))
        return TargetBuffers::vram;
    if (asked == described.hosts[target.hca.host].name)
        return TargetBuffers::host;
    if (asked != described.name_of(*target.drive))
        return std::unexpected(fmt::format("scenario.through = \"{}\": data pass memory of {}{}{} or {}", asked,
                                           target.gpu ? described.name_of(*target.gpu) : "", target.gpu ? ", " : "",
                                           described.name_of(*target.drive), described.hosts[target.hca.host].name));
    if (own < config.scenario.message_bytes)
        return std::unexpected(fmt::format("scenario.through = \"{}\", which has memory of {} bytes of its own (its "
                                           "key memory_buffer) for commands of scenario.message = {}",
                                           asked, own, config.scenario.message_bytes));
    return TargetBuffers::drive;
}

/// Whether what is on its way fits into VRAM.
std::expected<void, std::string> fits_vram(const platform::topology::Config& config, const Description& described,
                                           const Side& side) {
    const std::uint64_t commands = config.scenario.queue_depth * std::uint64_t{config.scenario.queue_pairs};
    const auto all = commands * std::bit_ceil(config.scenario.message_bytes);
    if (!side.gpu || all <= described.part(*side.gpu).gpu().vram_bytes)
        return {};
    return std::unexpected(fmt::format("{} commands of scenario.message = {} bytes (scenario.queue_depth times "
                                       "scenario.qps) do not fit into the {} bytes of {}",
                                       commands, config.scenario.message_bytes,
                                       described.part(*side.gpu).gpu().vram_bytes, described.name_of(*side.gpu)));
}

/// One host's program.
sw::Result<void> take_part(Platform& platform, const Side& side, bool is_target, OutOfBand& peer,
                           const RemoteOptions& options, RemoteReport& report) {
    const auto functions = harness::HostFunctions::open(*platform.machines()[side.hca.host].host);
    if (!functions)
        return std::unexpected(functions.error());
    auto cards =
        workload::DriveMachine::open(platform, **functions, {side.hca, side.gpu, is_target ? side.drive : std::nullopt},
                                     platform.description().hosts[side.hca.host].name);
    if (!cards)
        return std::unexpected(cards.error());
    const RemoteMachine machine{.cards = std::move(*cards), .peer = peer};
    return is_target ? serve_drive(machine, options, report) : use_remote_drive(machine, options, report);
}

/// What was counted while a file went one way.
struct Measured {
    std::array<MovedPayload, 2> moved{}; ///< by A's cards, by B's; without capsules
    Totals totals{};
    sw::nvmf::TargetCounters stages{};
    double wall_seconds = 0;
};

/// Looks at both hosts when a phase begins, and when it is over.
class Meter {
public:
    Meter(Platform& platform, const std::array<Side, 2>& sides, RemoteReport& report)
        : platform_(platform), sides_(sides), report_(report) {}
    void boundary(RemotePhase phase, bool is_over) {
        auto& measured = phases_[static_cast<std::size_t>(phase)];
        const auto now = look();
        if (!is_over) {
            before_ = now;
            return;
        }
        for (std::size_t i = 0; i < sides_.size(); ++i) {
            measured.moved[i] = now.moved[i] - before_.moved[i];
            // Capsules are no payload: they lie in memory of the hosts wherever the data are.
            measured.moved[i].host_dram -= now.capsule_bytes[i] - before_.capsule_bytes[i];
        }
        add_between(before_.totals, now.totals, measured.totals);
        measured.stages = now.stages; // each stage is of one phase alone
        measured.wall_seconds = std::chrono::duration<double>(now.time - before_.time).count();
    }
    const Measured& operator[](RemotePhase phase) const { return phases_[static_cast<std::size_t>(phase)]; }

private:
    struct Moment {
        std::array<MovedPayload, 2> moved{};
        std::array<std::uint64_t, 2> capsule_bytes{};
        Totals totals{};
        sw::nvmf::TargetCounters stages{};
        std::chrono::steady_clock::time_point time{};
    };
    Moment look() {
        Moment moment{.capsule_bytes = {report_.capsule_bytes_a, report_.capsule_bytes_b},
                      .totals = totals(platform_),
                      .time = std::chrono::steady_clock::now()};
        for (std::size_t i = 0; i < sides_.size(); ++i)
            moment.moved[i] = moved_payload(platform_.machines()[sides_[i].hca.host]);
        if (report_.target != nullptr)
            moment.stages = report_.target->counters();
        return moment;
    }

    Platform& platform_;
    const std::array<Side, 2>& sides_;
    RemoteReport& report_;
    Moment before_{};
    std::array<Measured, remote_phases> phases_{};
};

/// Where data are at a host, for a person.
std::string place_at(const Description& described, const Side& side, TargetBuffers buffers) {
    switch (buffers) {
    case TargetBuffers::vram: return described.name_of(*side.gpu);
    case TargetBuffers::drive: return described.name_of(*side.drive) + " memory";
    default: return described.hosts[side.hca.host].name + " memory";
    }
}

/// The host's command from its begin to its end, and each stage of the way.
void add_transfers(const Description& described, const std::array<Side, 2>& sides, TargetBuffers buffers,
                   const RemoteReport& report, const Meter& meter, Result& result) {
    const auto drive = described.name_of(*sides[0].drive);
    const auto near = place_at(described, sides[1], sides[1].gpu ? TargetBuffers::vram : TargetBuffers::host),
               far = place_at(described, sides[0], buffers);
    const auto add = [&](std::string name, const sw::nvmf::Stage& stage, const Measured* whole) {
        Transfer transfer{.name = std::move(name),
                          .verified = report.is_equal(),
                          .sha256_target = report.target_sha256,
                          .bytes = stage.bytes,
                          .messages = stage.commands,
                          .completions_ok = stage.commands,
                          .sim_time_ps = stage.took().count() * 1000};
        if (whole != nullptr) {
            transfer.packets = whole->totals.packets;
            transfer.retries = whole->totals.retries;
            transfer.timeouts = whole->totals.timeouts;
            transfer.rnr_waits = whole->totals.rnr_waits;
            transfer.naks = whole->totals.naks;
            transfer.wall_seconds = whole->wall_seconds;
        }
        result.transfers.push_back(std::move(transfer));
    };
    const auto &written = meter[RemotePhase::write], &read = meter[RemotePhase::read];
    add(fmt::format("Write {} -> {}", near, drive), report.used[0], &written);
    add(fmt::format("READ {} -> {}", near, far), written.stages.fetched, nullptr);
    add(fmt::format("write {}", drive), written.stages.written, nullptr);
    add(fmt::format("Read {} -> {}", drive, near), report.used[1], &read);
    add(fmt::format("read {}", drive), read.stages.read, nullptr);
    add(fmt::format("WRITE {} -> {}", far, near), read.stages.sent, nullptr);
    for (const auto phase : {RemotePhase::write, RemotePhase::read}) {
        const auto i = static_cast<std::size_t>(phase);
        const auto commands = report.latency[i].count();
        result.operations.push_back({.name = phase == RemotePhase::write ? "Write" : "Read",
                                     .count = commands,
                                     .latency = report.latency[i].summary(),
                                     .elapsed_ps = report.used[i].took().count() * 1000,
                                     .ranks = 1,
                                     .bytes = commands == 0 ? 0 : report.used[i].bytes / commands});
    }
}

} // namespace

std::expected<void, std::string> remote_storage_fits(const platform::topology::Config& config,
                                                     std::uint64_t payload_bytes) {
    const auto described = platform::topology::describe(config).value();
    const auto sides = find_sides(described);
    if (!sides)
        return std::unexpected(std::string("no host has an HCA and a drive beside another host with an HCA: parts such "
                                           "as \"root0.sw0.hca0\" and \"root0.sw0.nvme0\""));
    for (const auto& side : *sides)
        if (const auto ours = is_driven_here(described, side.hca); !ours)
            return ours;
    constexpr std::uint64_t page = 4096, most_depth = 4095;
    const auto& drive = drive_of(described, (*sides)[0]);
    const auto drive_name = described.name_of(*(*sides)[0].drive);
    if (config.scenario.message_bytes % page != 0)
        return std::unexpected(
            fmt::format("scenario.message = {} is not whole pages of {} bytes", config.scenario.message_bytes, page));
    if (const auto most = drive.io.max_transfer_bytes; most != 0 && std::bit_ceil(config.scenario.message_bytes) > most)
        return std::unexpected(fmt::format("scenario.message = {}: a command of {} moves {} bytes at most",
                                           config.scenario.message_bytes, drive_name, most));
    if (const auto most = std::min<std::uint64_t>(most_depth, drive.queue_entries - 1);
        config.scenario.queue_depth > most)
        return std::unexpected(fmt::format("scenario.queue_depth = {} is more than the {} commands of a queue of {}",
                                           config.scenario.queue_depth, most, drive_name));
    if (config.scenario.queue_pairs >= drive.queue_pairs) // one is the target's own
        return std::unexpected(fmt::format("scenario.qps = {}: {} has {} queues for hosts (its key queue_pairs, less "
                                           "one)",
                                           config.scenario.queue_pairs, drive_name, drive.queue_pairs - 1));
    if (payload_bytes == 0)
        return std::unexpected(std::string("the payload is empty"));
    if (const auto fit = payload_fits_drive(described, *(*sides)[0].drive, payload_bytes); !fit)
        return fit;
    const auto buffers = find_buffers(config, described, (*sides)[0]);
    if (!buffers)
        return std::unexpected(buffers.error());
    if (*buffers == TargetBuffers::vram)
        if (const auto fit = fits_vram(config, described, (*sides)[0]); !fit)
            return fit;
    return fits_vram(config, described, (*sides)[1]);
}

std::expected<Result, std::string> run_remote_storage(const Context& context) {
    const auto& config = context.config;
    if (const auto fit = remote_storage_fits(config, context.payload.size()); !fit)
        return std::unexpected(fit.error());
    const auto wall_begin = std::chrono::steady_clock::now();
    const auto described = platform::topology::describe(config).value();
    const auto sides = find_sides(described).value(); // which remote_storage_fits() has found, and these
    const auto buffers = find_buffers(config, described, sides[0]).value();
    std::optional<Platform> built;
    if (const auto done = build(built, context, context.events); !done)
        return std::unexpected(done.error());
    Result result;
    result.scenario = config.scenario.name;
    result.payload_bytes = context.payload.size();
    RemoteReport report;
    Meter meter(*built, sides, report);
    const RemoteOptions options{.payload = context.payload,
                                .command_bytes = config.scenario.message_bytes,
                                .queue_depth = config.scenario.queue_depth,
                                .queues = config.scenario.queue_pairs,
                                .mtu_bytes = config.scenario.mtu_bytes,
                                .buffers = buffers,
                                .boundary = [&](RemotePhase phase, bool is_over) { meter.boundary(phase, is_over); },
                                .progress = [&](std::string_view step, std::uint64_t done,
                                                std::uint64_t all) { context.tell(step, done, all); }};
    run_pair(
        context, {described.hosts[sides[0].hca.host].name, described.hosts[sides[1].hca.host].name},
        [&](unsigned i, OutOfBand& peer) { return take_part(*built, sides[i], i == 0, peer, options, report); },
        result);
    count(*built, result);
    MovedPayload moved;
    std::uint64_t in_memory_of_a = 0;
    for (const auto phase : {RemotePhase::write, RemotePhase::read}) {
        for (const auto& of_host : meter[phase].moved)
            moved += of_host;
        in_memory_of_a += meter[phase].moved[0].host_dram;
    }
    moved.show(result);
    result.sha256_source = report.source_sha256;
    result.sha256_target = report.target_sha256;
    if (result.failure.empty() && !report.is_equal())
        result.failure = "what came back from the remote drive differs from what was written";
    if (result.failure.empty() && buffers != TargetBuffers::host && in_memory_of_a != 0)
        result.failure =
            fmt::format("{} bytes of payload went through memory of the target's host, none should", in_memory_of_a);
    result.verified = result.failure.empty();
    add_transfers(described, sides, buffers, report, meter, result);
    result.sim_time_ps = model::tlm::kernel_now().count();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    return result;
}

} // namespace scenario
