// Management datagrams (IBA 13.4.3, 14.2.1, 14.2.5, 16.1.3): the header all classes share, subnet management packets
// and the attributes that an HCA answers. Witness: testbench/witness/prm_layouts.py (rdma/ib_smi.h, rdma/ib_mad.h,
// rdma/ib_pma.h); of SwitchInfo and the extended speeds opensm and infiniband-diags in testbench/guest/cases/fabric.sh,
// as no header of Linux has them.
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

namespace abi::wire {

inline constexpr std::size_t mad_bytes = 256;
inline constexpr std::uint8_t mad_base_version = 1;

/// `mgmt_class`.
enum class MadClass : std::uint8_t {
    subnet_lid_routed = 0x01,
    subnet_administration = 0x03,
    performance = 0x04,
    subnet_directed_route = 0x81
};
/// `method` without the response bit.
enum class MadMethod : std::uint8_t { get = 0x01, set = 0x02, send = 0x03, trap = 0x05, trap_repress = 0x07 };
inline constexpr std::uint8_t mad_response = 0x80;
/// `status`, bits 4..2: why a request was not carried out (IBA 13.4.7).
enum class MadStatus : std::uint16_t {
    ok = 0,
    bad_version = 1 << 2,
    bad_method = 2 << 2,
    bad_attribute = 3 << 2,
    bad_value = 7 << 2
};
inline constexpr std::uint16_t smp_direction = 0x8000; ///< `status` of a directed-route packet on its way back

// Codes of PortInfo (IBA 14.2.5.6).
inline constexpr std::uint32_t mtu_4096 = 5, vl_0 = 1;       ///< of MTUCap and VLCap
inline constexpr std::uint32_t one_lane = 1, four_lanes = 2; ///< of LinkWidth*
inline constexpr std::uint32_t speed_qdr = 4;                ///< of LinkSpeed*, which has nothing above
inline constexpr std::uint32_t extended_speed_fdr = 1;       ///< of LinkSpeedExt*, which begins with it
/// Bits of CapabilityMask: extended speeds are there, and so is CapabilityMask2.
inline constexpr std::uint32_t has_extended_speeds = 1u << 14, has_capability_mask2 = 1u << 15;
/// Bits of CapabilityMask2.
inline constexpr std::uint16_t has_hdr = 1 << 5, has_ndr = 1 << 10;
/// NodeInfo:NodeType (IBA 14.2.5.3).
inline constexpr std::uint8_t channel_adapter_node = 1, switch_node = 2;

/// The attribute of traps and of their repression (IBA 13.4.8.2), and numbers of traps (IBA 14.2.5.1).
inline constexpr std::uint16_t notice_attribute = 0x0002;
inline constexpr std::uint16_t bad_m_key_trap = 256, bad_p_key_trap = 257, bad_q_key_trap = 258;
/// Notice:Type and ProducerType.
inline constexpr std::uint8_t security_notice = 2;
inline constexpr std::uint32_t channel_adapter_producer = 1;

/// Attributes of the performance agent (IBA 16.1.2).
enum class PmAttribute : std::uint16_t {
    class_port_info = 0x0001,
    port_counters = 0x0012,
    port_counters_extended = 0x001d
};

// clang-format off
#define ABI_WIRE_SM_ATTRIBUTES(X) \
    X(node_description, 0x0010, "NodeDescription") \
    X(node_info,        0x0011, "NodeInfo")        \
    X(guid_info,        0x0014, "GUIDInfo")        \
    X(port_info,        0x0015, "PortInfo")        \
    X(pkey_table,       0x0016, "P_KeyTable")      \
    X(sl_to_vl,         0x0017, "SLtoVLMappingTable") \
    X(vl_arbitration,   0x0018, "VLArbitrationTable") \
    X(linear_forwarding,    0x0019, "LinearForwardingTable") \
    X(multicast_forwarding, 0x001b, "MulticastForwardingTable") \
    X(switch_info,          0x0012, "SwitchInfo") \
    X(extended_port_info,   0xff90, "MLNXExtendedPortInfo")
ABI_NAMED_ENUM(SmAttribute, std::uint16_t, ABI_WIRE_SM_ATTRIBUTES)
#undef ABI_WIRE_SM_ATTRIBUTES

// IBA 13.4.3 "Management datagram format"
using MadHeader = Layout<"mad_hdr", 24,
    U8  <"base_version",  0x00>,
    U8  <"mgmt_class",    0x01>,
    U8  <"class_version", 0x02>,
    U8  <"method",        0x03>,
    U16 <"status",        0x04>,
    U8  <"hop_ptr",       0x06>,                // directed route
    U8  <"hop_cnt",       0x07>,
    U64 <"tid",           0x08>,
    U16 <"attr_id",       0x10>,
    U32 <"attr_mod",      0x14>>;

// IBA 14.2.1.1 and .2: LID routed and directed route, behind the header
using Smp = Layout<"smp", 256,
    U64 <"mkey",         0x18>,
    U16 <"dr_slid",      0x20>,
    U16 <"dr_dlid",      0x22>,
    Raw <"data",         0x40, 64>,
    Raw <"initial_path", 0x80, 64>,
    Raw <"return_path",  0xc0, 64>>;

// IBA 13.4.8.2, of generic traps
using Notice = Layout<"notice", 64,
    Bits<"is_generic",    0x00, 31>,
    Bits<"type",          0x00, 30, 24>,
    Bits<"producer_type", 0x00, 23,  0>,
    U16 <"trap_number",   0x04>,
    U16 <"issuer_lid",    0x06>,
    Raw <"details",       0x0a, 54>>;

// IBA 14.2.5.1, trap 256, in the place of the notice
using BadManagementKeyNotice = Layout<"notice_256", 64,
    U16 <"lid",          0x0c>,                 // who asked
    U16 <"dr_slid",      0x0e>,
    U8  <"method",       0x10>,
    U16 <"attr_id",      0x12>,
    U32 <"attr_mod",     0x14>,
    U64 <"mkey",         0x18>>;

// IBA 14.2.5.1, traps 257 and 258, in the place of the notice
using BadKeyNotice = Layout<"notice_257_258", 64,
    U16 <"lid1",         0x0c>,                 // who sent
    U16 <"lid2",         0x0e>,                 // to whom
    U32 <"key",          0x10>,
    Bits<"sl",           0x14, 31, 28>,
    Bits<"qp1",          0x14, 23,  0>,
    Bits<"qp2",          0x18, 23,  0>,
    Raw <"gid1",         0x1c, 16>,
    Raw <"gid2",         0x2c, 16>>;

// IBA 14.2.5.3
using NodeInfo = Layout<"node_info", 40,
    U8  <"base_version",   0x00>,
    U8  <"class_version",  0x01>,
    U8  <"node_type",      0x02>,               // 1: channel adapter
    U8  <"num_ports",      0x03>,
    U64 <"sys_guid",       0x04>,
    U64 <"node_guid",      0x0c>,
    U64 <"port_guid",      0x14>,
    U16 <"partition_cap",  0x1c>,
    U16 <"device_id",      0x1e>,
    U32 <"revision",       0x20>,
    U8  <"local_port_num", 0x24>,
    Bits<"vendor_id",      0x24, 23, 0>>;

// IBA 14.2.5.4
using SwitchInfo = Layout<"switch_info", 20,
    U16 <"linear_fdb_cap",        0x00>,
    U16 <"random_fdb_cap",        0x02>,
    U16 <"multicast_fdb_cap",     0x04>,
    U16 <"linear_fdb_top",        0x06>,
    U8  <"default_port",          0x08>,
    U8  <"default_multicast_primary_port",     0x09>,
    U8  <"default_multicast_not_primary_port", 0x0a>,
    Bits<"life_time",             0x08,  7,  3>,
    Bits<"port_state_change",     0x08,  2>,
    U16 <"lids_per_port",         0x0c>,
    U16 <"partition_enforcement_cap", 0x0e>,
    Bits<"enhanced_port0",        0x10, 27>,
    U16 <"multicast_fdb_top",     0x12>>;

// IBA 14.2.5.6
using PortInfo = Layout<"port_info", 60,
    U64 <"mkey",                  0x00>,
    U64 <"gid_prefix",            0x08>,
    U16 <"lid",                   0x10>,
    U16 <"sm_lid",                0x12>,
    U32 <"cap_mask",              0x14>,
    U16 <"diag_code",             0x18>,
    U16 <"mkey_lease_period",     0x1a>,
    U8  <"local_port_num",        0x1c>,
    U8  <"link_width_enabled",    0x1d>,
    U8  <"link_width_supported",  0x1e>,
    U8  <"link_width_active",     0x1f>,
    Bits<"link_speed_supported",  0x20, 31, 28>,
    Bits<"port_state",            0x20, 27, 24>,
    Bits<"physical_state",        0x20, 23, 20>,
    Bits<"link_down_default",     0x20, 19, 16>,
    Bits<"mkey_protect",          0x20, 15, 14>,
    Bits<"lmc",                   0x20, 10,  8>,
    Bits<"link_speed_active",     0x20,  7,  4>,
    Bits<"link_speed_enabled",    0x20,  3,  0>,
    Bits<"neighbor_mtu",          0x24, 31, 28>,
    Bits<"master_sm_sl",          0x24, 27, 24>,
    Bits<"vl_cap",                0x24, 23, 20>,
    Bits<"init_type",             0x24, 19, 16>,
    U8  <"vl_high_limit",         0x26>,
    U8  <"vl_arb_high_cap",       0x27>,
    U8  <"vl_arb_low_cap",        0x28>,
    Bits<"init_type_reply",       0x28, 23, 20>,
    Bits<"mtu_cap",               0x28, 19, 16>,
    Bits<"vl_stall_count",        0x28, 15, 13>,
    Bits<"hoq_life",              0x28, 12,  8>,
    Bits<"operational_vls",       0x28,  7,  4>,
    Bits<"enforcement",           0x28,  3,  0>,
    U16 <"mkey_violations",       0x2c>,
    U16 <"pkey_violations",       0x2e>,
    U16 <"qkey_violations",       0x30>,
    U8  <"guid_cap",              0x32>,
    Bits<"client_reregister",     0x30,  7>,
    Bits<"subnet_timeout",        0x30,  4,  0>,
    Bits<"response_time",         0x34, 28, 24>,
    Bits<"local_phy_errors",      0x34, 23, 20>,
    Bits<"overrun_errors",        0x34, 19, 16>,
    U16 <"max_credit_hint",       0x36>>;

// IBA 14.2.5.6, the rest of it, which Linux's structure leaves out
using PortInfoExtended = Layout<"port_info_extended", 64,
    U16 <"cap_mask2",                0x3c>,
    Bits<"link_speed_ext_active",    0x3c, 15, 12>,
    Bits<"link_speed_ext_supported", 0x3c, 11,  8>,
    Bits<"link_speed_ext_enabled",   0x3c,  4,  0>>;

// IBA 13.4.8.1
using ClassPortInfo = Layout<"class_port_info", 72,
    U8  <"base_version",    0x00>,
    U8  <"class_version",   0x01>,
    U16 <"capability_mask", 0x02>>;

// IBA 16.1.3.5
using PortCounters = Layout<"port_counters", 44,
    U8  <"port_select",                  0x01>, // 255: all of them
    U16 <"counter_select",               0x02>, // Set: which ones
    U16 <"symbol_error_counter",         0x04>,
    U8  <"link_error_recovery_counter",  0x06>,
    U8  <"link_downed_counter",          0x07>,
    U16 <"port_rcv_errors",              0x08>,
    U16 <"port_rcv_remphys_errors",      0x0a>,
    U16 <"port_rcv_switch_relay_errors", 0x0c>,
    U16 <"port_xmit_discards",           0x0e>,
    U8  <"port_xmit_constraint_errors",  0x10>,
    U8  <"port_rcv_constraint_errors",   0x11>,
    U8  <"counter_select2",              0x12>, // Set: and which of the later ones
    U8  <"link_overrun_errors",          0x13>,
    U16 <"vl15_dropped",                 0x16>,
    U32 <"port_xmit_data",               0x18>, // in 32-bit words
    U32 <"port_rcv_data",                0x1c>,
    U32 <"port_xmit_packets",            0x20>,
    U32 <"port_rcv_packets",             0x24>,
    U32 <"port_xmit_wait",               0x28>>;

// IBA 16.1.4.11
using PortCountersExtended = Layout<"port_counters_ext", 72,
    U8  <"port_select",                 0x01>,
    U16 <"counter_select",              0x02>,
    U64 <"port_xmit_data",              0x08>,
    U64 <"port_rcv_data",               0x10>,
    U64 <"port_xmit_packets",           0x18>,
    U64 <"port_rcv_packets",            0x20>,
    U64 <"port_unicast_xmit_packets",   0x28>,
    U64 <"port_unicast_rcv_packets",    0x30>,
    U64 <"port_multicast_xmit_packets", 0x38>,
    U64 <"port_multicast_rcv_packets",  0x40>>;
// clang-format on

} // namespace abi::wire
