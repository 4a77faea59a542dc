// `trace convert --port`: what passed one network port, as a capture with a single interface, which is what libpcap,
// tcpdump and most scripts read. InfiniBand is in ERF records, as in the trace. Times are cut to nanoseconds.
#pragma once

#include "traces/tool/walk.h"

#include <string>

namespace traces::tool {

/// port   the name of a network port, or a part of it that no other port has
Outcome capture(codec::Source& trace, const std::string& port, codec::Destination& destination);

} // namespace traces::tool
