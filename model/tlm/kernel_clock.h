// The kernel's time as a core's Clock: one event, notified for the earliest time asked for.
#pragma once

#include "model/port/clock.h"
#include "model/tlm/process.h"
#include "model/tlm/time.h"

#include <systemc>

#include <utility>

namespace model::tlm {

class KernelClock final : public port::Clock {
public:
    /// `on_wake(now)` is called when a time asked for has come. To be made during elaboration, inside a module. Where
    /// it may wait, it is called in a thread of its own; what comes due meanwhile is done afterwards.
    template <class F> explicit KernelClock(F&& on_wake, Calls calls = Calls::at_once) {
        sc_core::sc_spawn_options options;
        options.set_sensitivity(&wake_);
        options.dont_initialize();
        auto ring = [this, f = std::forward<F>(on_wake)] {
            next_ = port::never;
            f(now());
        };
        if (calls == Calls::at_once) {
            options.spawn_method();
            sc_core::sc_spawn(std::move(ring), sc_core::sc_gen_unique_name("wake"), &options);
            return;
        }
        options.set_stack_size(process_stack_bytes);
        sc_core::sc_spawn(
            [this, ring = std::move(ring)] {
                for (;;) {
                    wake_.cancel(); // what is due is done now; a notification kept would swallow a later one
                    ring();
                    while (next_ > now()) // a time that came due while `on_wake` waited has no event any more
                        sc_core::wait(wake_);
                }
            },
            sc_core::sc_gen_unique_name("wake"), &options);
    }
    port::Time now() const override { return kernel_now(); }
    void wake_at(port::Time at) override {
        if (at >= next_)
            return;
        next_ = at;
        wake_.notify(to_sc(at - now()));
    }

private:
    sc_core::sc_event wake_;
    port::Time next_ = port::never; ///< when `wake_` fires
};

} // namespace model::tlm
