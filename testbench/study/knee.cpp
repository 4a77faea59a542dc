#include "testbench/study/knee.h"

#include <algorithm>

namespace study {

std::optional<Knee> find_knee(const Curve& curve, double drop, bool is_more_better) {
    const auto& places = curve.places;
    for (std::size_t i = 1; i < places.size(); ++i) {
        auto best = places.front().metric.mean;
        for (std::size_t j = 1; j < i; ++j)
            best = is_more_better ? std::max(best, places[j].metric.mean) : std::min(best, places[j].metric.mean);
        const auto here = places[i].metric.mean;
        if (is_more_better ? here < best * (1 - drop) : here > best * (1 + drop))
            return Knee{.others = curve.others,
                        .before = places[i - 1].value,
                        .behind = places[i].value,
                        .from = places[i - 1].at,
                        .to = places[i].at,
                        .best = best,
                        .worse = here,
                        .last = places.back().metric.mean};
    }
    return {};
}

std::vector<Knee> knees_of(const Study& study, std::span<const Cell> cells) {
    const auto& more = study.refinement;
    std::vector<Knee> knees;
    if (more.way != Refinement::Way::knee)
        return knees;
    for (const auto& curve : curves_along(*study.axis(more.along), more.metric, cells))
        if (auto knee = find_knee(curve, more.drop, study.metric(more.metric)->is_more_better))
            knees.push_back(std::move(*knee));
    return knees;
}

} // namespace study
