#include "testbench/hcasim/explore_points.h"

#include <algorithm>
#include <cmath>

namespace hcasim {
namespace {

/// `count` events of [begin, end), evenly, the first of them `phase` of a step from the beginning. All when there are
/// no more.
void spread(std::vector<Point>& points, std::uint64_t begin, std::uint64_t end, std::uint64_t count, double phase) {
    if (begin >= end)
        return;
    const auto all = end - begin;
    count = std::min(count, all);
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto step = (static_cast<double>(i) + phase) * static_cast<double>(all) / static_cast<double>(count);
        points.push_back({begin + std::min(all - 1, static_cast<std::uint64_t>(step)), false});
    }
}

} // namespace

std::vector<Point> points_of(const ExploreOptions& options, const scenario::race::Outcome& undisturbed,
                             std::size_t row) {
    if (options.at)
        return *options.at < undisturbed.points ? std::vector<Point>{{*options.at, options.is_late}}
                                                : std::vector<Point>{};
    std::vector<Point> points;
    if (options.every != 0) {
        for (std::uint64_t event = 0; event < undisturbed.points; event += options.every)
            points.push_back({event, options.is_late});
        return points;
    }
    constexpr double golden = 0.6180339887498949; // whose multiples lie apart from each other
    const auto phase = std::fmod(static_cast<double>(row + 1) * golden, 1.0);
    const auto& touches = undisturbed.touches;
    // One that touches the memory once is under way before.
    const auto first = touches.count > 1 ? touches.first : touches.first / 2;
    const auto inside = (options.points * 2 + 2) / 3;
    spread(points, first, touches.last, inside, phase);
    spread(points, 0, first, options.points - inside, phase);
    for (std::size_t i = row % 3; i < points.size(); i += 3)
        points[i].is_late = true;
    const auto add_one_of = [&](const std::vector<std::uint64_t>& events, bool is_late) {
        if (!events.empty())
            points.push_back({events[static_cast<std::size_t>(phase * static_cast<double>(events.size()))], is_late});
    };
    add_one_of(touches.translations, true);
    add_one_of(touches.forwards, false);
    return points;
}

} // namespace hcasim
