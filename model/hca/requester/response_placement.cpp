#include "model/hca/requester/response_placement.h"

#include "model/hca/queue/wqe_reader.h"
#include "model/hca/requester/local_access.h"

#include <algorithm>
#include <cassert>

namespace model::hca::requester {

using abi::prm::CqeSyndrome;
using completion::LocalError;
using queue::QueuePair;
namespace vendor = completion::vendor;

std::optional<port::Time> ResponsePlacement::load(QueuePair& qp, port::Time at) {
    auto& own = qp.requester.response;
    const auto& messages = qp.requester.sends.messages;
    if (own.has_wqe && own.loaded == messages.begin())
        return at;
    const auto& front = messages.front();
    at = queue::read_wqe(dma_, qp, front.wqe_index, config_, *own.wqe, at);
    if (own.wqe->fault != queue::WqeFault::none || own.wqe->length != front.length) {
        const LocalError error{CqeSyndrome::local_qp_op_err,
                               static_cast<std::uint8_t>(vendor::wqe + static_cast<unsigned>(own.wqe->fault))};
        retirement_.fail_front_locally(qp, error, at);
        return std::nullopt;
    }
    own.has_wqe = true;
    own.loaded = messages.begin();
    return at;
}

bool ResponsePlacement::place(QueuePair& qp, std::uint32_t offset, Pieces pieces, port::Time at) {
    auto& own = qp.requester.response;
    const auto written = scatter(qp, offset, pieces, at);
    if (written) [[likely]] {
        own.placed_until = std::max(own.placed_until, *written);
        return true;
    }
    if (written.error().is_page_fault()) {
        std::uint32_t bytes = 0;
        for (const auto& piece : pieces)
            bytes += static_cast<std::uint32_t>(piece.size());
        if (wait_for_page(qp, offset, bytes, written.error().request, at))
            return false;
    }
    retirement_.fail_front_locally(qp, completion::local_error(written.error().without_wait()), at);
    return false;
}

bool ResponsePlacement::check(QueuePair& qp, port::Time at) {
    auto length = qp.requester.sends.messages.front().length;
    for (const auto& segment : qp.requester.response.wqe->data()) {
        const auto chunk = std::min(length, segment.length);
        if (chunk == 0)
            continue;
        const auto checked = memory_.check({.key = segment.key,
                                            .address = segment.address,
                                            .length = chunk,
                                            .access = tpt::Access::local_write,
                                            .pd = qp.attributes.pd,
                                            .qpn = qp.number.value},
                                           at);
        if (!checked) {
            retirement_.fail_front_locally(qp, completion::local_error(checked.error()), at);
            return false;
        }
        length -= chunk;
    }
    return true;
}

/// Writes the pieces into the WQE's segments, which have room for them; returns when they are written.
memory::Moved ResponsePlacement::scatter(const QueuePair& qp, std::uint32_t offset, Pieces pieces, port::Time at) {
    const auto segments = qp.requester.response.wqe->data();
    auto segment = segments.begin();
    while (segment != segments.end() && offset >= segment->length)
        offset -= segment++->length;
    auto done = at;
    for (auto bytes : pieces) {
        while (!bytes.empty()) {
            assert(segment != segments.end() && "the request has room for the whole answer");
            const auto chunk = std::min<std::size_t>(bytes.size(), segment->length - offset);
            const auto written = memory_.write(local_access(qp, *segment, offset, chunk, tpt::Access::local_write),
                                               bytes.first(chunk), at);
            if (!written) [[unlikely]]
                return written;
            done = std::max(done, *written);
            bytes = bytes.subspan(chunk);
            offset += static_cast<std::uint32_t>(chunk);
            if (offset == segment->length) {
                ++segment;
                offset = 0;
            }
        }
    }
    return done;
}

/// An answer of the oldest message needs a page. It is dropped, and asked for again when the page is there. Returns
/// false when the message cannot wait.
bool ResponsePlacement::wait_for_page(QueuePair& qp, std::uint32_t offset, std::uint32_t bytes,
                                      const tpt::Request& access, port::Time at) {
    const auto& messages = qp.requester.sends.messages;
    const bool waits = page_faults_.raise(qp,
                                          paging::WqePageFault{.type = abi::prm::PageFaultType::read_or_atomic,
                                                               .wq_number = qp.number.value,
                                                               .wqe_index = messages.front().wqe_index,
                                                               .committed = offset,
                                                               .packet = bytes,
                                                               .what = messages.begin()},
                                          access, at);
    if (waits)
        qp.requester.retry.asked_again = true; // answers behind the missing one do not have it asked for again
    return waits;
}

} // namespace model::hca::requester
