// Pages that the sending side needs and does not find (PRM "Page fault"): the queue stands until software has answered.
#include "model/hca/requester/requester.h"

namespace model::hca::requester {

using abi::prm::PageFaultType;
using queue::QueuePair;

/// The packet at the sending position needs a page. False when the message cannot wait.
bool Requester::wait_to_send(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    const auto& message = r.messages[r.message];
    const bool waits = page_faults_.raise(
        qp,
        paging::WqeFault{.type = PageFaultType::send_or_write,
                         .wq_number = qp.number.value,
                         .wqe_index = message.wqe_index,
                         .committed = r.offset,
                         .packet = packet_length(message.length, r.offset, qp.attributes.mtu_bytes())},
        at);
    if (!waits)
        return false;
    qp.paging.message = r.message;
    seek(r, r.offset); // what was gathered of the packet is gathered again
    return true;
}

/// An answer of the oldest message needs a page: it is dropped, and asked for again when the page is there. False when
/// it cannot wait.
bool Requester::wait_to_place(QueuePair& qp, std::uint32_t offset, std::uint32_t bytes, port::Time at) {
    auto& r = qp.requester;
    const bool waits = page_faults_.raise(qp,
                                          paging::WqeFault{.type = PageFaultType::read_or_atomic,
                                                           .wq_number = qp.number.value,
                                                           .wqe_index = r.messages.front().wqe_index,
                                                           .committed = offset,
                                                           .packet = bytes},
                                          at);
    if (!waits)
        return false;
    r.asked_again = true; // the answers behind it are no news
    return true;
}

void Requester::resume(QueuePair& qp, PageFaultType type, bool is_error, port::Time at) {
    auto& r = qp.requester;
    if (!qp.can_send() || r.messages.is_empty())
        return;
    if (type == PageFaultType::read_or_atomic) {
        auto& front = r.messages.front();
        if (!front.awaits_data)
            return;
        if (is_error) {
            count_local(qp, absent_page());
            return fail_front(qp, absent_page(), at);
        }
        r.asked_again = false;
        qp.timer.deadline = port::never;
        return go_back(qp, front.first + front.answered, at);
    }
    if (is_error) {
        auto& message = r.messages[qp.paging.message];
        message.error = static_cast<std::uint8_t>(absent_page().syndrome);
        message.vendor_error = absent_page().vendor;
        count_local(qp, absent_page());
        retire(qp, at);
        if (!qp.can_send())
            return;
    }
    path_.scheduler.add(qp);
}

} // namespace model::hca::requester
