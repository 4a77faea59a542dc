// Pages that the sending side needs and does not find (PRM "Page fault"): the queue stands until software has answered.
#include "model/hca/requester/requester.h"

namespace model::hca::requester {

using abi::prm::PageFaultType;
using completion::absent_page;
using queue::QueuePair;

/// The packet at the sending position needs a page. False when the message cannot wait.
bool Requester::wait_to_send(QueuePair& qp, const tpt::Request& access, port::Time at) {
    auto& r = qp.requester;
    const auto& message = r.messages[r.message];
    const bool waits = page_faults_.raise(
        qp,
        paging::WqePageFault{.type = PageFaultType::send_or_write,
                             .wq_number = qp.number.value,
                             .wqe_index = message.wqe_index,
                             .committed = r.offset,
                             .packet = packet_length(message.length, r.offset, qp.attributes.mtu_bytes()),
                             .what = r.message},
        access, at);
    if (!waits)
        return false;
    seek(r, r.offset); // what was gathered of the packet is gathered again
    return true;
}

/// An answer of the oldest message needs a page: it is dropped, and asked for again when the page is there. False when
/// it cannot wait.
bool Requester::wait_to_place(QueuePair& qp, std::uint32_t offset, std::uint32_t bytes, const tpt::Request& access,
                              port::Time at) {
    auto& r = qp.requester;
    const bool waits = page_faults_.raise(qp,
                                          paging::WqePageFault{.type = PageFaultType::read_or_atomic,
                                                               .wq_number = qp.number.value,
                                                               .wqe_index = r.messages.front().wqe_index,
                                                               .committed = offset,
                                                               .packet = bytes,
                                                               .what = r.messages.begin()},
                                          access, at);
    if (!waits)
        return false;
    r.asked_again = true; // the answers behind it are no news
    return true;
}

/// The answer counts for the message that software was told of, if that is still here: another one may have been
/// through meanwhile, since pages can be there before software says so. The queue goes on in any case.
void Requester::resume(QueuePair& qp, PageFaultType type, bool is_error, port::Time at) {
    auto& r = qp.requester;
    if (!qp.can_send())
        return;
    path_.scheduler.add(qp);
    const auto number = qp.paging.told[static_cast<std::size_t>(type)];
    if (number - r.messages.begin() >= r.messages.size())
        return;
    auto& message = r.messages[number];
    const bool is_answer = type == PageFaultType::read_or_atomic;
    if (is_answer && (number != r.messages.begin() || !message.awaits_data))
        return;
    if (is_error && message.error == 0) {
        count_local(qp, absent_page());
        if (is_answer)
            return fail_front(qp, absent_page(), at);
        message.error = static_cast<std::uint8_t>(absent_page().syndrome);
        message.vendor_error = absent_page().vendor;
        return retire(qp, at);
    }
    if (is_answer) {
        r.asked_again = r.waits_rnr = false;
        qp.timer.deadline = port::never;
        go_back(qp, message.first + message.answered, at);
    }
}

} // namespace model::hca::requester
