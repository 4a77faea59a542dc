#include "model/tlm/held_writes.h"

#include "model/tlm/time.h"

namespace model::tlm {

namespace {
/// Writes that are due so soon after another one are shown together with it, and need no event of their own: a polling
/// loop does not look more often.
constexpr port::Time shown_together = std::chrono::nanoseconds{100};
} // namespace

HeldWrites::HeldWrites() {
    sc_core::sc_spawn_options options;
    options.spawn_method();
    options.set_sensitivity(&due_);
    options.dont_initialize();
    sc_core::sc_spawn([this] { apply_due(); }, sc_core::sc_gen_unique_name("held_writes"), &options);
}

void HeldWrites::schedule(port::Time due) {
    due_.notify(to_sc(due - kernel_now())); // an earlier notification stays
}

void HeldWrites::apply_due() {
    const auto next = apply(kernel_now() + shown_together);
    if (next != port::never)
        schedule(next);
}

} // namespace model::tlm
