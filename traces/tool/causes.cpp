#include "traces/tool/causes.h"

#include "abi/prm/cqe.h"
#include "abi/types.h"
#include "abi/wire/opcode.h"
#include "traces/codec/digest.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"

namespace traces::tool {

using namespace codec;

namespace {

std::uint64_t key_of(std::uint32_t interface, std::uint32_t number) { return std::uint64_t{interface} << 32 | number; }
/// Of the whole frame: whoever carries it changes nothing in it.
std::uint64_t image_of(std::span<const std::byte> frame) {
    const auto digest = digest_of(frame);
    return abi::load<std::uint64_t, abi::Endian::big>(std::as_bytes(std::span(digest)).data());
}
bool is_request(const Item& frame) {
    return frame.layout != nullptr && abi::wire::operations[frame.opcode & 0x1f].is_request();
}

} // namespace

void Causes::take(const Record& record, const Seen& seen, const Decoder& decoder) {
    const auto step = this->step(record, seen, decoder);
    const auto number = static_cast<std::uint32_t>(record.number);
    // A cause is an earlier record; whatever a trace says, no chain runs in a circle.
    const bool is_earlier = step.record != 0 && step.record < number;
    const bool is_end = step.record == 0 && (step.link == Link::store || step.link == Link::outside);
    parents_.push_back(is_earlier ? step.record : 0);
    links_.push_back(is_earlier || is_end ? step.link : Link::begin);
    if (links_.size() > kept_) {
        parents_.pop_front();
        links_.pop_front();
        ++forgotten_;
    }

    for (const auto& item : seen.items) {
        if (item.what == What::cqe)
            last_cqe_.put(key_of(record.interface, item.cqn), number);
        else if (item.what == What::eqe)
            last_eqe_.put(key_of(record.interface, item.eqn), number);
    }
    if (record.mark.kind == RecordKind::frame) {
        last_frame_[record.interface] = number;
        if (record.mark.direction == Direction::outbound) {
            images_.put(image_of(record.head), number);
            if (const auto* item = seen.find(What::frame); item != nullptr && is_request(*item))
                sent_.put(packet_key(record.interface, item->qpn, item->number), number);
        }
    }
    if (seen.event)
        events_.put(seen.event->stamp.number, number);
    if (record.mark.cause == 0 && record.mark.direction == Direction::inbound)
        last_call_[devices_.of(record.interface)] = number;
}

Causes::Step Causes::of(std::uint64_t record) const {
    if (record == 0 || record > forgotten_ + links_.size())
        return {};
    if (record <= forgotten_)
        return {0, Link::forgotten};
    return {parents_[record - forgotten_ - 1], links_[record - forgotten_ - 1]};
}

Causes::Step Causes::step(const Record& record, const Seen& seen, const Decoder& decoder) {
    const auto mark = record.mark.cause;
    const auto& news = board_.take(record, seen);
    if (record.mark.kind == RecordKind::event)
        return event(seen, mark);
    if (record.mark.kind == RecordKind::signal)
        return signal(record, seen);
    if (record.mark.kind == RecordKind::frame && record.mark.direction == Direction::inbound)
        return frame(record, seen, decoder);
    if (!news.completed.empty()) {
        const auto& work = news.completed.back();
        return {static_cast<std::uint32_t>(work.fetched != 0 ? work.fetched : work.doorbell), Link::wqe};
    }
    if (const auto* eqe = seen.find(What::eqe); eqe != nullptr && eqe->cqn != no_number)
        if (const auto cqe = last_cqe_.get(key_of(record.interface, eqe->cqn)))
            return {cqe, Link::completion};
    if (seen.access && seen.access->request != 0) {
        // A device reads WQEs when it has time for them; what began the work is its doorbell.
        const auto doorbell = news.fetched.empty() ? 0 : news.fetched.front().doorbell;
        const auto request = static_cast<std::uint32_t>(seen.access->request);
        if (doorbell != 0 && of(request).record != doorbell)
            return {static_cast<std::uint32_t>(doorbell), Link::posted};
        return {request, Link::request};
    }
    if (seen.access && !seen.access->is_by_device && mark == 0)
        return {0, Link::store};
    return {mark, Link::call};
}

Causes::Step Causes::signal(const Record& record, const Seen& seen) {
    const auto mark = record.mark.cause;
    const auto number = static_cast<std::uint32_t>(record.number);
    const auto device = devices_.of(record.interface);
    if (record.head.size() < SignalRecord::size)
        return {mark, Link::call};
    const abi::ConstView<SignalRecord> view(record.head);
    const auto port = view.get<"port">();
    /// What led to a call of the device: another record, where one is known.
    const auto led = [&](const auto& known, auto key, Link link) -> Step {
        const auto found = known.find(key);
        return mark != 0 || found == known.end() ? Step{mark, Link::call} : Step{found->second, link};
    };
    switch (static_cast<Signal>(view.get<"code">())) {
    case Signal::interrupt:
        if (const auto* item = seen.find(What::interrupt); item != nullptr && item->eqn != no_number)
            if (const auto eqe = last_eqe_.get(key_of(record.interface, item->eqn)))
                return {eqe, Link::event};
        return {mark, Link::call};
    case Signal::wake_at: last_wake_at_[device] = number; return {mark, Link::call};
    case Signal::wake: return led(last_wake_at_, device, Link::asked_wake);
    case Signal::cannot_send: blocked_[{device, port}] = number; return {mark, Link::call};
    case Signal::room: return led(blocked_, std::pair<std::uint32_t, std::uint32_t>(device, port), Link::waited);
    case Signal::batch_end: return led(last_frame_, devices_.port(device, port).value_or(no_number), Link::batch);
    case Signal::settle: return led(last_call_, device, Link::before);
    // Registers that are no memory are software's, too.
    case Signal::space_read:
    case Signal::space_write: return mark != 0 ? Step{mark, Link::call} : Step{0, Link::store};
    default: return {mark, Link::call};
    }
}

Causes::Step Causes::frame(const Record& record, const Seen& seen, const Decoder& decoder) {
    if (const auto sender = images_.get(image_of(record.head)))
        return {sender, Link::same_frame};
    const auto* item = seen.find(What::frame);
    if (item != nullptr && item->layout != nullptr && !is_request(*item))
        if (const auto request = request_of(record, *item, decoder))
            return {request, Link::answered};
    return record.mark.cause != 0 ? Step{record.mark.cause, Link::call} : Step{0, Link::outside};
}

std::uint32_t Causes::request_of(const Record& response, const Item& item, const Decoder& decoder) {
    for (const auto function : devices_.all()[devices_.of(response.interface)].functions) {
        const auto peer = decoder.peer(function, item.qpn);
        if (!peer)
            continue;
        const auto key = packet_key(response.interface, *peer, item.number);
        if (const auto request = sent_.get(key))
            return request;
        // A READ is answered by many packets, and its request has the PSN of the first.
        const auto before = packet_key(response.interface, *peer, (item.number - 1) & abi::Psn::mask);
        if (const auto request = sent_.get(before)) {
            sent_.put(key, request);
            return request;
        }
    }
    return 0;
}

Causes::Step Causes::event(const Seen& seen, std::uint32_t mark) const {
    if (seen.event && seen.event->stamp.cause != 0)
        if (const auto earlier = events_.get(seen.event->stamp.cause))
            return {earlier, Link::model};
    return {mark, Link::call};
}

} // namespace traces::tool
