// Threads that poll: while memory knows that a look would find what the last one has, none is made. All is as if each
// had been, its time among it (to some picoseconds): a thread goes on with the first look that may find something else.
#include "model/gpu/wave/grid.h"

#include <algorithm>

namespace model::gpu::wave {

void Thread::Waiter::changed(port::Time at) { thread_.grid_.awake(thread_, at); }

void Grid::note_look(Thread& thread, const Request& request, const memory::Outcome& outcome) {
    auto& look = thread.look_;
    // What shares of VRAM and GL2 take is rounded to picoseconds, now up, now down.
    constexpr port::Time rounding{10};
    look.is_steady = look.length == request.into.size() && look.outcome.physical == outcome.physical &&
                     std::chrono::abs(look.outcome.done - look.at - (outcome.done - thread.now_)) <= rounding;
    look.length = request.into.size() <= look.found.size() ? request.into.size() : 0;
    std::ranges::copy(request.into.first(look.length), look.found.begin());
    look.outcome = outcome;
    look.at = thread.now_;
}

void Grid::wait_for_change(Thread& thread, const Request& request) {
    const auto at = thread.now_;
    const auto next = at + std::max(request.span, config_.issue);
    const auto& look = thread.look_;
    auto& waiter = thread.waiter_;
    // Where looks take different times, each is made.
    const bool can_wait = look.length != 0 && look.is_steady && config_.jitter == port::Time{} &&
                          view(thread).watch(look.outcome, std::span(look.found).first(look.length), waiter);
    if (!can_wait)
        return resume_at(thread, next);
    waiter.next = next;
    waiter.between = next - look.at;
    // Then it is stuck, unless somebody has got somewhere meanwhile.
    waiter.last = std::max(thread.watch_.progress(), progress_) + config_.stuck_after + port::Time{1};
    waiter.is_asleep = true;
    look_again_ = std::min(look_again_, waiter.last);
}

/// Its next look is the first one that it has left out and that comes no earlier.
void Grid::awake(Thread& thread, port::Time at) {
    auto& waiter = thread.waiter_;
    if (!std::exchange(waiter.is_asleep, false))
        return;
    waiter.leave();
    const auto late = std::max(at - waiter.next, port::Time{});
    const auto looks = (late + waiter.between - port::Time{1}) / waiter.between;
    const auto next = waiter.next + looks * waiter.between;
    thread.watch_.skip(static_cast<std::uint64_t>(looks), next);
    turns_.push_back({next, random_(), thread.index()});
    std::push_heap(turns_.begin(), turns_.end());
    if (!is_busy_ && alarm_)
        alarm_();
}

void Grid::awake_late(port::Time now) {
    look_again_ = port::never;
    for (auto& thread : threads_)
        if (thread.waiter_.is_asleep && thread.waiter_.last <= now)
            awake(thread, thread.waiter_.last);
        else if (thread.waiter_.is_asleep)
            look_again_ = std::min(look_again_, thread.waiter_.last);
}

} // namespace model::gpu::wave
