// Posted requests to a device whose calls may wait. PCIe has every device take them, whatever it waits for itself,
// since two that did not could wait for each other for good (PCIe 6.0 §2.4.1). A device here is in one chain of calls
// at a time, which may hold it while somebody outside of the simulation takes time to answer. So what another card
// writes is taken at once and done in order by a process of this card, as soon as its own chain has ended, and a chain
// of one card never enters another.
//
// What a card has under way in others is limited as credits limit it on a link, but at the begin of its chains: a card
// without credit begins nothing of its own, while it goes on with what it has begun, and takes what others write. So
// nobody who waits for credit has anything that another waits for. A card is over its limit by what one chain writes.
//
// A read does not pass the writes posted before it. Where it would wait for the end of its own chain, as when two cards
// have written to each other and read, it has a completion timeout instead, as on silicon when a completer is stuck.
#pragma once

#include "model/tlm/process.h"

#include <systemc>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace model::tlm {

class PostedRequests;

/// The cards of a simulation whose calls may wait, as far as they may write to each other. Outlives them.
class Neighbours {
public:
    Neighbours() = default;
    Neighbours(const Neighbours&) = delete;
    Neighbours& operator=(const Neighbours&) = delete;

private:
    friend class PostedRequests;
    /// In whose chain of calls the calling process is; nullptr: in none. It is never in two.
    PostedRequests* caller() const;

    std::vector<PostedRequests*> all_;
};

class PostedRequests {
public:
    /// Requests that a card may have under way in others, and their bytes, before it begins anything new.
    static constexpr std::size_t most_requests = 64, most_bytes = 64 << 10;

    /// Requests to the device that `turn` belongs to. To be made during elaboration, inside a module.
    PostedRequests(Neighbours& neighbours, Turn& turn);
    PostedRequests(const PostedRequests&) = delete;
    PostedRequests& operator=(const PostedRequests&) = delete;

    /// Whether a request that comes now may go into the device at once; else it is to be posted. A thread that is in no
    /// chain of calls, as a client's, begins one with its request and waits for credit before.
    bool may_enter();
    /// Takes a request to the part `to` of the device, which `call` does. A thread that is in no chain of calls waits
    /// until it is done, so that what it asks for next comes afterwards.
    void post(const void* to, std::size_t bytes, std::function<void()> call);
    /// For a read: waits until what was posted before it has been done. False: it would wait for itself. Who is no
    /// thread cannot wait, and passes.
    bool push();
    /// The part is being reset: what was posted to it and has not begun is dropped (§6.6.2).
    void drop(const void* to);
    /// For whatever begins a chain of calls of the card's own: waits for credit.
    void await_credit();

    bool is_empty() const { return done_ == posted_; }
    /// Whether the calling process is in this card's chain of calls.
    bool is_callers() const { return turn_.is_callers(); }

private:
    struct Request {
        const void* to; ///< nullptr: dropped
        std::size_t bytes;
        PostedRequests* source; ///< the card that has it under way; nullptr: none
        std::function<void()> call;
    };
    void carry_out();
    void do_next();
    bool has_credit() const { return requests_ < most_requests && bytes_ < most_bytes; }
    bool is_waiting_for_caller() const;

    Neighbours& neighbours_;
    Turn& turn_;
    std::deque<Request> waiting_;
    std::uint64_t posted_ = 0, done_ = 0; ///< so far
    sc_core::sc_event is_posted_, is_done_;
    std::size_t requests_ = 0, bytes_ = 0; ///< of this card, under way in others
    sc_core::sc_event has_credit_again_;
    PostedRequests* awaited_ = nullptr; ///< what the chain that holds this card waits for with a read
};

} // namespace model::tlm
