// Directed routes (IBA 14.2.2): subnet management packets that carry their own way, for a subnet whose tables are not
// filled. A node takes a packet, looks here where it goes on, and has the positions in it moved. Knows datagrams, no
// packets.
#pragma once

#include "abi/wire/mad.h"
#include "traces/reason.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace model::management {

using Mad = std::span<std::byte, abi::wire::mad_bytes>;

struct Step {
    enum class Kind : std::uint8_t { answer, forward, drop };
    Kind kind = Kind::drop;
    unsigned port = 0;                   ///< forward: leaves there
    std::optional<traces::Reason> why{}; ///< drop
};

/// What a node does with a packet that came in at `ingress`. Moves the packet's position and notes the way back:
/// outward along the initial path, which leaves the return path behind it; back along that one.
Step follow_route(Mad mad, unsigned ingress, bool is_switch);
/// The answer of the last node goes back the way the packet came.
void turn_back(Mad mad);

} // namespace model::management
