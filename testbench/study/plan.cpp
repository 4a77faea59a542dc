#include "testbench/study/plan.h"

#include "testbench/study/cells.h"
#include "testbench/study/design.h"
#include "testbench/study/knee.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace study {
namespace {

/// Failures are counted between batches, so these are small where somebody wants to stop for them.
constexpr std::size_t points_between_looks = 16;

using Wanted = std::vector<Settings>;

std::string budget_of(const Refinement& more, unsigned round) {
    return fmt::format("{:.0f}", more.budget_from * std::pow(more.factor, round));
}

Wanted begin(const Study& study) {
    auto all = first_round(study);
    if (study.refinement.way == Refinement::Way::halving)
        for (auto& one : all)
            one.push_back({study.refinement.budget, budget_of(study.refinement, 0)});
    return all;
}

/// The middle of each interval that is still wide.
Wanted bisect(const Study& study, std::span<const Cell> cells) {
    const auto& more = study.refinement;
    const auto& axis = *study.axis(more.along);
    Wanted wanted;
    for (const auto& knee : knees_of(study, cells)) {
        if (knee.from > 0 && knee.to / knee.from <= more.until)
            continue;
        const auto value = middle(axis, knee.before, knee.behind);
        if (!value)
            continue;
        // In the order of the axes, as the design has them.
        Settings one;
        for (const auto& each : study.axes) {
            const auto other = std::ranges::find(knee.others, each.key, &Setting::key);
            if (each.key == more.along)
                one.push_back({each.key, *value});
            else if (other != knee.others.end())
                one.push_back(*other);
        }
        // One that is known and has no metric has failed: nothing can be said of its side.
        if (std::ranges::none_of(cells, [&](const Cell& cell) { return cell.settings == one; }) &&
            is_allowed(study, one))
            wanted.push_back(std::move(one));
    }
    return wanted;
}

/// The better ones of the last round, with more budget.
Wanted halve(const Study& study, std::span<const Cell> cells, unsigned round) {
    const auto& more = study.refinement;
    std::vector<const Cell*> last;
    for (const auto& cell : cells)
        if (cell.round == round && cell.metric(more.metric) != nullptr && is_feasible(study, cell))
            last.push_back(&cell);
    if (last.size() < 2)
        return {};
    const bool is_more_better = study.metric(more.metric)->is_more_better;
    std::ranges::stable_sort(last, [&](const Cell* a, const Cell* b) {
        const auto first = a->metric(more.metric)->mean, second = b->metric(more.metric)->mean;
        return is_more_better ? first > second : first < second;
    });
    const auto kept = static_cast<std::size_t>(std::ceil(more.keep * static_cast<double>(last.size())));
    last.resize(std::min(kept, last.size() - 1));
    Wanted wanted;
    for (const auto* cell : last) {
        wanted.push_back(cell->settings);
        wanted.back().back().value = budget_of(more, round + 1);
    }
    return wanted;
}

void append(std::vector<Point>& points, const Wanted& wanted, unsigned round, unsigned repetitions,
            std::size_t number) {
    for (unsigned repetition = 0; repetition < repetitions; ++repetition)
        for (const auto& settings : wanted)
            points.push_back({number++, round, settings, repetition});
}

/// A repetition more of each cell whose interval is wide.
std::vector<Point> repeat(const Study& study, std::span<const Cell> cells, std::size_t number) {
    std::vector<Point> points;
    for (const auto& cell : cells) {
        const auto have = static_cast<unsigned>(cell.outcomes.size());
        const bool has_failed = cell.metrics.empty();
        if (study.stop.relative_error <= 0 || has_failed || have >= study.stop.most_repetitions)
            continue;
        const auto is_wide = [&](const auto& metric) {
            const auto& summary = metric.second;
            return summary.count < 2 || summary.half_width > study.stop.relative_error * std::abs(summary.mean);
        };
        if (std::ranges::any_of(cell.metrics, is_wide))
            points.push_back({number++, cell.round, cell.settings, have});
    }
    return points;
}

Batch cut(const Study& study, Batch batch, std::size_t done) {
    if (done >= study.stop.points)
        return {.points = {}, .end = fmt::format("{} points, as [stop] has it", done)};
    if (batch.points.size() > study.stop.points - done)
        batch.points.resize(study.stop.points - done);
    return batch;
}

} // namespace

Batch next_batch(const Study& study, std::span<const Outcome> done) {
    const auto failures = static_cast<std::uint64_t>(
        std::ranges::count_if(done, [](const Outcome& one) { return one.status != Status::done; }));
    if (study.stop.failures != 0 && failures >= study.stop.failures)
        return {.points = {}, .end = fmt::format("{} points have failed, as many as [stop] allows", failures)};

    std::vector<Point> all;
    append(all, begin(study), 0, study.repetitions, 0);
    if (done.size() < all.size()) {
        all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(done.size()));
        if (study.stop.failures != 0 && all.size() > points_between_looks)
            all.resize(points_between_looks);
        return cut(study, {.points = std::move(all), .end = {}}, done.size());
    }
    const auto cells = cells_of(study, done);
    const auto round = std::ranges::max_element(cells, {}, &Cell::round)->round;
    if (auto more = repeat(study, cells, done.size()); !more.empty())
        return cut(study, {.points = std::move(more), .end = {}}, done.size());

    if (study.refinement.way == Refinement::Way::none)
        return {.points = {}, .end = "the design is complete"};
    if (round >= study.refinement.rounds)
        return {.points = {}, .end = fmt::format("{} rounds of refinement, as [refine] has it", round)};
    const auto wanted =
        study.refinement.way == Refinement::Way::knee ? bisect(study, cells) : halve(study, cells, round);
    if (wanted.empty())
        return {.points = {},
                .end = study.refinement.way == Refinement::Way::knee
                           ? "each knee lies between two neighbours that are near enough"
                           : "one point is left"};
    Batch batch;
    append(batch.points, wanted, round + 1, study.repetitions, done.size());
    return cut(study, std::move(batch), done.size());
}

} // namespace study
