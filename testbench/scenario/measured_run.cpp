#include "testbench/scenario/measured_run.h"

#include "model/tlm/kernel_clock.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/programs.h"
#include "testbench/scenario/runs.h"
#include "testbench/scenario/traffic_meter.h"

#include <chrono>
#include <optional>

namespace scenario {

std::expected<Result, std::string> run_measured(const Context& context, const load::Plan& plan, std::string_view what,
                                                const MakeLoad& make, const FinishResult& finish) {
    const auto wall_begin = std::chrono::steady_clock::now();
    std::optional<platform::topology::Platform> built;
    if (const auto done = build(built, context, context.events); !done)
        return std::unexpected(done.error());
    auto& platform = *built;

    TrafficMeter meter(platform, plan);
    meter.progress = [&](std::uint64_t done, std::uint64_t total) { context.tell(what, done, total); };
    const auto load = make(platform, meter);
    MovedPayload before, moved;
    load->on_begin = [&] {
        before = moved_payload(platform);
        platform.begin_failures(model::tlm::kernel_now());
        meter.start();
    };
    load->on_end = [&] {
        moved = moved_payload(platform) - before;
        meter.stop();
    };
    Programs programs;
    load->for_each_thread(
        [&](std::string name, std::function<void()> body) { programs.add(std::move(name), std::move(body)); });
    programs.add("meter", [&] { meter.watch(); });
    const auto ended = programs.run(context.stop);

    Result result;
    result.scenario = context.config.scenario.name;
    result.failure = load->failure();
    if (!ended && result.failure.empty())
        result.failure = ended.error();
    if (context.stop != nullptr)
        result.stopped = context.stop->why();
    meter.stop();
    meter.show(result);
    result.traffic->is_open_loop = plan.work.is_open_loop();
    result.traffic->offered = load->arrived();
    result.traffic->unposted = load->unposted();
    result.traffic->checked = load->verified();
    result.payload_bytes = result.traffic->bytes;
    count(platform, result);
    moved.show(result);
    if (finish)
        finish(*load, result);
    if (result.failure.empty() && result.traffic->messages == 0)
        result.failure = "no message was done in the time that was measured";
    result.verified = result.failure.empty();
    result.sim_time_ps = model::tlm::kernel_now().count();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    return result;
}

} // namespace scenario
