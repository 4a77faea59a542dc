#include "traces/codec/dictionary.h"

#include <cassert>

namespace traces::codec {

std::optional<std::span<const std::byte>> Dictionary::find(const Digest& digest) const {
    const auto found = entries_.find(digest);
    if (found == entries_.end())
        return std::nullopt;
    return found->second;
}

bool Dictionary::add(const Digest& digest, std::span<const std::byte> bytes) {
    const auto size = bytes.size() + entry_overhead;
    if (size > window_)
        return false;
    while (used_ + size > window_) {
        used_ -= order_.front()->second.size() + entry_overhead;
        entries_.erase(entries_.find(order_.front()->first));
        order_.pop_front();
    }
    const auto [place, is_new] = entries_.emplace(digest, std::vector(bytes.begin(), bytes.end()));
    assert(is_new && "an entry is added once while it is in the window");
    order_.push_back(&*place);
    used_ += size;
    return true;
}

} // namespace traces::codec
