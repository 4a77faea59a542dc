// IBA 16.1: the performance agent. Its counters are those of the port in the model; what the model does not lose is zero.
#include "firmware/management/agent.h"

#include <algorithm>

namespace firmware::management {

using namespace abi::wire;

namespace {
constexpr std::uint16_t class_port_info = 0x0001, port_counters = 0x0012, port_counters_extended = 0x001d;
constexpr std::uint16_t extended_width = 1 << 9; ///< ClassPortInfo:CapabilityMask, 64-bit counters
constexpr std::size_t words = 4;                 ///< data counters count 32-bit words

// clang-format off
using ClassPortInfo = abi::Layout<"class_port_info", 72,
    abi::U8  <"base_version",    0x00>,
    abi::U8  <"class_version",   0x01>,
    abi::U16 <"capability_mask", 0x02>>;
using PortCountersExtended = abi::Layout<"port_counters_ext", 72,
    abi::U8  <"port_select",  0x01>,
    abi::U64 <"xmit_data",    0x08>,
    abi::U64 <"rcv_data",     0x10>,
    abi::U64 <"xmit_packets", 0x18>,
    abi::U64 <"rcv_packets",  0x20>>;
using PortCounters = abi::Layout<"port_counters", 40,
    abi::U8  <"port_select",  0x01>,
    abi::U32 <"xmit_data",    0x18>,
    abi::U32 <"rcv_data",     0x1c>,
    abi::U32 <"xmit_packets", 0x20>,
    abi::U32 <"rcv_packets",  0x24>>;
// clang-format on

/// A classic counter stays at its end (IBA 16.1.3.5).
std::uint32_t saturated(std::uint64_t value) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xffffffff)); }
} // namespace

MadStatus performance(State& state, Mad request, Answer answer) {
    const abi::ConstView<MadHeader> header(request.first<MadHeader::size>());
    if (static_cast<MadMethod>(header.get<"method">()) != MadMethod::get)
        return MadStatus::bad_method;
    const auto data = answer.subspan<0x40, 72>();
    const auto& count = state.hca.counters();
    switch (header.get<"attr_id">()) {
    case class_port_info:
        std::ranges::fill(data, std::byte{});
        abi::View<ClassPortInfo>(data).set<"base_version">(mad_base_version).set<"class_version">(1).set<"capability_mask">(extended_width);
        return MadStatus::ok;
    case port_counters:
        abi::View<PortCounters>(data)
            .set<"xmit_data">(saturated(count.payload_sent / words))
            .set<"rcv_data">(saturated(count.payload_received / words))
            .set<"xmit_packets">(saturated(count.packets_sent))
            .set<"rcv_packets">(saturated(count.packets_received));
        return MadStatus::ok;
    case port_counters_extended:
        abi::View<PortCountersExtended>(data)
            .set<"xmit_data">(count.payload_sent / words)
            .set<"rcv_data">(count.payload_received / words)
            .set<"xmit_packets">(count.packets_sent)
            .set<"rcv_packets">(count.packets_received);
        return MadStatus::ok;
    default: return MadStatus::bad_attribute;
    }
}

} // namespace firmware::management
