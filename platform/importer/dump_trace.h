// Dumps of WQEs and CQEs as a trace. A log says what stood in the rings and in which order the driver looked at it, not
// when, nor where the rings of completions lay. What a reader of traces needs besides is made up and marked as
// injected, as every record of such a trace is: a command queue by which each queue is created, and the device's
// accesses to them.
#pragma once

#include "platform/importer/dump_text.h"
#include "traces/codec/writer.h"

#include <expected>
#include <span>
#include <string>

namespace platform::importer {

/// The head of such a trace.
/// revision  of the program
/// file      the log's name
traces::codec::Head dump_head(std::string revision, std::string_view file);

struct DumpCounts {
    std::size_t wqes = 0, cqes = 0, queue_pairs = 0, completion_queues = 0;
};

/// Writes the records of all dumps; the writer has dump_head(). The complaint names the lines: WQEs of one queue pair
/// that lie further apart than a ring is long.
std::expected<DumpCounts, std::string> write_dumps(std::span<const Dump> dumps, traces::codec::Writer& writer);

} // namespace platform::importer
