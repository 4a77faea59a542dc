#include "model/hca/hca.h"

#include "model/hca/doorbell/doorbell_record.h"

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <utility>

namespace model::hca {

using queue::QpState;
using queue::QueuePair;

Hca::Hca(const HcaConfig& config, const Ports& ports, traces::Events events)
    : config_(config), ports_(ports), events_(events), event_queues_(ports.dma, ports.interrupts, counters_, events_),
      translator_(objects_.mkeys, config_, counters_, events_), memory_(translator_, ports.dma),
      outlets_(ports.wire, ports.inside), timers_(ports.clock),
      cqe_writer_(config_, ports.dma, ports.clock, event_queues_, counters_, events_),
      completions_(cqe_writer_, ports.dma.loans()), path_{config_,
                                                          ports.dma,
                                                          ports.dma.loans(),
                                                          outlets_,
                                                          timers_,
                                                          scheduler_,
                                                          objects_.mkeys,
                                                          objects_.protection_domains,
                                                          translator_,
                                                          memory_,
                                                          cqe_writer_,
                                                          event_queues_,
                                                          objects_.shared_receive_queues,
                                                          objects_.groups,
                                                          identity_,
                                                          counters_,
                                                          events_},
      failure_(ports.dma, completions_, event_queues_, timers_, events_),
      umr_({objects_.mkeys, objects_.protection_domains, translator_}, memory_, events_),
      page_faults_(translator_, event_queues_, {counters_, events_}),
      requester_(path_, completions_, failure_, umr_, page_faults_),
      responder_(path_, completions_, failure_, umr_, page_faults_), datagram_(path_, completions_, failure_),
      management_(path_, {counters_, events_}),
      ingress_(objects_, identity_, {responder_, datagram_, requester_, management_}, {counters_, events_}),
      uar_(*this, config_.uar_pages) {
    reset();
}

void Hca::reset() {
    path_.loans.drain(port::Giver::reset); // memory is another's when the reset is done
    objects_.queue_pairs.for_each([this](QueuePair& qp) { responder_.forget(qp); });
    scheduler_.clear();
    timers_.clear();
    cqe_writer_.clear();
    objects_.clear();
    event_queues_.clear();
    translator_.forget_all();
    objects_.q_counters.create(0);
    identity_ = {};
    identity_.is_ethernet = config_.is_ethernet;
    identity_.lid = config_.lid;
    requester_.set_host_order(false);
    responder_.set_host_order(false);
    path_.pipe_free = {};
    uar_.reset();
}

// --- entries --------------------------------------------------------------------------------------------------------

void Hca::write_uar(std::uint32_t page, std::uint32_t offset, std::span<const std::byte> bytes, port::Time at) {
    uar_.write(page, offset, bytes, at + path_.cost(config_.doorbell_latency));
    run(at);
}

void Hca::ring_send_doorbell(abi::Qpn qpn, std::uint32_t uar, port::Time at) {
    ++counters_.doorbells;
    auto* qp = objects_.queue_pairs.find(qpn.value);
    const auto ignore = [&](traces::Reason reason) {
        ++counters_.doorbells_ignored;
        events_.emit(at, traces::DoorbellIgnored{qpn.value, uar, reason});
    };
    if (qp == nullptr)
        return ignore("no such queue pair");
    // A UAR page belongs to one process: its doorbells reach that process's queues only (PRM "User access region").
    if (qp->attributes.uar_page != uar)
        return ignore("wrong UAR page for this queue pair");
    if (qp->state == QpState::rst || qp->state == QpState::init || !qp->attributes.has_sq)
        return ignore("queue pair has no send queue that works");
    const auto record = doorbell::read_record(ports_.dma, qp->attributes.doorbell_record, doorbell::Record::send, at);
    if (!record)
        return failure_.enter_error(*qp, abi::prm::EventType::wq_catastrophic_error, at);
    at = record->at;
    auto& r = qp->requester;
    const auto producer = static_cast<std::uint16_t>(record->value);
    events_.emit(at, traces::DoorbellRung{qpn.value, uar, producer});
    // More than a ring's worth, or a counter that moved backwards: software overwrote WQEs that were not yet done.
    const auto posted = static_cast<std::uint16_t>(producer - r.completed);
    if (posted > qp->sq_size() || posted < static_cast<std::uint16_t>(r.producer - r.completed))
        return failure_.enter_error(*qp, abi::prm::EventType::wq_catastrophic_error, at);
    r.producer = producer;
    if (qp->state == QpState::err || qp->state == QpState::sqer)
        return failure_.flush_sends(*qp, at);
    qp->requester.doorbell_at = at;
    if (qp->can_send())
        scheduler_.add(*qp);
}

void Hca::arm_cq(abi::Cqn cqn, const queue::ArmRequest& request, std::uint32_t uar, port::Time at) {
    auto* cq = objects_.completion_queues.find(cqn.value);
    const auto ignore = [&](traces::Reason reason) {
        ++counters_.doorbells_ignored;
        events_.emit(at, traces::DoorbellIgnored{cqn.value, uar, reason});
    };
    if (cq == nullptr)
        return ignore("no such completion queue");
    if (cq->attributes.uar_page != uar)
        return ignore("wrong UAR page for this completion queue");
    failure_.look_again(*cq, at);
    if (!cqe_writer_.arm(*cq, request, at))
        ignore("the event of this arm sequence number is out");
}

void Hca::receive(port::Packet& packet, port::Time at) { ingress_.receive(packet, at); }

void Hca::received_all(port::Time at) {
    responder_.received_all(at);
    run(at);
}

void Hca::ready(port::Time at) { run(at); }

void Hca::wake(port::Time now) {
    cqe_writer_.wake(now);
    timers_.expire(now, [&](QueuePair& qp) { on_deadline(qp, now); });
    run(now);
}

void Hca::on_deadline(QueuePair& qp, port::Time now) {
    if (qp.state == QpState::err)
        failure_.flush_receives(qp, now);
    else
        requester_.expire(qp, now);
}

/// Gives turns to queue pairs until nothing is left to send or the port is full.
void Hca::run(port::Time now) {
    if (is_running_)
        return; // work that turns up on the way is taken by the loop below
    is_running_ = true;
    while (const auto next =
               scheduler_.take(config_.packets_per_turn, [&](queue::Way way) { return outlets_.can_send(way, now); })) {
        auto& qp = *next.qp;
        const auto& turn = next.turn;
        qp.requester.full = queue::Way::open;
        ++counters_.turns;
        events_.emit(std::max(now, qp.requester.doorbell_at), traces::QueueScheduled{qp.number.value});
        const auto start = counters_.packets_sent;
        const bool has_answers = responder_.answer(qp, turn.answers, now);
        const auto answered = counters_.packets_sent;
        const bool has_requests = requester_.advance(qp, turn.requests, now);
        if (!has_answers && !has_requests)
            continue;
        const auto way = qp.service.is_datagram ? qp.requester.full : qp.way;
        if (way == queue::Way::open || outlets_.can_send(way, now)) {
            scheduler_.add(qp);
        } else {
            const auto rest = [](std::uint32_t may, std::uint64_t did) {
                return static_cast<std::uint32_t>(may - std::min<std::uint64_t>(did, may));
            };
            scheduler_.interrupt(
                qp, way,
                {.answers = has_answers ? rest(turn.answers, answered - start) : 0,
                 .requests = has_requests ? rest(turn.requests, counters_.packets_sent - answered) : 0});
        }
    }
    is_running_ = false;
}

// --- objects --------------------------------------------------------------------------------------------------------

tpt::Mkey& Hca::create_mkey(std::uint32_t index, tpt::MkeyAttributes attributes, std::vector<std::uint64_t> mtt) {
    auto& mkey = objects_.mkeys.create(index, std::move(attributes), std::move(mtt));
    mkey.domain = Ref(objects_.protection_domains.find(mkey.attributes.pd.value));
    return mkey;
}

void Hca::destroy_mkey(std::uint32_t index) {
    translator_.forget(index);
    objects_.mkeys.destroy(index);
}

queue::CompletionQueue& Hca::create_cq(abi::Cqn cqn, queue::CompletionQueueAttributes attributes) {
    auto& cq = objects_.completion_queues.create(cqn.value, cqn, std::move(attributes));
    cq.eq = Ref(event_queues_.table().find(cq.attributes.eqn.value));
    return cq;
}

void Hca::destroy_cq(abi::Cqn cqn) {
    auto* cq = objects_.completion_queues.find(cqn.value);
    assert(cq != nullptr);
    cqe_writer_.forget(*cq);
    objects_.completion_queues.destroy(cqn.value);
}

queue::SharedReceiveQueue& Hca::create_srq(std::uint32_t number, queue::SharedReceiveQueueAttributes attributes) {
    auto& srq = objects_.shared_receive_queues.create(number, number, std::move(attributes));
    srq.domain = Ref(objects_.protection_domains.find(srq.attributes.pd.value));
    if (srq.attributes.is_xrc) {
        srq.xrc_domain = Ref(objects_.xrc_domains.find(srq.attributes.xrcd));
        srq.cq = Ref(objects_.completion_queues.find(srq.attributes.cqn.value));
    }
    return srq;
}

void Hca::destroy_srq(std::uint32_t number, port::Time at) {
    auto* srq = objects_.shared_receive_queues.find(number);
    assert(srq != nullptr);
    // Requests of the XRC service may have named it without being attached to it.
    srq->takers.for_each([&](QueuePair& qp) {
        if (qp.paging.shared_queue == number)
            paging::PageFaults::answer(qp, abi::prm::PageFaultType::shared_receive);
        if (qp.responder.message != queue::ResponderState::Message::none || qp.responder.has_receive)
            failure_.enter_error(qp, at);
        queue::take_from(qp, nullptr);
    });
    objects_.shared_receive_queues.destroy(number);
}

void Hca::count_in(QueuePair& qp, std::uint32_t set) {
    auto* own = objects_.q_counters.find(set);
    qp.counters = Ref(own != nullptr ? own : objects_.q_counters.find(0));
}

QueuePair& Hca::create_qp(abi::Qpn qpn, queue::QueuePairAttributes attributes) {
    auto& qp = objects_.queue_pairs.create(qpn.value, qpn, std::move(attributes));
    qp.wire = &outlets_.cable();
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

void Hca::destroy_qp(abi::Qpn qpn) {
    auto* qp = objects_.queue_pairs.find(qpn.value);
    assert(qp != nullptr);
    scheduler_.remove(*qp);
    timers_.remove(*qp);
    responder_.forget(*qp);
    objects_.groups.forget(*qp);
    completion::Failure::forget(*qp);
    queue::take_from(*qp, nullptr);
    if (qp->service.special && objects_.special[qp->service.special->value] == qp)
        objects_.special[qp->service.special->value] = nullptr;
    objects_.queue_pairs.destroy(qpn.value);
}

/// Reset: the queues are empty again and nothing of the past is answered.
void Hca::forget_state(QueuePair& qp) {
    scheduler_.remove(qp);
    responder_.forget(qp);
    completion::Failure::forget(qp);
    qp.requester = {};
    qp.responder = {};
    qp.paging = {};
    timers_.remove(qp);
    qp.timer.deadline = port::never;
}

void Hca::modify_qp(QueuePair& qp, const queue::QueuePairAttributes& attributes, QpState to, port::Time at,
                    bool brings_path) {
    const auto from = qp.state;
    qp.attributes = attributes;
    count_in(qp, attributes.counter_set);
    if (brings_path) {
        qp.path = identity_.path(attributes.path, qp.number);
        choose_way(qp);
    }
    if (to == QpState::err) {
        look_for_receives(qp, at);
        return failure_.enter_error(qp, at);
    }
    if (from != to)
        events_.emit(at, traces::QueueStateChanged{qp.number.value, static_cast<std::uint8_t>(from),
                                                   static_cast<std::uint8_t>(to)});
    qp.state = to;
    if (to == QpState::rst)
        return forget_state(qp);
    if (to == QpState::rtr && from == QpState::init)
        responder_.start(qp);
    if (to == QpState::rts && from == QpState::rtr)
        requester_.start(qp);
    if (to == QpState::rts) {
        scheduler_.add(qp);
        run(at);
    }
}

void Hca::set_lids(std::uint16_t base, std::uint8_t lmc) {
    if (identity_.lid == base && identity_.lmc == lmc)
        return;
    identity_.lid = base;
    identity_.lmc = lmc;
    if (!config_.is_ethernet)
        objects_.queue_pairs.for_each([this](QueuePair& qp) {
            qp.path.source_lid = identity_.source_lid(qp.attributes.path);
            choose_way(qp);
        });
}

void Hca::choose_way(QueuePair& qp) {
    if (qp.service.is_datagram)
        return;
    qp.wire = &outlets_.way(identity_.is_own(qp.attributes.path));
    scheduler_.move(qp, outlets_.name(*qp.wire));
}

void Hca::look_for_receives(QueuePair& qp, port::Time at) { failure_.look_again(qp, at); }

void Hca::resume(QueuePair& qp, abi::prm::PageFaultType type, bool is_error, port::Time at) {
    if (!paging::PageFaults::answer(qp, type))
        return;
    events_.emit(at, traces::PageFaultAnswered{qp.number.value, static_cast<std::uint8_t>(type), is_error});
    if (static_cast<unsigned>(type) & 1)
        requester_.resume(qp, type, is_error, at);
    else
        responder_.resume(qp, type, is_error, at);
    run(at);
}

void Hca::stop_paging(port::Time at) {
    if (event_queues_.is_heard(abi::prm::EventType::page_fault))
        return;
    objects_.queue_pairs.for_each([&](QueuePair& qp) {
        for (const auto& type : abi::prm::named(std::type_identity<abi::prm::PageFaultType>{}))
            resume(qp, type.value, true, at);
    });
}

} // namespace model::hca
