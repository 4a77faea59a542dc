// What one requester sent to one responder, as a capture has it: which memory it wants to reach, and its packets for
// another responder, with the numbers and keys that this one has. A capture loses packets; a message of which one is
// missing is left out as a whole, and the PSNs of the others close up, so that a responder can go on. What the
// requester sent again stays, unless it is from before such a gap.
#pragma once

#include "abi/types.h"
#include "model/port/packet.h"
#include "platform/importer/roce_frame.h"

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace platform::importer {

/// Requests of one requester to one queue pair.
struct Flow {
    model::port::Gid source{}, destination{};
    std::uint32_t destination_qpn = 0;
    auto operator<=>(const Flow&) const = default;
    std::string text() const;
};

/// Memory that requests name by one key.
struct KeyRange {
    std::uint64_t begin = ~std::uint64_t{0}, end = 0;
    std::uint64_t bytes() const { return end - begin; }
};

/// What has to be there before the first packet.
struct Demand {
    Flow flow;
    model::port::Encapsulation encapsulation{};
    abi::wire::Service service{};
    std::uint32_t mtu = 0;
    abi::Psn first_psn{};
    std::map<std::uint32_t, KeyRange> keys; ///< by rkey
    std::uint64_t receives = 0;             ///< messages that take a receive
    std::uint64_t most_receive_bytes = 0;   ///< of one
    // What was captured.
    std::uint64_t packets = 0, frames = 0, other_frames = 0, malformed = 0, cut = 0, bad_icrc = 0;
    std::uint64_t answers = 0, naks = 0; ///< that the captured responder sent back
};

/// Gaps, and what they cost.
struct Losses {
    std::uint64_t gaps = 0, missing = 0; ///< PSNs that nobody captured
    std::uint64_t messages = 0;          ///< left out, since they are not whole
    std::uint64_t packets = 0;           ///< left out with them, or from before a gap
    std::uint64_t again = 0;             ///< sent again, and kept
    std::vector<std::uint64_t> frames;   ///< numbers of the first ones behind a gap, at most most_told
    static constexpr std::size_t most_told = 16;
};

/// How many PSNs a request takes: a READ those of its responses (IBA 9.7.2).
std::uint32_t psns_of(const model::port::Packet& packet, std::uint32_t mtu);

/// Follows the PSNs of a flow.
class MessageTrack {
public:
    explicit MessageTrack(std::uint32_t mtu) : mtu_(mtu) {}
    enum class Place : std::uint8_t {
        next,   ///< goes on where the one before it ended
        again,  ///< was sent before
        gap,    ///< something in front of it is missing; it begins a message
        orphan, ///< of a message whose beginning is missing
    };
    struct Step {
        Place place = Place::next;
        std::uint64_t message = 0;        ///< number of the frame that began it
        std::uint32_t missing = 0;        ///< PSNs in front of it
        std::uint32_t psns = 1;           ///< that it takes
        std::uint64_t broken_message = 0; ///< one that will never be whole; 0: none
    };
    Step take(const model::port::Packet& packet, std::uint64_t frame);
    /// The message that was under way; 0: none.
    std::uint64_t open_message() const { return open_; }

private:
    std::uint32_t mtu_;
    std::optional<abi::Psn> next_;
    std::uint64_t open_ = 0;
};

using OpenCapture = std::function<traces::codec::Read<CaptureFile>()>;

/// Reads the capture and says what its flow demands; of several, the one of this number, from 1. The error is for a
/// person, and lists the flows where one has to be chosen.
std::expected<Demand, std::string> read_demand(const OpenCapture& open, std::optional<std::uint32_t> number);

/// What becomes of the numbers in a packet.
struct Rewriting {
    struct Key {
        abi::Key key{};
        std::uint64_t moved_by = 0; ///< added to addresses, modulo 2^64
    };
    abi::Qpn destination{};
    abi::Psn first_psn{};
    std::map<std::uint32_t, Key> keys{}; ///< by the rkey that was captured; others stay as they are
    model::port::MacAddress destination_mac{};
};

/// Gives the flow's packets one by one, rewritten; `take` may change them. The error is for a person: the capture
/// cannot be read to its end; what was read was given.
struct CapturedRequest {
    std::uint64_t frame = 0;
    std::int64_t time_ns = 0; ///< since the first one
    model::port::Packet& packet;
};
std::expected<Losses, std::string> each_request(const OpenCapture& open, const Demand& demand,
                                                const Rewriting& rewriting,
                                                const std::function<void(CapturedRequest)>& take);

} // namespace platform::importer
