#include "model/hca/hca.h"

#include <type_traits>
#include <utility>

namespace model::hca {

using queue::QueuePair;

Hca::Hca(const HcaConfig& config, const Ports& ports, traces::Events events)
    : config_(config), ports_(ports), events_(events), event_queues_(ports.dma, ports.interrupts, counters_, events_),
      contexts_(config_, ports.dma, counters_), translator_(objects_.mkeys, config_, contexts_, counters_, events_),
      memory_(translator_, ports.dma), outlets_(ports.wire, ports.inside), timers_(ports.clock),
      cqe_writer_(config_, ports.dma, ports.clock, contexts_, event_queues_, counters_, events_),
      completions_(cqe_writer_, ports.dma.loans()), outbox_(config_, identity_, report_),
      failure_(ports.dma, completions_, event_queues_, timers_, events_),
      umr_({objects_.mkeys, objects_.protection_domains, translator_}, memory_, events_),
      page_faults_(translator_, event_queues_, report_),
      requester_(config_, {identity_, objects_.groups, outlets_, outbox_},
                 {.dma = ports.dma,
                  .memory = memory_,
                  .scheduler = scheduler_,
                  .timers = timers_,
                  .completions = completions_,
                  .failure = failure_,
                  .page_faults = page_faults_,
                  .umr = umr_},
                 report_),
      responder_(config_, objects_,
                 {.dma = ports.dma,
                  .contexts = contexts_,
                  .memory = memory_,
                  .scheduler = scheduler_,
                  .outlets = outlets_,
                  .outbox = outbox_,
                  .completions = completions_,
                  .failure = failure_,
                  .event_queues = event_queues_,
                  .page_faults = page_faults_,
                  .umr = umr_},
                 report_),
      datagram_(config_, identity_, responder::Placement(config_, ports.dma, contexts_, memory_, event_queues_),
                completions_, failure_, report_),
      management_(config_, identity_, outlets_, outbox_, report_),
      ingress_(objects_, identity_, contexts_, {responder_, datagram_, requester_, management_}, report_),
      receive_pipe_("receive pipeline", config_),
      turns_(objects_, scheduler_, contexts_, outlets_, responder_, requester_, ports.dma, ports.clock,
             config_.packets_per_turn, report_),
      lifecycle_(objects_, event_queues_, translator_, cqe_writer_, failure_),
      lives_(objects_, identity_, outlets_, {scheduler_, timers_, requester_, responder_, failure_}, events_),
      uar_(config_.uar_pages), bursts_(ports.clock), polled_records_(config_),
      send_doorbells_(ports.dma, objects_, scheduler_, failure_, report_),
      cq_doorbells_(objects_, cqe_writer_, failure_, report_) {
    reset();
}

void Hca::reset() {
    memory_.loans().drain(port::Giver::reset); // memory is another's when the reset is done
    objects_.queue_pairs.for_each([this](QueuePair& qp) { responder_.forget(qp); });
    scheduler_.clear();
    timers_.clear();
    cqe_writer_.clear();
    objects_.clear();
    event_queues_.clear();
    translator_.forget_all();
    contexts_.forget_all();
    objects_.q_counters.create(0);
    identity_ = {};
    identity_.is_ethernet = config_.is_ethernet;
    identity_.lid = config_.lid;
    requester_.set_host_order(false);
    responder_.set_host_order(false);
    requester_.reset();
    responder_.reset();
    outbox_.reset();
    receive_pipe_.reset();
    turns_.reset();
    uar_.reset();
    bursts_.reset();
    polled_records_.reset();
}

void Hca::accounts(std::vector<time::Account>& rows) const {
    for (const auto& account : {requester_.account(), requester_.window_account(), requester_.rate_account(),
                                receive_pipe_.account(), responder_.account(), contexts_.account(), outbox_.account()})
        if (account.usage.uses != 0) // without timing nothing is booked
            rows.push_back(account);
}

// --- entries --------------------------------------------------------------------------------------------------------

void Hca::write_uar(std::uint32_t page, std::uint32_t offset, std::span<const std::byte> bytes, port::Time at) {
    const traces::Cause cause(events_, traces::Access::mmio_write);
    const auto heard = at + config_.cost(config_.doorbell_latency);
    ring(bursts_.add(page, offset, bytes), heard);
    if (const auto doorbell = uar_.write(page, offset, bytes)) {
        const auto* send = std::get_if<doorbell::SendRing>(&*doorbell);
        if (send != nullptr && send->has_part()) [[unlikely]]
            ring(bursts_.begin(page, offset, *send, at), heard);
        else
            ring(*doorbell, page, heard);
    }
    turns_.run(at);
}

void Hca::ring(const doorbell::Doorbell& rung, std::uint32_t uar, port::Time at) {
    if (const auto* send = std::get_if<doorbell::SendRing>(&rung))
        return send_doorbells_.ring(*send, uar, at);
    if (const auto* arm = std::get_if<doorbell::CqArm>(&rung))
        return cq_doorbells_.ring(*arm, uar, at);
    const auto& consumed = std::get<doorbell::EventsConsumed>(rung);
    event_queues_.ring(consumed.eqn, consumed.consumer, consumed.arms, uar, at);
}

void Hca::receive(port::Packet& packet, port::Time at) { ingress_.receive(packet, receive_pipe_.enter(at)); }

void Hca::receive_turned(port::Packet& packet, port::Time at) {
    ingress_.receive(packet, receive_pipe_.enter(at), queue::Way::inside);
}

void Hca::received_all(port::Time at) {
    const traces::Cause cause(events_, traces::Access::batch_end);
    responder_.received_all(at);
    turns_.run(at);
}

void Hca::ready(port::Time at) {
    const traces::Cause cause(events_, traces::Access::room);
    turns_.run(at);
}

void Hca::wake(port::Time now) {
    const traces::Cause cause(events_, traces::Access::timer);
    cqe_writer_.wake(now);
    bursts_.expire(now, [&](const auto& rung) { ring(rung, now + config_.cost(config_.doorbell_latency)); });
    timers_.expire(now, [&](QueuePair& qp) { on_deadline(qp, now); });
    turns_.run(now);
}

void Hca::on_deadline(QueuePair& qp, port::Time now) {
    if (qp.state == queue::QpState::err)
        failure_.flush_receives(qp, now);
    else
        requester_.expire(qp, now);
}

// --- objects --------------------------------------------------------------------------------------------------------

void Hca::modify_qp(QueuePair& qp, const queue::QueuePairAttributes& attributes, queue::QpState to, port::Time at,
                    bool brings_path) {
    const bool can_send = lives_.modify(qp, attributes, to, at, brings_path);
    polled_records_.follow(qp);
    if (can_send)
        turns_.run(at);
}

void Hca::set_lids(std::uint16_t base, std::uint8_t lmc) {
    if (identity_.lid == base && identity_.lmc == lmc)
        return;
    identity_.lid = base;
    identity_.lmc = lmc;
    if (!config_.is_ethernet)
        lives_.move_to_lids();
}

void Hca::resume(QueuePair& qp, abi::prm::PageFaultType type, bool is_error, port::Time at) {
    if (!paging::PageFaults::answer(qp, type))
        return;
    events_.emit(at, traces::PageFaultAnswered{qp.number.value, static_cast<std::uint8_t>(type), is_error});
    if (static_cast<unsigned>(type) & 1)
        requester_.resume(qp, type, is_error, at);
    else
        responder_.resume(qp, type, is_error, at);
    turns_.run(at);
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
