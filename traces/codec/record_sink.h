// Who takes records one by one, as they happen: the writer of a file, a monitor beside the simulation, a test.
#pragma once

#include "traces/codec/trace.h"

namespace traces::codec {

class RecordSink {
public:
    virtual ~RecordSink() = default;
    /// Takes one, which has no number yet. Returns the number that it has from now on; 0 when it is lost. Its bytes are
    /// valid during the call.
    virtual std::uint64_t put(const Record& record) = 0;
    /// Payloads of the next records are pieces of these bytes, at most most_entry_bytes of them, so that whoever keeps
    /// payloads can keep them once. Holds until the next call; empty: of nothing.
    virtual void share(std::span<const std::byte> whole) { static_cast<void>(whole); }
};

} // namespace traces::codec
