#include "model/hca/responder/placement.h"

#include "model/hca/doorbell/doorbell_record.h"

#include <algorithm>

namespace model::hca::responder {

using abi::wire::NakCode;
using completion::CqeSyndrome;
using queue::QueuePair;
using Take = Placement::Take;

Take Placement::take(QueuePair& qp, port::Time& at) {
    const auto taken = qp.srq != nullptr ? take_shared(qp, at) : take_own(qp, at);
    if (taken != Take::empty)
        ++path_.counters.receive_wqes_fetched;
    return taken;
}

/// Reads the next WQE of the queue pair's own receive queue into `receive`.
Take Placement::take_own(QueuePair& qp, port::Time& at) {
    auto& r = qp.responder;
    if (r.rq_consumer == r.rq_producer && qp.attributes.receive == queue::ReceiveKind::ordinary) {
        // There is no doorbell for receive queues: software only moves the record.
        if (const auto producer =
                doorbell::read_record(path_.dma, qp.attributes.doorbell_record, doorbell::Record::receive, at)) {
            const auto posted = static_cast<std::uint16_t>(*producer - r.rq_consumer);
            if (posted <= qp.rq_size())
                r.rq_producer = static_cast<std::uint16_t>(*producer);
        }
    }
    if (r.rq_consumer == r.rq_producer)
        return Take::empty;
    const auto log_stride = qp.attributes.log_rq_stride;
    const auto index = r.rq_consumer++;
    auto result = port::DmaResult{.done = at};
    auto wqe = r.prefetch.find(index, log_stride, result.done);
    if (wqe.empty()) {
        const auto posted = static_cast<std::uint16_t>(r.rq_producer - index);
        result = r.prefetch.read(path_.dma, qp.attributes.buffer, 0, index, posted, qp.rq_size(), log_stride, at);
        if (!result.is_ok()) // perhaps a later one cannot be read
            result = r.prefetch.read(path_.dma, qp.attributes.buffer, 0, index, 1, qp.rq_size(), log_stride, at);
        wqe = r.prefetch.find(index, log_stride, result.done);
    }
    r.receive->index = index;
    r.receive->pd = qp.attributes.pd;
    if (wqe.empty())
        return Take::unreadable;
    at = std::max(at, result.done);
    r.receive->decode(wqe.first(std::min(wqe.size(), std::size_t{1} << log_stride)));
    return Take::done;
}

/// The same of its shared receive queue, with the events that belong to that.
Take Placement::take_shared(QueuePair& qp, port::Time& at) {
    auto& srq = *qp.srq;
    const bool was_in_error = srq.is_in_error;
    const auto taken = srq.take(path_.dma, *qp.responder.receive, at);
    const auto tell = [&](abi::prm::EventType event) {
        path_.event_queues.broadcast(event, 0, srq.number, at, [&](auto eqe) {
            abi::prm::event_data<abi::prm::QueueEventData>(eqe).template set<"qp_srq_n">(srq.number);
        });
    };
    if (taken == Take::unreadable && !was_in_error)
        tell(abi::prm::EventType::srq_catastrophic_error);
    if (taken == Take::done && srq.is_limit_reached(path_.dma, at))
        tell(abi::prm::EventType::srq_limit);
    return taken;
}

/// Writes the payload where the receive WQE says.
std::optional<PlacementError> Placement::place(QueuePair& qp, std::span<const std::span<const std::byte>> pieces,
                                               port::Time& at) {
    auto& receive = *qp.responder.receive;
    for (auto bytes : pieces) {
        while (!bytes.empty()) {
            if (receive.segment == receive.count)
                return PlacementError{CqeSyndrome::local_length_err, vendor::too_long, NakCode::invalid_request};
            const auto& segment = receive.segments[receive.segment];
            const auto chunk = std::min<std::size_t>(bytes.size(), segment.length - receive.offset);
            const auto targets = path_.translator.translate({.key = segment.key,
                                                             .address = segment.address + receive.offset,
                                                             .length = chunk,
                                                             .access = tpt::Access::local_write,
                                                             .pd = receive.pd,
                                                             .qpn = qp.number.value,
                                                             .may_wait = qp.service.waits_to_receive},
                                                            at);
            if (!targets)
                return PlacementError{
                    CqeSyndrome::local_prot_err,
                    static_cast<std::uint8_t>(vendor::translation + static_cast<unsigned>(targets.error())),
                    NakCode::remote_operational_error};
            for (const auto& target : targets->all()) {
                const auto result = path_.dma.write(target.address, bytes.first(target.length),
                                                    qp.responder.issue(targets->ready), port::Purpose::payload);
                if (!result.is_ok())
                    return PlacementError{CqeSyndrome::local_access_err,
                                          static_cast<std::uint8_t>(vendor::bus + static_cast<unsigned>(result.status)),
                                          NakCode::remote_operational_error};
                at = std::max(at, result.done);
                bytes = bytes.subspan(target.length);
                receive.offset += static_cast<std::uint32_t>(target.length);
            }
            if (receive.offset == segment.length) {
                ++receive.segment;
                receive.offset = 0;
            }
        }
    }
    return std::nullopt;
}

} // namespace model::hca::responder
