#include "model/net/shared_buffer.h"

#include <algorithm>

namespace model::net {

namespace {
/// Of the longest frame: 4 KiB of payload with all its headers.
constexpr std::uint64_t longest_frame = 4096 + 128;
} // namespace

SharedBuffer::SharedBuffer(unsigned ports, const SharedBufferConfig& config)
    : config_(config), shared_(config.bytes), ports_(ports), random_(config.seed) {
    const auto reserved = config.has_pfc ? config.headroom * (ports - 1) : 0;
    shared_ -= std::min(shared_, reserved);
}

std::uint64_t SharedBuffer::threshold() const {
    return static_cast<std::uint64_t>(config_.alpha * static_cast<double>(shared_ - std::min(shared_, in_shared_)));
}

SharedBuffer::Where SharedBuffer::admit(Stay& stay) {
    auto &from = ports_[stay.ingress], &to = ports_[stay.egress];
    // Without losses it is the port by which a frame comes in that has a share; with them, the queue that it joins.
    const auto queue = config_.has_pfc ? from.in[stay.priority] : to.out[stay.priority];
    stay.where = Where::nowhere;
    if (queue + stay.bytes <= threshold() && in_shared_ + stay.bytes <= shared_) {
        stay.where = Where::shared;
        from.in[stay.priority] += stay.bytes;
        in_shared_ += stay.bytes;
    } else if (config_.has_pfc && from.in_headroom + stay.bytes <= config_.headroom) {
        stay.where = Where::headroom;
        from.headroom[stay.priority] += stay.bytes;
        from.in_headroom += stay.bytes;
        most_headroom_ = std::max(most_headroom_, from.in_headroom);
    }
    if (stay.where == Where::nowhere)
        return stay.where;
    to.out[stay.priority] += stay.bytes;
    used_ += stay.bytes;
    most_used_ = std::max(most_used_, used_);
    return stay.where;
}

void SharedBuffer::release(const Stay& stay) {
    auto& from = ports_[stay.ingress];
    ports_[stay.egress].out[stay.priority] -= stay.bytes;
    used_ -= stay.bytes;
    if (stay.where == Where::headroom) {
        from.headroom[stay.priority] -= stay.bytes;
        from.in_headroom -= stay.bytes;
    } else {
        from.in[stay.priority] -= stay.bytes;
        in_shared_ -= stay.bytes;
    }
}

bool SharedBuffer::marks(unsigned egress, unsigned priority) {
    const auto length = ports_[egress].out[priority];
    if (!config_.has_ecn || length <= config_.ecn_min)
        return false;
    if (length >= config_.ecn_max)
        return true;
    const auto part =
        static_cast<double>(length - config_.ecn_min) / static_cast<double>(config_.ecn_max - config_.ecn_min);
    return random_.chance(part * config_.ecn_probability);
}

std::uint8_t SharedBuffer::paused(unsigned ingress) {
    auto& port = ports_[ingress];
    if (!config_.has_pfc)
        return 0;
    const auto limit = threshold();
    for (unsigned priority = 0; priority < priorities; ++priority) {
        const auto bit = static_cast<std::uint8_t>(1u << priority);
        const auto has = port.in[priority];
        if (port.headroom[priority] != 0 || has > limit)
            port.paused |= bit;
        else if (has + std::min(2 * longest_frame, limit) <= limit)
            port.paused &= static_cast<std::uint8_t>(~bit);
    }
    return port.paused;
}

} // namespace model::net
