// `trace why RECORD`: from a record back to the store of the driver that began it, a sentence a link.
#pragma once

#include "traces/tool/causes.h"
#include "traces/tool/walk.h"

#include <functional>
#include <memory>
#include <string>

namespace traces::tool {

/// Opens the trace; it is read twice. The error is what a person can be told.
using OpenTrace = std::function<std::expected<std::unique_ptr<codec::Source>, std::string>()>;

/// What a link of a chain says of the record that it leads away from; `mark` is the cause in that record's mark.
std::string sentence(Causes::Step step, std::uint32_t mark);

Outcome why(const OpenTrace& open, std::uint64_t record, codec::Destination& destination);

} // namespace traces::tool
