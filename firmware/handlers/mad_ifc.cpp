// PRM "MAD_IFC": software hands a management datagram to the agents of the device.
#include "firmware/handlers/handlers.h"
#include "firmware/management/agent.h"

namespace firmware::handlers {

namespace {
/// Bit of op_mod: the M_Key need not fit (bit 1 says the same of the B_Key, for which there is no agent).
constexpr std::uint16_t ignore_m_key = 1;
} // namespace

Reply mad_ifc(State& state, const Call& call, In<prm::MadIfcIn> in, Out<prm::MadIfcOut> out) {
    if (in.get<"port">() != 1)
        return refuse("mad_ifc.port");
    constexpr auto at = prm::MadIfcIn::field<"mad">::offset;
    const auto request = in.bytes().subspan<at, abi::wire::mad_bytes>();
    const auto answer =
        out.bytes().subspan<prm::MadIfcOut::field<"response_mad_packet">::offset, abi::wire::mad_bytes>();
    if (!management::process(state, request, answer, {.ignore_m_key = (call.op_mod & ignore_m_key) != 0}, call.at))
        return refuse("mad_ifc.m_key");
    state.apply_link_change(call.at);
    return accepted;
}

} // namespace firmware::handlers
