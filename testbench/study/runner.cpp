#include "testbench/study/runner.h"

#include "testbench/study/measure.h"
#include "testbench/study/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>

namespace study {
namespace {

std::vector<std::string> words_of(const Study& study, const Point& point, const std::string& program) {
    auto words = command_of(study, point, program);
    words.insert(words.end(), {"--json", "-", "--quiet"});
    return words;
}

/// Why no point is to be run any more; empty: they are. What a scenario's results have is known by the first that ended
/// well, by number, so that it is the same however many run at the same time.
std::string why_none_follows(const std::map<std::size_t, Outcome>& known) {
    std::size_t next = 0;
    for (const auto& [number, outcome] : known) {
        if (number != next++ || outcome.status == Status::done)
            return {}; // one before it is under way, or there is a result that has everything
        if (lacks_number(outcome))
            return fmt::format("the other points are not run: what a metric is made of is not in the result of point "
                               "{}, the first that ended well",
                               number);
    }
    return {};
}

} // namespace

std::string run(const Study& study, Store& store, const RunnerSetup& setup) {
    std::map<std::size_t, Outcome> known;
    for (auto& outcome : store.all())
        known.emplace(outcome.point.number, std::move(outcome));
    std::vector<Outcome> done; // of whole batches, by number
    const auto began = std::chrono::steady_clock::now();
    std::size_t ran = 0;
    std::size_t failed = static_cast<std::size_t>(
        std::ranges::count_if(known, [](const auto& one) { return one.second.status != Status::done; }));
    auto hopeless = why_none_follows(known);
    while (true) {
        if (!hopeless.empty()) {
            store.set_end(hopeless);
            return hopeless;
        }
        const auto batch = next_batch(study, done);
        if (batch.points.empty()) {
            store.set_end(batch.end);
            return batch.end;
        }
        std::vector<Point> missing;
        for (const auto& point : batch.points) {
            const auto there = known.find(point.number);
            if (there == known.end())
                missing.push_back(point);
            else if (there->second.point.settings != point.settings)
                throw std::runtime_error(fmt::format("point {} is {}, and the study has {}", point.number,
                                                     print(there->second.point.settings), print(point.settings)));
        }
        const auto planned = known.size() + missing.size();
        setup.engine.run(
            missing, [&](std::size_t i) { return words_of(study, missing[i], setup.program); },
            [&](std::size_t i, const Ended& ended) {
                auto outcome = outcome_of(study, missing[i], ended);
                store.add(study, outcome);
                failed += outcome.status != Status::done ? 1 : 0;
                const auto spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
                const auto& there = known.emplace(outcome.point.number, std::move(outcome)).first->second;
                hopeless = why_none_follows(known);
                const auto left = static_cast<double>(planned - known.size());
                setup.told(there, {.done = known.size(),
                                   .planned = planned,
                                   .failed = failed,
                                   .seconds_left = spent / static_cast<double>(++ran) * left});
            },
            [&] { return hopeless.empty() && setup.goes_on(); });
        if (!hopeless.empty())
            continue;
        for (const auto& point : batch.points) {
            const auto there = known.find(point.number);
            if (there == known.end())
                return {}; // it was asked to stop
            done.push_back(there->second);
        }
    }
}

} // namespace study
