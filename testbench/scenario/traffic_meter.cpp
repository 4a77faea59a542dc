#include "testbench/scenario/traffic_meter.h"

#include "model/tlm/kernel_clock.h"
#include "model/tlm/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace scenario {

using model::port::Time;
using model::time::Kind;
using model::tlm::kernel_now;
using model::tlm::to_sc;

namespace {

/// Of the first intervals, where nobody knows how long the run will take.
constexpr Time first_interval = std::chrono::microseconds{10};
constexpr std::uint64_t messages_between_news = 4096, operations_between_news = 64;

} // namespace

void TrafficMeter::Count::add(const load::Done& message) {
    bytes += message.bytes;
    latency.add(message.at - message.since);
}

TrafficMeter::TrafficMeter(platform::topology::Platform& platform, const load::Plan& plan,
                           const platform::ranks::Share& here)
    : platform_(platform), here_(here), plan_(plan), how_(plan.work.how), wanted_warm_up_(how_.warm_up_messages),
      work_(plan.nodes.size()), reductions_(plan.nodes.size()), flows_(plan.flows.size()), shares_(plan.flows) {
    if (plan.operations) {
        wanted_warm_up_ = plan.operations->warm_up;
        operations_.resize(plan.operations->kinds.size());
    }
    std::vector<unsigned> queue_pairs(plan.nodes.size());
    for (const auto& connection : plan.connections)
        for (const auto node : {connection.first, connection.second})
            queue_pairs[node] += plan.work.queue_pairs;
    for (const auto count : queue_pairs)
        most_queue_pairs_ = std::max(most_queue_pairs_, count);
    // Where the time is given, so are the intervals; else they are twice as long whenever there are too many.
    interval_ = how_.duration > Time{} ? std::max(Time{1}, how_.duration / how_.intervals) : first_interval;
}

void TrafficMeter::start() {
    started_ = kernel_now();
    has_started_ = true;
    if (wanted_warm_up_ == 0 && how_.warm_up == Time{})
        begin();
    model::tlm::notify_now(told_);
}

void TrafficMeter::add(std::span<const load::Done> messages) {
    if (is_over_)
        return;
    if (!has_begun_) {
        if (!plan_.operations)
            warm_up(messages.size());
        if (is_list_done())
            finish();
        return;
    }
    const auto before = all_.messages();
    for (const auto& message : messages) {
        all_.add(message);
        part_.add(message);
        flows_[message.flow].add(message);
        shares_.add(message.flow, message.bytes);
    }
    if (plan_.operations)
        return;
    if (progress && all_.messages() / messages_between_news != before / messages_between_news)
        progress(all_.messages(), std::max(all_.messages(), how_.messages));
    if (is_list_done() || (how_.messages != 0 && all_.messages() >= how_.messages))
        finish();
}

void TrafficMeter::add_operation(std::size_t kind, Time since, Time at) {
    if (is_over_)
        return;
    if (!has_begun_) {
        warm_up(1);
        return;
    }
    operations_[kind].add(at - since);
    ++operations_done_;
    if (progress && operations_done_ % operations_between_news == 0)
        progress(operations_done_, std::max(operations_done_, plan_.operations->measured));
    if (operations_done_ >= plan_.operations->measured)
        finish();
}

void TrafficMeter::warm_up(std::uint64_t count) {
    warmed_up_ += count;
    if (warmed_up_ >= wanted_warm_up_ && kernel_now() >= started_ + how_.warm_up)
        begin();
}

/// Of a list there may be fewer messages left to measure than were wished: those of the warm-up time are gone.
bool TrafficMeter::is_list_done() const {
    return plan_.work.is_listed && warmed_up_ + all_.messages() >= how_.warm_up_messages + how_.messages;
}

TrafficMeter::Moment TrafficMeter::look() const {
    Moment moment{
        .at = kernel_now(), .credit_waits = {}, .totals = totals(platform_), .resources = count_all(platform_, here_)};
    for (std::size_t i = 0; i < platform_.cable_count(); ++i)
        for (const unsigned direction : {0u, 1u})
            moment.credit_waits += platform_.cable(i).counters(direction).waited;
    // A core that posts may wait for what is behind it, as the users of a window do.
    auto add_nodes = [&, group = end_of_groups(platform_)](std::string_view what, Kind kind, unsigned units,
                                                           const std::vector<Time>& busy) mutable {
        for (std::size_t i = 0; i < busy.size(); ++i, ++group)
            if (here_.has_host(plan_.nodes[i].hca.host))
                moment.resources.push_back({fmt::format("{} {}", plan_.nodes[i].name, what),
                                            {.name = {}, .kind = kind, .units = units, .usage = {.busy = busy[i]}},
                                            group});
    };
    add_nodes("cores", Kind::window, how_.cores, work_);
    if (plan_.operations && plan_.operations->has_reductions)
        add_nodes("reduction", Kind::server, 1, reductions_);
    return moment;
}

void TrafficMeter::begin() {
    if (std::exchange(has_begun_, true))
        return;
    begin_ = look();
    model::tlm::notify_now(told_);
}

void TrafficMeter::finish() {
    if (std::exchange(is_over_, true))
        return;
    if (has_begun_ && (kernel_now() > (parts_.empty() ? begin_ : parts_.back().end).at || part_.messages() != 0))
        cut(look());
    model::tlm::notify_now(told_);
}

void TrafficMeter::cut(Moment end) {
    parts_.push_back({std::exchange(part_, {}), std::move(end)});
    shares_.cut();
    if (parts_.size() >= 2 * how_.intervals && how_.duration == Time{})
        join_pairs();
}

void TrafficMeter::join_pairs() {
    std::vector<Part> joined;
    for (std::size_t i = 0; i < parts_.size(); i += 2) {
        auto& part = joined.emplace_back(std::move(parts_[i]));
        if (i + 1 == parts_.size())
            break;
        auto& next = parts_[i + 1];
        part.count.bytes += next.count.bytes;
        part.count.latency += next.count.latency;
        part.end = std::move(next.end);
    }
    parts_ = std::move(joined);
    shares_.join_pairs();
    interval_ *= 2;
}

/// Until that time, or until the load is over.
void TrafficMeter::wait_until(Time time) {
    for (auto now = kernel_now(); !is_over_ && now < time; now = kernel_now())
        sc_core::wait(to_sc(time - now), told_);
}

/// When the last flow leaves, after which nothing new is sent; model::port::never where one stays.
Time TrafficMeter::all_have_left() const {
    const auto last = std::ranges::max_element(plan_.flows, {}, &load::Flow::leaves);
    return last == plan_.flows.end() || last->leaves == model::port::never ? model::port::never
                                                                           : started_ + last->leaves;
}

void TrafficMeter::watch() {
    while (!has_started_ && !is_over_)
        sc_core::wait(told_);
    const auto left = all_have_left();
    wait_until(std::min(left, started_ + how_.warm_up));
    if (!is_over_ && kernel_now() >= started_ + how_.warm_up && warmed_up_ >= wanted_warm_up_)
        begin();
    while (!has_begun_ && !is_over_) {
        if (left == model::port::never)
            sc_core::wait(told_);
        else if (kernel_now() < left)
            sc_core::wait(to_sc(left - kernel_now()), told_);
        else
            finish();
    }
    const auto end = std::min(left, how_.duration > Time{} ? begin_.at + how_.duration : model::port::never);
    while (!is_over_) {
        wait_until(std::min(end, kernel_now() + interval_));
        if (is_over_)
            return;
        if (kernel_now() >= end)
            finish();
        else
            cut(look());
    }
}

Busiest TrafficMeter::busiest_between(const Moment& begin, const Moment& end) const {
    std::vector<Counted> between;
    add_between(begin.resources, end.resources, between);
    return busiest(between, end.at - begin.at, most_queue_pairs_);
}

void TrafficMeter::show(Result& result) const {
    for (std::size_t i = 0; i < flows_.size(); ++i)
        result.flows.push_back(
            {plan_.flows[i].name, flows_[i].messages(), flows_[i].bytes, flows_[i].latency.summary()});
    for (std::size_t i = 0; i < operations_.size(); ++i)
        result.operations.push_back(
            {.name = plan_.operations->kinds[i], .count = operations_[i].count(), .latency = operations_[i].summary()});
    const auto fill = [&](auto& row, const Moment& from, const Moment& to) {
        Totals sum;
        add_between(from.totals, to.totals, sum);
        row.retries = sum.retries, row.timeouts = sum.timeouts, row.rnr_waits = sum.rnr_waits;
        row.naks = sum.naks, row.packets_dropped = sum.dropped;
        row.packets_marked = sum.marked, row.cnps = sum.cnps;
        row.window_cuts = sum.window_cuts;
        row.window_waits_ps = static_cast<std::int64_t>(sum.window_waited_ps);
        if (sum.round_trips != 0)
            row.round_trip_ps = static_cast<std::int64_t>(sum.round_trips_ps / sum.round_trips);
        row.pauses = sum.pauses, row.switch_drops = sum.switch_drops;
        row.credit_waits_ps = (to.credit_waits - from.credit_waits).count();
        if (to.at == from.at)
            return;
        auto found = busiest_between(from, to);
        row.bottleneck = std::move(found.name), row.load = found.load;
    };
    TrafficRow all{.messages = all_.messages(), .bytes = all_.bytes, .latency = all_.latency.summary()};
    std::vector<std::uint64_t> bytes(flows_.size());
    std::ranges::transform(flows_, bytes.begin(), &Count::bytes);
    all.fairness = jain(bytes);
    if (!plan_.operations && all.messages != 0)
        all.rate_error = static_cast<double>(flows_.size()) * plan_.work.queue_pairs * how_.signal_every /
                         static_cast<double>(all.messages);
    if (!parts_.empty()) {
        all.begin_ps = begin_.at.count();
        all.elapsed_ps = (parts_.back().end.at - begin_.at).count();
        fill(all, begin_, parts_.back().end);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const auto& from = i == 0 ? begin_ : parts_[i - 1].end;
        const auto& part = parts_[i];
        Interval row{.begin_ps = from.at.count(),
                     .end_ps = part.end.at.count(),
                     .messages = part.count.messages(),
                     .bytes = part.count.bytes,
                     .latency = part.count.latency.summary()};
        fill(row, from, part.end);
        const auto held = std::ranges::find(result.held_back, row.bottleneck, &HeldBack::name);
        if (held != result.held_back.end())
            held->time_ps += row.end_ps - row.begin_ps;
        else if (!row.bottleneck.empty())
            result.held_back.push_back({row.bottleneck, row.end_ps - row.begin_ps});
        result.intervals.push_back(std::move(row));
    }
    std::ranges::stable_sort(result.held_back, std::greater<>{}, &HeldBack::time_ps);
    for (auto& operation : result.operations)
        operation.elapsed_ps = all.elapsed_ps;
    result.traffic = std::move(all);
    show_shares(result);
}

/// Of messages alone: what an operation makes its flows carry is decided by the operation.
void TrafficMeter::show_shares(Result& result) const {
    if (plan_.operations)
        return;
    std::vector<FlowShares::Span> spans;
    for (std::size_t i = 0; i < result.intervals.size(); ++i) {
        auto& row = result.intervals[i];
        spans.push_back({Time{row.begin_ps} - started_, Time{row.end_ps} - started_});
        row.shares = shares_.in(i, spans.back());
    }
    if (const auto settled = shares_.settled(spans))
        result.traffic->settled_ps = settled->count();
}

} // namespace scenario
