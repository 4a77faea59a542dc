#include "testbench/scenario/race.h"

#include "testbench/scenario/race_gpu_bar.h"
#include "testbench/scenario/race_gpu_pages.h"
#include "testbench/scenario/race_nvme.h"
#include "testbench/scenario/race_rdma.h"

#include <algorithm>

namespace scenario::race {

std::string name(const Actions& actions) {
    if (actions[0] == nullptr)
        return "none";
    std::string text(actions[0]->name());
    if (actions[1] != nullptr)
        text.append("+").append(actions[1]->name());
    return text;
}

MemoryKind kind_of(const Actions& actions) {
    for (const auto* action : actions)
        if (action != nullptr && action->traits().memory)
            return *action->traits().memory;
    return MemoryKind::revocable;
}

bool can_be_at_once(const Actions& actions) {
    const auto [first, second] = actions;
    if (first == nullptr || second == nullptr)
        return first != second || first == nullptr;
    if (first == second || first->traits().is_alone || second->traits().is_alone)
        return false;
    const auto one = first->traits().memory, other = second->traits().memory;
    return !one || !other || *one == *other;
}

bool need_unit(const Actions& actions) {
    return std::ranges::any_of(actions,
                               [](const Action* action) { return action != nullptr && action->traits().needs_unit; });
}

bool has_overlapped(const Touches& undisturbed, const Outcome& outcome) {
    if (!outcome.is_reached)
        return false;
    return (undisturbed.count > 1 ? outcome.touched != 0 : outcome.has_begun) && outcome.touched < undisturbed.count;
}

bool has_overlapped_end(const Touches& undisturbed, const Outcome& outcome) {
    return has_overlapped(undisturbed, outcome) && outcome.touched_at_end < undisturbed.count;
}

std::span<const Subject* const> subjects() {
    static const std::array<const Subject*, 4> all{&rdma(), &nvme(), &gpu_pages(), &gpu_bar()};
    return all;
}

} // namespace scenario::race
