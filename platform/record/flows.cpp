// Packets with sequence numbers, as far as they are compared: each once in its order; those that are sent again as
// often as the recording has them, or oftener; acknowledgements as far as a later one does not stand for them.
#include "platform/record/expectations.h"

namespace platform::record {

namespace {

/// The stream of the frames among which an acknowledgement is.
Stream flow_of(const Deed& deed) {
    auto stream = deed.stream;
    stream.kind = DeedKind::frame;
    return stream;
}

bool is_after(const std::optional<abi::Psn>& than, abi::Psn psn) { return !than || psn.is_after(*than); }

} // namespace

void Expectations::add_frame(Deed& deed) {
    const auto record = deed.step.record;
    auto& flow = flows_[flow_of(deed)];
    if (deed.kind == DeedKind::acknowledgement) {
        if (!is_after(flow.acknowledged_expected, deed.psn))
            return; // said before
        flow.acknowledged_expected = deed.psn;
        if (is_after(flow.acknowledged, deed.psn))
            flow.acknowledgements.push_back(std::move(deed));
        return;
    }
    if (!deed.is_request && is_after(flow.acknowledged_expected, deed.psn))
        flow.acknowledged_expected = deed.psn;
    if (flow.expected && deed.psn.is_before(*flow.expected)) {
        if (const auto early = flow.surplus.find(deed.psn.value); early != flow.surplus.end()) {
            if (--early->second == 0)
                flow.surplus.erase(early);
            return;
        }
        flow.again[deed.psn.value].push_back(record);
        hold(record, {.deed = std::move(deed)});
        return;
    }
    flow.expected = deed.end;
    streams_[deed.stream].push_back(record);
    hold(record, {.deed = std::move(deed)});
}

std::optional<Expectations::Match> Expectations::take_frame(const Deed& actual, std::uint64_t next) {
    if (actual.kind == DeedKind::acknowledgement) {
        take_acknowledgement(actual);
        return std::nullopt;
    }
    auto& flow = flows_[flow_of(actual)];
    if (flow.actual && actual.psn.is_before(*flow.actual)) {
        const auto again = flow.again.find(actual.psn.value);
        if (again == flow.again.end()) {
            ++flow.surplus[actual.psn.value];
            return std::nullopt;
        }
        const auto record = again->second.front();
        again->second.pop_front();
        if (again->second.empty())
            flow.again.erase(again);
        return matched(record);
    }
    const auto match = take_ordered(actual, next);
    if (!match)
        return match;
    flow.actual = actual.end;
    if (!actual.is_request) { // an answer acknowledges all that came before it
        while (!flow.acknowledgements.empty() && flow.acknowledgements.front().psn.is_before(actual.psn))
            flow.acknowledgements.pop_front();
        if (is_after(flow.acknowledged, actual.psn))
            flow.acknowledged = actual.psn;
    }
    return match;
}

void Expectations::take_acknowledgement(const Deed& actual) {
    auto& flow = flows_[flow_of(actual)];
    if (!is_after(flow.acknowledged, actual.psn))
        return; // said before
    auto& expected = flow.acknowledgements;
    // Something acknowledges as much, sooner or later: else nobody has sent that much.
    while (is_after(flow.acknowledged_expected, actual.psn))
        if (!more())
            return suspect_extra(actual);
    while (!expected.empty() && !expected.front().psn.is_after(actual.psn)) {
        if (expected.front().psn == actual.psn && expected.front().content != actual.content)
            return suspect_content(expected.front(), actual.step);
        expected.pop_front();
    }
    flow.acknowledged = actual.psn;
}

} // namespace platform::record
