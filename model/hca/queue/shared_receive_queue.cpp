#include "model/hca/queue/shared_receive_queue.h"

#include "abi/prm/wqe.h"
#include "model/hca/doorbell/doorbell_record.h"

#include <algorithm>

namespace model::hca::queue {

/// Reads the record, since software rings no doorbell for receive queues. A record that claims more WQEs than the queue
/// holds does not count. Returns when it was read, or nothing when it cannot be read.
std::optional<port::Time> SharedReceiveQueue::read_producer(port::Dma& dma, port::Time at) {
    const auto record = doorbell::read_record(dma, attributes.doorbell_record, doorbell::Record::receive, at);
    if (!record)
        return std::nullopt;
    const auto now = static_cast<std::uint16_t>(record->value);
    if (static_cast<std::uint16_t>(now - consumed) <= size())
        producer = now;
    return record->at;
}

Taken SharedReceiveQueue::take(port::Dma& dma, ReceiveRequest& request, port::Time at) {
    if (is_in_error)
        return {Take::unreadable, at};
    const auto fail = [&] {
        is_in_error = true;
        return Taken{Take::unreadable, at};
    };
    if (consumed == producer) {
        const auto read = read_producer(dma, at);
        if (!read)
            return fail();
        at = *read;
        if (consumed == producer)
            return {Take::empty, at};
    }
    std::array<std::byte, (ReceiveRequest::max_segments + 1) * abi::prm::WqeData::size> bytes;
    const auto wqe = std::span(bytes).first(std::min(bytes.size(), std::size_t{1} << attributes.log_stride));
    const auto result = attributes.buffer.read(dma, std::uint64_t{next} << attributes.log_stride, wqe, at);
    if (!result.is_ok())
        return fail();
    at = std::max(at, result.done);
    request.index = next;
    request.pd = attributes.pd;
    std::uint32_t successor = (next + 1u) & (size() - 1);
    if (attributes.is_linked)
        successor = abi::ConstView<abi::prm::WqeSrqNext>(wqe).get<"next_wqe_index">();
    if (successor >= size())
        return fail();
    request.decode(attributes.has_next_segment ? wqe.subspan(abi::prm::WqeSrqNext::size) : wqe);
    next = static_cast<std::uint16_t>(successor);
    ++consumed;
    return {Take::done, at};
}

bool SharedReceiveQueue::is_limit_reached(port::Dma& dma, port::Time at) {
    const auto is_undercut = [this] { return static_cast<std::uint16_t>(producer - consumed) < attributes.limit; };
    if (attributes.limit == 0 || !is_undercut())
        return false;
    // When the record cannot be read, the count of the last time stands; the queue fails when it takes the next WQE.
    if (read_producer(dma, at) && !is_undercut())
        return false;
    attributes.limit = 0;
    return true;
}

} // namespace model::hca::queue
