// Answers on their way out (IBA 9.7.5.1): one packet for an ACK, a NAK or an atomic result, as many as it takes for a
// READ. Receives a turn, or the end of a batch; gives packets.
#pragma once

#include "model/hca/egress/outbox.h"
#include "model/hca/egress/outlets.h"
#include "model/hca/memory/application_memory.h"
#include "model/hca/paging/page_faults.h"
#include "model/hca/responder/answers.h"

#include <cstdint>

namespace model::hca::responder {

class AnswerSender {
public:
    AnswerSender(Answers& answers, memory::ApplicationMemory& memory, paging::PageFaults& page_faults,
                 egress::Outlets& outlets, egress::Outbox& outbox, Counters& counters)
        : answers_(answers), memory_(memory), page_faults_(page_faults), outlets_(outlets), outbox_(outbox),
          counters_(counters) {}

    /// Sends answers until `bytes` are used up, of which it takes what it sends. True when more can go at once.
    bool send(queue::QueuePair& qp, std::int64_t& bytes, port::Time at);
    /// The batch is over: ACKs that were held back go out.
    void release(port::Time at);
    /// Software has said that the page of a READ response is there, or will never be. `psn` is that of its next packet.
    /// Returns false when no response waits with that packet.
    bool resume_read(queue::QueuePair& qp, std::uint32_t psn, bool is_error, port::Time at);

private:
    bool has_to_wait(queue::QueuePair& qp, port::Time at);
    void send_simple(queue::QueuePair& qp, const queue::Response& response, port::Time at);
    enum class Sent : std::uint8_t { part, all, nothing };
    Sent send_read(queue::QueuePair& qp, queue::Response& response, port::Time at);
    bool wait_for_page(queue::QueuePair& qp, queue::Response& response, std::uint32_t packet,
                       const tpt::Request& access, port::Time at);
    void fail_read(queue::QueuePair& qp, abi::wire::NakCode code, port::Time at);

    Answers& answers_;
    memory::ApplicationMemory& memory_;
    paging::PageFaults& page_faults_;
    egress::Outlets& outlets_;
    egress::Outbox& outbox_;
    Counters& counters_;
};

} // namespace model::hca::responder
