#include "model/hca/paging/page_faults.h"

namespace model::hca::paging {

using abi::prm::EventType;
using abi::prm::PageFaultSubtype;
using abi::prm::PageFaultType;
using queue::QueuePair;

namespace {
constexpr std::uint8_t bit(PageFaultType type) { return static_cast<std::uint8_t>(1u << static_cast<unsigned>(type)); }
} // namespace

/// Whether the access waits from now on and an event has to say so.
PageFaults::Outcome PageFaults::begin(QueuePair& qp, PageFaultType type, abi::Psn psn, port::Time at) {
    auto& paging = qp.paging;
    const bool is_hopeless = (paging.refused & bit(type)) != 0 && paging.refused_psn == psn;
    if (is_hopeless || !path_.event_queues.is_heard(EventType::page_fault)) {
        paging.refused = static_cast<std::uint8_t>(paging.refused & ~bit(type));
        path_.translator.refuse_waiting(at);
        return Outcome::refused;
    }
    if (paging.waiting & bit(type))
        return Outcome::waits;
    paging.waiting = static_cast<std::uint8_t>(paging.waiting | bit(type));
    ++path_.counters.page_faults;
    const auto& access = path_.translator.waiting();
    path_.events.emit(at, traces::PageFaulted{qp.number.value, static_cast<std::uint8_t>(type), access.key.value,
                                              access.address, access.length});
    return Outcome::begins;
}

bool PageFaults::raise(QueuePair& qp, const WqeFault& fault, port::Time at) {
    const auto outcome = begin(qp, fault.type, fault.psn, at);
    if (outcome == Outcome::begins)
        path_.event_queues.broadcast(EventType::page_fault, static_cast<std::uint8_t>(PageFaultSubtype::wqe),
                                     qp.number.value, at, [&](auto eqe) {
                                         abi::prm::event_data<abi::prm::WqePageFaultEventData>(eqe)
                                             .template set<"bytes_committed">(fault.committed)
                                             .template set<"wqe_index">(fault.wqe_index)
                                             .template set<"packet_length">(fault.packet)
                                             .template set<"token">(qp.number.value)
                                             .template set<"type">(fault.type)
                                             .template set<"wq_num">(fault.wq_number);
                                     });
    return outcome != Outcome::refused;
}

bool PageFaults::raise(QueuePair& qp, const RemoteFault& fault, port::Time at) {
    const auto outcome = begin(qp, fault.type, fault.psn, at);
    if (outcome == Outcome::begins)
        path_.event_queues.broadcast(EventType::page_fault, static_cast<std::uint8_t>(PageFaultSubtype::rdma),
                                     qp.number.value, at, [&](auto eqe) {
                                         abi::prm::event_data<abi::prm::RdmaPageFaultEventData>(eqe)
                                             .template set<"bytes_committed">(fault.committed)
                                             .template set<"r_key">(fault.key.value)
                                             .template set<"packet_length">(fault.packet)
                                             .template set<"rdma_op_len">(fault.length)
                                             .template set<"rdma_va">(fault.address)
                                             .template set<"type">(fault.type)
                                             .template set<"token">(qp.number.value);
                                     });
    return outcome != Outcome::refused;
}

bool PageFaults::answer(QueuePair& qp, PageFaultType type) {
    const bool waited = (qp.paging.waiting & bit(type)) != 0;
    qp.paging.waiting = static_cast<std::uint8_t>(qp.paging.waiting & ~bit(type));
    return waited;
}

void PageFaults::give_up(QueuePair& qp, PageFaultType type, abi::Psn psn) {
    qp.paging.refused = bit(type);
    qp.paging.refused_psn = psn;
}

} // namespace model::hca::paging
