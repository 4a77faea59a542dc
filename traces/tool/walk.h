// One pass over a trace: each record with what it is. What cannot be read on ends the pass with the reader's Fault;
// what was read before has been given.
#pragma once

#include "traces/codec/reader.h"
#include "traces/tool/decoder.h"
#include "traces/tool/output.h"

#include <optional>
#include <string>

namespace traces::tool {

/// How a command of the tool ended. At most one of fault and complaint is set.
struct Outcome {
    std::optional<codec::Fault> fault{}; ///< of the trace
    std::string complaint{};             ///< about anything else: what, and why
    bool is_output_lost = false;         ///< the complaint is that the output could not be written
    std::uint64_t records = 0;           ///< that were read
    std::uint64_t confirmed = 0;         ///< of them, those that a digest behind them has confirmed
    std::optional<std::uint64_t> told{}; ///< of them, those that a filter has let pass, where there is one

    bool is_good() const { return !fault && complaint.empty(); }
    /// For a person; empty if it is good.
    std::string text() const { return fault ? fault->text() : complaint; }
};

/// Calls visit(record, seen, decoder) for each record, until it says false.
template <class Visit> std::optional<codec::Fault> walk(codec::Reader& reader, Visit&& visit) {
    Decoder decoder(reader.head());
    for (;;) {
        const auto record = reader.next();
        if (!record)
            return record.error();
        if (*record == nullptr)
            return std::nullopt;
        if (!visit(**record, decoder.take(**record), decoder))
            return std::nullopt;
    }
}

inline Outcome outcome_of(const codec::Reader& reader, std::optional<codec::Fault> fault) {
    return {.fault = std::move(fault), .records = reader.records(), .confirmed = reader.confirmed_records()};
}
/// Flushes, and says how it went.
inline Outcome finish(const codec::Reader& reader, std::optional<codec::Fault> fault, Output& output) {
    output.flush();
    if (!output.is_good())
        return {.complaint = output.failure(), .is_output_lost = true};
    return outcome_of(reader, std::move(fault));
}

} // namespace traces::tool
