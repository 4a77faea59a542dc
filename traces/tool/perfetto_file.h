// A file that Perfetto opens: TracePackets of tracks, slices, instants and counters (protos/perfetto/trace). Knows the
// numbers of their fields and Perfetto's rules, and nothing of what is drawn. Each packet stands for itself, so that a
// file that is cut is good up to there. Times of a track do not fall: packets wait, in bounded memory, for those
// before. Witness: testbench/scenario/perfetto.proto, read by protoc.
#pragma once

#include "traces/codec/stream.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
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

    /// Slices of one track come in the order of their times and do not overlap, and no instant is on it but between
    /// them. One without length becomes an instant.
    void slice(Track track, std::int64_t begin_ns, std::int64_t end_ns, std::string_view name,
               std::span<const Flow> flows);
    void instant(Track track, std::int64_t at_ns, std::string_view name, std::span<const Flow> flows,
                 std::span<const Note> notes = {});
    void count(Track counter, std::int64_t at_ns, std::int64_t value);

    /// After the last one.
    void flush();
    bool is_good() const { return failure_.empty(); }
    const std::string& failure() const { return failure_; }

private:
    class Message;
    Track describe(Track parent, std::string_view name, bool is_counter);
    void event(Track track, std::int64_t at_ns, const Message& event);
    void put_earliest();
    void packet(const Message& packet);
    void write();

    struct Waiting {
        std::int64_t at_ns;
        std::uint64_t number; ///< what comes first stays first at the same time
        Track track;
        std::string bytes;
        bool operator>(const Waiting& other) const {
            return std::tie(at_ns, number) > std::tie(other.at_ns, other.number);
        }
    };
    static constexpr std::size_t most_waiting = 32768;
    static constexpr std::size_t most_bytes = 1 << 20;
    codec::Destination& destination_;
    std::string buffer_, failure_;
    Track last_ = 0;
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
    std::uint64_t events_ = 0;
    std::vector<std::int64_t> times_; ///< of the last packet of each track
    std::uint32_t processes_ = 0;
};

} // namespace traces::tool
