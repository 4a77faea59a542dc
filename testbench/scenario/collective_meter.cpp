#include "testbench/scenario/collective_meter.h"

#include <algorithm>
#include <utility>

namespace scenario {

using model::port::Time;
using model::tlm::kernel_now;
using platform::ranks::Reader;
using platform::ranks::Topic;
using platform::ranks::Writer;

namespace {

constexpr std::uint64_t operations_between_news = 64;

Time behind_on_grid(Time time) { return (time / CollectiveMeter::grid + 1) * CollectiveMeter::grid; }

} // namespace

CollectiveMeter::CollectiveMeter(platform::topology::Platform& platform, const load::Plan& plan,
                                 const platform::ranks::Share& here, platform::ranks::Post* post)
    : TrafficMeter(platform, plan, here), post_(post),
      clock_([this](Time now) { count_until(now); }, model::tlm::Calls::at_once, model::tlm::Precedence::first) {
    if (post_ != nullptr)
        post_->on(Topic::operation, [this](unsigned from, Reader& message) { return take(from, message); });
}

void CollectiveMeter::add(std::span<const load::Done> messages) {
    if (!is_over_)
        messages_.insert(messages_.end(), messages.begin(), messages.end());
}

void CollectiveMeter::add_operation(std::size_t kind, Time since, Time at) {
    performed_.push_back({kind, since, at});
    if (post_ != nullptr)
        post_->send_to_all(Topic::operation, behind_on_grid(at), [&](Writer& writer) { writer.put(at); });
    else
        note_operation(at);
}

bool CollectiveMeter::take(unsigned, Reader& message) {
    note_operation(message.get_time());
    return true;
}

void CollectiveMeter::note_operation(Time at) {
    if (is_over_)
        return;
    done_at_.push_back(at);
    ask();
}

/// Where there is one process, the clock says when it is time.
void CollectiveMeter::ask() {
    if (const auto at = due(); post_ == nullptr && at != model::port::never)
        clock_.wake_at(at);
}

void CollectiveMeter::start() {
    started_ = kernel_now();
    has_started_ = true;
    if (wanted_warm_up_ == 0)
        open(started_);
}

/// The measured time has begun at `at`.
void CollectiveMeter::open(Time at) {
    has_begun_ = true;
    begin_ = look();
    begin_.at = at;
    next_cut_ = behind_on_grid(at + interval_);
    ask();
}

Time CollectiveMeter::due() const {
    if (is_over_)
        return model::port::never;
    const auto first = std::ranges::min_element(done_at_);
    return std::min(next_cut_, first != done_at_.end() ? behind_on_grid(*first) : model::port::never);
}

/// What ends at the begin is of the warm-up, where there is one.
bool CollectiveMeter::is_measured(Time at) const {
    return has_begun_ && (at > begin_.at || (at == begin_.at && wanted_warm_up_ == 0)) && at <= over_at_;
}

void CollectiveMeter::count_until(Time now) {
    if (is_over_)
        return;
    std::ranges::sort(done_at_);
    for (const auto at : std::exchange(done_at_, {}))
        if (!has_begun_) {
            if (++warmed_up_ >= wanted_warm_up_)
                open(at);
        } else if (is_measured(at) && ++operations_done_ >= plan_.operations->measured) {
            over_at_ = std::min(over_at_, at);
        } else if (progress && operations_done_ % operations_between_news == 0) {
            progress(operations_done_, plan_.operations->measured);
        }
    for (const auto& message : std::exchange(messages_, {})) {
        if (!is_measured(message.at))
            continue;
        all_.add(message);
        part_.add(message);
        flows_[message.flow].add(message);
    }
    for (const auto& one : std::exchange(performed_, {}))
        if (is_measured(one.at))
            operations_[one.kind].add(one.at - one.since);
    if (over_at_ != model::port::never) {
        is_over_ = true;
        auto end = look();
        end.at = over_at_;
        cut(std::move(end));
        return;
    }
    if (now >= next_cut_) {
        cut(look());
        next_cut_ = now + interval_;
    }
    ask();
}

// --- what several processes have counted ---

namespace {

void put_totals(Writer& writer, const Totals& totals) {
    for_each_total([&](auto member) { writer.put(totals.*member); });
}

} // namespace

void CollectiveMeter::put(Writer& writer) const {
    const auto put_count = [&](const Count& count) {
        writer.put(count.bytes);
        count.latency.put(writer);
    };
    const auto put_moment = [&](const Moment& moment) {
        writer.put(moment.at);
        writer.put(moment.credit_waits);
        put_totals(writer, moment.totals);
        writer.put(static_cast<std::uint32_t>(moment.resources.size()));
        for (const auto& row : moment.resources) {
            writer.put(std::string_view(row.name));
            writer.put(static_cast<std::uint64_t>(row.group));
            writer.put(row.account.kind);
            writer.put(row.account.units);
            writer.put(row.account.usage.busy);
        }
    };
    put_count(all_);
    for (const auto& flow : flows_)
        put_count(flow);
    for (const auto& operation : operations_)
        operation.put(writer);
    put_moment(begin_);
    writer.put(static_cast<std::uint32_t>(parts_.size()));
    for (const auto& part : parts_) {
        put_count(part.count);
        put_moment(part.end);
    }
}

bool CollectiveMeter::add(Reader& reader) {
    const auto add_count = [&](Count& count) {
        count.bytes += reader.get<std::uint64_t>();
        count.latency += LatencyCount::get(reader);
    };
    const auto add_moment = [&](Moment& moment) {
        const bool is_same = reader.get_time() == moment.at;
        moment.credit_waits += reader.get_time();
        for_each_total([&](auto member) { moment.totals.*member += reader.get<std::uint64_t>(); });
        for (auto left = reader.get<std::uint32_t>(); left != 0 && reader.is_good(); --left) {
            auto& row = moment.resources.emplace_back();
            row.name = reader.get_text();
            row.group = reader.get<std::uint64_t>();
            row.account.kind = reader.get<model::time::Kind>();
            row.account.units = std::max(1u, reader.get<unsigned>());
            row.account.usage.busy = reader.get_time();
        }
        return is_same && reader.is_good();
    };
    add_count(all_);
    for (auto& flow : flows_)
        add_count(flow);
    for (auto& operation : operations_)
        operation += LatencyCount::get(reader);
    if (!add_moment(begin_) || reader.get<std::uint32_t>() != parts_.size())
        return false;
    for (auto& part : parts_) {
        add_count(part.count);
        if (!add_moment(part.end))
            return false;
    }
    return reader.is_good();
}

void CollectiveMeter::sort_resources() {
    std::ranges::stable_sort(begin_.resources, {}, &Counted::group);
    for (auto& part : parts_)
        std::ranges::stable_sort(part.end.resources, {}, &Counted::group);
}

} // namespace scenario
