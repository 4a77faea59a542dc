#include "model/tlm/agenda.h"

#include "model/tlm/time.h"

#include <algorithm>
#include <cassert>
#include <functional>

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
    askers_.push_back({std::move(on_due), port::never, precedence});
    return static_cast<std::uint32_t>(askers_.size() - 1);
}

void Agenda::remove(std::uint32_t number) {
    askers_[number].on_due = nullptr;
    askers_[number].next = port::never;
}

void Agenda::ask(std::uint32_t number, port::Time at) {
    auto& asker = askers_[number];
    if (at >= asker.next)
        return;
    asker.next = at;
    constexpr std::uint32_t behind_the_first = 1u << 31;
    heap_.push_back({at, number + (asker.precedence == Precedence::first ? 0 : behind_the_first), number});
    std::ranges::push_heap(heap_, std::greater<>{});
    if (!is_ringing_)
        arm(at);
}

void Agenda::arm(port::Time at) {
    if (at >= armed_)
        return;
    armed_ = at;
    next_.notify(to_sc(at - from_sc(sc_core::sc_time_stamp())));
}

void Agenda::ring() {
    armed_ = port::never;
    is_ringing_ = true;
    for (const auto& [event, at_once] : to_be_notified_)
        at_once ? event->notify() : event->notify(sc_core::SC_ZERO_TIME);
    to_be_notified_.clear();
    do
        for (const auto now = kernel_now(); !heap_.empty() && heap_.front().at <= now;) {
            const auto due = heap_.front();
            std::ranges::pop_heap(heap_, std::greater<>{});
            heap_.pop_back();
            auto& asker = askers_[due.number];
            if (asker.next != due.at)
                continue; // it was called for an earlier time that it asked for afterwards
            asker.next = port::never;
            asker.on_due();
        }
    while (goes_ahead());
    is_ringing_ = false;
    if (!to_be_notified_.empty())
        arm(agenda_time);
    else if (!heap_.empty())
        arm(heap_.front().at);
}

/// A process of the kernel runs at the kernel's time, which is brought to the agenda's; nothing is due in between.
void notify_when_there(sc_core::sc_event& event, bool at_once) {
    auto& agenda = Agenda::of_simulation();
    agenda.to_be_notified_.push_back({&event, at_once});
    if (!agenda.is_ringing_)
        agenda.arm(agenda_time);
}

bool Agenda::goes_ahead() {
    if (heap_.empty() || heap_.front().at >= goes_ahead_until_ || !to_be_notified_.empty())
        return false;
    assert((!is_ahead_of_kernel() || !sc_core::sc_pending_activity_at_current_time()) &&
           "what the agenda calls notifies by notify_now() and its like");
    const auto next = heap_.front().at;
    if (sc_core::sc_time_to_pending_activity() <= to_sc(next - from_sc(sc_core::sc_time_stamp())))
        return false;
    agenda_time = next;
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
