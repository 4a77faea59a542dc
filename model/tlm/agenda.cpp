#include "model/tlm/agenda.h"

#include "model/time/schedule.h"
#include "model/tlm/time.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace model::tlm {

Agenda& Agenda::of_simulation() {
    // Never destroyed: clocks leave it when modules go, which may be after the objects of this function would.
    static auto* const agenda = new Agenda;
    return *agenda;
}

Agenda::Agenda() : next_("agenda") {
    sc_core::sc_spawn_options options;
    options.spawn_method();
    options.set_sensitivity(&next_);
    options.dont_initialize();
    sc_core::sc_spawn([this] { ring(); }, sc_core::sc_gen_unique_name("agenda"), &options);
}

std::uint32_t Agenda::add(std::function<void()> on_due, Precedence precedence) {
    askers_.push_back({std::move(on_due), precedence});
    return static_cast<std::uint32_t>(askers_.size() - 1);
}

void Agenda::remove(std::uint32_t number) {
    askers_[number].on_due = nullptr;
    if (number == called_)
        asked_by_called_ = port::never;
    const auto place = askers_[number].place;
    if (place == nowhere || number == called_)
        return;
    askers_[number].place = nowhere;
    const auto last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size())
        return;
    // The last one comes from another branch, so that it may belong above or below.
    put(place, last);
    rise(place, last);
    sink(askers_[last.number].place, last);
}

Agenda::Due Agenda::due_of(std::uint32_t number, port::Time at) const {
    constexpr std::uint32_t behind_the_first = 1u << 31;
    return {at, number + (askers_[number].precedence == Precedence::first ? 0 : behind_the_first), number};
}

void Agenda::rise(std::size_t place, Due due) {
    for (; place != 0; place = (place - 1) / 2) {
        const auto& above = heap_[(place - 1) / 2];
        if (!due.is_before(above))
            break;
        put(place, above);
    }
    put(place, due);
}

void Agenda::sink(std::size_t place, Due due) {
    for (std::size_t below = 2 * place + 1; below < heap_.size(); place = below, below = 2 * place + 1) {
        if (below + 1 < heap_.size() && heap_[below + 1].is_before(heap_[below]))
            ++below;
        if (!heap_[below].is_before(due))
            break;
        put(place, heap_[below]);
    }
    put(place, due);
}

void Agenda::ask(std::uint32_t number, port::Time at) {
    if (number == called_) {
        asked_by_called_ = std::min(asked_by_called_, at);
        return;
    }
    if (at == port::never)
        return;
    const auto place = askers_[number].place;
    if (place == nowhere) {
        const auto due = due_of(number, at);
        heap_.push_back(due);
        rise(heap_.size() - 1, due);
    } else if (auto due = heap_[place]; at < due.at) {
        due.at = at;
        rise(place, due);
    } else {
        return;
    }
    if (!kernel_seen.is_valid)
        arm(at);
}

void Agenda::arm(port::Time at) {
    if (at >= armed_)
        return;
    armed_ = at;
    next_.notify(to_sc(at - from_sc(sc_core::sc_time_stamp())));
}

/// Calls who is due first. It stays in the first place until it has returned, since most of them ask again at once, and
/// nothing is before it there.
void Agenda::call_first() {
    called_ = heap_.front().number;
    heap_.front().at = port::Time::min();
    askers_[called_].on_due();
    const auto number = std::exchange(called_, nowhere);
    const auto next = std::exchange(asked_by_called_, port::never);
    if (next != port::never)
        return sink(0, due_of(number, next));
    askers_[number].place = nowhere;
    const auto last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty())
        sink(0, last);
}

void Agenda::ring() {
    armed_ = port::never;
    kernel_seen = {.is_valid = true, .now = from_sc(sc_core::sc_time_stamp())};
    agenda_time = std::max(agenda_time, kernel_seen.now);
    time::past_until = agenda_time;
    for (const auto& [event, at_once] : to_be_notified_)
        at_once ? event->notify() : event->notify(sc_core::SC_ZERO_TIME);
    to_be_notified_.clear();
    do
        while (!heap_.empty() && heap_.front().at <= agenda_time)
            call_first();
    while (goes_ahead());
    kernel_seen.is_valid = false;
    if (!to_be_notified_.empty())
        arm(agenda_time);
    else if (!heap_.empty())
        arm(heap_.front().at);
}

/// A process of the kernel runs at the kernel's time, which is brought to the agenda's; nothing is due in between.
void notify_when_there(sc_core::sc_event& event, bool at_once) {
    auto& agenda = Agenda::of_simulation();
    agenda.to_be_notified_.push_back({&event, at_once});
    if (!kernel_seen.is_valid)
        agenda.arm(agenda_time);
}

port::Time Agenda::kernel_next() const {
    const auto span = sc_core::sc_time_to_pending_activity().value();
    const auto longest = (port::never - kernel_seen.now).count();
    return span < static_cast<std::uint64_t>(longest) ? kernel_seen.now + port::Time{static_cast<std::int64_t>(span)}
                                                      : port::never;
}

bool Agenda::goes_ahead() {
    if (heap_.empty() || heap_.front().at >= goes_ahead_until_ || !to_be_notified_.empty())
        return false;
    assert((!is_ahead_of_kernel() || !sc_core::sc_pending_activity_at_current_time()) &&
           "what the agenda calls notifies by notify_now() and its like");
    // Before it is ahead, what it calls may notify as it likes; afterwards only notify_at() can bring something sooner.
    if (kernel_seen.has_changed || !is_ahead_of_kernel()) {
        kernel_seen.next = kernel_next();
        kernel_seen.has_changed = false;
    }
    assert(kernel_seen.next == kernel_next() && "what the agenda calls notifies by notify_now() and its like");
    if (kernel_seen.next <= heap_.front().at)
        return false;
    agenda_time = heap_.front().at;
    time::past_until = agenda_time;
    return true;
}

void run() {
    Agenda::goes_ahead_until_ = port::never;
    sc_core::sc_start();
    Agenda::goes_ahead_until_ = {};
}

void run_for(port::Time span) {
    Agenda::goes_ahead_until_ = kernel_now() + span;
    sc_core::sc_start(to_sc(Agenda::goes_ahead_until_ - from_sc(sc_core::sc_time_stamp())));
    Agenda::goes_ahead_until_ = {};
}

void pause() {
    Agenda::goes_ahead_until_ = {};
    sc_core::sc_pause();
}

} // namespace model::tlm
