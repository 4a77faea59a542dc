#include "model/tlm/held_writes.h"

#include "model/tlm/time.h"

namespace model::tlm {

namespace {
/// Writes that are due so soon after another one are shown together with it, and need no event of their own: a polling
/// loop does not look more often.
constexpr port::Time shown_together = std::chrono::nanoseconds{100};
} // namespace

HeldWrites::HeldWrites() : clock_([this](port::Time) { apply_due(); }) {}

void HeldWrites::schedule(port::Time due) { clock_.wake_at(due); }

void HeldWrites::apply_due() {
    const auto next = apply(kernel_now() + shown_together);
    if (next != port::never)
        schedule(next);
}

} // namespace model::tlm
