#include "platform/bridge/vfio_user/pump.h"

#include "model/tlm/time.h"

#include <boost/asio/executor_work_guard.hpp>

#include <algorithm>

namespace platform::bridge::vfio_user {

using model::port::Time;
using model::tlm::from_sc;
using model::tlm::kernel_now;
using model::tlm::to_sc;

namespace {
/// Steps of the kernel between two looks at the sockets.
constexpr unsigned steps_at_once = 64;
/// Handlers of sockets between two looks at the kernel.
constexpr unsigned handlers_at_once = 16;
/// A run ends before the processes of its last instant: it is made so much longer.
constexpr Time instant{1};

bool is_anything_due(Time limit) {
    return sc_core::sc_pending_activity() && kernel_now() + from_sc(sc_core::sc_time_to_pending_activity()) <= limit;
}
} // namespace

void Pump::run() {
    const auto guard = boost::asio::make_work_guard(io_);
    start_ = Wall::now() - std::chrono::duration_cast<Wall::duration>(kernel_now());
    paced_ = idled_ = Wall::now();
    next_sleep_ = config_.first_sleep;
    is_running_ = true;
    for (auto last_work = Wall::now(); !is_stopped_;) {
        // One by one: a handler whose socket never runs dry would keep poll() for ever.
        bool is_handled = false;
        for (unsigned i = 0; i < handlers_at_once && io_.poll_one() != 0; ++i)
            is_handled = true;
        bool is_moved = false;
        for (unsigned i = 0; i < steps_at_once && !is_stopped_ && step(); ++i)
            is_moved = true;
        const bool is_found = poll && !is_stopped_ && poll();
        if (is_handled || is_moved || is_found)
            last_work = Wall::now(), next_sleep_ = config_.first_sleep;
        else if (Wall::now() - last_work >= config_.spin && !is_stopped_)
            sleep();
        if (Wall::now() - idled_ >= config_.longest_busy && !is_stopped_)
            idle();
    }
    is_running_ = false;
}

/// Does the next thing that is due; false when there is none.
bool Pump::step() {
    pace();
    const auto now = kernel_now(), wall = wall_time();
    if (is_anything_due(std::max(now, wall + config_.ahead))) {
        sc_core::sc_start(sc_core::sc_time_to_pending_activity() + to_sc(instant));
        return true;
    }
    if (wall > now)
        sc_core::sc_start(to_sc(wall - now));
    return false;
}

/// Of the time since the last look, the part that does not count while a device waits.
void Pump::pace() {
    const auto now = Wall::now();
    if (is_waiting && is_waiting())
        start_ += (now - paced_) * (slowdown - 1) / slowdown;
    paced_ = now;
}

void Pump::catch_up() {
    for (unsigned i = 0; is_running_ && i < steps_at_once && step(); ++i)
        ;
}

void Pump::idle() {
    idled_ = Wall::now();
    if (on_idle)
        on_idle();
}

void Pump::sleep() {
    idle();
    auto due = Wall::time_point::max();
    if (sc_core::sc_pending_activity())
        due = start_ + std::chrono::duration_cast<Wall::duration>(
                           kernel_now() + from_sc(sc_core::sc_time_to_pending_activity()) - config_.ahead);
    if (is_polling && is_polling())
        return doze(std::min(due, Wall::now() + next_sleep_));
    if (due == Wall::time_point::max())
        io_.run_one();
    else
        io_.run_one_until(due);
}

/// By a timer of its own: run_one_until() sleeps for whole milliseconds.
void Pump::doze(Wall::time_point due) {
    next_sleep_ = std::min(2 * next_sleep_, config_.longest_sleep);
    alarm_.expires_at(due);
    alarm_.async_wait([](boost::system::error_code) {});
    io_.run_one();
    alarm_.cancel();
}

} // namespace platform::bridge::vfio_user
