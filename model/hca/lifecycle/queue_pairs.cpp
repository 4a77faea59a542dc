#include "model/hca/lifecycle/queue_pairs.h"

#include <cassert>
#include <utility>

namespace model::hca::lifecycle {

using queue::QpState;
using queue::QueuePair;

QueuePair& QueuePairs::create(abi::Qpn qpn, queue::QueuePairAttributes attributes) {
    auto& qp = objects_.queue_pairs.create(qpn.value, qpn, std::move(attributes));
    qp.send_cq = Ref(objects_.completion_queues.find(qp.attributes.send_cq.value));
    qp.receive_cq = Ref(objects_.completion_queues.find(qp.attributes.receive_cq.value));
    count_in(qp, qp.attributes.counter_set);
    if (!qp.service.is_local)
        qp.domain = Ref(objects_.protection_domains.find(qp.attributes.pd.value));
    if (qp.attributes.type == queue::QpType::xrc)
        qp.xrc_domain = Ref(objects_.xrc_domains.find(qp.attributes.xrcd));
    if (qp.attributes.receive == queue::ReceiveKind::shared) {
        qp.attached = Ref(objects_.shared_receive_queues.find(qp.attributes.srqn));
        queue::take_from(qp, qp.attached.get());
    }
    if (qp.attributes.receive == queue::ReceiveKind::ordinary) {
        constexpr std::uint64_t wqebb = abi::prm::wqe_bb_bytes;
        const auto receive_bytes = std::uint64_t{qp.rq_size()} << qp.attributes.log_rq_stride;
        qp.sq_offset = (receive_bytes + wqebb - 1) / wqebb * wqebb;
    }
    if (qp.service.special)
        objects_.special[qp.service.special->value] = &qp;
    return qp;
}

void QueuePairs::destroy(abi::Qpn qpn) {
    auto* qp = objects_.queue_pairs.find(qpn.value);
    assert(qp != nullptr);
    to_.scheduler.remove(*qp);
    to_.timers.remove(*qp);
    to_.responder.forget(*qp);
    objects_.groups.forget(*qp);
    completion::Failure::forget(*qp);
    queue::take_from(*qp, nullptr);
    if (qp->service.special && objects_.special[qp->service.special->value] == qp)
        objects_.special[qp->service.special->value] = nullptr;
    objects_.queue_pairs.destroy(qpn.value);
}

/// What a reset does: the queues are empty again, and nothing of the past is answered.
void QueuePairs::forget_state(QueuePair& qp) {
    to_.scheduler.remove(qp);
    to_.responder.forget(qp);
    completion::Failure::forget(qp);
    qp.requester = {};
    qp.responder = {};
    qp.paging = {};
    to_.timers.remove(qp);
    qp.timer.deadline = port::never;
}

bool QueuePairs::modify(QueuePair& qp, const queue::QueuePairAttributes& attributes, QpState to, port::Time at,
                        bool brings_path) {
    const auto from = qp.state;
    qp.attributes = attributes;
    count_in(qp, attributes.counter_set);
    if (brings_path) {
        qp.path = identity_.path(attributes.path, qp.number);
        choose_way(qp);
    }
    if (to == QpState::err) {
        to_.failure.look_again(qp, at);
        to_.failure.enter_error(qp, at);
        return false;
    }
    if (from != to)
        events_.emit(at, traces::QueueStateChanged{qp.number.value, static_cast<std::uint8_t>(from),
                                                   static_cast<std::uint8_t>(to)});
    qp.state = to;
    if (to == QpState::rst) {
        forget_state(qp);
        return false;
    }
    if (to == QpState::rtr && from == QpState::init)
        to_.responder.start(qp);
    if (to == QpState::rts && from == QpState::rtr)
        to_.requester.start(qp);
    if (to == QpState::rts)
        to_.scheduler.add(qp);
    return to == QpState::rts;
}

void QueuePairs::move_to_lids() {
    objects_.queue_pairs.for_each([this](QueuePair& qp) {
        qp.path.source_lid = identity_.source_lid(qp.attributes.path);
        choose_way(qp);
    });
}

void QueuePairs::choose_way(QueuePair& qp) {
    if (qp.service.is_datagram)
        return;
    qp.outlet = outlets_.name(outlets_.way(identity_.is_own(qp.attributes.path)));
    to_.scheduler.move(qp, qp.outlet);
}

void QueuePairs::count_in(QueuePair& qp, std::uint32_t set) {
    auto* own = objects_.q_counters.find(set);
    qp.counters = Ref(own != nullptr ? own : objects_.q_counters.find(0));
}

} // namespace model::hca::lifecycle
