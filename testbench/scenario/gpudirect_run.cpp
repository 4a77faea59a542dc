#include "testbench/scenario/gpudirect_run.h"

#include "testbench/harness/host_functions.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/gpudirect.h"
#include "testbench/scenario/gpudirect_drive.h"
#include "testbench/scenario/gpudirect_fit.h"
#include "testbench/scenario/programs.h"
#include "testbench/scenario/ways.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>
#include <system_error>

namespace scenario {

using platform::topology::Platform;

namespace {

GpuDirectOptions options_of(const platform::topology::Config& config, const PayloadSource& payload) {
    GpuDirectOptions options;
    options.payload = payload;
    options.message_bytes = config.scenario.message_bytes;
    options.mtu_bytes = config.scenario.mtu_bytes;
    options.queue_depth = config.scenario.queue_depth;
    options.queue_pairs = config.scenario.queue_pairs;
    return options;
}

/// One host's part, on functions as its operating system gives them.
sw::Result<void> take_part(platform::topology::Machine& machine, unsigned number, bool is_ipv6, OutOfBand& peer,
                           const GpuDirectOptions& options, GpuDirectReport& report) {
    const auto functions = harness::HostFunctions::open(*machine.host);
    if (!functions)
        return std::unexpected(functions.error());
    const auto hca = (*functions)->function(machine.hca_bdf()), gpu = (*functions)->function(machine.gpu_bdf());
    if (!hca || !gpu)
        return std::unexpected(!hca ? hca.error() : gpu.error());
    const Machine host{.name = machine.name,
                       .gid = address_of(number, is_ipv6),
                       .hca = **hca,
                       .gpu = **gpu,
                       .peer = peer,
                       .vram = [&](std::uint64_t at) { return machine.vram().bytes().subspan(at); }};
    return number == 0 ? initiate(host, options, report) : respond(host, options);
}

/// What one step has counted, over its pieces.
class StepCount {
public:
    void begin(Platform& platform) {
        begin_ = totals(platform);
        wall_begin_ = std::chrono::steady_clock::now();
        is_open_ = true;
    }
    void end(Platform& platform) {
        add_between(begin_, totals(platform), sum_);
        wall_ += std::chrono::steady_clock::now() - wall_begin_;
        is_open_ = false;
    }
    /// Begun and not over: the run was stopped in the middle of it.
    bool is_open() const { return is_open_; }

    Transfer row(const StepReport& step) const {
        Transfer row;
        row.name = direction_of(step.name);
        row.verified = step.is_verified;
        row.sha256_target = step.sha256;
        row.bytes = step.bytes;
        row.messages = step.messages;
        row.packets = sum_.packets;
        row.completions_ok = sum_.completions_ok;
        row.completions_error = sum_.completions_error;
        row.retries = sum_.retries;
        row.timeouts = sum_.timeouts;
        row.rnr_waits = sum_.rnr_waits;
        row.naks = sum_.naks;
        row.sim_time_ps = step.took.count() * 1000;
        row.wall_seconds = std::chrono::duration<double>(wall_).count();
        return row;
    }

private:
    Totals begin_, sum_;
    std::chrono::steady_clock::time_point wall_begin_;
    std::chrono::steady_clock::duration wall_{};
    bool is_open_ = false;
};

} // namespace

std::expected<Result, std::string> run_gpudirect(const Context& context) {
    const auto& config = context.config;
    if (const auto fit = fits(config, context.payload.size()); !fit)
        return std::unexpected(fit.error());
    const auto wall_begin = std::chrono::steady_clock::now();
    std::optional<Platform> built;
    try {
        built.emplace(config, context.events, context.sources);
    } catch (const std::system_error& error) { // of the machine we run on
        return std::unexpected(fmt::format(
            "the platform cannot be built: {}; choose less host.A.memory, host.B.memory or gpu.vram", error.what()));
    }
    auto& platform = *built;
    if (context.capture != nullptr)
        platform.cable().set_tap(&context.capture->add_interface("cable", config.link.encapsulation));

    std::array<StepCount, 3> counts;
    auto options = options_of(config, context.payload);
    options.progress = [&](std::string_view step, std::uint64_t done, std::uint64_t all) {
        context.tell(step, done, all);
    };
    options.boundary = [&](std::size_t number, bool is_over) {
        is_over ? counts[number].end(platform) : counts[number].begin(platform);
    };

    Result result;
    result.scenario = config.scenario.name;
    result.payload_bytes = context.payload.size();
    GpuDirectReport report;
    MessageQueues queues;
    Programs programs;
    for (unsigned i = 0; i < platform.machines().size(); ++i)
        programs.add(fmt::format("program_{}", platform.machines()[i].name), [&, i] {
            const bool is_ipv6 = config.link.encapsulation == model::port::Encapsulation::roce_v2_ipv6;
            const auto outcome = take_part(platform.machines()[i], i, is_ipv6, queues.end(i), options, report);
            // The first failure is the cause: the other side is told and gives up.
            if (!outcome && result.failure.empty())
                result.failure = outcome.error().what;
            queues.close(i);
        });
    if (const auto ended = programs.run(context.stop); !ended && result.failure.empty())
        result.failure = ended.error();
    if (context.stop != nullptr)
        result.stopped = context.stop->why();

    result.sha256_source = report.source_sha256;
    result.sha256_target = report.steps.back().sha256;
    for (std::size_t i = 0; i < report.steps.size(); ++i) {
        auto& step = report.steps[i];
        if (step.name.empty())
            continue;
        if (counts[i].is_open()) {
            counts[i].end(platform);
            step.took += std::chrono::nanoseconds(model::tlm::kernel_now().count() / 1000) - step.begin;
        }
        result.transfers.push_back(counts[i].row(step));
        if (result.failure.empty() && !step.is_verified)
            result.failure = fmt::format("the bytes that came by {} differ from the source", step.name);
    }
    count(platform, result);
    if (result.failure.empty() && result.host_dram_payload_bytes != 0)
        result.failure =
            fmt::format("{} bytes of payload went through host DRAM, none should", result.host_dram_payload_bytes);
    result.verified = result.failure.empty();
    if (!result.verified)
        result.advice = advise(config, result);
    result.sim_time_ps = model::tlm::kernel_now().count();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    return result;
}

} // namespace scenario
