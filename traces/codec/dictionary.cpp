#include "traces/codec/dictionary.h"

#include <cassert>
#include <cstring>
#include <utility>

namespace traces::codec {

std::uint64_t Dictionary::hash_of(const Digest& digest) {
    std::uint64_t value = 0; // a digest is a hash
    std::memcpy(&value, digest.data(), sizeof value);
    return value;
}

std::optional<std::span<const std::byte>> Dictionary::find(const Digest& digest) const {
    if (entries_.empty())
        return std::nullopt;
    const auto hash = hash_of(digest);
    for (auto at = first_place(hash); places_[at].number != 0; at = next_place(at))
        if (places_[at].hash == hash && entry(places_[at].number).digest == digest)
            return entry(places_[at].number).bytes;
    return std::nullopt;
}

bool Dictionary::add(const Digest& digest, std::span<const std::byte> bytes) {
    assert(!find(digest) && "an entry is added once while it is in the window");
    const auto size = bytes.size() + entry_overhead;
    if (size > window_)
        return false;
    std::vector<std::byte> memory;
    while (used_ + size > window_) {
        used_ -= entries_.front().bytes.size() + entry_overhead;
        // Payloads are mostly as long as those before them. Memory of another length would be more than is counted.
        if (entries_.front().bytes.size() == bytes.size())
            memory = std::move(entries_.front().bytes);
        forget_oldest();
    }
    memory.assign(bytes.begin(), bytes.end());
    if (2 * (entries_.size() + 1) > places_.size())
        grow();
    put({.hash = hash_of(digest), .number = first_ + entries_.size()});
    entries_.push_back({digest, std::move(memory)});
    used_ += size;
    return true;
}

void Dictionary::put(Place place) {
    auto at = first_place(place.hash);
    while (places_[at].number != 0)
        at = next_place(at);
    places_[at] = place;
}

/// Entries behind it move up, as far as a look for them would stop at the place that is free now.
void Dictionary::forget_oldest() {
    auto free = first_place(hash_of(entries_.front().digest));
    while (places_[free].number != first_)
        free = next_place(free);
    for (auto at = next_place(free); places_[at].number != 0; at = next_place(at)) {
        const auto distance = [&](std::size_t from) { return (at - from) & (places_.size() - 1); };
        if (distance(first_place(places_[at].hash)) < distance(free))
            continue;
        places_[free] = places_[at];
        free = at;
    }
    places_[free] = {};
    entries_.pop_front();
    ++first_;
}

void Dictionary::grow() {
    const auto before = std::exchange(places_, std::vector<Place>(places_.empty() ? 64 : 2 * places_.size()));
    for (const auto& place : before)
        if (place.number != 0)
            put(place);
}

} // namespace traces::codec
