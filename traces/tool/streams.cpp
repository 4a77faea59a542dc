#include "traces/tool/streams.h"

#include "abi/layout.h"
#include "abi/prm/cqe.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

namespace traces::tool {

using namespace codec;

namespace {

void put(std::vector<std::byte>& into, std::uint64_t value) {
    into.resize(into.size() + sizeof value);
    abi::store<std::uint64_t, abi::Endian::little>(into.data() + into.size() - sizeof value, value);
}
Print print_of(std::span<const std::byte> bytes) {
    const auto digest = digest_of(bytes);
    return abi::load<std::uint64_t, abi::Endian::big>(digest.data());
}

/// Whether the value of a signal is a time.
bool is_time(Signal signal) {
    switch (signal) {
    case Signal::wake_at:
    case Signal::time:
    case Signal::written:
    case Signal::no_answer:
    case Signal::sent:
    case Signal::cannot_read: return true;
    default: return false;
    }
}

} // namespace

Print Fingerprints::of(const Record& record, const Seen& seen) {
    bytes_.clear();
    put(bytes_, static_cast<std::uint64_t>(record.mark.kind) | static_cast<std::uint64_t>(record.mark.direction) << 8 |
                    std::uint64_t{record.mark.flags & ~by_reference & 0xffu} << 16);
    if (has_times_)
        put(bytes_, static_cast<std::uint64_t>(record.time_ps));
    put(bytes_, record.head.size());
    auto head = record.head;
    if (record.mark.kind == RecordKind::event && head.size() >= EventHead::size) {
        // The numbers of an event are its place among others, and that of its source is no name.
        const abi::ConstView<EventHead> view(head);
        put(bytes_, view.get<"type">() | std::uint64_t{view.get<"access">()} << 16);
        if (const auto source = view.get<"source">(); source < head_.names.size()) {
            const auto name = std::as_bytes(std::span(head_.names[source]));
            bytes_.insert(bytes_.end(), name.begin(), name.end());
        }
        head = head.subspan(EventHead::size);
    }
    bytes_.insert(bytes_.end(), head.begin(), head.end());
    bytes_.insert(bytes_.end(), record.payload.begin(), record.payload.end());
    if (!has_times_)
        leave_out_times(record, seen);
    return print_of(bytes_);
}

/// `bytes_` ends with the record's head and payload.
void Fingerprints::leave_out_times(const Record& record, const Seen& seen) {
    const auto payload = std::span(bytes_).last(record.payload.size());
    if (record.mark.kind == RecordKind::signal && record.head.size() == SignalRecord::size) {
        const auto head = std::span(bytes_).last(record.payload.size() + SignalRecord::size);
        const abi::View<SignalRecord> signal(head.first(SignalRecord::size));
        if (is_time(static_cast<Signal>(signal.get<"code">())))
            signal.set<"value">(0);
    }
    for (const auto& item : seen.items) {
        if (item.what != What::cqe || item.layout != &abi::layout_info<abi::prm::Cqe64>)
            continue;
        // The signature closes the entry with its timestamp.
        const auto at = static_cast<std::size_t>(item.bytes.data() - record.payload.data());
        abi::View<abi::prm::Cqe64>(payload.subspan(at, item.bytes.size())).set<"timestamp">(0).set<"signature">(0);
    }
}

void Stream::add(Print print) {
    const std::array both{chain_, print};
    chain_ = print_of(std::as_bytes(std::span(both)));
    if (++count_ % chunk == 0)
        chunks_.push_back(chain_);
}

std::optional<std::uint64_t> Stream::first_difference(const Stream& a, const Stream& b) {
    if (a.count_ == b.count_ && a.chain_ == b.chain_)
        return std::nullopt;
    return static_cast<std::uint64_t>(std::ranges::mismatch(a.chunks_, b.chunks_).in1 - a.chunks_.begin());
}

std::uint32_t Streams::of(const Record& record) const {
    if (has_times_ || record.mark.kind != RecordKind::event || record.head.size() < EventHead::size)
        return record.interface;
    const std::size_t source = abi::ConstView<EventHead>(record.head).get<"source">();
    return source < head_.names.size() ? static_cast<std::uint32_t>(head_.interfaces.size() + source)
                                       : record.interface;
}

std::string Streams::name(std::uint32_t stream) const {
    const auto interfaces = head_.interfaces.size();
    return stream < interfaces ? head_.interfaces[stream].name : "events of " + head_.names[stream - interfaces];
}

bool Streams::is_part(std::uint32_t stream) const {
    return !has_times_ && (stream >= head_.interfaces.size() || head_.interfaces[stream].kind == InterfaceKind::events);
}

std::vector<StreamPair> pair_streams(const Streams& a, const Streams& b) {
    std::vector<StreamPair> pairs;
    // Nobody forbids two streams of one name: then the first is that of the first.
    std::multimap<std::string, std::size_t> waiting;
    for (std::uint32_t i = 0; i < a.count(); ++i) {
        waiting.emplace(a.name(i), pairs.size());
        pairs.push_back({.name = a.name(i), .is_part = a.is_part(i), .a = i});
    }
    for (std::uint32_t i = 0; i < b.count(); ++i) {
        if (const auto found = waiting.lower_bound(b.name(i)); found != waiting.end() && found->first == b.name(i)) {
            pairs[found->second].b = i;
            waiting.erase(found);
        } else {
            pairs.push_back({.name = b.name(i), .is_part = b.is_part(i), .b = i});
        }
    }
    return pairs;
}

} // namespace traces::tool
