// What a queue pair does of its own: fetches descriptors, sends their messages packet by packet, and learns from the
// peer's answers which of them are done. What is lost is sent again from the first packet that nobody has acknowledged
// (go-back-N). IBA 9.7.
#pragma once

#include "model/simple/completions.h"
#include "model/simple/config.h"
#include "model/simple/queue_pair.h"
#include "model/simple/ready_list.h"
#include "model/simple/regions.h"
#include "model/simple/transmitter.h"
#include "traces/events.h"

#include <cstdint>

namespace model::simple {

class Requester {
public:
    Requester(const SimpleConfig& config, HostMemory& memory, const Regions& regions, Completions& completions,
              Transmitter& transmitter, ReadyList& ready, Counters& counters, const traces::Events& events)
        : config_(config), memory_(memory), regions_(regions), completions_(completions), transmitter_(transmitter),
          ready_(ready), counters_(counters), events_(events) {}

    /// Its turn: sends one packet, or ends descriptors that need none. Returns whether there may be more to do; where
    /// that comes later, the ready list has it.
    bool advance(QueuePair& qp, port::Time now);
    /// The same in the error state: descriptors end one by one.
    bool flush(QueuePair& qp, port::Time now);

    /// An acknowledgement, positive or not.
    void acknowledge(QueuePair& qp, abi::Psn psn, std::uint8_t syndrome, std::uint32_t msn, port::Time at);
    /// A packet of a READ's response.
    void take_response(QueuePair& qp, const port::Packet& packet, port::Time at);
    /// The deadline has been watched until now.
    void look_at_deadline(QueuePair& qp, port::Time now);

    /// Nothing is sent any more but answers that are due; descriptors end as flushed.
    void enter_error(QueuePair& qp, port::Time at);

private:
    void fetch(QueuePair& qp, port::Time now);
    bool begin_message(QueuePair& qp, Message& message);
    bool send_data(QueuePair& qp, Message& message, port::Time now, bool begins);
    void send_read(QueuePair& qp, Message& message, port::Time now);
    /// The message cannot be sent: it ends so when those before it are done. Returns whether that is now.
    bool fail_here(QueuePair& qp, Message& message, abi::simple::Outcome outcome, port::Time at);
    /// All before `until` is acknowledged; false: that is nothing new, or was never sent. A READ whose response is not
    /// complete holds it up, and is asked for again.
    bool advance_to(QueuePair& qp, abi::Psn until, port::Time at);
    void retire(QueuePair& qp, port::Time at);
    void complete(QueuePair& qp, const Message& message, abi::simple::Outcome outcome, port::Time at);
    void go_back(QueuePair& qp, traces::RetryReason why, port::Time at);
    /// What has been sent before need not be sent again up to `until`, since the peer has answered it.
    static void pass_over(QueuePair& qp, abi::Psn until);
    void retry(QueuePair& qp, traces::RetryReason why, port::Time at);
    void ask_again(QueuePair& qp, port::Time at);
    /// The oldest message ends with an error, and with it the connection.
    void fail(QueuePair& qp, abi::simple::Outcome outcome, port::Time at);
    void watch(QueuePair& qp, port::Time from);

    const SimpleConfig& config_;
    HostMemory& memory_;
    const Regions& regions_;
    Completions& completions_;
    Transmitter& transmitter_;
    ReadyList& ready_;
    Counters& counters_;
    const traces::Events& events_;
};

/// A descriptor of a ring as the card keeps it.
Message read_descriptor(abi::ConstView<abi::simple::Descriptor> descriptor);

} // namespace model::simple
