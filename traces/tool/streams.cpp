#include "traces/tool/streams.h"

#include "abi/layout.h"
#include "traces/codec/layouts.h"

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

} // namespace

Print Fingerprints::of(const Record& record) {
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
    return print_of(bytes_);
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

std::vector<StreamPair> pair_streams(const Head& a, const Head& b) {
    std::vector<StreamPair> pairs;
    // Nobody forbids two interfaces of one name: then the first is that of the first.
    std::multimap<std::string, std::size_t> waiting;
    for (std::uint32_t i = 0; i < a.interfaces.size(); ++i) {
        waiting.emplace(a.interfaces[i].name, pairs.size());
        pairs.push_back({.name = a.interfaces[i].name, .a = i});
    }
    for (std::uint32_t i = 0; i < b.interfaces.size(); ++i) {
        if (const auto found = waiting.lower_bound(b.interfaces[i].name);
            found != waiting.end() && found->first == b.interfaces[i].name) {
            pairs[found->second].b = i;
            waiting.erase(found);
        } else {
            pairs.push_back({.name = b.interfaces[i].name, .b = i});
        }
    }
    return pairs;
}

} // namespace traces::tool
