#include "testbench/scenario/gpudirect_run.h"

#include "model/tlm/time.h"
#include "testbench/harness/cable_address.h"
#include "testbench/harness/host_functions.h"
#include "testbench/scenario/busiest.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/gpudirect.h"
#include "testbench/scenario/gpudirect_drive.h"
#include "testbench/scenario/gpudirect_fit.h"
#include "testbench/scenario/runs.h"
#include "testbench/scenario/roles.h"
#include "testbench/scenario/ways.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <systemc>
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

/// A host whose operating system both programs may have in common: its remapping unit is taken over once.
class SharedHost {
public:
    explicit SharedHost(platform::host::Host& host) : host_(host) {}
    sw::Result<std::shared_ptr<harness::HostFunctions>> open() {
        while (is_opening_) // which takes simulated time
            sc_core::wait(opened_);
        if (auto functions = functions_.lock())
            return functions;
        is_opening_ = true;
        auto opened = harness::HostFunctions::open(host_);
        is_opening_ = false;
        model::tlm::notify_now(opened_);
        if (!opened)
            return std::unexpected(opened.error());
        std::shared_ptr<harness::HostFunctions> functions = std::move(*opened);
        functions_ = functions;
        return functions;
    }

private:
    platform::host::Host& host_;
    std::weak_ptr<harness::HostFunctions> functions_;
    bool is_opening_ = false;
    sc_core::sc_event opened_;
};

/// One of the two.
struct Program {
    platform::topology::Seat seat;
    SharedHost& host;
    OutOfBand& peer;
    bool is_ipv6, begins;
};

/// One host's part, on functions as its operating system gives them.
sw::Result<void> take_part(const Program& program, const GpuDirectOptions& options, GpuDirectReport& report) {
    const auto functions = program.host.open();
    if (!functions)
        return std::unexpected(functions.error());
    const auto hca = (*functions)->function(program.seat.hca.bdf()),
               gpu = (*functions)->function(program.seat.gpu.bdf());
    if (!hca || !gpu)
        return std::unexpected(!hca ? hca.error() : gpu.error());
    const Machine host{.name = program.seat.machine.name,
                       .gid = harness::cable_address(static_cast<unsigned>(program.seat.hca.number), program.is_ipv6),
                       .hca = **hca,
                       .gpu = **gpu,
                       .peer = program.peer,
                       .vram = [&](std::uint64_t at) { return program.seat.gpu.vram().bytes().subspan(at); },
                       .filled = [&](std::uint64_t at, std::uint64_t bytes) { program.seat.gpu.filled(at, bytes); }};
    return program.begins ? initiate(host, options, report) : respond(host, options);
}

/// What one step has counted, over its pieces.
class StepCount {
public:
    void begin(Platform& platform) {
        begin_ = totals(platform);
        had_ = count_all(platform);
        wall_begin_ = std::chrono::steady_clock::now();
        is_open_ = true;
    }
    void end(Platform& platform) {
        add_between(begin_, totals(platform), sum_);
        add_between(had_, count_all(platform), resources_);
        wall_ += std::chrono::steady_clock::now() - wall_begin_;
        is_open_ = false;
    }
    /// Begun and not over: the run was stopped in the middle of it.
    bool is_open() const { return is_open_; }

    Transfer row(const StepReport& step, std::string name, unsigned queue_pairs) const {
        Transfer row;
        row.name = std::move(name);
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
        if (row.sim_time_ps != 0) {
            auto found = busiest(resources_, model::port::Time{row.sim_time_ps}, queue_pairs);
            row.bottleneck = std::move(found.name);
            row.load = found.load;
        }
        return row;
    }

private:
    Totals begin_, sum_;
    std::vector<Counted> had_, resources_;
    std::chrono::steady_clock::time_point wall_begin_;
    std::chrono::steady_clock::duration wall_{};
    bool is_open_ = false;
};

/// "WRITE A -> B", and where hosts have several GPUs "WRITE A.gpu0 -> B.gpu3".
std::string name_of_step(std::string_view step, const platform::topology::Description& described, const Roles& roles) {
    if (described.is_pair && roles.gpus[0].host == 0)
        return std::string(direction_of(step));
    const bool is_back = step == "READ";
    return fmt::format("{} {} -> {}", step, described.name_of(roles.gpus[is_back ? 1 : 0]),
                       described.name_of(roles.gpus[is_back ? 0 : 1]));
}

} // namespace

std::expected<Result, std::string> run_gpudirect(const Context& context) {
    const auto& config = context.config;
    if (const auto fit = fits(config, context.payload.size()); !fit)
        return std::unexpected(fit.error());
    const auto wall_begin = std::chrono::steady_clock::now();
    const auto described = platform::topology::describe(config).value();
    const auto roles = find_roles(config, described).value(); // which fits() has tried
    std::optional<Platform> built;
    try {
        built.emplace(config, context.events, context.sources, platform::topology::Served::as_described,
                      context.recording);
    } catch (const std::system_error& error) { // of the machine we run on
        return std::unexpected(fmt::format(
            "the platform cannot be built: {}; choose less host.A.memory, host.B.memory or gpu.vram", error.what()));
    }
    auto& platform = *built;
    if (context.capture != nullptr)
        tap(platform, *context.capture);

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
    SharedHost first(*platform.machines()[roles.hcas[0].host].host),
        other(*platform.machines()[roles.hcas[1].host].host);
    auto& second = roles.hcas[0].host == roles.hcas[1].host ? first : other;
    run_pair(
        context, {described.hosts[roles.hcas[0].host].name, described.hosts[roles.hcas[1].host].name},
        [&](unsigned i, OutOfBand& peer) {
            return take_part({.seat = platform.seat(roles.hcas[i], roles.gpus[i]),
                              .host = i == 0 ? first : second,
                              .peer = peer,
                              .is_ipv6 = is_ipv6(described, roles.hcas[i]),
                              .begins = i == 0},
                             options, report);
        },
        result);

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
        result.transfers.push_back(
            counts[i].row(step, name_of_step(step.name, described, roles), config.scenario.queue_pairs));
        if (result.failure.empty() && !step.is_verified)
            result.failure = fmt::format("the bytes that came by {} differ from the source", step.name);
    }
    count(platform, result);
    if (result.failure.empty() && result.host_dram_payload_bytes != 0)
        result.failure =
            fmt::format("{} bytes of payload went through host DRAM, none should", result.host_dram_payload_bytes);
    result.verified = result.failure.empty();
    if (!result.verified)
        result.advice = advise(seen_by(0, config, described, roles), described, result);
    result.sim_time_ps = model::tlm::kernel_now().count();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    return result;
}

} // namespace scenario
