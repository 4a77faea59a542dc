// `--record FILE`: the options of every command that can record, and the recording that they ask for.
#pragma once

#include "platform/record/recording.h"
#include "platform/topology/config.h"
#include "testbench/hcasim/command_line.h"
#include "testbench/hcasim/files.h"

#include <expected>
#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace hcasim {

/// --record, --at, --record-failure, with what `options` holds as their defaults.
void add_record(CLI::App& command, RecordOptions& options);

/// nullptr: none was asked for. The error is one line: a name that is nothing's, a file that cannot be created. No file
/// is made for a recording that is refused.
std::expected<std::unique_ptr<platform::record::Recording>, std::string>
make_recording(const RecordOptions& options, const platform::topology::Config& config);

/// For are_apart().
NamedFile file_of(const RecordOptions& options);

} // namespace hcasim
