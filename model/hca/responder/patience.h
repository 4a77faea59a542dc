// Pages that a peer's requests need and do not find (PRM "Page fault"): software is told, and the peer asked to come
// again later with the NAK that a missing receive buffer would have brought (IBA 9.7.5.2.8).
#pragma once

#include "model/hca/memory/denied.h"
#include "model/hca/paging/page_faults.h"
#include "model/hca/responder/answers.h"

#include <cstdint>

namespace model::hca::responder {

class Patience {
public:
    Patience(Answers& answers, paging::PageFaults& page_faults) : answers_(answers), page_faults_(page_faults) {}

    /// The packet that was expected is not accepted for now: it and what is behind it come again.
    void ask(queue::QueuePair& qp, port::Time at);
    /// The key, a page or the bus is against what the peer asked for; `fault`: what software is told of a page.
    void refuse(queue::QueuePair& qp, const memory::Denied& denied, const paging::RemotePageFault& fault,
                port::Time at);
    /// A page is missing: the peer comes again, or is refused.
    void wait_or_refuse(queue::QueuePair& qp, const paging::RemotePageFault& fault, const tpt::Request& access,
                        port::Time at);
    /// A SEND's packet of so many bytes does not find a page of its receive buffer. False when it cannot wait.
    bool wait_to_place(queue::QueuePair& qp, std::uint32_t packet, const tpt::Request& access, port::Time at);
    /// A READ that was asked for again does not find its page: its peer waits without counting. False as above.
    bool wait_to_repeat(queue::QueuePair& qp, const paging::RemotePageFault& fault, const tpt::Request& access,
                        port::Time at);

private:
    Answers& answers_;
    paging::PageFaults& page_faults_;
};

} // namespace model::hca::responder
