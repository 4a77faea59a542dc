#include "testbench/hcasim/sweep_check.h"

#include "testbench/hcasim/run.h"
#include "testbench/study/check_study.h"
#include "testbench/study/written_table.h"

#include <fmt/format.h>

namespace hcasim {
namespace {

using study::Settings;
using study::Study;

/// Values of an axis that are tried: of more, some of all over it.
constexpr std::size_t most_values_tried = 1000;

std::expected<void, std::string> try_settings(const Study& study, const Settings& settings) {
    PlanOptions options{.config = study.base};
    if (!study.payload.empty())
        options.payload = study.payload;
    for (const auto& [key, value] : settings)
        options.overrides.push_back(fmt::format("{}={}", key, value));
    return may_begin(options);
}

} // namespace

std::expected<void, std::string> check_values(const study::ReadStudy& read) {
    const auto& study = read.study;
    const auto base = try_settings(study, study.set);
    study::Faults faults{.file = study.file};
    for (const auto& axis : study.axes)
        for (std::size_t i = 0; i < axis.values.size(); i += axis.values.size() / most_values_tried + 1) {
            auto settings = study.set;
            settings.push_back({axis.key, axis.values[i]});
            const auto alone = try_settings(study, settings);
            if (alone || study::may_be_at_some_point(study, axis, axis.values[i], [&](const Settings& all) {
                    return try_settings(study, all).has_value();
                }))
                continue;
            if (!base && base.error() == alone.error())
                return std::unexpected(base.error()); // whatever the axes say
            faults.note(study::line_of(axis.where), alone.error().substr(0, alone.error().find('\n')));
        }
    if (faults.found.empty())
        return {};
    return std::unexpected(faults.text());
}

} // namespace hcasim
