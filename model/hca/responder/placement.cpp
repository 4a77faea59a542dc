#include "model/hca/responder/placement.h"

#include "model/hca/doorbell/doorbell_record.h"

#include <algorithm>

namespace model::hca::responder {

using abi::prm::CqeSyndrome;
using abi::wire::NakCode;
using queue::QueuePair;
using queue::Take;
using queue::Taken;

namespace {
queue::ReadAhead::Posted posted_receives(const QueuePair& qp, const HcaConfig::WqePrefetch& limits) {
    return {.buffer = qp.attributes.buffer,
            .entries = qp.rq_size(),
            .log_entry = qp.attributes.log_rq_stride,
            .producer = qp.responder.receives.producer,
            .limits = limits};
}
} // namespace

PlacementError placement_error(const memory::Denied& denied) {
    return {denied.is_by_key() ? CqeSyndrome::local_prot_err : CqeSyndrome::local_access_err,
            denied.vendor(vendor::translation, vendor::bus), NakCode::remote_operational_error, denied};
}

Taken Placement::take(QueuePair& qp, port::Time at) {
    return qp.srq != nullptr ? take_shared(qp, at) : take_own(qp, at);
}

/// Reads the next WQE of the queue pair's own receive queue into `receive`.
Taken Placement::take_own(QueuePair& qp, port::Time at) {
    auto& r = qp.responder.receives;
    if (r.left() == 0)
        at = look_at_record(qp, at);
    if (r.left() == 0)
        return {Take::empty, at};
    const auto log_stride = qp.attributes.log_rq_stride;
    const auto index = r.consumer++;
    auto wqe = r.ahead.find(index, log_stride);
    if (wqe.bytes.empty())
        wqe = r.ahead.fetch(dma_, posted_receives(qp, prefetch_), index, at);
    r.wqe->index = index;
    r.wqe->pd = qp.attributes.pd;
    if (wqe.bytes.empty())
        return {Take::unreadable, at};
    r.wqe->decode(wqe.bytes.first(std::min(wqe.bytes.size(), std::size_t{1} << log_stride)));
    const auto there = std::max(at, wqe.ready);
    if (r.left() != 0) // else the next message finds out, as does one that comes to a queue of one WQE at a time
        read_on(qp, at);
    return {Take::done, there};
}

/// Software rings no doorbell for receive queues, it only moves the record. Returns when that was read.
port::Time Placement::look_at_record(QueuePair& qp, port::Time at) {
    if (qp.attributes.receive != queue::ReceiveKind::ordinary)
        return at;
    const auto producer = doorbell::read_record(dma_, qp.attributes.doorbell_record, doorbell::Record::receive, at);
    if (!producer)
        return at;
    auto& r = qp.responder.receives;
    const auto value = static_cast<std::uint16_t>(producer->value);
    if (static_cast<std::uint16_t>(value - r.consumer) <= qp.rq_size())
        r.producer = value;
    r.few = r.left() / 2;
    return producer->at;
}

/// Brings what the next messages will need, while there is still something for those that come first.
void Placement::read_on(QueuePair& qp, port::Time at) {
    auto& r = qp.responder.receives;
    if (r.left() <= r.few)
        at = look_at_record(qp, at);
    r.ahead.read_on(dma_, posted_receives(qp, prefetch_), r.consumer, at);
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
