// `trace diff A B`: where two traces part, stream by stream, and what there is more or less of. A stream is what passed
// one interface, and where times are ignored what one component says; how streams mix is free. Reads each trace up to
// three times, and keeps 8 bytes of 1,024 records.
#pragma once

#include "traces/tool/why.h"

#include <array>

namespace traces::tool {

struct DiffOptions {
    bool ignore_times = false;
};
struct DiffOutcome {
    bool is_same = false;            ///< as far as both could be read
    std::array<Outcome, 2> traces{}; ///< how A and B were read
    Outcome output{};
};
DiffOutcome diff(const std::array<OpenTrace, 2>& traces, const DiffOptions& options, codec::Destination& destination);

} // namespace traces::tool
