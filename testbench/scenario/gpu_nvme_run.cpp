#include "testbench/scenario/gpu_nvme_run.h"

#include "abi/nvme/identify.h"
#include "model/gpu/memory/explain.h"
#include "model/tlm/time.h"
#include "platform/topology/description.h"
#include "platform/topology/platform_module.h"
#include "testbench/harness/host_functions.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/gpu_nvme.h"
#include "testbench/scenario/gpu_nvme_laboratory.h"
#include "testbench/scenario/nvme_run.h"
#include "testbench/scenario/programs.h"
#include "testbench/scenario/runs.h"
#include "testbench/scenario/sha256.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>

namespace scenario {

using platform::topology::Description;
using platform::topology::PartAt;
using platform::topology::PartKind;
using platform::topology::Platform;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

struct Parts {
    PartAt gpu, drive;
};

/// The first host that has both.
std::optional<Parts> find_parts(const Description& described) {
    for (std::size_t host = 0; host < described.hosts.size(); ++host) {
        std::optional<PartAt> gpu, drive;
        for (std::size_t part = 0; part < described.hosts[host].parts.size(); ++part) {
            const auto& one = described.hosts[host].parts[part];
            if (one.kind != PartKind::device)
                continue;
            if (one.other().kind().name == "caching_gpu" && !gpu)
                gpu = PartAt{host, part};
            if (one.other().kind().name == "nvme" && !drive)
                drive = PartAt{host, part};
        }
        if (gpu && drive)
            return Parts{*gpu, *drive};
    }
    return std::nullopt;
}

std::string text_of(std::span<const std::byte> bytes) {
    std::string text;
    for (const auto byte : bytes)
        text += static_cast<char>(byte);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

/// As the article's program prints it.
std::string describe_drive(std::span<const std::byte> identify) {
    const abi::ConstView<abi::nvme::IdentifyController> said{identify};
    return fmt::format("Identify by a GPU program's doorbell, in VRAM: VID {:#06x}, SSVID {:#06x}, SN {}, MN {}, FW {}",
                       said.get<"vid">(), said.get<"ssvid">(), text_of(said.get<"sn">()), text_of(said.get<"mn">()),
                       text_of(said.get<"fr">()));
}

/// The parts of a platform as this scenario works with them, for as long as this lives.
struct Workplace {
    std::unique_ptr<harness::HostFunctions> functions;
    std::unique_ptr<sw::transport::Transport> gpu, drive;
    std::unique_ptr<GpuNvme> rig;

    static sw::Result<Workplace> open(Platform& platform, const Parts& parts, unsigned queue_pairs) {
        auto functions = harness::HostFunctions::open(*platform.machines()[parts.gpu.host].host);
        if (!functions)
            return std::unexpected(functions.error());
        auto& gpu_card = platform.card(parts.gpu);
        const auto drive_bdf = platform.card(parts.drive).bdf();
        auto gpu = (*functions)->function(gpu_card.bdf()), drive = (*functions)->function(drive_bdf);
        if (!gpu || !drive)
            return std::unexpected(!gpu ? gpu.error() : drive.error());
        auto rig = GpuNvme::open({.gpu = **gpu,
                                  .drive = **drive,
                                  .unit = (*functions)->unit(),
                                  .drive_space = (*functions)->space(drive_bdf),
                                  .device = gpu_card.module->as<model::gpu::Gpu>()},
                                 queue_pairs);
        if (!rig)
            return std::unexpected(rig.error());
        return Workplace{std::move(*functions), std::move(*gpu), std::move(*drive), std::move(*rig)};
    }
};

class Experiment {
public:
    Experiment(const Context& context, Platform& platform, const Parts& parts, Result& result)
        : context_(context), platform_(platform), parts_(parts), result_(result) {}

    sw::Result<void> run() {
        const auto place = Workplace::open(platform_, parts_, context_.config.scenario.queue_pairs);
        if (!place)
            return std::unexpected(place.error());
        auto& rig = *place->rig;
        TRY(identify(rig));
        TRY(move(rig));
        auto observations =
            run_laboratory(rig, flusher_, [&](std::string_view row, std::uint64_t done, std::uint64_t total) {
                context_.tell(fmt::format("laboratory {}", row), done, total);
            });
        if (!observations)
            return std::unexpected(observations.error());
        std::ranges::move(*observations, std::back_inserter(result_.laboratory));
        return {};
    }
    Flusher& flusher() { return flusher_; }
    /// Which way the payload of GPU-driven I/O has taken; experiments of the laboratory move others.
    void count_payload() { moved_.show(result_); }

private:
    sw::Result<void> identify(GpuNvme& rig) {
        const auto bytes = rig.identify_by_gpu();
        if (!bytes)
            return std::unexpected(bytes.error());
        result_.found = describe_drive(*bytes);
        // The same, asked for by the processor alone.
        const auto again = rig.controller().identify(abi::nvme::Cns::controller);
        if (!again)
            return std::unexpected(again.error());
        const bool is_same = *again == *bytes;
        result_.laboratory.push_back({.row = "L17",
                                      .cites = "O1",
                                      .setup = "admin queues in the host, a kernel that rings once and ends",
                                      .load = "-",
                                      .flush = std::string(name(Flush::none)),
                                      .outcome = std::string(name(is_same ? Verdict::correct : Verdict::wrong_data)),
                                      .expected = std::string(name(Verdict::correct)),
                                      .agrees = is_same});
        if (!is_same)
            return sw::failure(EIO, "what Identify brought to VRAM differs from what it brings to the host");
        return {};
    }
    /// The placement that every profile lets work: UC pages, all bits, and a heavy flush again and again.
    sw::Result<void> move(GpuNvme& rig) {
        const auto& scenario = context_.config.scenario;
        const auto wall = std::chrono::steady_clock::now();
        const auto before = moved_payload(platform_);
        const auto report = rig.move(
            context_.payload,
            {.command_bytes = scenario.message_bytes, .threads = scenario.queue_pairs, .depth = scenario.queue_depth},
            {}, flusher_);
        if (!report)
            return std::unexpected(report.error());
        result_.transfers.push_back(
            {.name = fmt::format("{} writes and reads {}", platform_.description().name_of(parts_.gpu),
                                 platform_.description().name_of(parts_.drive)),
             .verified = report->verdict == Verdict::correct && report->sha256 == result_.sha256_source,
             .sha256_target = report->sha256,
             .bytes = 2 * context_.payload.size(),
             .messages = report->commands,
             .completions_ok = report->commands - report->errors,
             .completions_error = report->errors,
             .sim_time_ps = report->took.count() * 1000,
             .wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count()});
        moved_ = moved_payload(platform_) - before;
        result_.sha256_target = report->sha256;
        result_.completions_ok += report->commands - report->errors;
        result_.completions_error += report->errors;
        if (!result_.transfers.back().verified)
            return sw::failure(EIO, fmt::format("GPU-driven I/O: {}: {}", name(report->verdict), report->explanation));
        return {};
    }

    const Context& context_;
    Platform& platform_;
    Parts parts_;
    Result& result_;
    Flusher flusher_;
    MovedPayload moved_{};
};

} // namespace

std::expected<void, std::string> gpu_nvme_fits(const platform::topology::Config& config, std::uint64_t payload_bytes) {
    const auto described = platform::topology::describe(config).value();
    const auto parts = find_parts(described);
    if (!parts)
        return std::unexpected(std::string("no host has both a GPU with caches and a drive: parts such as "
                                           "{ path = \"root0.gpu0\", kind = \"caching_gpu\" } and \"root0.nvme0\""));
    if (const auto ours = is_driven_here(described, parts->drive); !ours)
        return ours;
    constexpr std::uint32_t most_queue_pairs = 128;
    if (config.scenario.queue_pairs > most_queue_pairs)
        return std::unexpected(fmt::format("scenario.qps = {} is more than the {} queue pairs of this scenario",
                                           config.scenario.queue_pairs, most_queue_pairs));
    if (config.scenario.queue_depth > most_commands)
        return std::unexpected(fmt::format("scenario.queue_depth = {} is more than the {} commands that a thread of "
                                           "this scenario has under way",
                                           config.scenario.queue_depth, most_commands));
    if (config.scenario.message_bytes % drive_page != 0 || config.scenario.message_bytes > largest_command)
        return std::unexpected(fmt::format("scenario.message = {} is not whole pages of {} bytes, at most {}",
                                           config.scenario.message_bytes, drive_page, largest_command));
    if (payload_bytes == 0)
        return std::unexpected(std::string("the payload is empty"));
    return payload_fits_drive(described, parts->drive, payload_bytes);
}

std::expected<IoReport, std::string> run_gpu_nvme_program(const Context& context, const IoSetup& setup) {
    const auto& config = context.config;
    if (const auto fit = gpu_nvme_fits(config, context.payload.size()); !fit)
        return std::unexpected(fit.error());
    const auto described = platform::topology::describe(config).value();
    const auto parts = find_parts(described).value(); // which gpu_nvme_fits() has found
    sw::Result<IoReport> report = sw::failure(ECANCELED, "the program has not come to its end");
    Flusher flusher;
    try {
        Platform built(config, context.events, context.sources, platform::topology::Served::as_described,
                       context.recording);
        Programs programs;
        programs.add("program", [&] {
            const auto& scenario = config.scenario;
            const auto place = Workplace::open(built, parts, scenario.queue_pairs);
            report = !place ? std::unexpected(place.error())
                            : place->rig->move(context.payload,
                                               {.command_bytes = scenario.message_bytes,
                                                .threads = scenario.queue_pairs,
                                                .depth = scenario.queue_depth},
                                               setup, flusher);
            flusher.close();
        });
        programs.add("flusher", [&] { flusher.run(); });
        if (const auto ended = programs.run(context.stop); !ended)
            return std::unexpected(ended.error());
        for (const auto& machine : built.machines())
            if (machine.ownership && !machine.ownership->findings().empty())
                return std::unexpected(to_string(machine.ownership->findings().front()));
    } catch (const std::exception& error) {
        return std::unexpected(std::string(error.what()));
    }
    if (!report)
        return std::unexpected(report.error().what);
    return *report;
}

std::expected<Result, std::string> run_gpu_nvme(const Context& context) {
    const auto& config = context.config;
    if (const auto fit = gpu_nvme_fits(config, context.payload.size()); !fit)
        return std::unexpected(fit.error());
    const auto wall_begin = std::chrono::steady_clock::now();
    const auto described = platform::topology::describe(config).value();
    const auto parts = find_parts(described).value(); // which gpu_nvme_fits() has found
    std::optional<Platform> built;
    if (const auto done = build(built, context, context.events); !done)
        return std::unexpected(done.error());
    Result result;
    result.scenario = config.scenario.name;
    result.payload_bytes = context.payload.size();
    Sha256 digest;
    std::vector<std::byte> piece(1 << 20);
    for (std::uint64_t done = 0; done < context.payload.size(); done += piece.size()) {
        const auto part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), context.payload.size() - done));
        if (const auto read = context.payload.read(done, part); !read)
            return std::unexpected(read.error());
        digest.add(part);
    }
    result.sha256_source = digest.finish();

    Experiment experiment(context, *built, parts, result);
    Programs programs;
    programs.add(fmt::format("program_{}", described.hosts[parts.gpu.host].name), [&] {
        if (const auto done = experiment.run(); !done)
            result.failure = done.error().what;
        experiment.flusher().close();
    });
    programs.add("flusher", [&] { experiment.flusher().run(); });
    if (const auto ended = programs.run(context.stop); !ended && result.failure.empty())
        result.failure = ended.error();
    if (context.stop != nullptr)
        result.stopped = context.stop->why();
    count(*built, result);
    experiment.count_payload();
    for (const auto& one : result.laboratory)
        if (!one.agrees && result.failure.empty())
            result.failure =
                fmt::format("laboratory, row {}: {}, and it must be {}", one.row, one.outcome, one.expected);
    result.verified = result.failure.empty();
    result.sim_time_ps = model::tlm::kernel_now().count();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    return result;
}

} // namespace scenario
