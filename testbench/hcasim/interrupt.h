// While a run lasts, SIGINT and SIGTERM are wishes that it ends; a second one ends the program at once. Looks at each
// event whether one has come: between two events a simulation does nothing that takes long.
#pragma once

#include "testbench/scenario/stop.h"
#include "traces/events.h"

#include <csignal>

namespace hcasim {

class Interrupt final : public traces::Sink {
public:
    explicit Interrupt(scenario::Stop& stop);
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    /// Signals do again what they did before.
    ~Interrupt() override;

    void on(const traces::Stamp&, const traces::Event&) override {
        if (arrived_ != 0) [[unlikely]]
            look();
    }
    void look();
    /// The signal that ended the run; 0: none.
    int number() const { return number_; }

private:
    static void note(int number) { arrived_ = number; }
    /// The one thing a signal handler may touch.
    static inline volatile std::sig_atomic_t arrived_ = 0;

    scenario::Stop& stop_;
    int number_ = 0;
    struct sigaction interrupt_{}, terminate_{}, pipe_{};
};

} // namespace hcasim
