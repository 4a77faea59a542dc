// `trace show`: a line a record, and with `fields` its structures field by field.
#pragma once

#include "traces/tool/filter.h"
#include "traces/tool/walk.h"

namespace traces::tool {

struct ShowOptions {
    Filter filter{};
    bool fields = false;
};
Outcome show(codec::Source& trace, const ShowOptions& options, codec::Destination& destination);

} // namespace traces::tool
