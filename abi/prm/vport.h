// The port as its owner sees it (PRM "HCA vport context", "NIC vport context", "RoCE address table", "MAD_IFC"):
// addresses, state, GIDs, P_Keys and counters. GIDs and P_Keys follow their queries at the layout's size.
// Witness: testbench/witness/prm_layouts.py (mlx5_ifc.h, pyverbs).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
/// Logical state of a port (IBA PortInfo:PortState).
#define ABI_PRM_PORT_STATES(X) \
    X(no_change, 0, "no change")   \
    X(down,      1, "down")        \
    X(init,      2, "initialize")  \
    X(armed,     3, "armed")       \
    X(active,    4, "active")
ABI_NAMED_ENUM(PortState, std::uint8_t, ABI_PRM_PORT_STATES)
#undef ABI_PRM_PORT_STATES

/// Physical state of a port (IBA PortInfo:PortPhysicalState).
#define ABI_PRM_PORT_PHYSICAL_STATES(X) \
    X(no_change,     0, "no change")      \
    X(sleep,         1, "sleep")          \
    X(polling,       2, "polling")        \
    X(disabled,      3, "disabled")       \
    X(training,      4, "training")       \
    X(link_up,       5, "link up")        \
    X(error_recovery, 6, "error recovery")
ABI_NAMED_ENUM(PortPhysicalState, std::uint8_t, ABI_PRM_PORT_PHYSICAL_STATES)
#undef ABI_PRM_PORT_PHYSICAL_STATES

using HcaVportContext = Layout<"hca_vport_context", 0x200,
    U32 <"field_select",           0x00>,
    Bits<"sm_virt_aware",          0x20, 31>,
    Bits<"has_smi",                0x20, 30>,
    Bits<"has_raw",                0x20, 29>,
    Bits<"grh_required",           0x20, 28>,
    Bits<"num_port_plane",         0x20, 23, 16>,
    Bits<"port_physical_state",    0x20, 15, 12, PortPhysicalState>,
    Bits<"vport_state_policy",     0x20, 11,  8>,
    Bits<"port_state",             0x20,  7,  4, PortState>,
    Bits<"vport_state",            0x20,  3,  0, PortState>,
    U64 <"system_image_guid",      0x28>,
    U64 <"port_guid",              0x30>,
    U64 <"node_guid",              0x38>,
    U32 <"cap_mask1",              0x40>,
    U32 <"cap_mask1_field_select", 0x44>,
    U32 <"cap_mask2",              0x48>,
    U32 <"cap_mask2_field_select", 0x4c>,
    Bits<"lid",                    0x60, 31, 16>,
    Bits<"init_type_reply",        0x60, 11,  8>,
    Bits<"lmc",                    0x60,  7,  5>,
    Bits<"subnet_timeout",         0x60,  4,  0>,
    Bits<"sm_lid",                 0x64, 31, 16>,
    Bits<"sm_sl",                  0x64, 15, 12>,
    Bits<"qkey_violation_counter", 0x68, 31, 16>,
    Bits<"pkey_violation_counter", 0x68, 15,  0>>;

/// A MAC address, six bytes in two dwords.
using MacAddress = Layout<"mac_address_layout", 8,
    Bits<"mac_addr_47_32", 0x00, 15,  0>,
    U32 <"mac_addr_31_0",  0x04>>;

using NicVportContext = Layout<"nic_vport_context", 0x100,
    Bits<"min_wqe_inline_mode",        0x00, 26, 24>,
    Bits<"disable_mc_local_lb",        0x00,  2>,
    Bits<"disable_uc_local_lb",        0x00,  1>,
    Bits<"roce_en",                    0x00,  0>,
    Bits<"arm_change_event",           0x04, 31>,
    Bits<"event_on_mtu",               0x04,  4>,
    Bits<"event_on_promisc_change",    0x04,  3>,
    Bits<"event_on_vlan_change",       0x04,  2>,
    Bits<"event_on_mc_address_change", 0x04,  1>,
    Bits<"event_on_uc_address_change", 0x04,  0>,
    Bits<"vhca_id_type",               0x08, 31>,
    Bits<"affiliation_criteria",       0x08, 19, 16>,
    Bits<"affiliated_vhca_id",         0x08, 15,  0>,
    Bits<"sd_group",                   0x20, 30, 28>,
    Bits<"mtu",                        0x24, 15,  0>,
    U64 <"system_image_guid",          0x28>,
    U64 <"port_guid",                  0x30>,
    U64 <"node_guid",                  0x38>,
    Bits<"qkey_violation_counter",     0x68, 31, 16>,
    Bits<"promisc_uc",                 0xf0, 31>,
    Bits<"promisc_mc",                 0xf0, 30>,
    Bits<"promisc_all",                0xf0, 29>,
    Bits<"allowed_list_type",          0xf0, 26, 24>,
    Bits<"allowed_list_size",          0xf0, 11,  0>,
    Sub <"permanent_address",          0xf4, MacAddress>>;

using RoceAddrLayout = Layout<"roce_addr_layout", 0x20,
    Raw <"source_l3_address", 0x00, 16>,
    Bits<"vlan_valid",        0x10, 28>,
    Bits<"vlan_id",           0x10, 27, 16>,
    Bits<"source_mac_47_32",  0x10, 15,  0>,
    U32 <"source_mac_31_0",   0x14>,
    Bits<"roce_l3_type",      0x18, 11,  8>,
    Bits<"roce_version",      0x18,  7,  0>>;
inline constexpr std::uint32_t roce_l3_ipv4 = 0, roce_l3_ipv6 = 1; ///< `roce_l3_type`

using TrafficCounter = Layout<"traffic_counter", 16,
    U64 <"packets", 0x00>,
    U64 <"octets",  0x08>>;

using QueryHcaVportContextIn = Layout<"query_hca_vport_context_in", 0x10,
    Bits<"opcode",       0x00, 31, 16, Opcode>,
    Bits<"op_mod",       0x04, 15,  0>,
    Bits<"other_vport",  0x08, 31>,
    Bits<"port_num",     0x08, 19, 16>,
    Bits<"vport_number", 0x08, 15,  0>>;
using QueryHcaVportContextOut = Layout<"query_hca_vport_context_out", 0x210,
    Bits<"status",            0x00, 31, 24, Status>,
    U32 <"syndrome",          0x04>,
    Sub <"hca_vport_context", 0x10, HcaVportContext>>;
using ModifyHcaVportContextIn = Layout<"modify_hca_vport_context_in", 0x210,
    Bits<"opcode",            0x00, 31, 16, Opcode>,
    Bits<"op_mod",            0x04, 15,  0>,
    Bits<"other_vport",       0x08, 31>,
    Bits<"port_num",          0x08, 19, 16>,
    Bits<"vport_number",      0x08, 15,  0>,
    Sub <"hca_vport_context", 0x10, HcaVportContext>>;
using ModifyHcaVportContextOut = Layout<"modify_hca_vport_context_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using QueryHcaVportGidIn = Layout<"query_hca_vport_gid_in", 0x10,
    Bits<"opcode",       0x00, 31, 16, Opcode>,
    Bits<"op_mod",       0x04, 15,  0>,
    Bits<"other_vport",  0x08, 31>,
    Bits<"port_num",     0x08, 19, 16>,
    Bits<"vport_number", 0x08, 15,  0>,
    Bits<"gid_index",    0x0c, 15,  0>>;
using QueryHcaVportGidOut = Layout<"query_hca_vport_gid_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"gids_num", 0x0c, 31, 16>>;
using QueryHcaVportPkeyIn = Layout<"query_hca_vport_pkey_in", 0x10,
    Bits<"opcode",       0x00, 31, 16, Opcode>,
    Bits<"op_mod",       0x04, 15,  0>,
    Bits<"other_vport",  0x08, 31>,
    Bits<"port_num",     0x08, 19, 16>,
    Bits<"vport_number", 0x08, 15,  0>,
    Bits<"pkey_index",   0x0c, 15,  0>>;
using QueryHcaVportPkeyOut = Layout<"query_hca_vport_pkey_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using QueryNicVportContextIn = Layout<"query_nic_vport_context_in", 0x10,
    Bits<"opcode",            0x00, 31, 16, Opcode>,
    Bits<"op_mod",            0x04, 15,  0>,
    Bits<"other_vport",       0x08, 31>,
    Bits<"vport_number",      0x08, 15,  0>,
    Bits<"allowed_list_type", 0x0c, 26, 24>>;
using QueryNicVportContextOut = Layout<"query_nic_vport_context_out", 0x110,
    Bits<"status",            0x00, 31, 24, Status>,
    U32 <"syndrome",          0x04>,
    Sub <"nic_vport_context", 0x10, NicVportContext>>;
/// Which fields MODIFY_NIC_VPORT_CONTEXT changes.
using ModifyNicVportFieldSelect = Layout<"modify_nic_vport_field_select", 4,
    Bits<"affiliation",         0x00, 13>,
    Bits<"disable_uc_local_lb", 0x00, 11>,
    Bits<"disable_mc_local_lb", 0x00, 10>,
    Bits<"node_guid",           0x00,  9>,
    Bits<"port_guid",           0x00,  8>,
    Bits<"min_inline",          0x00,  7>,
    Bits<"mtu",                 0x00,  6>,
    Bits<"change_event",        0x00,  5>,
    Bits<"promisc",             0x00,  4>,
    Bits<"permanent_address",   0x00,  3>,
    Bits<"addresses_list",      0x00,  2>,
    Bits<"roce_en",             0x00,  1>>;
using ModifyNicVportContextIn = Layout<"modify_nic_vport_context_in", 0x200,
    Bits<"opcode",            0x000, 31, 16, Opcode>,
    Bits<"op_mod",            0x004, 15,  0>,
    Bits<"other_vport",       0x008, 31>,
    Bits<"vport_number",      0x008, 15,  0>,
    Sub <"field_select",      0x00c, ModifyNicVportFieldSelect>,
    Sub <"nic_vport_context", 0x100, NicVportContext>>;
using ModifyNicVportContextOut = Layout<"modify_nic_vport_context_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using QueryVportStateIn = Layout<"query_vport_state_in", 0x10,
    Bits<"opcode",       0x00, 31, 16, Opcode>,
    Bits<"op_mod",       0x04, 15,  0>,
    Bits<"other_vport",  0x08, 31>,
    Bits<"vport_number", 0x08, 15,  0>>;
using QueryVportStateOut = Layout<"query_vport_state_out", 0x10,
    Bits<"status",      0x00, 31, 24, Status>,
    U32 <"syndrome",    0x04>,
    Bits<"admin_state", 0x0c,  7,  4>,
    Bits<"state",       0x0c,  3,  0>>;
using QueryVportCounterIn = Layout<"query_vport_counter_in", 0x20,
    Bits<"opcode",       0x00, 31, 16, Opcode>,
    Bits<"op_mod",       0x04, 15,  0>,
    Bits<"other_vport",  0x08, 31>,
    Bits<"port_num",     0x08, 19, 16>,
    Bits<"vport_number", 0x08, 15,  0>,
    Bits<"clear",        0x18, 31>>;
using QueryVportCounterOut = Layout<"query_vport_counter_out", 0x210,
    Bits<"status",                    0x00, 31, 24, Status>,
    U32 <"syndrome",                  0x04>,
    Sub <"received_errors",           0x10, TrafficCounter>,
    Sub <"transmit_errors",           0x20, TrafficCounter>,
    Sub <"received_ib_unicast",       0x30, TrafficCounter>,
    Sub <"transmitted_ib_unicast",    0x40, TrafficCounter>,
    Sub <"received_ib_multicast",     0x50, TrafficCounter>,
    Sub <"transmitted_ib_multicast",  0x60, TrafficCounter>,
    Sub <"received_eth_broadcast",    0x70, TrafficCounter>,
    Sub <"transmitted_eth_broadcast", 0x80, TrafficCounter>,
    Sub <"received_eth_unicast",      0x90, TrafficCounter>,
    Sub <"transmitted_eth_unicast",   0xa0, TrafficCounter>,
    Sub <"received_eth_multicast",    0xb0, TrafficCounter>,
    Sub <"transmitted_eth_multicast", 0xc0, TrafficCounter>,
    Sub <"local_loopback",            0xd0, TrafficCounter>>;
using SetRoceAddressIn = Layout<"set_roce_address_in", 0x30,
    Bits<"opcode",             0x00, 31, 16, Opcode>,
    Bits<"op_mod",             0x04, 15,  0>,
    Bits<"roce_address_index", 0x08, 31, 16>,
    Bits<"vhca_port_num",      0x08,  3,  0>,
    Sub <"roce_address",       0x10, RoceAddrLayout>>;
using SetRoceAddressOut = Layout<"set_roce_address_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using QueryRoceAddressIn = Layout<"query_roce_address_in", 0x10,
    Bits<"opcode",             0x00, 31, 16, Opcode>,
    Bits<"op_mod",             0x04, 15,  0>,
    Bits<"roce_address_index", 0x08, 31, 16>,
    Bits<"vhca_port_num",      0x08,  3,  0>>;
using QueryRoceAddressOut = Layout<"query_roce_address_out", 0x30,
    Bits<"status",       0x00, 31, 24, Status>,
    U32 <"syndrome",     0x04>,
    Sub <"roce_address", 0x10, RoceAddrLayout>>;
using MadIfcIn = Layout<"mad_ifc_in", 0x110,
    Bits<"opcode",      0x00, 31, 16, Opcode>,
    Bits<"op_mod",      0x04, 15,  0>,
    Bits<"remote_lid",  0x08, 31, 16>,
    Bits<"plane_index", 0x08, 15,  8>,
    Bits<"port",        0x08,  7,  0>,
    Raw <"mad",         0x10, 256>>;
using MadIfcOut = Layout<"mad_ifc_out", 0x110,
    Bits<"status",              0x00, 31, 24, Status>,
    U32 <"syndrome",            0x04>,
    Raw <"response_mad_packet", 0x10, 256>>;
// clang-format on

} // namespace abi::prm
