// The kernel's time as a core's Clock: called for the earliest time asked for, of several clocks at one time in the
// order of their construction (agenda.h).
#pragma once

#include "model/port/clock.h"
#include "model/tlm/agenda.h"
#include "model/tlm/process.h"
#include "model/tlm/time.h"

#include <systemc>

#include <cstdint>
#include <utility>

namespace model::tlm {

class KernelClock final : public port::Clock {
public:
    /// `on_wake(now)` is called when a time asked for has come. To be made during elaboration, inside a module. Where
    /// it may wait, it is called in a thread of its own; what comes due meanwhile is done afterwards.
    template <class F>
    explicit KernelClock(F&& on_wake, Calls calls = Calls::at_once, Precedence precedence = Precedence::in_turn) {
        if (calls == Calls::at_once) {
            agenda_ = &Agenda::of_simulation();
            number_ = agenda_->add([f = std::forward<F>(on_wake)] { f(kernel_now()); }, precedence);
            return;
        }
        sc_core::sc_spawn_options options;
        options.set_sensitivity(&wake_);
        options.dont_initialize();
        options.set_stack_size(process_stack_bytes);
        sc_core::sc_spawn(
            [this, f = std::forward<F>(on_wake)] {
                for (;;) {
                    wake_.cancel(); // what is due is done now; a notification kept would swallow a later one
                    next_ = port::never;
                    f(now());
                    while (next_ > now()) // a time that came due while `on_wake` waited has no event any more
                        sc_core::wait(wake_);
                }
            },
            sc_core::sc_gen_unique_name("wake"), &options);
    }
    KernelClock(const KernelClock&) = delete;
    KernelClock& operator=(const KernelClock&) = delete;
    ~KernelClock() override {
        if (agenda_ != nullptr)
            agenda_->remove(number_);
    }
    port::Time now() const override { return kernel_now(); }
    void wake_at(port::Time at) override {
        if (agenda_ != nullptr) [[likely]]
            return agenda_->ask(number_, at);
        if (at >= next_)
            return;
        next_ = at;
        notify_at(wake_, at);
    }

private:
    Agenda* agenda_ = nullptr; ///< where calls return at once; else a process of its own waits:
    std::uint32_t number_ = 0;
    sc_core::sc_event wake_;
    port::Time next_ = port::never; ///< when `wake_` fires
};

} // namespace model::tlm
