#include "model/tlm/agenda.h"

#include "model/tlm/time.h"

#include <algorithm>
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
    next_.notify(to_sc(at - kernel_now()));
}

void Agenda::ring() {
    armed_ = port::never;
    is_ringing_ = true;
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
    is_ringing_ = false;
    if (!heap_.empty())
        arm(heap_.front().at);
}

} // namespace model::tlm
