// SEND: receive WQEs and where their bytes go (IBA 9.7.5.2.9; PRM "Receive WQE").
#include "abi/prm/wqe.h"
#include "model/hca/doorbell/doorbell_record.h"
#include "model/hca/responder/responder.h"

#include <algorithm>
#include <array>

namespace model::hca::responder {

using abi::wire::NakCode;
using completion::CqeSyndrome;
using queue::QueuePair;
using Message = queue::Responder::Message;

namespace {

/// Ends a receive WQE that has fewer segments than its stride holds (PRM "Receive WQE", invalid lkey).
constexpr std::uint32_t terminator_key = 0x100;

} // namespace

/// Makes the next receive WQE current. Refused with an RNR NAK when none is posted.
Responder::Outcome Responder::take_receive(QueuePair& qp, port::Time& at) {
    auto& r = qp.responder;
    if (r.rq_consumer == r.rq_producer && qp.attributes.receive == queue::ReceiveKind::ordinary) {
        // There is no doorbell for receive queues: software only moves the record.
        if (const auto producer = doorbell::read_record(path_.dma, qp.attributes.doorbell_record, doorbell::Record::receive, at)) {
            const auto posted = static_cast<std::uint16_t>(*producer - r.rq_consumer);
            if (posted <= qp.rq_size())
                r.rq_producer = static_cast<std::uint16_t>(*producer);
        }
    }
    if (r.rq_consumer == r.rq_producer) {
        ++path_.count(qp).out_of_buffer;
        r.nak_is_out = true; // what follows is dropped without an answer until this packet comes again (IBA 9.7.5.2.8)
        refuse(qp, abi::wire::rnr_syndrome(qp.attributes.min_rnr_nak), at);
        return Outcome::refused;
    }
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
    r.receive_index = index;
    r.receive_count = r.receive_segment = 0;
    r.receive_offset = 0;
    r.has_receive = true;
    ++path_.counters.receive_wqes_fetched;
    if (wqe.empty()) {
        fail_receive(qp, {CqeSyndrome::local_qp_op_err, vendor::wqe, NakCode::remote_operational_error}, at);
        return Outcome::refused;
    }
    at = std::max(at, result.done);
    const auto stride = std::min(std::size_t{1} << log_stride, r.receive.size() * abi::prm::WqeData::size);
    for (std::size_t i = 0; i < stride; i += abi::prm::WqeData::size) {
        const abi::ConstView<abi::prm::WqeData> segment{wqe.subspan(i)};
        const auto count = segment.get<"byte_count">();
        if (count == 0 && segment.get<"lkey">() == terminator_key)
            break;
        r.receive[r.receive_count++] = {.key = abi::Key{segment.get<"lkey">()},
                                        .length = count == 0 ? 0x80000000u : count,
                                        .address = segment.get<"addr">()};
    }
    return Outcome::done;
}

Responder::Outcome Responder::send(QueuePair& qp, port::Packet& packet, port::Time& at) {
    auto& r = qp.responder;
    if (packet.traits().is_first) {
        if (take_receive(qp, at) == Outcome::refused)
            return Outcome::refused;
        r.message = Message::send;
        r.received = 0;
    }
    path_.wire.settle();
    if (const auto error = place(qp, packet.payload, at)) {
        fail_receive(qp, *error, at);
        return Outcome::refused;
    }
    r.received += packet.payload.size();
    return Outcome::done;
}

/// Writes the payload where the receive WQE says.
std::optional<Responder::PlacementError> Responder::place(QueuePair& qp, const port::Payload& payload, port::Time& at) {
    auto& r = qp.responder;
    for (auto bytes : payload.pieces()) {
        while (!bytes.empty()) {
            if (r.receive_segment == r.receive_count)
                return PlacementError{CqeSyndrome::local_length_err, vendor::too_long, NakCode::invalid_request};
            const auto& segment = r.receive[r.receive_segment];
            const auto chunk = std::min<std::size_t>(bytes.size(), segment.length - r.receive_offset);
            const auto targets = path_.translator.translate({.key = segment.key,
                                                             .address = segment.address + r.receive_offset,
                                                             .length = chunk,
                                                             .access = tpt::Access::local_write,
                                                             .pd = qp.attributes.pd,
                                                             .qpn = qp.number.value},
                                                            at);
            if (!targets)
                return PlacementError{CqeSyndrome::local_prot_err,
                                      static_cast<std::uint8_t>(vendor::translation + static_cast<unsigned>(targets.error())),
                                      NakCode::remote_operational_error};
            for (const auto& target : targets->all()) {
                const auto result = path_.dma.write(target.address, bytes.first(target.length), targets->ready, port::Purpose::payload);
                if (!result.is_ok())
                    return PlacementError{CqeSyndrome::local_access_err,
                                          static_cast<std::uint8_t>(vendor::bus + static_cast<unsigned>(result.status)),
                                          NakCode::remote_operational_error};
                at = std::max(at, result.done);
                bytes = bytes.subspan(target.length);
                r.receive_offset += static_cast<std::uint32_t>(target.length);
            }
            if (r.receive_offset == segment.length) {
                ++r.receive_segment;
                r.receive_offset = 0;
            }
        }
    }
    return std::nullopt;
}

/// The message cannot be placed: the peer gets the NAK, software the receive completion, the queue pair is in error.
void Responder::fail_receive(QueuePair& qp, const PlacementError& error, port::Time at) {
    auto& r = qp.responder;
    auto& count = path_.count(qp);
    if (error.syndrome == CqeSyndrome::local_length_err)
        ++count.resp_local_length_error;
    else if (error.syndrome == CqeSyndrome::local_prot_err)
        ++count.resp_local_protection;
    else
        ++count.resp_local_qp_error;
    refuse(qp, abi::wire::nak_syndrome(error.nak), at);
    r.has_receive = false;
    failure_.fail_receive(qp, r.receive_index, error.syndrome, error.vendor, at);
    failure_.enter_error(qp, at);
}

} // namespace model::hca::responder
