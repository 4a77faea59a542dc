#include "traces/tool/flows.h"

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
    else if (step.link == Link::answered || step.link == Link::same_frame || step.link == Link::completion ||
             step.link == Link::event)
        one = records_.get(step.record);
    else if (record.mark.kind == RecordKind::frame && record.mark.direction == Direction::outbound)
        one = sent(record, seen);
    if (one != 0)
        flows_.push_back(one);
    if (!flows_.empty())
        records_.put(record.number, flows_.back());
    return flows_;
}

Flow Flows::sent(const Record& record, const Seen& seen) {
    const auto* item = seen.find(What::frame);
    if (item == nullptr || item->layout == nullptr)
        return 0;
    const auto& operation = abi::wire::operations[item->opcode & 0x1f];
    if (!operation.is_request())
        return 0;
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
