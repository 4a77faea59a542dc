#include "traces/tool/causes.h"

#include "abi/prm/cqe.h"
#include "abi/wire/opcode.h"
#include "traces/codec/digest.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"

#include <algorithm>

namespace traces::tool {

using namespace codec;

namespace {

std::uint64_t key_of(std::uint32_t interface, std::uint32_t number) { return std::uint64_t{interface} << 32 | number; }
/// Of the whole frame: whoever carries it changes nothing in it.
std::uint64_t image_of(std::span<const std::byte> frame) {
    const auto digest = digest_of(frame);
    return abi::load<std::uint64_t, abi::Endian::big>(std::as_bytes(std::span(digest)).data());
}

} // namespace

void Causes::take(const Record& record, const Seen& seen, const Decoder& decoder) {
    const auto step = this->step(record, seen, decoder);
    const auto number = static_cast<std::uint32_t>(record.number);
    // A cause is an earlier record; whatever a trace says, no chain runs in a circle.
    const bool is_earlier = step.record < number;
    parents_.push_back(is_earlier ? step.record : 0);
    links_.push_back(is_earlier && (step.record != 0 || step.link == Link::store) ? step.link : Link::begin);

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
            if (const auto* item = seen.find(What::frame);
                item->layout != nullptr && abi::wire::operations[item->opcode & 0x1f].is_request())
                sent_.put(key_of(record.interface, item->number), number);
        }
    }
    if (seen.event)
        events_.put(seen.event->stamp.number, number);
    if (record.mark.cause == 0 && record.mark.direction == Direction::inbound)
        last_call_[record.interface] = number;
}

Causes::Step Causes::of(std::uint64_t record) const {
    return record == 0 || record > parents_.size() ? Step{} : Step{parents_[record - 1], links_[record - 1]};
}

Causes::Step Causes::step(const Record& record, const Seen& seen, const Decoder&) {
    const auto mark = record.mark.cause;
    const auto& news = board_.take(record, seen);
    if (record.mark.kind == RecordKind::event)
        return event(seen, mark);
    if (record.mark.kind == RecordKind::signal)
        return signal(record, seen);
    if (record.mark.kind == RecordKind::frame && record.mark.direction == Direction::inbound)
        return frame(record, seen);
    if (!news.completed.empty())
        return {static_cast<std::uint32_t>(news.completed.back().fetched), Link::wqe};
    if (const auto* eqe = seen.find(What::eqe); eqe != nullptr && eqe->cqn != no_number)
        if (const auto cqe = last_cqe_.get(key_of(record.interface, eqe->cqn)))
            return {cqe, Link::completion};
    if (seen.access && seen.access->request != 0)
        return {static_cast<std::uint32_t>(seen.access->request), Link::request};
    if (seen.access && !seen.access->is_by_device && mark == 0)
        return {0, Link::store};
    return {mark, Link::call};
}

Causes::Step Causes::signal(const Record& record, const Seen& seen) {
    const auto mark = record.mark.cause;
    const auto number = static_cast<std::uint32_t>(record.number);
    if (record.head.size() < SignalRecord::size)
        return {mark, Link::call};
    const abi::ConstView<SignalRecord> view(record.head);
    const auto before = [&](Link link) -> Step {
        const auto found = last_call_.find(record.interface);
        return mark != 0 || found == last_call_.end() ? Step{mark, Link::call} : Step{found->second, link};
    };
    switch (static_cast<Signal>(view.get<"code">())) {
    case Signal::interrupt:
        if (const auto* item = seen.find(What::interrupt); item->eqn != no_number)
            if (const auto eqe = last_eqe_.get(key_of(record.interface, item->eqn)))
                return {eqe, Link::event};
        return {mark, Link::call};
    case Signal::wake_at: last_wake_at_[record.interface] = number; return {mark, Link::call};
    case Signal::wake:
        if (const auto asked = last_wake_at_.find(record.interface); asked != last_wake_at_.end())
            return {asked->second, Link::asked_wake};
        return {mark, Link::call};
    case Signal::cannot_send: blocked_[{record.interface, view.get<"port">()}] = number; return {mark, Link::call};
    case Signal::room:
        if (const auto blocked = blocked_.find({record.interface, view.get<"port">()}); blocked != blocked_.end())
            return {blocked->second, Link::waited};
        return {mark, Link::call};
    case Signal::batch_end: {
        std::uint32_t last = 0;
        for (const auto& [interface, frame] : last_frame_)
            last = std::max(last, frame);
        return mark != 0 ? Step{mark, Link::call} : Step{last, Link::batch};
    }
    case Signal::settle: return before(Link::before);
    default: return {mark, Link::call};
    }
}

Causes::Step Causes::frame(const Record& record, const Seen& seen) {
    if (const auto sender = images_.get(image_of(record.head)))
        return {sender, Link::same_frame};
    const auto* item = seen.find(What::frame);
    if (item->layout != nullptr && !abi::wire::operations[item->opcode & 0x1f].is_request())
        if (const auto request = sent_.get(key_of(record.interface, item->number)))
            return {request, Link::answered};
    return {record.mark.cause, Link::call};
}

Causes::Step Causes::event(const Seen& seen, std::uint32_t mark) {
    if (seen.event && seen.event->stamp.cause != 0)
        if (const auto earlier = events_.get(seen.event->stamp.cause))
            return {earlier, Link::model};
    return {mark, Link::call};
}

} // namespace traces::tool
