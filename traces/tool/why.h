// `trace why RECORD`: from a record back to the store of the driver that began it, a sentence a link.
#pragma once

#include "traces/tool/walk.h"

#include <functional>
#include <memory>

namespace traces::tool {

/// Opens the trace; it is read twice. The error is what a person can be told.
using OpenTrace = std::function<std::expected<std::unique_ptr<codec::Source>, std::string>()>;

Outcome why(const OpenTrace& open, std::uint64_t record, codec::Destination& destination);

} // namespace traces::tool
