// The platform as a server: cards in this process, drivers elsewhere. Makes the observers, the platform and its
// sockets, says how to attach, runs until somebody ends it.
#pragma once

#include "testbench/hcasim/command_line.h"

namespace hcasim {

/// Returns the exit status: 0 ended by SIGINT or SIGTERM, 2 refused before anything was served or a file could not be
/// written. Prints to standard output; a refusal is one line on standard error.
int serve(const ServeOptions& options);

} // namespace hcasim
