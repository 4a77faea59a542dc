// Requests of a peer that need a page which is not there (PRM "Page fault"): tells software, and has the peer repeat
// the request later, by the RNR NAK that it would also get for a missing receive buffer (IBA 9.7.5.2.8).
#pragma once

#include "model/hca/memory/denied.h"
#include "model/hca/paging/page_faults.h"
#include "model/hca/responder/answers.h"

#include <cstdint>

namespace model::hca::responder {

class Patience {
public:
    Patience(Answers& answers, paging::PageFaults& page_faults) : answers_(answers), page_faults_(page_faults) {}

    /// Does not accept the expected packet for now. An RNR NAK has the peer repeat it later, with all that is behind.
    void ask(queue::QueuePair& qp, port::Time at);
    /// Answers a request whose memory the key, a page or the bus denied. When it was a page, software is told `fault`.
    void refuse(queue::QueuePair& qp, const memory::Denied& denied, const paging::RemotePageFault& fault,
                port::Time at);
    /// A page is missing: has the peer repeat its request, or refuses it when nobody will bring the page.
    void wait_or_refuse(queue::QueuePair& qp, const paging::RemotePageFault& fault, const tpt::Request& access,
                        port::Time at);
    /// A SEND's packet of `packet` bytes does not find a page of its receive buffer. Returns false when it cannot wait.
    bool wait_to_place(queue::QueuePair& qp, std::uint32_t packet, const tpt::Request& access, port::Time at);
    /// A repeated READ does not find its page: an RNR NAK for that READ has the peer repeat it. Returns false when it
    /// cannot wait.
    bool wait_to_repeat(queue::QueuePair& qp, const paging::RemotePageFault& fault, const tpt::Request& access,
                        port::Time at);

private:
    Answers& answers_;
    paging::PageFaults& page_faults_;
};

} // namespace model::hca::responder
