// The program: `hcasim run CONFIG.toml`, `hcasim serve PLATFORM.toml`, `hcasim explore SCENARIO`, `hcasim keys`.
// Nothing but the way in; see run.h, serve.h and explore.h.
#include "testbench/hcasim/command_line.h"
#include "testbench/hcasim/explore.h"
#include "testbench/hcasim/run.h"
#include "testbench/hcasim/serve.h"

#include <fmt/format.h>
#include <systemc>

#include <cstdio>
#include <cstdlib>

// SystemC's entry: here it knows its arguments and a simulation may be built.
int sc_main(int argc, char** argv) {
    const auto command = hcasim::parse_command_line(argc, argv);
    if (const auto* leave = std::get_if<hcasim::Leave>(&command)) {
        fmt::print(leave->code == 0 ? stdout : stderr, "{}", leave->text);
        return leave->code;
    }
    // That a scenario has stopped the simulation is no news.
    sc_core::sc_report_handler::set_actions("/OSCI/SystemC", sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    if (const auto* options = std::get_if<hcasim::ServeOptions>(&command))
        return hcasim::serve(*options);
    if (const auto* options = std::get_if<hcasim::ExploreOptions>(&command))
        return hcasim::explore(*options);
    return hcasim::run(std::get<hcasim::RunOptions>(command));
}

// In the place of the library's own, which opens with a banner.
int main(int argc, char** argv) {
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    return sc_core::sc_elab_and_sim(argc, argv);
}
