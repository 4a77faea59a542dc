#include "testbench/scenario/dmabuf_run.h"

#include "model/tlm/time.h"
#include "platform/observe/diagnostics/explanations.h"
#include "platform/observe/fanout.h"
#include "testbench/harness/cable_address.h"
#include "testbench/harness/host_functions.h"
#include "testbench/harness/page_service.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/dmabuf.h"
#include "testbench/scenario/dmabuf_fit.h"
#include "testbench/scenario/dmabuf_memory.h"
#include "testbench/scenario/gpudirect_drive.h"
#include "testbench/scenario/programs.h"
#include "testbench/scenario/roles.h"
#include "testbench/scenario/ways.h"

#include <fmt/format.h>
#include <systemc>

#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <variant>

namespace scenario {

using model::pcie::Direction;
using model::pcie::TargetKind;
using platform::topology::Platform;

namespace {

/// Waits, within the simulation, for the middle of a transfer: so many packets that the memory's HCA has taken in or
/// sent.
class Middle final : public traces::Sink {
public:
    void on(const traces::Stamp& stamp, const traces::Event& event) override {
        if (left_ == 0 || stamp.source != source)
            return;
        if (std::holds_alternative<traces::Accepted>(event) || std::holds_alternative<traces::PacketSent>(event))
            if (--left_ == 0)
                model::tlm::notify_now(reached_);
    }
    /// False when it does not come within a second.
    bool wait(std::uint64_t packets) {
        left_ = packets;
        sc_core::wait(sc_core::sc_time(1, sc_core::SC_SEC), reached_);
        const bool is_reached = left_ == 0;
        left_ = 0;
        return is_reached;
    }

    std::uint16_t source = 0xffff;

private:
    std::uint64_t left_ = 0;
    sc_core::sc_event reached_;
};

/// Posted writes that were silently dropped: no card is told of them.
class Losses final : public traces::Sink {
public:
    void on(const traces::Stamp&, const traces::Event& event) override {
        const auto* lost = std::get_if<traces::WriteLost>(&event);
        if (lost != nullptr && count_++ == 0)
            first_ = *lost;
    }
    std::string describe() const {
        if (count_ == 0)
            return "and no write was lost";
        return fmt::format("the bus has lost {} posted writes, the first of {} bytes at {:#x} ({})", count_,
                           first_.length, first_.address,
                           platform::observe::diagnostics::name_of(static_cast<model::port::DmaStatus>(first_.status)));
    }

private:
    std::uint64_t count_ = 0;
    traces::WriteLost first_{};
};

/// What has gone which way, at one moment.
struct Ways {
    std::uint64_t direct = 0, redirected = 0, host = 0;
    std::array<Step::Upstream, 2> upstream{};
};

/// Of the two cards of a run, and of the links between their switches and what these are plugged into.
Ways ways(Platform& platform, const Roles& roles) {
    Ways sum;
    for (std::size_t i = 0; i < roles.hcas.size(); ++i) {
        auto& machine = platform.machines()[roles.hcas[i].host];
        const auto& card = platform.card(roles.hcas[i]).endpoint();
        sum.direct += card.volume(TargetKind::peer).payload();
        sum.redirected += card.volume(TargetKind::redirected_peer).payload();
        sum.host += card.volume(TargetKind::host_memory).payload();
        const auto* link = machine.host->upstream_link();
        if (link == nullptr)
            continue;
        sum.upstream[i] = {link->traffic(Direction::upstream).payload_bytes,
                           link->traffic(Direction::downstream).payload_bytes};
    }
    return sum;
}

void add_ways(const Ways& begin, const Ways& end, Step& step) {
    step.direct_bytes = end.direct - begin.direct;
    step.redirected_bytes = end.redirected - begin.redirected;
    step.host_bytes = end.host - begin.host;
    for (std::size_t i = 0; i < step.upstream.size(); ++i)
        step.upstream[i] = {end.upstream[i].up - begin.upstream[i].up, end.upstream[i].down - begin.upstream[i].down};
}

Step row(const DmaBufStep& step, const DmaBufStepReport& report, std::uint64_t bytes) {
    Step made;
    made.name = step.name;
    made.ended_with = report.ended_with;
    made.owner_heard = report.owner_heard;
    made.verified = report.finding.empty() && !report.ended_with.empty(); // it came to its end
    made.bytes = bytes;
    made.landed = report.landed;
    made.sha256_source = report.sha256_sent;
    made.sha256_target = report.sha256_arrived;
    made.sim_time_ps = report.took.count() * 1000;
    return made;
}

/// One run: the platform, the two programs, and what they leave behind.
class Show {
public:
    Show(const Context& context, Platform& platform, const Roles& roles, Middle& middle, const Losses& losses)
        : context_(context), platform_(platform), roles_(roles), middle_(middle), losses_(losses),
          counts_(dmabuf_steps().size()) {}
    Result run();

private:
    sw::Result<void> take_part(unsigned number);
    DmaBufOptions options();
    void fail(std::string why) {
        if (result_.failure.empty())
            result_.failure = std::move(why);
    }

    const Context& context_;
    Platform& platform_;
    const Roles& roles_;
    Middle& middle_;
    const Losses& losses_;
    MessageQueues queues_;
    DmaBufReport report_;
    struct Count {
        Ways begin, end;
    };
    std::vector<Count> counts_;
    Result result_;
};

DmaBufOptions Show::options() {
    const auto& config = context_.config.scenario;
    DmaBufOptions options;
    options.bytes = config.message_bytes;
    options.endpoint.mtu_bytes = config.mtu_bytes;
    options.endpoint.queue_depth = config.queue_depth;
    options.endpoint.vram_layout = ExportedPart::layout;
    options.wait_for_middle = [this, packets = config.message_bytes / config.mtu_bytes / 2] {
        return middle_.wait(packets);
    };
    options.describe_losses = [this] { return losses_.describe(); };
    options.boundary = [this](std::size_t number, bool is_over) {
        (is_over ? counts_[number].end : counts_[number].begin) = ways(platform_, roles_);
        if (is_over)
            context_.tell("moving", (number + 1) * context_.config.scenario.message_bytes,
                          dmabuf_steps().size() * context_.config.scenario.message_bytes);
    };
    return options;
}

sw::Result<void> Show::take_part(unsigned number) {
    const auto seat = platform_.seat(roles_.hcas[number], roles_.gpus[number]);
    auto& machine = seat.machine;
    const auto seen = seen_by(number, context_.config, platform_.description(), roles_);
    auto functions = harness::HostFunctions::open(*machine.host);
    if (!functions)
        return std::unexpected(std::move(functions.error()));
    auto& host = **functions;
    sw::Result<void> outcome;
    {
        const auto hca = host.function(seat.hca.bdf()), gpu = host.function(seat.gpu.bdf());
        if (!hca || !gpu)
            return std::unexpected(!hca ? hca.error() : gpu.error());
        const Machine program{
            .name = machine.name,
            .gid = harness::cable_address(static_cast<unsigned>(seat.hca.number),
                                          is_ipv6(platform_.description(), roles_.hcas[number])),
            .hca = **hca,
            .gpu = **gpu,
            .peer = queues_.end(number),
            .vram = [&](std::uint64_t at) { return seat.gpu.vram().bytes().subspan(at); },
            .filled = [&](std::uint64_t at, std::uint64_t bytes) { seat.gpu.filled(at, bytes); },
            .serve_pages = [](sw::mlx::Device& device) { return std::make_shared<harness::PageService>(device); }};
        if (number == 1) {
            for (unsigned bar = 0; bar < abi::pcie::type0_bars; ++bar)
                if (const auto address = (*gpu)->bar_address(bar);
                    address != 0 && (*gpu)->bar_size(bar) >= seen.gpu.vram_bytes)
                    result_.way = "HCA to GPU: " + describe(host.route(seat.hca.bdf(), address), seen);
            outcome = lend_memory(program, options(), report_);
        } else {
            outcome = use_memory(program, options());
        }
    }
    if (host.unit() != nullptr && outcome)
        for (const auto& fault : host.unit()->take_faults())
            fail(fmt::format("host {}: the remapping unit refused: {}", machine.name, to_string(fault)));
    return outcome;
}

Result Show::run() {
    result_.scenario = context_.config.scenario.name;
    Programs programs;
    for (unsigned i = 0; i < roles_.hcas.size(); ++i)
        programs.add(fmt::format("program_{}", platform_.machines()[roles_.hcas[i].host].name), [this, i] {
            // The first failure is the cause: the other side is told and gives up.
            if (const auto outcome = take_part(i); !outcome)
                fail(outcome.error().what);
            queues_.close(i);
        });
    const auto ended = programs.run(context_.stop);
    for (std::size_t i = 0; i < report_.size(); ++i) {
        const auto& step =
            result_.steps.emplace_back(row(dmabuf_steps()[i], report_[i], context_.config.scenario.message_bytes));
        add_ways(counts_[i].begin, counts_[i].end, result_.steps.back());
        result_.payload_bytes += step.landed;
        if (!report_[i].finding.empty())
            result_.failure = fmt::format("step '{}': {}", step.name, report_[i].finding);
    }
    if (!ended)
        fail(ended.error());
    if (context_.stop != nullptr)
        result_.stopped = context_.stop->why();
    count(platform_, result_);
    result_.verified = result_.failure.empty();
    if (!result_.verified)
        result_.advice =
            advise(seen_by(1, context_.config, platform_.description(), roles_), platform_.description(), result_);
    return std::move(result_);
}

} // namespace

std::expected<Result, std::string> run_dmabuf(const Context& context) {
    if (const auto fit = dmabuf_fits(context.config); !fit)
        return std::unexpected(fit.error());
    const auto wall_begin = std::chrono::steady_clock::now();
    Middle middle;
    Losses losses;
    platform::observe::Fanout sinks;
    sinks.add(middle), sinks.add(losses);
    if (context.events != nullptr)
        sinks.add(*context.events);
    const auto described = platform::topology::describe(context.config).value();
    const auto roles = find_roles(context.config, described).value(); // which dmabuf_fits() has tried
    if (roles.hcas[0].host == roles.hcas[1].host)
        return std::unexpected(
            std::string("scenario 'dmabuf' is between two hosts: choose scenario.to of another one"));
    std::optional<Platform> platform;
    try {
        platform.emplace(context.config, &sinks, context.sources, platform::topology::Served::as_described,
                         context.recording);
    } catch (const std::system_error& error) { // of the machine we run on
        return std::unexpected(fmt::format(
            "the platform cannot be built: {}; choose less host.A.memory, host.B.memory or gpu.vram", error.what()));
    }
    for (std::uint16_t source = 0; source < context.sources.size(); ++source)
        if (context.sources.name(source) == platform->card(roles.hcas[1]).name)
            middle.source = source;
    if (context.capture != nullptr)
        tap(*platform, *context.capture);
    auto result = Show(context, *platform, roles, middle, losses).run();
    result.sim_time_ps = model::tlm::kernel_now().count();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    return result;
}

} // namespace scenario
