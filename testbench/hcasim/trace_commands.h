// The commands of `hcasim trace`, each with its options.
#pragma once

#include "testbench/hcasim/trace.h"

#include <CLI/CLI.hpp>

#include <string>

namespace hcasim {

/// The recording that a command reads, of `trace diff` the first one.
inline CLI::App& add_trace_command(CLI::App& trace, const char* name, const char* what, std::string& file) {
    auto& command = *trace.add_subcommand(name, what);
    command.add_option("file", file, "The recording")->required()->type_name("FILE");
    return command;
}

void add_trace_convert(CLI::App& trace, TraceJob& job);
void add_trace_diff(CLI::App& trace, TraceJob& job);

} // namespace hcasim
