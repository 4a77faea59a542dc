#include "testbench/scenario/nvme_run.h"

#include "model/nvme/config.h"
#include "model/tlm/time.h"
#include "platform/topology/description.h"
#include "platform/topology/platform_module.h"
#include "testbench/harness/host_functions.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/nvme.h"
#include "testbench/scenario/programs.h"
#include "testbench/scenario/runs.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>

namespace scenario {

using platform::topology::Description;
using platform::topology::PartAt;

namespace {

std::optional<PartAt> find_drive(const Description& described) {
    for (std::size_t host = 0; host < described.hosts.size(); ++host)
        if (const auto drive = first_parts(described, host).drive)
            return drive;
    return std::nullopt;
}

sw::Result<void> use(platform::topology::Platform& platform, const PartAt& drive, const NvmeOptions& options,
                     NvmeReport& report) {
    const auto functions = harness::HostFunctions::open(*platform.machines()[drive.host].host);
    if (!functions)
        return std::unexpected(functions.error());
    const auto function = (*functions)->function(platform.card(drive).bdf());
    if (!function)
        return std::unexpected(function.error());
    return use_drive(**function, options, report);
}

} // namespace

std::expected<void, std::string> payload_fits_drive(const Description& described, const PartAt& drive,
                                                    std::uint64_t payload_bytes) {
    // What a file holds may be larger than what is said here.
    const auto& space = described.part(drive).other().as<model::nvme::NvmeConfig>().space;
    if (!space.namespaces.empty() && space.namespaces.front().file.empty() &&
        space.namespaces.front().bytes < payload_bytes)
        return std::unexpected(fmt::format("the payload, {} bytes, does not fit into the first namespace of {} bytes; "
                                           "choose a smaller --payload or a larger {}.size",
                                           payload_bytes, space.namespaces.front().bytes, described.name_of(drive)));
    return {};
}

std::expected<void, std::string> nvme_fits(const platform::topology::Config& config, std::uint64_t payload_bytes) {
    const auto described = platform::topology::describe(config).value();
    const auto drive = find_drive(described);
    if (!drive)
        return std::unexpected(std::string("no host has a drive, which this scenario writes to: a part such as "
                                           "\"root0.nvme0\""));
    if (const auto ours = is_driven_here(described, *drive); !ours)
        return ours;
    constexpr std::uint32_t most_queue_pairs = 128; // each has an interrupt vector
    if (config.scenario.queue_pairs > most_queue_pairs)
        return std::unexpected(fmt::format("scenario.qps = {} is more than the {} queue pairs of this scenario",
                                           config.scenario.queue_pairs, most_queue_pairs));
    if (payload_bytes == 0)
        return std::unexpected(std::string("the payload is empty"));
    return payload_fits_drive(described, *drive, payload_bytes);
}

std::expected<Result, std::string> run_nvme(const Context& context) {
    const auto& config = context.config;
    if (const auto fit = nvme_fits(config, context.payload.size()); !fit)
        return std::unexpected(fit.error());
    const auto wall_begin = std::chrono::steady_clock::now();
    const auto described = platform::topology::describe(config).value();
    const auto drive = find_drive(described).value(); // which nvme_fits() has found
    std::optional<platform::topology::Platform> built;
    if (const auto done = build(built, context, context.events); !done)
        return std::unexpected(done.error());

    NvmeReport report;
    std::array<double, std::tuple_size_v<decltype(report.steps)>> walls{};
    auto step_begin = wall_begin;
    NvmeOptions options{.payload = context.payload,
                        .command_bytes = config.scenario.message_bytes,
                        .queue_depth = config.scenario.queue_depth,
                        .queue_pairs = config.scenario.queue_pairs,
                        .progress = [&](std::string_view step, std::uint64_t done,
                                        std::uint64_t all) { context.tell(step, done, all); },
                        .boundary =
                            [&](std::size_t number, bool is_over) {
                                const auto now = std::chrono::steady_clock::now();
                                if (is_over)
                                    walls[number] = std::chrono::duration<double>(now - step_begin).count();
                                step_begin = now;
                            }};
    Result result;
    result.scenario = config.scenario.name;
    result.payload_bytes = context.payload.size();
    Programs programs;
    programs.add(fmt::format("program_{}", described.hosts[drive.host].name), [&] {
        if (const auto done = use(*built, drive, options, report); !done)
            result.failure = done.error().what;
    });
    if (const auto ended = programs.run(context.stop); !ended && result.failure.empty())
        result.failure = ended.error();
    if (context.stop != nullptr)
        result.stopped = context.stop->why();

    count(*built, result);
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
        const auto& step = report.steps[i];
        result.transfers.push_back({.name = fmt::format("{} {}", step.name, described.name_of(drive)),
                                    .verified = step.is_verified,
                                    .sha256_target = step.sha256,
                                    .bytes = step.bytes,
                                    .messages = step.commands,
                                    .completions_ok = step.commands - step.errors,
                                    .completions_error = step.errors,
                                    .sim_time_ps = step.took.count() * 1000,
                                    .wall_seconds = walls[i]});
        result.completions_ok += step.commands - step.errors;
        result.completions_error += step.errors;
        if (result.failure.empty() && !step.is_verified)
            result.failure = fmt::format("what '{}' has brought differs from the payload", step.name);
    }
    result.sha256_source = report.source_sha256;
    result.sha256_target = report.steps[2].sha256;
    result.verified = result.failure.empty();
    result.sim_time_ps = model::tlm::kernel_now().count();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    return result;
}

} // namespace scenario
