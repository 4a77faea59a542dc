// A shorter life of a queue pair: it sends its first messages, and then those around the one that matters, as if they
// were the next. What numbers the later ones follows: WQE index, doorbells and their records, counters of completions,
// PSN and MSN of the frames of both directions, with their ICRC.
//
// A gap ends where software rings for messages of which the device has sent all before them, and begins at an earlier
// message whose WQE lay in the same place of the ring: so the places of all others stay as they were recorded. What of
// a batch lies in the gap is as if it had not been posted.
#pragma once

#include "platform/record/record_store.h"
#include "traces/tool/decoder.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace platform::record {

class WorkGaps {
public:
    explicit WorkGaps(const RecordStore& store) : store_(store) {}
    /// What a record of the store is; one after the other.
    void take(std::size_t at, const traces::tool::Seen& seen, const traces::tool::Decoder& decoder);

    /// Of the record with a number of the trace that the store comes from.
    std::size_t position_of(std::uint64_t number) const;

    struct Gap {
        std::size_t queue = 0;
        std::size_t begin = 0, end = 0;   ///< messages that are left out
        std::size_t behind = 0, upto = 0; ///< records: the last of the message before them, the doorbell behind them
        bool operator==(const Gap&) const = default;
    };
    /// Those that end before a record, the shortest rests first.
    std::vector<Gap> before(std::size_t position, std::size_t most) const;
    void choose(std::optional<Gap> gap) { gap_ = gap; }
    const std::optional<Gap>& chosen() const { return gap_; }

    enum class Part : std::uint8_t { none, kept, gone };
    /// Of the work that the gap leaves and takes.
    Part part(std::size_t at) const;
    /// Whether all that a frame from outside answers lies in the gap.
    bool is_answer_to_gone(std::size_t at) const;
    /// Of the queue pair of the gap.
    bool is_its_work(std::size_t at) const { return gap_ && find(at) != nullptr && find(at)->queue == gap_->queue; }
    /// Changes what the numbers of messages are in.
    bool edit(std::size_t at, RecordStore::Edited& edited) const;

private:
    struct Message {
        std::uint64_t index = 0;           ///< of its WQE, in basic blocks since the first one
        std::uint64_t address = 0;         ///< of its WQE
        std::optional<std::int64_t> psn{}; ///< its first one, from that of the first message
        std::size_t last_frame = 0;        ///< position
        std::array<std::byte, 8> start{};  ///< of its WQE, as in a doorbell
    };
    struct Doorbell {
        std::size_t at = 0;
        std::uint64_t gate = 0;
        std::optional<std::size_t> first{}; ///< message that the device has fetched then, all before it being sent
    };
    struct Queue {
        std::uint32_t interface = 0, qpn = 0;
        std::vector<Message> messages{};
        std::vector<Doorbell> doorbells{};
        std::uint64_t producer = 0; ///< basic blocks
        std::size_t sent = 0;       ///< messages of which there are frames
        std::size_t answered = 0;   ///< messages up to the last acknowledgement
        std::uint32_t first_psn = 0;
        std::int64_t last_psn = -1; ///< the highest that was sent
    };
    enum class Kind : std::uint8_t { part, fetch, fetch_request, frame, answer, doorbell, counter, completion };
    struct Note {
        std::size_t queue = 0;
        Kind kind = Kind::part;
        std::size_t first = 0, last = 0; ///< messages
        std::uint64_t value = 0;         ///< index, counter
        std::size_t offset = 0;          ///< in the payload
    };

    const Note* find(std::size_t at) const;
    Queue* queue_of(std::uint32_t interface, std::uint32_t qpn, std::size_t* number);
    std::size_t message_of(const Queue& queue, std::uint16_t low) const;
    void fetched(std::size_t at, const traces::tool::Seen& seen);
    void frame(std::size_t at, const traces::tool::Item& item, const traces::tool::Decoder& decoder);
    std::uint64_t moved(const Queue& queue, std::uint64_t index) const;
    std::int64_t moved_psn(const Queue& queue, std::int64_t psn) const;
    bool edit_fetch(const Note& note, RecordStore::Edited& edited) const;
    bool shorten(const Note& note, RecordStore::Edited& edited, bool is_request) const;
    bool edit_frame(std::size_t at, const Queue& queue, RecordStore::Edited& edited) const;

    const RecordStore& store_;
    std::vector<Queue> queues_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> numbers_; ///< by interface and QPN
    std::map<std::size_t, Note> notes_;                                      ///< by position
    std::vector<std::size_t> reads_; ///< positions of what the device has read in this call for its next frame
    std::uint64_t reads_gate_ = 0;
    std::optional<std::size_t> last_; ///< position of the frame or completion whose end is not told yet
    std::optional<Gap> gap_;
};

} // namespace platform::record
