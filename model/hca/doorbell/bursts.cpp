#include "model/hca/doorbell/bursts.h"

#include <algorithm>

namespace model::hca::doorbell {

std::optional<Bursts::Rung> Bursts::begin(std::uint32_t page, std::uint32_t offset, const SendRing& ring,
                                          port::Time at) {
    std::optional<Rung> given_up;
    if (open_.size() == capacity)
        given_up = end(0, false);
    auto& burst = open_.emplace_back();
    burst.page = page;
    burst.offset = offset;
    burst.ring = ring;
    burst.due = at + patience;
    burst.filled = ring.wqe.size();
    std::ranges::copy(ring.wqe, burst.bytes.begin());
    clock_.wake_at(open_.front().due);
    return given_up;
}

std::optional<Bursts::Rung> Bursts::add_to_open(std::uint32_t page, std::uint32_t offset,
                                                std::span<const std::byte> bytes) {
    const auto found = std::ranges::find_if(open_, [&](const Burst& burst) {
        return burst.page == page && offset >= burst.offset && offset - burst.offset < abi::prm::bf_buffer_bytes;
    });
    if (found == open_.end())
        return std::nullopt;
    const auto index = static_cast<std::size_t>(found - open_.begin());
    // The next line, or what is no part of it: then software uses the register for something else.
    if (offset - found->offset != found->filled || bytes.size() > found->ring.wqe_bytes - found->filled)
        return end(index, false);
    std::ranges::copy(bytes, found->bytes.begin() + static_cast<std::ptrdiff_t>(found->filled));
    found->filled += bytes.size();
    if (found->filled < found->ring.wqe_bytes)
        return std::nullopt;
    return end(index, true);
}

Bursts::Rung Bursts::end(std::size_t index, bool is_whole) {
    last_ = open_[index];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
    last_.ring.wqe = std::span<const std::byte>(last_.bytes).first(is_whole ? last_.filled : 0);
    return {last_.page, last_.ring};
}

} // namespace model::hca::doorbell
