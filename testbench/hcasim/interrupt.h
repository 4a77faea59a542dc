// While a run lasts, SIGINT and SIGTERM are wishes that it ends; a second one ends the program at once. Looks at each
// event whether one has come. A simulation that goes on without an event, in delta cycles at one time, is paused by a
// timer; one that does not come to a stop then, in a step that does not end, is ended with the program.
#pragma once

#include "testbench/scenario/stop.h"
#include "traces/events.h"

#include <csignal>

namespace hcasim {

class Interrupt final : public traces::Sink {
public:
    /// How long, in the processor's time, it may take from the first signal until the simulation stands. Whoever waits
    /// for other programs has no limit; a simulation has a second.
    enum class Patience : bool { unlimited, a_second };
    explicit Interrupt(scenario::Stop& stop, Patience patience = Patience::unlimited);
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    /// Signals do again what they did before.
    ~Interrupt() override;

    void on(const traces::Stamp&, const traces::Event&) override {
        if (arrived_ != 0) [[unlikely]]
            look();
    }
    void look();
    /// The signal that ended the run, here or in another process of it; 0: none.
    int number() const;

private:
    static void note(int number);
    static void lose_patience(int);
    static void limit(bool is_limited);
    /// What signal handlers may touch.
    static inline volatile std::sig_atomic_t arrived_ = 0, is_limited_ = 0, has_paused_ = 0;

    scenario::Stop& stop_;
    const bool has_limit_;
    struct sigaction interrupt_{}, terminate_{}, timer_{}, pipe_{};
};

} // namespace hcasim
