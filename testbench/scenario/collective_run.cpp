#include "testbench/scenario/collective_run.h"

#include "model/tlm/kernel_clock.h"
#include "model/tlm/time.h"
#include "platform/ranks/cut_cables.h"
#include "platform/ranks/partition.h"
#include "platform/ranks/post.h"
#include "testbench/scenario/collective_fit.h"
#include "testbench/scenario/collective_meter.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/own_events.h"
#include "testbench/scenario/programs.h"
#include "testbench/scenario/result_bytes.h"
#include "testbench/scenario/runs.h"
#include "testbench/scenario/together.h"
#include "testbench/workload/collective_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace scenario {

namespace {

using platform::ranks::Bytes;
using platform::ranks::Exchange;
using platform::ranks::Partition;
using platform::ranks::Reader;
using platform::ranks::Writer;

/// Ranks do an operation together, so that the measured time is divided by how often each has done it.
void add_bandwidth(const workload::CollectivePlan& plan, Result& result) {
    auto& row = result.operations.front();
    const auto each = plan.shape.ranks - plan.shape.servers.size();
    row.ranks = plan.shape.ranks;
    row.bytes = plan.shape.bytes;
    if (row.count == 0 || result.traffic->elapsed_ps <= 0)
        return;
    row.time_ns = static_cast<double>(result.traffic->elapsed_ps) / 1000 * static_cast<double>(each) /
                  static_cast<double>(row.count);
    row.algorithm_bandwidth = static_cast<double>(row.bytes) * 1e9 / row.time_ns;
    row.bus_bandwidth = row.algorithm_bandwidth * bus_factor(plan);
}

/// What has been counted of a run, in one process or in several.
struct Counts {
    Result sums{};
    std::vector<CountedGroup> groups{};
    std::uint64_t verified = 0;
    CollectiveMeter& meter;
};

void put(Writer& writer, const Counts& counts) {
    writer.put(counts.verified);
    put_counts(writer, counts.sums);
    writer.put(static_cast<std::uint32_t>(counts.groups.size()));
    for (const auto& group : counts.groups) {
        writer.put(static_cast<std::uint64_t>(group.number));
        put_counts(writer, group.rows);
    }
    counts.meter.put(writer);
}

bool add(Reader& reader, Counts& counts) {
    counts.verified += reader.get<std::uint64_t>();
    if (!add_counts(reader, counts.sums))
        return false;
    for (auto left = reader.get<std::uint32_t>(); left != 0; --left) {
        auto& group = counts.groups.emplace_back(CountedGroup{.number = reader.get<std::uint64_t>()});
        if (!add_counts(reader, group.rows))
            return false;
    }
    return counts.meter.add(reader) && reader.is_complete();
}

/// Gives process 0 what the others have counted.
void gather(Exchange& exchange, Counts& counts) {
    std::vector<Bytes> to(exchange.ranks());
    if (exchange.rank() != 0) {
        Writer writer(to[0]);
        put(writer, counts);
    }
    const auto round = exchange.exchange(model::port::never, std::move(to));
    for (unsigned from = 1; exchange.rank() == 0 && from < exchange.ranks(); ++from)
        if (Reader reader(round.from[from]); !add(reader, counts))
            exchange.abandon(fmt::format("what process {} has counted is not of this run", from));
    std::ranges::stable_sort(counts.groups, {}, &CountedGroup::number);
    counts.meter.sort_resources();
}

/// The last program has returned; what is still on its way comes to its end.
void run_tail() { sc_core::sc_start(model::tlm::to_sc(tail)); }

class CollectiveRun {
public:
    CollectiveRun(const Context& context, const workload::CollectivePlan& plan, std::optional<Partition> partition)
        : context_(context), plan_(plan), partition_(std::move(partition)),
          own_events_(context.events, context.sources) {
        if (!partition_)
            return;
        here_ = {&*partition_, context.exchange->rank()};
        post_.emplace(*context.exchange);
    }

    std::expected<Result, std::string> run() {
        const auto wall_begin = std::chrono::steady_clock::now();
        auto* events = context_.events;
        if (partition_ && events != nullptr)
            events = &own_events_;
        std::optional<platform::topology::Platform> built;
        const auto stands = build(built, context_, events, [this](std::size_t host) { return here_.has_host(host); });
        if (!stands) {
            if (partition_)
                context_.exchange->abandon(stands.error());
            return std::unexpected(stands.error());
        }
        auto& platform = *built;
        own_events_.keep([&](std::string_view component) {
            return partition_->is_said_by(platform.description(), component, here_.rank);
        });
        std::optional<platform::ranks::CutCables> cables;
        if (partition_)
            cables.emplace(platform, *partition_, *post_, model::tlm::kernel_now);
        auto* post = post_ ? &*post_ : nullptr;
        CollectiveMeter meter(platform, plan_.load, here_, post);
        meter.progress = [&](std::uint64_t done, std::uint64_t total) { context_.tell("operations", done, total); };
        workload::CollectiveLoad load(platform, plan_, meter, here_, post);
        MovedPayload before, moved;
        load.on_begin = [&] {
            before = moved_payload(platform);
            platform.begin_failures(model::tlm::kernel_now());
            meter.start();
        };
        load.on_end = [&] {
            moved = moved_payload(platform) - before;
            meter.stop();
        };
        Programs programs;
        load.for_each_thread(
            [&](std::string name, std::function<void()> body) { programs.add(std::move(name), std::move(body)); });

        std::expected<void, std::string> ended;
        if (partition_)
            ended =
                Together({*partition_, *context_.exchange, *post_, *cables, meter, load}).run(programs, context_.stop);
        else if (ended = programs.run(context_.stop); ended)
            run_tail();
        meter.stop();

        Result result;
        count(platform, result); // of what one process has alone
        Counts counts{.sums = {}, .groups = count_groups(platform, here_), .verified = load.verified(), .meter = meter};
        count_sums(platform, counts.sums);
        moved.show(counts.sums);
        if (partition_)
            gather(*context_.exchange, counts);
        auto all = std::move(counts.sums);
        for (auto& group : counts.groups)
            append_rows(all, std::move(group));
        all.failures = std::move(result.failures);
        all.failure = load.failure().empty() ? result.failure : load.failure();
        finish(all, ended, load, counts);
        all.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
        return all;
    }

private:
    void finish(Result& result, const std::expected<void, std::string>& ended, const workload::CollectiveLoad& load,
                const Counts& counts) const {
        result.scenario = context_.config.scenario.name;
        if (!ended && result.failure.empty())
            result.failure = ended.error();
        if (context_.stop != nullptr)
            result.stopped = context_.stop->why();
        counts.meter.show(result);
        result.traffic->is_open_loop = plan_.load.work.is_open_loop();
        result.traffic->offered = load.arrived();
        result.traffic->unposted = load.unposted();
        result.traffic->checked = counts.verified;
        result.payload_bytes = result.traffic->bytes;
        add_bandwidth(plan_, result);
        if (result.failure.empty() && result.traffic->messages == 0)
            result.failure = "no message was done in the time that was measured";
        result.verified = result.failure.empty();
        result.sim_time_ps = model::tlm::kernel_now().count();
    }

    const Context& context_;
    const workload::CollectivePlan& plan_;
    const std::optional<Partition> partition_;
    OwnEvents own_events_;
    platform::ranks::Share here_{};
    std::optional<platform::ranks::Post> post_;
};

} // namespace

std::expected<Result, std::string> run_collective(const Context& context) {
    const auto plan = plan_collective(context.config);
    if (!plan)
        return std::unexpected(plan.error());
    std::optional<Partition> partition;
    if (context.exchange != nullptr) {
        const auto described = platform::topology::describe(context.config).value(); // which read_config has tried
        auto made = Partition::make(context.config, described, context.exchange->ranks());
        if (!made)
            return std::unexpected(made.error());
        partition = std::move(*made);
    }
    return CollectiveRun(context, *plan, std::move(partition)).run();
}

} // namespace scenario
