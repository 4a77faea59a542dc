// What a queue pair does for its peer: takes WRITEs and SENDs in, answers READs, and acknowledges or refuses. One
// packet after the other in the order of their numbers; what comes too early is asked for again, what comes again is
// answered again. IBA 9.7.5.
#pragma once

#include "abi/wire/infiniband.h"
#include "model/simple/completions.h"
#include "model/simple/config.h"
#include "model/simple/queue_pair.h"
#include "model/simple/ready_list.h"
#include "model/simple/regions.h"
#include "model/simple/requester.h"
#include "model/simple/transmitter.h"
#include "traces/events.h"

#include <cstdint>

namespace model::simple {

class Responder {
public:
    Responder(HostMemory& memory, const Regions& regions, Completions& completions, Transmitter& transmitter,
              ReadyList& ready, Requester& requester, Counters& counters, const traces::Events& events)
        : memory_(memory), regions_(regions), completions_(completions), transmitter_(transmitter), ready_(ready),
          requester_(requester), counters_(counters), events_(events) {}

    /// A request of the peer.
    void receive(QueuePair& qp, const port::Packet& packet, port::Time at);
    /// Sends one packet of what the peer is owed first. There is something.
    void answer(QueuePair& qp, port::Time now);
    /// Brings posted receives onto the card.
    void fetch(QueuePair& qp, port::Time now);
    /// In the error state: a receive ends. False: there is none.
    bool flush(QueuePair& qp, port::Time now);

private:
    void receive_again(QueuePair& qp, const port::Packet& packet, port::Time at);
    void receive_read(QueuePair& qp, const port::Packet& packet, port::Time at);
    void owe_read(QueuePair& qp, const port::Packet& packet, bool is_repeat, port::Time at);
    void receive_write(QueuePair& qp, const port::Packet& packet, port::Time at);
    void receive_send(QueuePair& qp, const port::Packet& packet, port::Time at);
    /// Whether the packet may follow what has come before, and has as many bytes as it may.
    static bool is_in_sequence(const QueuePair& qp, const port::Packet& packet);
    /// nullptr: nothing is posted.
    Receive* next_receive(QueuePair& qp, port::Time at);
    /// Puts the payload where a check has allowed it; false: the function itself cannot. `at` becomes the time at which
    /// it has left.
    bool place(const port::Packet& packet, abi::Key key, std::uint64_t address, port::Time& at);
    /// The packet is done, and with its last one the message.
    void accept(QueuePair& qp, const port::Packet& packet, port::Time at);
    void complete(QueuePair& qp, const Receive& receive, const port::Packet& packet, abi::simple::Outcome outcome,
                  std::uint32_t bytes, port::Time at);
    void acknowledge(QueuePair& qp, abi::Psn psn, std::uint8_t syndrome, port::Time at);
    void refuse(QueuePair& qp, abi::wire::NakCode code, port::Time at) { refuse(qp, qp.expected, code, at); }
    void refuse(QueuePair& qp, abi::Psn psn, abi::wire::NakCode code, port::Time at);
    void refuse_for_now(QueuePair& qp, port::Time at);

    HostMemory& memory_;
    const Regions& regions_;
    Completions& completions_;
    Transmitter& transmitter_;
    ReadyList& ready_;
    Requester& requester_;
    Counters& counters_;
    const traces::Events& events_;
};

} // namespace model::simple
