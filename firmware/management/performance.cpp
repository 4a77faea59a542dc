// IBA 16.1: the performance agent. Its counters are those of the port in the model; what the model does not lose is zero.
#include "firmware/management/agent.h"

#include <algorithm>

namespace firmware::management {

using namespace abi::wire;

namespace {
constexpr std::uint16_t extended_width = 1 << 9; ///< ClassPortInfo:CapabilityMask, 64-bit counters
constexpr std::size_t words = 4;                 ///< data counters count 32-bit words

/// A classic counter stays at its end (IBA 16.1.3.5).
std::uint32_t saturated(std::uint64_t value) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xffffffff)); }
} // namespace

MadStatus performance(State& state, Mad request, Answer answer) {
    const abi::ConstView<MadHeader> header(request.first<MadHeader::size>());
    if (static_cast<MadMethod>(header.get<"method">()) != MadMethod::get)
        return MadStatus::bad_method;
    const auto data = answer.subspan<0x40, 72>();
    const auto& count = state.hca.counters();
    switch (static_cast<PmAttribute>(header.get<"attr_id">())) {
    case PmAttribute::class_port_info:
        std::ranges::fill(data, std::byte{});
        abi::View<ClassPortInfo>(data.first<ClassPortInfo::size>()).set<"base_version">(mad_base_version).set<"class_version">(1).set<"capability_mask">(extended_width);
        return MadStatus::ok;
    case PmAttribute::port_counters:
        abi::View<PortCounters>(data.first<PortCounters::size>())
            .set<"port_xmit_data">(saturated(count.payload_sent / words))
            .set<"port_rcv_data">(saturated(count.payload_received / words))
            .set<"port_xmit_packets">(saturated(count.packets_sent))
            .set<"port_rcv_packets">(saturated(count.packets_received));
        return MadStatus::ok;
    case PmAttribute::port_counters_extended:
        abi::View<PortCountersExtended>(data.first<PortCountersExtended::size>())
            .set<"port_xmit_data">(count.payload_sent / words)
            .set<"port_rcv_data">(count.payload_received / words)
            .set<"port_xmit_packets">(count.packets_sent)
            .set<"port_rcv_packets">(count.packets_received);
        return MadStatus::ok;
    default: return MadStatus::bad_attribute;
    }
}

} // namespace firmware::management
