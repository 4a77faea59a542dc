// What a recorded device did, held against what another one does: each stream in its order, and no deed before one
// that it announces. Finds the first difference in the order of the recording whose predecessors are all there, and
// says whether what was expected came too late, or never.
#pragma once

#include "platform/record/deeds.h"
#include "platform/record/divergence.h"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>

namespace platform::record {

class Expectations {
public:
    using Time = model::port::Time;

    /// What the outside answered when the recorded device did this.
    struct Answer {
        model::port::DmaStatus status = model::port::DmaStatus::ok;
        Time took{}; ///< until a write was done, or a frame's last bit was out
    };
    struct Match {
        std::uint64_t record = 0;
        Time at{}; ///< when the recorded device did it
        Answer answer;
    };

    /// Reads the recording on, so that more is expected. False: there is no more, or it is too far ahead.
    std::function<bool()> more;

    /// The recorded device has done this; in order.
    void add(Deed deed);
    void answered(std::uint64_t record, Answer answer);

    /// The played device does this. Nothing: it is compared with nothing, or diverges.
    /// next   record of the next call of the device
    std::optional<Match> take(const Deed& actual, std::uint64_t next);

    /// The first record of which no counterpart has come, among those that a later call may depend on; 0: none.
    std::uint64_t earliest() const { return pending_.empty() ? 0 : pending_.begin()->first; }
    bool is_done() const { return pending_.empty(); }
    std::size_t held() const { return pending_.size(); }
    std::size_t held_bytes() const { return held_bytes_; } ///< of memory, about

    bool has_diverged() const { return suspicion_.has_value(); }
    /// Nothing more comes: the divergence, if there is one. What has come meanwhile has told its class.
    std::optional<Divergence> conclude() const;
    /// The device waits, and so does the recording: something is missing.
    void deadlock(std::string_view why);
    /// The recording is over, and the device has done all that it will.
    void finish();
    /// Something else than a deed differs: an answer of the device.
    void differ(Divergence divergence);

private:
    struct Pending {
        Deed deed;
        Answer answer{};
        std::uint64_t announced = 0; ///< deeds of another stream that come before it, in all
        std::size_t left = 0;        ///< bytes that are not written yet
    };
    struct Piece {
        std::uint64_t record, address;
        std::vector<std::byte> bytes;
    };
    struct Ring {
        std::uint64_t record, slot;
        bool is_odd_pass;
    };
    /// Packets to one queue pair in one direction.
    struct Flow {
        std::optional<abi::Psn> expected, actual;                 ///< the next one
        std::map<std::uint32_t, std::deque<std::uint64_t>> again; ///< expected once more, by their numbers
        std::map<std::uint32_t, std::uint32_t> surplus;           ///< sent once more without that
        std::deque<Deed> acknowledgements;                        ///< expected
        std::optional<abi::Psn> acknowledged_expected, acknowledged;
    };
    struct Suspicion {
        Divergence divergence;
        std::optional<Deed> waits_for; ///< it may come after all, which tells the class
    };
    using Queue = std::tuple<DeedKind, std::size_t, std::uint64_t>;

    /// What one costs: a write stands among the pieces, too.
    static std::size_t bytes_of(const Deed& deed) {
        return sizeof(Pending) + sizeof(Piece) + deed.content.size() +
               deed.step.bytes.size() * (deed.kind == DeedKind::bytes ? 2 : 1);
    }
    static Queue queue_of(const Deed& deed) { return {deed.kind, deed.stream.place, deed.stream.object}; }
    static std::optional<Queue> announcer_of(const Deed& deed);

    void add_frame(Deed& deed);
    std::optional<Match> take_bytes(const Deed& actual);
    std::optional<Match> take_frame(const Deed& actual, std::uint64_t next);
    void take_acknowledgement(const Deed& actual);
    std::optional<Match> take_ordered(const Deed& actual, std::uint64_t next);
    void hold(std::uint64_t record, Pending pending);
    Match matched(std::uint64_t record);
    std::uint64_t predecessor_of(const Pending& expected) const;
    bool is_in_place(const Deed& expected, const Deed& actual);
    void watch(const Deed& actual);
    /// This came instead of what was expected, where another one (a record; 0: none) is.
    void suspect(Divergence::Kind kind, const Deed& expected, const Step& actual, const std::string& why = {},
                 std::uint64_t other = 0);
    /// It has come, so that there is nothing to wait for.
    void suspect_content(const Deed& expected, const Step& actual, const std::string& why = {}) {
        suspect(Divergence::Kind::field, expected, actual, why);
        suspicion_->waits_for.reset();
    }
    void suspect_extra(const Deed& actual);

    std::map<std::uint64_t, Pending> pending_; ///< by record
    std::size_t held_bytes_ = 0;
    std::map<Stream, std::deque<std::uint64_t>> streams_;
    std::list<Piece> pieces_; ///< of expected writes, in their order
    std::map<Queue, std::deque<Ring>> rings_;
    std::map<Queue, std::uint64_t> added_, taken_;
    std::map<Stream, Flow> flows_; ///< by the stream of their frames
    std::optional<Suspicion> suspicion_;
};

} // namespace platform::record
