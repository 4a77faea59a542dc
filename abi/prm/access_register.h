// Device registers behind ACCESS_REG (PRM "Ports and registers"): the command and the registers a driver touches. The
// register's bytes follow the command at `AccessRegIn::size` and `AccessRegOut::size`.
// Witness: testbench/witness/prm_layouts.py (linux/mlx5: mlx5_ifc.h, driver.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
#define ABI_PRM_REGISTERS(X) \
    X(pcap,            0x5001, "PCAP")            \
    X(pmtu,            0x5003, "PMTU")            \
    X(ptys,            0x5004, "PTYS")            \
    X(paos,            0x5006, "PAOS")            \
    X(ppcnt,           0x5008, "PPCNT")           \
    X(pvlc,            0x500f, "PVLC")            \
    X(node_desc,       0x6001, "NODE_DESC")       \
    X(host_endianness, 0x7004, "HOST_ENDIANNESS") \
    X(dtor,            0xc00e, "DTOR")
ABI_NAMED_ENUM(RegisterId, std::uint16_t, ABI_PRM_REGISTERS)
#undef ABI_PRM_REGISTERS

/// op_mod of ACCESS_REG.
enum class RegisterAction : std::uint16_t { write = 0, read = 1 };
inline constexpr std::size_t node_description_bytes = 64; ///< NODE_DESC is a string that fills its register

using AccessRegIn = Layout<"access_register_in", 0x10,
    Bits<"opcode",      0x00, 31, 16, Opcode>,
    Bits<"op_mod",      0x04, 15,  0>,
    Bits<"register_id", 0x08, 15,  0>,
    U32 <"argument",    0x0c>>;
using AccessRegOut = Layout<"access_register_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;

// Codes of PTYS: ib_link_width_* is a number of lanes, ib_proto_* the speed of one. A mode of Ethernet is the number of
// a bit in eth_proto_*, or in ext_eth_proto_* where the former has no bit for it. Only some modes of copper cables are
// listed.
#define ABI_PRM_LANES(X) \
    X(one,  1 << 0, "1x") \
    X(four, 1 << 2, "4x")
ABI_NAMED_ENUM(Lanes, std::uint16_t, ABI_PRM_LANES)
#undef ABI_PRM_LANES
#define ABI_PRM_LANE_SPEEDS(X) \
    X(sdr, 1 << 0, "SDR") \
    X(ddr, 1 << 1, "DDR") \
    X(qdr, 1 << 2, "QDR") \
    X(fdr, 1 << 4, "FDR") \
    X(edr, 1 << 5, "EDR") \
    X(hdr, 1 << 6, "HDR") \
    X(ndr, 1 << 7, "NDR")
ABI_NAMED_ENUM(LaneSpeed, std::uint16_t, ABI_PRM_LANE_SPEEDS)
#undef ABI_PRM_LANE_SPEEDS
#define ABI_PRM_ETHERNET_MODES(X) \
    X(kx_1g,     1, "1000BASE-KX") \
    X(cr4_40g,   6, "40GBASE-CR4") \
    X(cr_10g,   12, "10GBASE-CR")  \
    X(cr4_100g, 20, "100GBASE-CR4") \
    X(cr_25g,   27, "25GBASE-CR")  \
    X(cr2_50g,  30, "50GBASE-CR2")
ABI_NAMED_ENUM(EthernetMode, std::uint8_t, ABI_PRM_ETHERNET_MODES)
#undef ABI_PRM_ETHERNET_MODES
#define ABI_PRM_EXTENDED_ETHERNET_MODES(X) \
    X(cr4_200g, 12, "200GBASE-CR4") \
    X(cr4_400g, 16, "400GBASE-CR4")
ABI_NAMED_ENUM(ExtendedEthernetMode, std::uint8_t, ABI_PRM_EXTENDED_ETHERNET_MODES)
#undef ABI_PRM_EXTENDED_ETHERNET_MODES
inline constexpr std::uint32_t connector_copper = 7; ///< connector_type of a copper cable (DAC)

using PtysReg = Layout<"ptys_reg", 0x40,
    Bits<"an_disable_admin",         0x00, 30>,
    Bits<"an_disable_cap",           0x00, 29>,
    Bits<"local_port",               0x00, 23, 16>,
    Bits<"plane_ind",                0x00,  7,  4>,
    Bits<"proto_mask",               0x00,  2,  0>,
    Bits<"an_status",                0x04, 31, 28>,
    Bits<"data_rate_oper",           0x04, 15,  0>,
    U32 <"ext_eth_proto_capability", 0x08>,
    U32 <"eth_proto_capability",     0x0c>,
    Bits<"ib_link_width_capability", 0x10, 31, 16>,
    Bits<"ib_proto_capability",      0x10, 15,  0>,
    U32 <"ext_eth_proto_admin",      0x14>,
    U32 <"eth_proto_admin",          0x18>,
    Bits<"ib_link_width_admin",      0x1c, 31, 16>,
    Bits<"ib_proto_admin",           0x1c, 15,  0>,
    U32 <"ext_eth_proto_oper",       0x20>,
    U32 <"eth_proto_oper",           0x24>,
    Bits<"ib_link_width_oper",       0x28, 31, 16>,
    Bits<"ib_proto_oper",            0x28, 15,  0>,
    Bits<"connector_type",           0x2c,  3,  0>,
    U32 <"eth_proto_lp_advertise",   0x30>>;

using PmtuReg = Layout<"pmtu_reg", 0x10,
    Bits<"local_port", 0x00, 23, 16>,
    Bits<"max_mtu",    0x04, 31, 16>,
    Bits<"admin_mtu",  0x08, 31, 16>,
    Bits<"oper_mtu",   0x0c, 31, 16>>;

using PvlcReg = Layout<"pvlc_reg", 0x10,
    Bits<"local_port",     0x00, 23, 16>,
    Bits<"vl_hw_cap",      0x04,  3,  0>,
    Bits<"vl_admin",       0x08,  3,  0>,
    Bits<"vl_operational", 0x0c,  3,  0>>;

using PaosReg = Layout<"paos_reg", 0x10,
    Bits<"swid",         0x00, 31, 24>,
    Bits<"local_port",   0x00, 23, 16>,
    Bits<"admin_status", 0x00, 11,  8>,
    Bits<"oper_status",  0x00,  3,  0>,
    Bits<"ase",          0x04, 31>,
    Bits<"ee",           0x04, 30>,
    Bits<"e",            0x04,  1,  0>>;

/// Groups of PPCNT that an InfiniBand port has.
inline constexpr std::uint32_t ppcnt_infiniband = 0x20, ppcnt_infiniband_extended = 0x21;
using PpcntReg = Layout<"ppcnt_reg", 0x100,             // the counters of the group stand behind the first 8 bytes
    Bits<"swid",       0x00, 31, 24>,
    Bits<"local_port", 0x00, 23, 16>,
    Bits<"pnat",       0x00, 15, 14>,
    Bits<"grp",        0x00,  5,  0>,
    Bits<"clr",        0x04, 31>,
    Bits<"plane_ind",  0x04, 11,  8>,
    Bits<"prio_tc",    0x04,  4,  0>>;
using IbPortCounters = Layout<"ib_port_cntrs_grp_data_layout", 0x28,
    Bits<"symbol_error_counter",            0x00, 31, 16>,
    Bits<"link_error_recovery_counter",     0x00, 15,  8>,
    Bits<"link_downed_counter",             0x00,  7,  0>,
    Bits<"port_rcv_errors",                 0x04, 31, 16>,
    Bits<"port_rcv_remote_physical_errors", 0x04, 15,  0>,
    Bits<"port_rcv_switch_relay_errors",    0x08, 31, 16>,
    Bits<"port_xmit_discards",              0x08, 15,  0>,
    Bits<"port_xmit_constraint_errors",     0x0c, 31, 24>,
    Bits<"port_rcv_constraint_errors",      0x0c, 23, 16>,
    Bits<"link_overrun_errors",             0x0c,  7,  0>,
    Bits<"vl_15_dropped",                   0x10, 15,  0>,
    U32 <"port_xmit_wait",                  0x24>>;
using IbExtendedPortCounters = Layout<"ib_ext_port_cntrs_grp_data_layout", 0xf8,
    U32 <"port_xmit_data_high",           0x60>,        // bytes
    U32 <"port_xmit_data_low",            0x64>,
    U32 <"port_rcv_data_high",            0x68>,
    U32 <"port_rcv_data_low",             0x6c>,
    U32 <"port_xmit_pkts_high",           0x70>,
    U32 <"port_xmit_pkts_low",            0x74>,
    U32 <"port_rcv_pkts_high",            0x78>,
    U32 <"port_rcv_pkts_low",             0x7c>,
    U32 <"port_unicast_xmit_pkts_high",   0x90>,
    U32 <"port_unicast_xmit_pkts_low",    0x94>,
    U32 <"port_multicast_xmit_pkts_high", 0x98>,
    U32 <"port_multicast_xmit_pkts_low",  0x9c>,
    U32 <"port_unicast_rcv_pkts_high",    0xa0>,
    U32 <"port_unicast_rcv_pkts_low",     0xa4>,
    U32 <"port_multicast_rcv_pkts_high",  0xa8>,
    U32 <"port_multicast_rcv_pkts_low",   0xac>>;

using PcapReg = Layout<"pcap_reg", 0x14,
    Bits<"local_port",           0x00, 23, 16>,
    Raw <"port_capability_mask", 0x04, 16>>;

using RegisterHostEndianness = Layout<"register_host_endianness", 0x10,
    Bits<"he", 0x00, 31>>;
// clang-format on

} // namespace abi::prm
