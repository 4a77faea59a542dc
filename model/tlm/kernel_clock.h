// The kernel's time as a core's Clock: one event, notified for the earliest time asked for.
#pragma once

#include "model/port/clock.h"
#include "model/tlm/time.h"

#include <systemc>

#include <utility>

namespace model::tlm {

class KernelClock final : public port::Clock {
public:
    /// `on_wake(now)` is called when a time asked for has come. To be made during elaboration, inside a module.
    template <class F> explicit KernelClock(F&& on_wake) {
        sc_core::sc_spawn_options options;
        options.spawn_method();
        options.set_sensitivity(&wake_);
        options.dont_initialize();
        sc_core::sc_spawn(
            [this, f = std::forward<F>(on_wake)] {
                next_ = port::never;
                f(now());
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
