// A queue pair as the card keeps it: its rings, the messages under way, what its peer is owed, and where its message
// from the peer stands. Plain data; the requester, the responder and the sending unit work on it.
#pragma once

#include "abi/simple/queue.h"
#include "abi/simple/registers.h"
#include "abi/types.h"
#include "abi/wire/infiniband.h"
#include "model/port/packet.h"
#include "model/port/time.h"
#include "model/simple/completions.h"
#include "model/simple/config.h"

#include <array>
#include <cstdint>
#include <cassert>
#include <cstddef>
#include <vector>

namespace model::simple {

/// A descriptor on the card, and the message that it became.
struct Message {
    std::uint64_t cookie = 0, address = 0, remote_address = 0;
    std::uint32_t immediate = 0, length = 0;
    abi::Key key{}, remote_key{};
    abi::simple::Operation operation{};
    bool is_signaled = false, is_solicited = false, is_fenced = false;
    abi::simple::Outcome fault{}; ///< success: none; otherwise it is not sent, and ends so when its turn has come
    port::Time available{};       ///< when the descriptor is on the card
    // From when it begins:
    abi::Psn first{};
    std::uint32_t packets = 0;  ///< of a READ: of its response
    std::uint32_t received = 0; ///< of a READ: packets of the response that have come

    bool is_read() const { return operation == abi::simple::Operation::read; }
    abi::Psn end() const { return first + packets; } ///< behind its last packet
};

/// Something that the peer is owed: an acknowledgement, a refusal, or bytes.
struct Answer {
    abi::Psn psn{};
    std::uint8_t syndrome = 0;
    bool is_read = false;
    bool is_repeat = false; ///< asked for again, which does not count against READs that are asked for the first time
    port::Time ready{};
    std::uint32_t msn = 0;
    bool is_new_read() const { return is_read && !is_repeat; }
    bool is_acknowledgement() const {
        return !is_read && abi::wire::kind_of(syndrome) == abi::wire::SyndromeKind::acknowledge;
    }
    // Of a READ, what is left of it:
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    abi::Key key{};
    bool has_begun = false;
    std::uint64_t cause = 0; ///< event of the request (traces/events.h)
};

/// Answers in their order; the card has room for so many of each queue pair.
class Answers {
public:
    bool is_empty() const { return count_ == 0; }
    bool is_full() const { return count_ == places_.size(); }
    Answer& front() { return places_[first_]; }
    std::size_t count() const { return count_; }
    /// The last one, the last but one and so on.
    Answer& from_end(std::size_t i) { return places_[(first_ + count_ - 1 - i) % places_.size()]; }
    void push(const Answer& answer) {
        assert(!is_full() && "whoever owes one more has looked for room");
        places_[(first_ + count_++) % places_.size()] = answer;
    }
    void pop() { first_ = (first_ + 1) % places_.size(), --count_; }
    void pop_last() { --count_; }
    void clear() { count_ = 0; }

private:
    /// READs as many as there may be, two acknowledgements behind each, and refusals.
    std::array<Answer, 4 * max_reads> places_{};
    std::size_t first_ = 0, count_ = 0;
};

/// A receive on the card.
struct Receive {
    std::uint64_t cookie = 0, address = 0;
    std::uint32_t length = 0, index = 0;
    abi::Key key{};
    bool is_readable = true; ///< its descriptor could be read
    port::Time available{};
};

/// The message that is arriving.
struct Arriving {
    enum class Kind : std::uint8_t { none, send, write };
    Kind kind = Kind::none;
    std::uint64_t address = 0; ///< of a WRITE: of what is left of it
    std::uint32_t left = 0;    ///< bytes of a WRITE that have not come
    std::uint32_t length = 0;  ///< bytes that have come
    abi::Key key{};
    Receive receive{}; ///< of a SEND
};

struct QueuePair {
    static constexpr std::size_t receives_kept = 16;

    abi::Qpn number{};
    std::uint64_t serial = 0; ///< differs from that of each other queue pair that ever was
    std::uint32_t pd = 0;
    abi::simple::QpState state = abi::simple::QpState::reset;
    CompletionQueue *send_cq = nullptr, *receive_cq = nullptr;
    std::uint64_t card_bytes = 0;

    // The connection:
    port::Path path{};
    abi::Qpn remote{};
    std::uint32_t mtu = 0;
    bool remote_write = false, remote_read = false;
    std::uint32_t reads_sent = 1, reads_taken = 1; ///< at most
    port::Time timeout{};                          ///< 0: never
    std::uint8_t retry_count = 0, rnr_retry = 0, rnr_timer = 0;

    // Sends; counters of descriptors, modulo 2^32: oldest <= begun <= fetched <= producer.
    std::uint64_t send_ring = 0;
    std::uint32_t sends = 0;  ///< descriptors of the ring, a power of two
    std::uint32_t oldest = 0; ///< the first that is not done
    std::uint32_t begun = 0;  ///< the first whose packets have not all been sent
    std::uint32_t fetched = 0, producer = 0;
    std::vector<Message> messages;       ///< by counter, modulo its size, a power of two
    bool has_begun = false;              ///< message `begun` has its numbers
    std::uint32_t sent_bytes = 0;        ///< of it
    abi::Psn next_psn{}, acknowledged{}; ///< the next one to be sent; the first that is not acknowledged
    abi::Psn unsent{};                   ///< the first that has never been sent
    std::uint32_t reads_under_way = 0;
    std::uint8_t retries_left = 0, rnr_left = 0;
    port::Time deadline = port::never; ///< for an acknowledgement
    port::Time rnr_until{};            ///< nothing is sent before
    bool has_asked_again = false;      ///< for a response that was lost: what else is behind it says nothing new
    bool is_deadline_watched = false;  ///< the agenda has it, or an earlier one

    // Receives: completed <= next <= fetched <= producer.
    std::uint64_t receive_ring = 0;
    std::uint32_t receives = 0;
    std::uint32_t receive_completed = 0, receive_next = 0, receive_fetched = 0, receive_producer = 0;
    std::array<Receive, receives_kept> kept_receives{};

    // The peer's requests:
    abi::Psn expected{};
    std::uint32_t msn = 0;
    Arriving arriving{};
    bool has_refused_sequence = false; ///< a NAK for `expected` is out
    std::uint32_t reads_owed = 0;      ///< among the answers, without those that are repeated
    Answers answers;
    port::Time answered{}; ///< when the last of them was ready: they stay in order

    // The sending unit's:
    bool is_ready = false; ///< it is in the list
    QueuePair* next_ready = nullptr;
    port::Time wake = port::never; ///< when the agenda will put it there

    Message& message(std::uint32_t counter) { return messages[counter & (messages.size() - 1)]; }
    bool is_anything_unacknowledged() const { return acknowledged != next_psn; }
};

} // namespace model::simple
