// One pass over a trace: each record with what it is. What cannot be read on ends the pass with the reader's Fault;
// what was read before has been given.
#pragma once

#include "traces/codec/reader.h"
#include "traces/tool/decoder.h"

#include <concepts>
#include <optional>
#include <string>

namespace traces::tool {

/// How a command of the tool ended. Only one of the two is set.
struct Outcome {
    std::optional<codec::Fault> fault{}; ///< of the trace
    std::string complaint{};             ///< about anything else: what, and why
    bool is_output_lost = false;         ///< the complaint is that the output could not be written

    bool is_good() const { return !fault && complaint.empty(); }
    /// For a person; empty if it is good.
    std::string text() const { return fault ? fault->text() : complaint; }
};

/// Text and bytes on their way out, in pieces of some size.
class Output {
public:
    explicit Output(codec::Destination& destination) : destination_(destination) {}
    void put(std::string_view text) {
        buffer_ += text;
        if (buffer_.size() >= most_bytes)
            flush();
    }
    void line(std::string_view text) {
        buffer_ += text;
        put("\n");
    }
    void flush() {
        if (failure_.empty() && !buffer_.empty())
            if (const auto written = destination_.write(std::as_bytes(std::span(buffer_))); !written)
                failure_ = written.error();
        buffer_.clear();
    }
    bool is_good() const { return failure_.empty(); }
    const std::string& failure() const { return failure_; }

private:
    static constexpr std::size_t most_bytes = 65536;
    codec::Destination& destination_;
    std::string buffer_, failure_;
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

/// Flushes, and says how it went.
inline Outcome finish(std::optional<codec::Fault> fault, Output& output) {
    output.flush();
    if (!output.is_good())
        return {.complaint = output.failure(), .is_output_lost = true};
    return {.fault = std::move(fault)};
}

} // namespace traces::tool
