#include "model/hca/paging/page_faults.h"

#include <cstddef>
#include <utility>

namespace model::hca::paging {

using abi::prm::EventType;
using abi::prm::PageFaultSubtype;
using abi::prm::PageFaultType;
using queue::QueuePair;

namespace {
constexpr std::uint8_t bit(PageFaultType type) { return static_cast<std::uint8_t>(1u << static_cast<unsigned>(type)); }
} // namespace

/// Whether the access waits already, may begin to wait, or may not.
PageFaults::Outcome PageFaults::look(QueuePair& qp, PageFaultType type, std::uint32_t what) {
    auto& paging = qp.paging;
    if ((paging.refused & bit(type)) != 0 && paging.refused_psn.value == what) {
        paging.refused = static_cast<std::uint8_t>(paging.refused & ~bit(type));
        return Outcome::refused;
    }
    return paging.waiting & bit(type) ? Outcome::waits : Outcome::begins;
}

/// The access waits from now on if software was told of it, and is refused otherwise.
bool PageFaults::begin(QueuePair& qp, PageFaultType type, std::uint32_t what, bool is_told, const tpt::Request& access,
                       port::Time at) {
    if (!is_told) {
        translator_.refuse(access, tpt::Violation::page_not_present, at);
        return false;
    }
    qp.paging.waiting = static_cast<std::uint8_t>(qp.paging.waiting | bit(type));
    qp.paging.told[static_cast<std::size_t>(type)] = what;
    ++report_.counters.page_faults;
    report_.events.emit(at, traces::PageFaulted{qp.number.value, static_cast<std::uint8_t>(type), access.key.value,
                                                access.address, access.length});
    return true;
}

template <class Fill> bool PageFaults::tell(const QueuePair& qp, PageFaultSubtype subtype, Fill&& fill, port::Time at) {
    return event_queues_.broadcast(EventType::page_fault, static_cast<std::uint8_t>(subtype), qp.number.value, at,
                                   std::forward<Fill>(fill));
}

bool PageFaults::raise(QueuePair& qp, const WqePageFault& fault, const tpt::Request& access, port::Time at) {
    const auto outcome = look(qp, fault.type, fault.what);
    if (outcome == Outcome::waits)
        return true;
    const auto fill = [&](abi::View<abi::prm::Eqe> eqe) {
        abi::prm::event_data<abi::prm::WqePageFaultEventData>(eqe)
            .set<"bytes_committed">(fault.committed)
            .set<"wqe_index">(fault.wqe_index)
            .set<"packet_length">(fault.packet)
            .set<"token">(qp.number.value)
            .set<"type">(fault.type)
            .set<"wq_num">(fault.wq_number);
    };
    const bool is_told = outcome == Outcome::begins && tell(qp, PageFaultSubtype::wqe, fill, at);
    if (is_told && fault.type == PageFaultType::shared_receive)
        qp.paging.shared_queue = fault.wq_number;
    return begin(qp, fault.type, fault.what, is_told, access, at);
}

bool PageFaults::raise(QueuePair& qp, const RemotePageFault& fault, const tpt::Request& access, port::Time at) {
    const auto outcome = look(qp, fault.type, fault.psn.value);
    if (outcome == Outcome::waits)
        return true;
    const auto fill = [&](abi::View<abi::prm::Eqe> eqe) {
        abi::prm::event_data<abi::prm::RdmaPageFaultEventData>(eqe)
            .set<"bytes_committed">(fault.committed)
            .set<"r_key">(fault.key.value)
            .set<"packet_length">(fault.packet)
            .set<"rdma_op_len">(fault.length)
            .set<"rdma_va">(fault.address)
            .set<"type">(fault.type)
            .set<"token">(qp.number.value);
    };
    return begin(qp, fault.type, fault.psn.value,
                 outcome == Outcome::begins && tell(qp, PageFaultSubtype::rdma, fill, at), access, at);
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
