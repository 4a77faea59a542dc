// The management agents of the device (IBA chapters 14 and 16): answer a datagram, and carry out what a subnet manager
// sets. A datagram comes with MAD_IFC, by which software hands over what it received at QP0 and QP1, or from the
// wire while no software has created these.
#pragma once

#include "abi/wire/mad.h"
#include "firmware/state.h"
#include "model/management/agent.h"
#include "model/management/performance.h"

#include <cstddef>
#include <span>

namespace firmware::management {

using Mad = std::span<const std::byte, abi::wire::mad_bytes>;
using Answer = std::span<std::byte, abi::wire::mad_bytes>;

struct Keys {
    bool ignore_m_key = false;
};

/// Answers `request`; `answer` starts as a copy of it. What is not known gets the status of IBA 13.4.7.
/// False: the request is thrown away without an answer (a wrong M_Key, IBA 14.2.4.3).
bool process(State& state, Mad request, Answer answer, const Keys& keys, model::port::Time at);

/// Carries out a subnet management packet in place, by a table of attributes.
abi::wire::MadStatus subnet(State& state, Answer mad, model::port::Time at);
/// What the port has counted.
model::management::PortTotals port_totals(const State& state);
Traffic port_traffic(const State& state);

/// Speaks for the device on the wire.
class PortAgent final : public model::management::Agent {
public:
    explicit PortAgent(State& state) : state_(state) {}
    bool process(model::management::Datagram& mad, model::port::Time at) override;
    void apply_link_change(model::port::Time at) override { state_.apply_link_change(at); }
    bool take_notice(const model::management::Datagram& mad, model::port::Time at) override;
    void report(BadKey what, const model::port::Packet& packet, model::port::Time at) override;

private:
    State& state_;
};

} // namespace firmware::management
