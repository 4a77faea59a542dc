#include "testbench/study/pareto.h"

#include <algorithm>

namespace study {

std::vector<const Cell*> pareto_front(const Study& study, std::span<const Cell> cells) {
    std::vector<const Cell*> able;
    for (const auto& cell : cells)
        if (is_feasible(study, cell) &&
            std::ranges::all_of(study.objectives, [&](const auto& name) { return cell.metric(name) != nullptr; }))
            able.push_back(&cell);
    /// Above 0: `a` is better.
    const auto better_by = [&](const Cell& a, const Cell& b, const std::string& name) {
        const auto by = a.metric(name)->mean - b.metric(name)->mean;
        return study.metric(name)->is_more_better ? by : -by;
    };
    const auto beats = [&](const Cell& a, const Cell& b) {
        bool is_better = false;
        for (const auto& name : study.objectives) {
            const auto by = better_by(a, b, name);
            if (by < 0)
                return false;
            is_better |= by > 0;
        }
        return is_better;
    };
    std::vector<const Cell*> front;
    for (const auto* one : able)
        if (std::ranges::none_of(able, [&](const Cell* other) { return beats(*other, *one); }))
            front.push_back(one);
    return front;
}

} // namespace study
