// The program: `hcasim run CONFIG.toml`, `check CONFIG.toml`, `show CONFIG.toml`, `serve PLATFORM.toml`, `explore
// SCENARIO`, `calibrate PROFILE.toml`, `compare A.json B.json`, `replay TRACE`, `sweep STUDY.toml`, `report
// RESULTS.sqlite`, `trace`, `keys`. Nothing but the way in; see run.h, show.h, serve.h, explore.h, calibrate.h,
// compare.h, replay.h, sweep.h, study_report.h and trace.h.
#include "testbench/hcasim/calibrate.h"
#include "testbench/hcasim/command_line.h"
#include "testbench/hcasim/compare.h"
#include "testbench/hcasim/explore.h"
#include "testbench/hcasim/replay.h"
#include "testbench/hcasim/run.h"
#include "testbench/hcasim/serve.h"
#include "testbench/hcasim/show.h"
#include "testbench/hcasim/study_report.h"
#include "testbench/hcasim/sweep.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <systemc>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hcasim {
namespace {

int leave(const Leave& leave) {
    if (leave.code != status::good) {
        complain(leave.text);
        return leave.code;
    }
    const auto text = wrap(leave.text, width_of(stdout));
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
        return status::good;
    complain(fmt::format("hcasim: standard output: cannot be written: {}\n", std::strerror(errno)));
    return status::output_lost;
}

/// A closed standard stream must not become the number of a file that is opened next; writing to it fails.
void keep_standard_streams() {
    for (int file = open("/dev/null", O_RDONLY); file >= 0; file = open("/dev/null", O_RDONLY))
        if (file > STDERR_FILENO) {
            close(file);
            break;
        }
}

} // namespace
} // namespace hcasim

// SystemC's entry: here it knows its arguments and a simulation may be built.
int sc_main(int argc, char** argv) {
    const auto command = hcasim::parse_command_line(argc, argv);
    if (const auto* leave = std::get_if<hcasim::Leave>(&command))
        return hcasim::leave(*leave);
    // That a scenario has stopped the simulation is no news.
    sc_core::sc_report_handler::set_actions("/OSCI/SystemC", sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    if (const auto* options = std::get_if<hcasim::ServeOptions>(&command))
        return hcasim::serve(*options);
    if (const auto* options = std::get_if<hcasim::ExploreOptions>(&command))
        return hcasim::explore(*options);
    if (const auto* options = std::get_if<hcasim::CalibrateOptions>(&command))
        return hcasim::calibrate(*options);
    if (const auto* options = std::get_if<hcasim::CompareOptions>(&command))
        return hcasim::compare(*options);
    if (const auto* options = std::get_if<hcasim::ReplayOptions>(&command))
        return hcasim::replay(*options);
    if (const auto* options = std::get_if<hcasim::SweepOptions>(&command))
        return hcasim::sweep(*options);
    if (const auto* options = std::get_if<hcasim::StudyReportOptions>(&command))
        return hcasim::study_report(*options);
    if (const auto* options = std::get_if<hcasim::CheckOptions>(&command))
        return hcasim::check(options->plan);
    if (const auto* options = std::get_if<hcasim::ShowOptions>(&command))
        return hcasim::show(*options);
    if (const auto* job = std::get_if<hcasim::TraceJob>(&command))
        return job->run();
    if (const auto* options = std::get_if<hcasim::PrintConfigOptions>(&command))
        return hcasim::print_config(options->plan);
    const int status = hcasim::run(std::get<hcasim::RunOptions>(command));
    // The programs of a run that was stopped stand where they were; nothing on their stacks can be ended in order.
    if (status >= hcasim::status::output_lost) {
        std::fflush(nullptr);
        std::_Exit(status);
    }
    return status;
}

// In the place of the library's own, which opens with a banner.
int main(int argc, char** argv) {
    hcasim::keep_standard_streams();
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    return sc_core::sc_elab_and_sim(argc, argv);
}
