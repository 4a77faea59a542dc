#include "model/hca/responder/placement.h"

#include "model/hca/doorbell/doorbell_record.h"

#include <algorithm>

namespace model::hca::responder {

using abi::prm::CqeSyndrome;
using abi::wire::NakCode;
using queue::QueuePair;
using queue::Take;
using queue::Taken;

PlacementError placement_error(const memory::Denied& denied) {
    return {denied.is_by_key() ? CqeSyndrome::local_prot_err : CqeSyndrome::local_access_err,
            denied.vendor(vendor::translation, vendor::bus), NakCode::remote_operational_error, denied};
}

Taken Placement::take(QueuePair& qp, port::Time at) {
    const auto taken = qp.srq != nullptr ? take_shared(qp, at) : take_own(qp, at);
    if (taken.what != Take::empty)
        ++counters_.receive_wqes_fetched;
    return taken;
}

/// Reads the next WQE of the queue pair's own receive queue into `receive`.
Taken Placement::take_own(QueuePair& qp, port::Time at) {
    auto& r = qp.responder;
    if (r.receives.consumer == r.receives.producer && qp.attributes.receive == queue::ReceiveKind::ordinary) {
        // Software rings no doorbell for receive queues, it only moves the record.
        if (const auto producer =
                doorbell::read_record(dma_, qp.attributes.doorbell_record, doorbell::Record::receive, at)) {
            const auto posted = static_cast<std::uint16_t>(producer->value - r.receives.consumer);
            if (posted <= qp.rq_size())
                r.receives.producer = static_cast<std::uint16_t>(producer->value);
            at = producer->at;
        }
    }
    if (r.receives.consumer == r.receives.producer)
        return {Take::empty, at};
    const auto log_stride = qp.attributes.log_rq_stride;
    const auto index = r.receives.consumer++;
    auto wqe = r.receives.prefetch.find(index, log_stride);
    if (wqe.bytes.empty()) {
        const auto posted = static_cast<std::uint16_t>(r.receives.producer - index);
        const auto result =
            r.receives.prefetch.read(dma_, qp.attributes.buffer, 0, index, posted, qp.rq_size(), log_stride, at);
        if (!result.is_ok()) // perhaps only a later WQE cannot be read, so this one is tried alone
            r.receives.prefetch.read(dma_, qp.attributes.buffer, 0, index, 1, qp.rq_size(), log_stride, at);
        wqe = r.receives.prefetch.find(index, log_stride);
    }
    r.receives.wqe->index = index;
    r.receives.wqe->pd = qp.attributes.pd;
    if (wqe.bytes.empty())
        return {Take::unreadable, at};
    r.receives.wqe->decode(wqe.bytes.first(std::min(wqe.bytes.size(), std::size_t{1} << log_stride)));
    return {Take::done, std::max(at, wqe.ready)};
}

/// Reads the next WQE of the shared receive queue, and raises the events that belong to that.
Taken Placement::take_shared(QueuePair& qp, port::Time at) {
    auto& srq = *qp.srq;
    const bool was_in_error = srq.is_in_error;
    const auto taken = srq.take(dma_, *qp.responder.receives.wqe, contexts_.receive_queue(srq.number, at));
    const auto tell = [&](abi::prm::EventType event) { event_queues_.tell(event, srq.number, taken.at); };
    if (taken.what == Take::unreadable && !was_in_error)
        tell(abi::prm::EventType::srq_catastrophic_error);
    if (taken.what == Take::done && srq.is_limit_reached(dma_, taken.at))
        tell(abi::prm::EventType::srq_limit);
    return taken;
}

std::optional<PlacementError> Placement::check_room(const QueuePair& qp, std::uint32_t length, port::Time at) {
    const auto& receive = *qp.responder.receives.wqe;
    if (length > receive.room())
        return PlacementError{CqeSyndrome::local_length_err, vendor::too_long, NakCode::invalid_request};
    for (const auto& segment : std::span(receive.segments).first(receive.count)) {
        const auto chunk = std::min(length, segment.length);
        if (chunk == 0)
            break;
        const auto checked = memory_.check({.key = segment.key,
                                            .address = segment.address,
                                            .length = chunk,
                                            .access = tpt::Access::local_write,
                                            .pd = receive.pd,
                                            .qpn = qp.number.value},
                                           at);
        if (!checked)
            return placement_error(checked.error());
        length -= chunk;
    }
    return std::nullopt;
}

/// Writes the payload where the receive WQE says.
std::expected<port::Time, PlacementError>
Placement::place(QueuePair& qp, std::span<const std::span<const std::byte>> pieces, port::Time at) {
    auto& receive = *qp.responder.receives.wqe;
    for (auto bytes : pieces) {
        while (!bytes.empty()) {
            if (receive.segment == receive.count)
                return std::unexpected(
                    PlacementError{CqeSyndrome::local_length_err, vendor::too_long, NakCode::invalid_request});
            const auto& segment = receive.segments[receive.segment];
            const auto chunk = std::min<std::size_t>(bytes.size(), segment.length - receive.offset);
            const auto written = memory_.write({.key = segment.key,
                                                .address = segment.address + receive.offset,
                                                .length = chunk,
                                                .access = tpt::Access::local_write,
                                                .pd = receive.pd,
                                                .qpn = qp.number.value,
                                                .may_wait = qp.service.waits_to_receive},
                                               bytes.first(chunk), at, &qp.responder.order.writes);
            if (!written) [[unlikely]]
                return std::unexpected(placement_error(written.error()));
            at = *written;
            bytes = bytes.subspan(chunk);
            receive.offset += static_cast<std::uint32_t>(chunk);
            if (receive.offset == segment.length) {
                ++receive.segment;
                receive.offset = 0;
            }
        }
    }
    return at;
}

} // namespace model::hca::responder
