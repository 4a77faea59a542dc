// A file that Perfetto opens: TracePackets of tracks, slices, instants and counters (protos/perfetto/trace). Knows the
// numbers of their fields and Perfetto's rules, and nothing of what is drawn. Each packet stands for itself, so that a
// file that is cut is good up to there. Witness: testbench/scenario/perfetto.proto, read by protoc.
#pragma once

#include "traces/codec/stream.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace traces::tool {

class PerfettoFile {
public:
    using Track = std::uint64_t;
    using Flow = std::uint32_t;
    /// Something about an instant: a number, or a text where there is one.
    struct Note {
        std::string_view name;
        std::uint64_t number = 0;
        std::string_view text{};
    };

    explicit PerfettoFile(codec::Destination& destination) : destination_(destination) {}

    Track process(std::string_view name);
    Track track(Track parent, std::string_view name);
    Track counter(Track parent, std::string_view name);

    /// Slices of one track come in the order of their times and do not overlap. One without length becomes an instant.
    void slice(Track track, std::int64_t begin_ns, std::int64_t end_ns, std::string_view name,
               std::span<const Flow> flows);
    void instant(Track track, std::int64_t at_ns, std::string_view name, std::span<const Flow> flows,
                 std::span<const Note> notes = {});
    void count(Track counter, std::int64_t at_ns, std::int64_t value);

    void flush();
    bool is_good() const { return failure_.empty(); }
    const std::string& failure() const { return failure_; }

private:
    class Message;
    Track describe(Track parent, std::string_view name, bool is_counter);
    void event(Track track, std::int64_t at_ns, const Message& event);
    void packet(const Message& packet);

    static constexpr std::size_t most_bytes = 1 << 20;
    codec::Destination& destination_;
    std::string buffer_, failure_;
    Track last_ = 0;
    std::uint32_t processes_ = 0;
};

} // namespace traces::tool
