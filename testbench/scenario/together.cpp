#include "testbench/scenario/together.h"

#include "model/tlm/agenda.h"
#include "model/tlm/time.h"
#include "platform/ranks/windows.h"

#include <fmt/format.h>

#include <algorithm>

namespace scenario {

using model::port::never;
using model::port::Time;
using model::tlm::from_sc;
using model::tlm::kernel_now;
using platform::ranks::Reader;
using platform::ranks::Topic;
using platform::ranks::Writer;

namespace {

/// When the kernel has something to do, if nothing comes from elsewhere.
Time next_of_kernel() {
    const bool has_begun = sc_core::sc_get_status() != sc_core::SC_ELABORATION;
    if (!has_begun || sc_core::sc_pending_activity_at_current_time())
        return kernel_now();
    return sc_core::sc_pending_activity() ? kernel_now() + from_sc(sc_core::sc_time_to_pending_activity()) : never;
}

} // namespace

Together::Together(const Parts& parts) : parts_(parts) {
    parts_.post.on(Topic::end, [this](unsigned, Reader& message) { return hear(message); });
}

void Together::tell(News news, Time at, std::string_view text) {
    parts_.post.send_to_all(Topic::end, at + tail, [&](Writer& writer) {
        writer.put(news);
        writer.put(at);
        writer.put(text);
    });
}

bool Together::hear(Reader& message) {
    const auto news = message.get<News>();
    const auto at = message.get_time();
    auto text = message.get_text();
    switch (news) {
    case News::done:
        ++done_;
        last_done_ = std::max(last_done_, at);
        return true;
    case News::failed: parts_.load.fail(std::move(text)); return true;
    case News::stopped:
        if (stopped_.empty())
            stopped_ = std::move(text);
        return true;
    }
    return false;
}

std::expected<void, std::string> Together::run(const Programs& programs, Stop* stop) {
    Programs::keep_quiet();
    const Running running(stop);
    const auto is_to_stop = [&] {
        if (stop != nullptr)
            stop->ask();
        return stop != nullptr && stop->is_requested();
    };
    const platform::ranks::Windows windows{.lookahead = std::min(parts_.partition.lookahead(), load::Meeting::latency),
                                           .grid = CollectiveMeter::grid};
    for (;;) {
        const auto now = kernel_now();
        if (programs.are_done() && !std::exchange(has_told_done_, true))
            tell(News::done, from_sc(programs.done_at()), "");
        if (!parts_.load.failure().empty() && !std::exchange(has_told_failure_, true))
            tell(News::failed, now, parts_.load.failure());
        if (is_to_stop() && !std::exchange(has_told_stop_, true))
            tell(News::stopped, now, stop->why());
        const auto next = parts_.post.exchange(next_of_kernel());
        ++rounds_;
        // What is wrong here alone, the others would wait for.
        if (!parts_.cables.trouble().empty())
            parts_.exchange.abandon(parts_.cables.trouble());
        if (!next)
            parts_.exchange.abandon(next.error());
        if (!stopped_.empty()) {
            if (stop != nullptr)
                stop->request(stopped_);
            return std::unexpected(
                fmt::format("{} after {:.3f} us of simulated time", stopped_, static_cast<double>(now.count()) * 1e-6));
        }
        if (parts_.meter.due() <= now)
            parts_.meter.count_until(now);
        const auto end_of_run = done_ == parts_.exchange.ranks() ? last_done_ + tail : never;
        if (now >= end_of_run)
            return {};
        if (*next == never && end_of_run == never)
            return std::unexpected(std::string(
                "the simulation ran out of events while a program still waits: this is a defect of hcasim"));
        const auto first = std::max(*next, now);
        auto end = std::min(parts_.meter.due(), end_of_run);
        if (first != never)
            end = std::min(end, windows.end_of(first));
        while (kernel_now() < end) // a program that returns pauses the kernel; who is to stop gets there, as all do
            model::tlm::run_for(end - kernel_now());
    }
}

} // namespace scenario
