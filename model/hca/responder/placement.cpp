#include "model/hca/responder/placement.h"

#include "model/hca/doorbell/doorbell_record.h"

#include <algorithm>

namespace model::hca::responder {

using abi::wire::NakCode;
using completion::CqeSyndrome;
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
        ++path_.counters.receive_wqes_fetched;
    return taken;
}

/// Reads the next WQE of the queue pair's own receive queue into `receive`.
Taken Placement::take_own(QueuePair& qp, port::Time at) {
    auto& r = qp.responder;
    if (r.rq_consumer == r.rq_producer && qp.attributes.receive == queue::ReceiveKind::ordinary) {
        // There is no doorbell for receive queues: software only moves the record.
        if (const auto producer =
                doorbell::read_record(path_.dma, qp.attributes.doorbell_record, doorbell::Record::receive, at)) {
            const auto posted = static_cast<std::uint16_t>(producer->value - r.rq_consumer);
            if (posted <= qp.rq_size())
                r.rq_producer = static_cast<std::uint16_t>(producer->value);
            at = producer->at;
        }
    }
    if (r.rq_consumer == r.rq_producer)
        return {Take::empty, at};
    const auto log_stride = qp.attributes.log_rq_stride;
    const auto index = r.rq_consumer++;
    auto wqe = r.prefetch.find(index, log_stride);
    if (wqe.bytes.empty()) {
        const auto posted = static_cast<std::uint16_t>(r.rq_producer - index);
        const auto result =
            r.prefetch.read(path_.dma, qp.attributes.buffer, 0, index, posted, qp.rq_size(), log_stride, at);
        if (!result.is_ok()) // perhaps a later one cannot be read
            r.prefetch.read(path_.dma, qp.attributes.buffer, 0, index, 1, qp.rq_size(), log_stride, at);
        wqe = r.prefetch.find(index, log_stride);
    }
    r.receive->index = index;
    r.receive->pd = qp.attributes.pd;
    if (wqe.bytes.empty())
        return {Take::unreadable, at};
    r.receive->decode(wqe.bytes.first(std::min(wqe.bytes.size(), std::size_t{1} << log_stride)));
    return {Take::done, std::max(at, wqe.ready)};
}

/// The same of its shared receive queue, with the events that belong to that.
Taken Placement::take_shared(QueuePair& qp, port::Time at) {
    auto& srq = *qp.srq;
    const bool was_in_error = srq.is_in_error;
    const auto taken = srq.take(path_.dma, *qp.responder.receive, at);
    const auto tell = [&](abi::prm::EventType event) { path_.event_queues.tell(event, srq.number, taken.at); };
    if (taken.what == Take::unreadable && !was_in_error)
        tell(abi::prm::EventType::srq_catastrophic_error);
    if (taken.what == Take::done && srq.is_limit_reached(path_.dma, taken.at))
        tell(abi::prm::EventType::srq_limit);
    return taken;
}

/// Writes the payload where the receive WQE says.
std::expected<port::Time, PlacementError>
Placement::place(QueuePair& qp, std::span<const std::span<const std::byte>> pieces, port::Time at) {
    auto& receive = *qp.responder.receive;
    for (auto bytes : pieces) {
        while (!bytes.empty()) {
            if (receive.segment == receive.count)
                return std::unexpected(
                    PlacementError{CqeSyndrome::local_length_err, vendor::too_long, NakCode::invalid_request});
            const auto& segment = receive.segments[receive.segment];
            const auto chunk = std::min<std::size_t>(bytes.size(), segment.length - receive.offset);
            const auto written = path_.memory.write({.key = segment.key,
                                                     .address = segment.address + receive.offset,
                                                     .access = tpt::Access::local_write,
                                                     .pd = receive.pd,
                                                     .qpn = qp.number.value,
                                                     .may_wait = qp.service.waits_to_receive},
                                                    bytes.first(chunk), at, &qp.responder.writes);
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
