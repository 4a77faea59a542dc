// Rows of a result as bytes, for the process that reports what several have counted.
#pragma once

#include "platform/ranks/bytes.h"
#include "testbench/scenario/result.h"

namespace scenario {

/// What count() has filled: sums and rows.
void put_counts(platform::ranks::Writer& writer, const Result& result);
/// Adds sums, and appends rows. False: these bytes are no such thing.
bool add_counts(platform::ranks::Reader& reader, Result& result);

void put_queues(platform::ranks::Writer& writer, const platform::observe::count::QueueReport& report);
bool add_queues(platform::ranks::Reader& reader, platform::observe::count::QueueReport& report);

} // namespace scenario
