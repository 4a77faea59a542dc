// Who has how much of the packet buffer that the ports of an Ethernet switch share, and what follows from it: whether a
// frame has room, whether it is marked, which priorities the sender at a port has to pause (IEEE 802.1Q clause 36).
// Keeps account; holds no packets and knows no time.
#pragma once

#include "model/net/random.h"
#include "model/net/shared_buffer_config.h"

#include <array>
#include <cstdint>
#include <vector>

namespace model::net {

class SharedBuffer {
public:
    static constexpr unsigned priorities = 8;
    enum class Where : std::uint8_t { shared, headroom, nowhere };
    /// A frame in the buffer.
    struct Stay {
        std::uint32_t bytes = 0;
        std::uint8_t ingress = 0, egress = 0, priority = 0;
        Where where = Where::nowhere;
    };

    /// `ports`: counted from 0, so that a switch with n ports has n + 1 here.
    SharedBuffer(unsigned ports, const SharedBufferConfig& config);

    /// Takes a frame in, or says that there is no room for it.
    Where admit(Stay& stay);
    /// It has left.
    void release(const Stay& stay);
    /// Whether the frame that was taken in last at the end of this queue is marked, if it can be.
    bool marks(unsigned egress, unsigned priority);
    /// The priorities, a bit each, that the sender at this port has to pause now. A pause begins when frames of the
    /// priority no longer fit into what is shared, and ends when two of the longest do.
    std::uint8_t paused(unsigned ingress);

    std::uint64_t queued(unsigned egress, unsigned priority) const { return ports_[egress].out[priority]; }
    std::uint64_t used() const { return used_; }
    std::uint64_t most_used() const { return most_used_; }
    /// The most that any port has had in its headroom.
    std::uint64_t most_headroom() const { return most_headroom_; }

private:
    struct Port {
        std::array<std::uint64_t, priorities> in{}, out{}, headroom{};
        std::uint64_t in_headroom = 0;
        std::uint8_t paused = 0;
    };
    /// What one queue may have.
    std::uint64_t threshold() const;

    SharedBufferConfig config_;
    std::uint64_t shared_; ///< without headroom
    std::vector<Port> ports_;
    std::uint64_t used_ = 0, in_shared_ = 0, most_used_ = 0, most_headroom_ = 0;
    Random random_;
};

} // namespace model::net
