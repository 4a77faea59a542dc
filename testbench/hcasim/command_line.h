// The command line as values, or what to print instead of running. Opens no file.
#pragma once

#include "testbench/hcasim/calibrate.h"
#include "testbench/hcasim/compare.h"
#include "testbench/hcasim/explore.h"
#include "testbench/hcasim/replay.h"
#include "testbench/hcasim/study_report.h"
#include "testbench/hcasim/sweep.h"
#include "testbench/hcasim/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace hcasim {

/// Who looks on, for each command that has a platform: files to write, "-": standard output; empty: none.
struct ObserverOptions {
    std::string events, pcap;
    std::string explain; ///< "-": standard error
};

/// What becomes of the run when its recording cannot be written any more.
enum class RecordFailure : std::uint8_t { stop, go_on };

struct RecordOptions {
    std::string path; ///< empty: nothing is recorded
    std::vector<std::string> at{};
    RecordFailure failure = RecordFailure::stop;
};

/// What a run is made of.
struct PlanOptions {
    std::string config;
    std::optional<std::string> payload{}; ///< instead of the configuration's
    std::vector<std::string> overrides{}; ///< "key=value"
};

struct RunOptions {
    PlanOptions plan;
    std::string json{}; ///< file to write; "-": standard output; empty: none
    ObserverOptions observe{};
    RecordOptions record{};
    bool is_quiet = false;
    std::optional<unsigned> ranks{};      ///< processes; none: as many as mpirun has started, else one
    std::vector<std::string> arguments{}; ///< of the command line, but the program's name
};

struct CheckOptions {
    PlanOptions plan;
};

struct PrintConfigOptions {
    PlanOptions plan;
};

struct ShowOptions {
    std::string config;
    std::vector<std::string> overrides{}; ///< "key=value"
    std::string svg{};                    ///< file to write; "-": standard output; empty: none
};

struct ServeOptions {
    std::string config, socket_directory;
    std::vector<std::string> overrides; ///< "key=value"
    ObserverOptions observe;
    /// A driver elsewhere does not lose its card because a disk here is full.
    RecordOptions record{.path = {}, .failure = RecordFailure::go_on};
    bool commands = false; ///< a line for each command of a driver
    bool polled_doorbells = false;
};

/// Print `text` and leave with `code`: --help, --version, `keys`, or a mistake (code 2, one line).
struct Leave {
    int code;
    std::string text;
};

using Command =
    std::variant<RunOptions, CheckOptions, PrintConfigOptions, ShowOptions, ServeOptions, ExploreOptions,
                 CompareOptions, ReplayOptions, CalibrateOptions, SweepOptions, StudyReportOptions, TraceJob, Leave>;
Command parse_command_line(int argc, const char* const* argv);

} // namespace hcasim
