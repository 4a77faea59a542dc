#include "firmware/management/agent.h"

#include <algorithm>

namespace firmware::management {

using namespace abi::wire;

bool process(State& state, Mad request, Answer answer, const Keys& keys, model::port::Time at) {
    std::ranges::copy(request, answer.begin());
    const abi::ConstView<MadHeader> asked(request.first<MadHeader::size>());
    const abi::View<MadHeader> header(answer.first<MadHeader::size>());
    const auto mad_class = static_cast<MadClass>(asked.get<"mgmt_class">());
    const bool is_subnet = mad_class == MadClass::subnet_lid_routed || mad_class == MadClass::subnet_directed_route;

    auto status = MadStatus::ok;
    if (state.traps.repress(request))
        return true; // MAD_IFC needs an answer, even one without content
    if (asked.get<"base_version">() != mad_base_version || asked.get<"class_version">() != 1) {
        status = MadStatus::bad_version;
    } else if (is_subnet) {
        auto& port = state.port.infiniband.managed;
        const auto shown = abi::ConstView<Smp>(request).get<"mkey">();
        if (!keys.ignore_m_key &&
            !model::management::admits(port, static_cast<MadMethod>(asked.get<"method">()), shown, at)) {
            state.traps.bad_m_key(request, at);
            return false;
        }
        status = subnet(state, answer, at);
        if (!keys.ignore_m_key && asked.get<"attr_id">() == static_cast<std::uint16_t>(SmAttribute::port_info) &&
            model::management::conceals_key(port, shown))
            abi::View<PortInfo>(answer.subspan<Smp::field<"data">::offset, PortInfo::size>()).set<"mkey">(0);
    } else if (mad_class == MadClass::performance) {
        state.performance.process(answer, [&state](unsigned) { return port_totals(state); });
        return true;
    } else {
        status = MadStatus::bad_version;
    }
    auto bits = static_cast<std::uint16_t>(status);
    if (mad_class == MadClass::subnet_directed_route)
        bits |= smp_direction; // on its way back (IBA 14.2.2)
    header.set<"method">(static_cast<std::uint8_t>(MadMethod::get) | mad_response).set<"status">(bits);
    return true;
}

bool PortAgent::process(model::management::Datagram& mad, model::port::Time at) {
    const auto request = mad;
    return management::process(state_, request, mad, {}, at);
}

bool PortAgent::take_notice(const model::management::Datagram& mad, model::port::Time) {
    return state_.traps.repress(mad);
}

void PortAgent::report(BadKey what, const model::port::Packet& packet, model::port::Time at) {
    state_.traps.bad_key(what, packet, at);
}

} // namespace firmware::management
