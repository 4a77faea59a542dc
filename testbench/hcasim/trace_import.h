// `hcasim trace import`: what others have recorded becomes a recording of ours: dumps of mlx5 drivers, and RoCEv2
// captures, whose requests a responder gets and answers; and logs of NCCL, which become lists of messages.
#pragma once

#include "testbench/hcasim/trace.h"

namespace hcasim {

void add_import(CLI::App& trace, TraceJob& job);

} // namespace hcasim
