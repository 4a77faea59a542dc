#include "testbench/scenario/race_moment.h"

#include "model/tlm/time.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace scenario::race {

using model::tlm::kernel_now;

void Moment::open(Perform perform) {
    perform_ = std::move(perform);
    if (!setup_.is_bare) {
        sc_core::sc_spawn_options stack;
        stack.set_stack_size(1 << 20);
        for (const auto* action : setup_.actions)
            if (action != nullptr) {
                ++acting_;
                sc_core::sc_spawn([this, action] { act(*action); }, sc_core::sc_gen_unique_name("action"), &stack);
            }
        sc_core::wait(sc_core::SC_ZERO_TIME); // they wait from now on
        log_.reached = [this] {
            const auto now = kernel_now();
            const auto then = model::port::Time{log_.entries.back().first.time_ps};
            model::tlm::notify_at(go_, setup_.is_late ? then : now);
        };
        log_.watched = log_.entries.size() + setup_.point + 1;
    }
    first_ = log_.entries.size();
}

void Moment::close() {
    last_ = log_.entries.size();
    outcome_.points = last_ - first_;
    log_.watched = 0;
}

void Moment::settle() {
    sc_core::wait(sc_core::SC_ZERO_TIME);
    if (begin_ == 0) {
        is_called_off_ = true;
        model::tlm::notify_now(go_);
    }
    while (begin_ != 0 && finished_ != acting_)
        sc_core::wait(done_);
    outcome_.is_reached = begin_ != 0;
}

void Moment::act(const Action& action) {
    sc_core::wait(go_);
    if (is_called_off_)
        return;
    if (begin_ == 0) {
        begin_ = log_.entries.size();
        outcome_.at_ps = static_cast<std::uint64_t>(kernel_now().count());
    }
    try {
        perform_(action);
    } catch (const std::exception& error) {
        outcome_.violations.push_back(fmt::format("the action failed: {}", error.what()));
    }
    note_end();
    ++finished_;
    model::tlm::notify_now(done_);
}

void Moment::name_point() {
    if (!outcome_.is_reached)
        return;
    const auto& [stamp, event] = log_.entries.at(first_ + setup_.point);
    outcome_.behind = std::visit([](const auto& one) { return one.name; }, event);
}

} // namespace scenario::race
