// `trace stats`: how many, how much, how fast; by link, by queue, by opcode, with distributions of what took time.
#pragma once

#include "traces/tool/filter.h"
#include "traces/tool/walk.h"

namespace traces::tool {

Outcome stats(codec::Source& trace, const Filter& filter, codec::Destination& destination);

} // namespace traces::tool
