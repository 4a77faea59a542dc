// The management of an end port (IBA 13.5, 14.2.2): packets for QP0 and QP1 that no software takes are answered by the
// agents of the device, for which its firmware speaks.
#pragma once

#include "model/management/datagram.h"
#include "model/port/time.h"
#include "traces/reason.h"

#include <cstdint>
#include <optional>

namespace model::management {

class Agent {
public:
    virtual ~Agent() = default;
    /// Carries out a datagram that came in at the port and makes `mad` its answer. False: nothing answers this.
    virtual bool process(Datagram& mad, port::Time at) = 0;
    /// The answer of process() is out, or lost: what it says of the link comes true.
    virtual void apply_link_change(port::Time at) = 0;
    /// Takes in what wants no answer. False: it is nothing of the kind.
    virtual bool take_notice(const Datagram& mad, port::Time at) = 0;
    /// A packet came in with a key that is not the receiver's (IBA 14.2.5.1, traps 257 and 258).
    enum class BadKey : std::uint8_t { p_key, q_key };
    virtual void report(BadKey what, const port::Packet& packet, port::Time at) = 0;
};

/// Makes the packet, which came in at port `number`, its own answer. Nothing: it is. Otherwise why there is none.
std::optional<traces::Reason> answer(port::Packet& packet, Agent& agent, unsigned number, port::Time at);

} // namespace model::management
