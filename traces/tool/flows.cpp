#include "traces/tool/flows.h"

#include "abi/types.h"
#include "abi/wire/opcode.h"

#include <algorithm>

namespace traces::tool {

using namespace codec;

namespace {

/// Work requests that a queue pair has read and not sent; a queue has at most 2^15.
constexpr std::size_t most_unsent = 65536;

} // namespace

const std::vector<Flow>& Flows::take(const Record& record, const Seen& seen, const Decoder& decoder) {
    flows_.clear();
    causes_.take(record, seen, decoder);
    const auto& news = causes_.board().news();
    for (const auto& work : news.fetched)
        if (const auto flow = flow_of(work); flow == record.number) { // not one that is read once more
            flows_.push_back(flow);
            posted_.put(work.doorbell << 16 | work.index, flow);
            auto& unsent = unsent_[{causes_.devices().of(record.interface), work.qpn}];
            unsent.push_back(flow);
            if (unsent.size() > most_unsent)
                unsent.pop_front();
        }
    if (news.gone) {
        const std::pair key(causes_.devices().of(record.interface), *news.gone);
        unsent_.erase(key);
        sending_.erase(key);
    }
    const auto step = causes_.of(record.number);
    Flow one = 0;
    if (!news.completed.empty())
        one = flow_of(news.completed.back());
    else if (record.mark.kind == RecordKind::frame)
        one = frame(record, seen, step, decoder);
    else if (seen.event)
        one = event(record, seen, step);
    else if (step.link == Link::completion || step.link == Link::event ||
             (step.link == Link::call && seen.find(What::cqe) != nullptr)) // of a responder
        one = records_.get(step.record);
    if (one != 0)
        flows_.push_back(one);
    if (!flows_.empty())
        records_.put(record.number, flows_.back());
    return flows_;
}

Flow Flows::frame(const Record& record, const Seen& seen, Causes::Step step, const Decoder& decoder) {
    const auto* item = seen.find(What::frame);
    if (item == nullptr || item->layout == nullptr)
        return 0;
    const bool is_request = abi::wire::operations[item->opcode & 0x1f].is_request();
    if (record.mark.direction == Direction::outbound)
        return is_request ? sent(record, seen) : answer(record, *item, seen, step);
    const auto carried = step.link == Link::same_frame ? records_.get(step.record) : 0;
    if (!is_request) {
        const auto asked = answered(record, *item, decoder);
        return carried != 0 ? carried : asked;
    }
    if (carried != 0)
        received_.put(packet_key(record.interface, item->qpn, item->number), carried);
    return carried;
}

/// A responder answers what it was asked for, or only that all has come up to some packet.
Flow Flows::answer(const Record& record, const Item& item, const Seen& seen, Causes::Step step) {
    if (seen.qpn != no_number)
        if (const auto asked = by_psn(received_, record.interface, seen.qpn, item))
            return asked;
    return step.link == Link::call ? records_.get(step.record) : 0;
}

/// At the requester, which knows the number of its queue pair's peer.
Flow Flows::answered(const Record& record, const Item& item, const Decoder& decoder) {
    for (const auto function : causes_.devices().all()[causes_.devices().of(record.interface)].functions)
        if (const auto peer = decoder.peer(function, item.qpn))
            if (const auto asked = by_psn(packets_, record.interface, *peer, item))
                return asked;
    return 0;
}

/// A READ is answered by many packets, and its request has the PSN of the first.
Flow Flows::by_psn(Recent& requests, std::uint32_t interface, std::uint32_t qpn, const Item& answer) {
    const auto key = packet_key(interface, qpn, answer.number);
    const auto& operation = abi::wire::operations[answer.opcode & 0x1f];
    if (operation.kind == abi::wire::OperationTraits::Kind::read_response && !operation.is_first)
        if (const auto before = requests.get(packet_key(interface, qpn, (answer.number - 1) & abi::Psn::mask)))
            requests.put(key, before);
    return requests.get(key);
}

/// What the model says in the course of a call, or because of an earlier event, is of the same work request.
Flow Flows::event(const Record& record, const Seen& seen, Causes::Step step) {
    if (step.link != Link::call && step.link != Link::model)
        return 0;
    const auto doorbell =
        std::holds_alternative<DoorbellRung>(seen.event->event) ? step.record : doorbells_.get(step.record);
    if (doorbell != 0)
        doorbells_.put(record.number, doorbell);
    if (const auto* fetched = std::get_if<WqeFetched>(&seen.event->event))
        return posted_.get(std::uint64_t{doorbell} << 16 | fetched->index);
    return records_.get(step.record);
}

Flow Flows::sent(const Record& record, const Seen& seen) {
    const auto* item = seen.find(What::frame);
    const auto& operation = abi::wire::operations[item->opcode & 0x1f];
    const auto packet = packet_key(record.interface, item->qpn, item->number);
    const auto device = causes_.devices().of(record.interface);
    // What is completed is not sent again: then the number is that of another connection, or has come round.
    if (const auto before = packets_.get(packet); before != 0)
        for (const auto function : causes_.devices().all()[device].functions)
            if (board().is_open(function, seen.qpn, before))
                return before;
    const std::pair key(device, seen.qpn);
    auto& flow = sending_[key];
    // Messages go out in the order of their work requests.
    if (operation.is_first) {
        auto& unsent = unsent_[key];
        flow = unsent.empty() ? 0 : unsent.front();
        if (!unsent.empty())
            unsent.pop_front();
    }
    if (flow != 0)
        packets_.put(packet, flow);
    return flow;
}

void Posts::take(const WorkBoard::News& news, std::uint64_t record) {
    const auto add = [&](const Work& work) {
        if (posts_.size() < most_)
            posts_.push_back({static_cast<std::uint32_t>(work.doorbell), flow_of(work)});
    };
    for (const auto& work : news.fetched)
        if (work.doorbell != 0 && work.fetched == record)
            add(work);
    for (const auto& work : news.completed)
        if (work.doorbell != 0 && work.fetched == 0)
            add(work);
}

void Posts::sort() { std::ranges::stable_sort(posts_, {}, &Post::doorbell); }

std::vector<Flow> Posts::of(std::uint64_t doorbell) const {
    std::vector<Flow> flows;
    for (const auto& post : std::ranges::equal_range(posts_, static_cast<std::uint32_t>(doorbell), {}, &Post::doorbell))
        flows.push_back(post.flow);
    return flows;
}

} // namespace traces::tool
