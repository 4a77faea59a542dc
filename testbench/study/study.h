// A study as values: which platform, which keys are varied and how, what is measured, and when it is enough. Given by
// read_study.h, checked by itself and against the base; nothing here opens a file or runs anything.
#pragma once

#include "platform/topology/value.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace study {

/// A key of the platform with its value, as `--set` takes it.
struct Setting {
    std::string key, value{};
    bool operator==(const Setting&) const = default;
};
using Settings = std::vector<Setting>;

/// "scenario.qps=64 hca.blue_flame=true"
std::string print(const Settings& settings);

/// How the values of an axis lie.
enum class Spacing : std::uint8_t { listed, linear, logarithmic };

/// A key that is varied.
struct Axis {
    std::string key{};
    std::string where{}; ///< "qp_scaling.toml:14"
    Spacing spacing = Spacing::listed;
    platform::topology::Kind kind = platform::topology::Kind::text;
    bool is_power_of_two = false;
    std::vector<std::string> values{}; ///< as `--set` takes them, in the order of the axis
    double from = 0, to = 0;           ///< of a range, in bytes, picoseconds or plain numbers

    bool is_number() const {
        return kind != platform::topology::Kind::boolean && kind != platform::topology::Kind::text;
    }
};

/// The number that stands for a value where the axis has numbers: bytes, nanoseconds, or the number itself. Of words
/// their place in the axis.
double coordinate(const Axis& axis, std::string_view value);
/// Whether two words are the same value: "4096" and "4 KiB" are.
bool is_same(const Axis& axis, std::string_view a, std::string_view b);
/// The value nearest to a number (bytes, picoseconds or plain), as the key takes it: whole where it has to be, a power
/// of two where it has to be one.
std::string nearest_value(const Axis& axis, double number);
/// The value in the middle of two, as the axis is spaced. Nothing: there is none between them.
std::optional<std::string> middle(const Axis& axis, std::string_view low, std::string_view high);

enum class Design : std::uint8_t { grid, one_at_a_time, latin_hypercube };

/// A value of each result.
struct Metric {
    std::string name{};  ///< "WRITE rate"
    std::string value{}; ///< as `hcasim compare` names it: "transfers[WRITE A -> B].rate_bytes_per_second"
    std::string per{};   ///< another value, by which it is divided; empty: none
    double scale = 1;    ///< and what it is multiplied with
    std::optional<double> otherwise{}; ///< what counts for `value` where the result has null; none: such a point fails
    std::string unit{};                ///< "Gbit/s"
    std::string plot{};                ///< metrics of one name share a plot: "latency"; empty: it has one of its own
    bool is_more_better = false;
    std::string where{};
};

/// What a point has to satisfy. Of keys: which points are run at all. Of a metric: which of them may be chosen.
struct Constraint {
    std::string metric{};            ///< empty: it is one of keys
    std::vector<std::string> keys{}; ///< whose product it is about
    std::optional<double> at_least{}, at_most{};
    std::string where{};
    bool holds(double value) const { return !(value < at_least.value_or(value)) && !(value > at_most.value_or(value)); }
};

/// More points where they say most.
struct Refinement {
    enum class Way : std::uint8_t { none, knee, halving };
    Way way = Way::none;
    std::string metric{};
    unsigned rounds = 10; ///< at most
    // Of a knee:
    std::string along{}; ///< an axis
    double drop = 0.05;  ///< share of the best so far by which the metric is worse behind the knee
    double until = 1.1;  ///< enough when the ends of the interval are this near: their ratio
    // Of halving:
    double keep = 0.5;    ///< share of the points that goes on into the next round
    std::string budget{}; ///< a key that grows from round to round
    double budget_from = 0, factor = 2;
    std::string where{};
};

/// What was published, for the answer.
struct Expectation {
    double from = 0, to = 0;
    std::string source{};
    Settings at{}; ///< of the curve that it is about
};

/// What was published of a metric at one place, or of its ratio to that at another one.
struct Published {
    std::string metric{};
    Settings at{};   ///< a value of each axis
    Settings over{}; ///< those of them that are otherwise at the other place; empty: it is no ratio
    double from = 0, to = 0;
    std::string source{};
    std::string where{};
};

struct Stop {
    std::uint64_t points = 10'000; ///< runs, at most
    std::uint64_t failures = 0;    ///< that many failed points end the sweep; 0: any number
    double relative_error = 0;     ///< repetitions of a point end when its interval is this narrow; 0: never before
    unsigned most_repetitions = 0; ///< with it
    double minutes = 0;            ///< of wall time of one call; 0: any. It goes on with the next
};

struct Study {
    std::string file{}, text{}; ///< as it was read
    std::string question{};
    std::string base{};    ///< path of the platform, as it can be opened from here
    std::string payload{}; ///< the same; empty: the platform's
    Settings set{};        ///< beside the base
    Design design = Design::grid;
    std::size_t drawn_points = 0; ///< of a Latin hypercube
    std::uint64_t drawn_seed = 1;
    unsigned repetitions = 1;
    std::uint64_t seed = 1; ///< of the first repetition
    std::vector<std::string> seed_keys{};
    unsigned timeout_s = 120; ///< of wall time, for a point
    double confidence = 0.95;
    std::vector<Axis> axes{};
    std::vector<Metric> metrics{};
    std::vector<std::string> objectives{}; ///< metrics that are traded against each other
    std::vector<Constraint> constraints{};
    Refinement refinement{};
    std::optional<Expectation> expected{};
    std::vector<Published> published{};
    Stop stop{};

    const Axis* axis(std::string_view key) const;
    const Metric* metric(std::string_view name) const;
};

/// One run.
struct Point {
    std::size_t number = 0; ///< from 0, in the order of the plan
    unsigned round = 0;     ///< of refinement; 0: of the design
    Settings settings{};    ///< of the axes, and of a budget
    unsigned repetition = 0;
};

/// All settings of a point, with those of the study, as `--set` takes them in this order.
Settings all_settings(const Study& study, const Point& point);

/// What decides the results, a line each: two studies with the same lines have the same points. `platform` is the
/// base's configuration with all keys.
std::vector<std::string> identity(const Study& study, std::string_view platform);

} // namespace study
