// `trace convert --to perfetto`: a trace as tracks. Each device is a process with a track for each kind of access of
// its links, each port, each queue; each source of events one with a track for each room. Flows lead from a doorbell
// over WQE, packets and acknowledgement to CQE, event and interrupt; counters show queue depths and credits.
#pragma once

#include "traces/tool/why.h"

namespace traces::tool {

/// Reads the trace twice: a doorbell's flows are those of the work requests behind it.
Outcome perfetto(const OpenTrace& open, codec::Destination& destination);

} // namespace traces::tool
