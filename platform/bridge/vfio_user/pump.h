// The one loop that runs sockets and the simulation: what comes from outside is handled between two steps of the
// kernel, in the same thread. Simulated time keeps to the wall's: what is due soon is done at once, what lies further
// ahead (a retransmission timer) waits for its time, so that a client is not outrun by timers meant for it. Spins for a
// moment after work, then sleeps until a socket or a timer has something.
#pragma once

#include "model/port/time.h"

#include <utility> // Boost 1.74 misses it

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>

namespace platform::bridge::vfio_user {

struct PumpConfig {
    /// Sleeps while there is something to poll: the first one after work, each next twice as long, and the longest.
    std::chrono::microseconds first_sleep{50}, longest_sleep{1000};
    std::chrono::microseconds spin{50};                      ///< after the last work
    std::chrono::milliseconds longest_busy{100};             ///< without a call of on_idle
    model::port::Time ahead = std::chrono::microseconds{50}; ///< how far simulated time may run before the wall's
};

class Pump {
public:
    explicit Pump(boost::asio::io_context& io, PumpConfig config = {}) : io_(io), config_(config) {}

    /// Returns after stop(). To be called where sc_start() may be: outside of every process.
    void run();
    void stop() { is_stopped_ = true; }
    /// Lets simulated time catch up with the wall's, and with it everything that was due. For a handler that begins
    /// after a sleep.
    void catch_up();
    /// Called before each sleep; and now and then where there is none: somebody who is always busy must not keep what
    /// others have left behind.
    std::function<void()> on_idle;
    /// Looks at what nobody tells of, and does it; whether there was anything. Called in each round, and after each
    /// sleep.
    std::function<bool()> poll;
    /// Whether there is something to poll: sleeps are short then.
    std::function<bool()> is_polling;
    /// Whether a device waits for bytes of somebody outside. Simulated time then runs `slowdown` times slower than the
    /// wall's: timers of the other side, which does not know of the wait, must not expire because of it, and parts
    /// that are not concerned go on.
    std::function<bool()> is_waiting;
    static constexpr int slowdown = 16;

private:
    using Wall = std::chrono::steady_clock;
    model::port::Time wall_time() const { return std::chrono::duration_cast<model::port::Time>(Wall::now() - start_); }
    bool step();
    void pace();
    void idle();
    void sleep();
    void doze(Wall::time_point due);

    boost::asio::io_context& io_;
    PumpConfig config_;
    Wall::time_point start_; ///< of simulated time
    Wall::time_point paced_; ///< when that was last put right
    Wall::time_point idled_; ///< when on_idle was last called
    boost::asio::steady_timer alarm_{io_};
    std::chrono::microseconds next_sleep_{0}; ///< while there is something to poll
    bool is_stopped_ = false, is_running_ = false;
};

} // namespace platform::bridge::vfio_user
