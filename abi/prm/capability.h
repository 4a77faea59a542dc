// Capability pages (PRM "HCA capabilities"): the commands, the page types, and every page but the general one, which is
// long enough for a file of its own. A page stands at the start of `capability` in QUERY_HCA_CAP and SET_HCA_CAP:
// `View<AtomicCaps>(out.sub<"capability">().bytes())`.
// Witness: testbench/witness/prm_layouts.py (mlx5_ifc.h, device.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/capability_general.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
/// Which page: bits 15..1 of op_mod of QUERY_HCA_CAP and SET_HCA_CAP.
#define ABI_PRM_CAPABILITY_TYPES(X) \
    X(general,                   0x00, "general")                    \
    X(ethernet_offloads,         0x01, "Ethernet offloads")          \
    X(odp,                       0x02, "on-demand paging")           \
    X(atomic,                    0x03, "atomic")                     \
    X(roce,                      0x04, "RoCE")                       \
    X(ipoib_offloads,            0x05, "IPoIB offloads")             \
    X(ipoib_enhanced_offloads,   0x06, "enhanced IPoIB offloads")    \
    X(flow_table,                0x07, "flow table")                 \
    X(eswitch_flow_table,        0x08, "e-switch flow table")        \
    X(eswitch,                   0x09, "e-switch")                   \
    X(qos,                       0x0c, "QoS")                        \
    X(debug,                     0x0d, "debug")                      \
    X(dev_mem,                   0x0f, "device memory")              \
    X(tls,                       0x11, "TLS")                        \
    X(vdpa_emulation,            0x13, "vDPA emulation")             \
    X(dev_event,                 0x14, "device events")              \
    X(ipsec,                     0x15, "IPsec")                      \
    X(crypto,                    0x1a, "crypto")                     \
    X(macsec,                    0x1f, "MACsec")                     \
    X(general_2,                 0x20, "general 2")                  \
    X(port_selection,            0x25, "port selection")             \
    X(adv_virtualization,        0x26, "advanced virtualization")
ABI_NAMED_ENUM(CapabilityType, std::uint16_t, ABI_PRM_CAPABILITY_TYPES)
#undef ABI_PRM_CAPABILITY_TYPES

/// Which values: bit 0 of op_mod of QUERY_HCA_CAP.
enum class CapabilityMode : std::uint16_t { maximum = 0, current = 1 };

/// Room for any page; the page's own layout is a view of its first bytes.
using HcaCapUnion = Layout<"hca_cap_union", 0x1000>;

using QueryHcaCapIn = Layout<"query_hca_cap_in", 0x10,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"other_function", 0x08, 31>,
    Bits<"ec_vf_function", 0x08, 30>,
    Bits<"function_id",    0x08, 15,  0>>;
using QueryHcaCapOut = Layout<"query_hca_cap_out", 0x1010,
    Bits<"status",     0x0000, 31, 24, Status>,
    U32 <"syndrome",   0x0004>,
    Sub <"capability", 0x0010, HcaCapUnion>>;
using SetHcaCapIn = Layout<"set_hca_cap_in", 0x1010,
    Bits<"opcode",         0x0000, 31, 16, Opcode>,
    Bits<"op_mod",         0x0004, 15,  0>,
    Bits<"other_function", 0x0008, 31>,
    Bits<"ec_vf_function", 0x0008, 30>,
    Bits<"function_id",    0x0008, 15,  0>,
    Sub <"capability",     0x0010, HcaCapUnion>>;
using SetHcaCapOut = Layout<"set_hca_cap_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;

using CmdHcaCap2 = Layout<"cmd_hca_cap_2", 0x100,
    Bits<"migratable",                                  0x10, 31>,
    Bits<"query_vuid",                                  0x10, 13>,
    Bits<"umr_log_entity_size_5",                       0x10,  7>,
    Bits<"max_reformat_insert_size",                    0x14, 31, 24>,
    Bits<"max_reformat_insert_offset",                  0x14, 23, 16>,
    Bits<"max_reformat_remove_size",                    0x14, 15,  8>,
    Bits<"max_reformat_remove_offset",                  0x14,  7,  0>,
    Bits<"migration_multi_load",                        0x18, 23>,
    Bits<"migration_tracking_state",                    0x18, 22>,
    Bits<"multiplane_qp_ud",                            0x18, 21>,
    Bits<"migration_in_chunks",                         0x18, 15>,
    Bits<"sf_eq_usage",                                 0x18, 13>,
    Bits<"multiplane",                                  0x18,  7>,
    U32 <"cross_vhca_object_to_object_supported",       0x1c>,
    U64 <"allowed_object_for_other_vhca_access",        0x20>,
    Bits<"flow_table_type_2_type",                      0x34, 31, 24>,
    Bits<"format_select_dw_8_6_ext",                    0x34, 21>,
    Bits<"log_min_mkey_entity_size",                    0x34, 20, 16>,
    Bits<"sw_vhca_id_valid",                            0x44, 30>,
    Bits<"sw_vhca_id",                                  0x44, 29, 16>,
    Bits<"ts_cqe_metadata_size2wqe_counter",            0x48, 20, 16>,
    Bits<"format_select_dw_gtpu_dw_0",                  0x50, 31, 24>,
    Bits<"format_select_dw_gtpu_dw_1",                  0x50, 23, 16>,
    Bits<"format_select_dw_gtpu_dw_2",                  0x50, 15,  8>,
    Bits<"format_select_dw_gtpu_first_ext_dw_0",        0x50,  7,  0>,
    U32 <"generate_wqe_type",                           0x54>,
    Bits<"min_mkey_log_entity_size_fixed_buffer",       0x70, 20, 16>,
    Bits<"ec_vf_vport_base",                            0x70, 15,  0>,
    Bits<"max_mkey_log_entity_size_mtt",                0x74, 21, 16>,
    Bits<"max_rqt_vhca_id",                             0x74, 15,  0>,
    Bits<"pcc_ifa2",                                    0x7c, 15>,
    Bits<"min_mkey_log_entity_size_fixed_buffer_valid", 0x80, 30>,
    Bits<"return_reg_id",                               0x80, 15,  0>,
    Bits<"flow_table_hash_type",                        0x84,  3,  0>,
    Bits<"max_num_eqs_24b",                             0x88, 23,  0>>;

using PerProtocolNetworkingOffloadCaps = Layout<"per_protocol_networking_offload_caps", 0x100,
    Bits<"csum_cap",                         0x00, 31>,
    Bits<"vlan_cap",                         0x00, 30>,
    Bits<"lro_cap",                          0x00, 29>,
    Bits<"lro_psh_flag",                     0x00, 28>,
    Bits<"lro_time_stamp",                   0x00, 27>,
    Bits<"wqe_vlan_insert",                  0x00, 24>,
    Bits<"self_lb_en_modifiable",            0x00, 23>,
    Bits<"max_lso_cap",                      0x00, 20, 16>,
    Bits<"multi_pkt_send_wqe",               0x00, 15, 14>,
    Bits<"wqe_inline_mode",                  0x00, 13, 12>,
    Bits<"rss_ind_tbl_cap",                  0x00, 11,  8>,
    Bits<"reg_umr_sq",                       0x00,  7>,
    Bits<"scatter_fcs",                      0x00,  6>,
    Bits<"enhanced_multi_pkt_send_wqe",      0x00,  5>,
    Bits<"tunnel_lso_const_out_ip_id",       0x00,  4>,
    Bits<"tunnel_lro_gre",                   0x00,  3>,
    Bits<"tunnel_lro_vxlan",                 0x00,  2>,
    Bits<"tunnel_stateless_gre",             0x00,  1>,
    Bits<"tunnel_stateless_vxlan",           0x00,  0>,
    Bits<"swp",                              0x04, 31>,
    Bits<"swp_csum",                         0x04, 30>,
    Bits<"swp_lso",                          0x04, 29>,
    Bits<"cqe_checksum_full",                0x04, 28>,
    Bits<"tunnel_stateless_geneve_tx",       0x04, 27>,
    Bits<"tunnel_stateless_mpls_over_udp",   0x04, 26>,
    Bits<"tunnel_stateless_mpls_over_gre",   0x04, 25>,
    Bits<"tunnel_stateless_vxlan_gpe",       0x04, 24>,
    Bits<"tunnel_stateless_ipv4_over_vxlan", 0x04, 23>,
    Bits<"tunnel_stateless_ip_over_ip",      0x04, 22>,
    Bits<"insert_trailer",                   0x04, 21>,
    Bits<"tunnel_stateless_ip_over_ip_rx",   0x04, 19>,
    Bits<"tunnel_stateless_ip_over_ip_tx",   0x04, 18>,
    Bits<"max_vxlan_udp_ports",              0x04, 15,  8>,
    Bits<"swp_csum_l4_partial",              0x04,  7>,
    Bits<"max_geneve_opt_len",               0x04,  1>,
    Bits<"tunnel_stateless_geneve_rx",       0x04,  0>,
    Bits<"lro_min_mss_size",                 0x08, 15,  0>,
    Raw <"lro_timer_supported_periods",      0x30, 16>>;

using AtomicCaps = Layout<"atomic_caps", 0x100,
    Bits<"atomic_req_8b_endianness_mode",             0x08, 31, 30>,
    Bits<"supported_atomic_req_8b_endianness_mode_1", 0x08, 25>,
    Bits<"atomic_operations",                         0x10, 15,  0>,
    Bits<"atomic_size_qp",                            0x14, 15,  0>,
    Bits<"atomic_size_dc",                            0x18, 15,  0>>;

using RoceCap = Layout<"roce_cap", 0x100,
    Bits<"roce_apm",                    0x00, 31>,
    Bits<"sw_r_roce_src_udp_port",      0x00, 27>,
    Bits<"fl_rc_qp_when_roce_disabled", 0x00, 26>,
    Bits<"fl_rc_qp_when_roce_enabled",  0x00, 25>,
    Bits<"roce_cc_general",             0x00, 24>,
    Bits<"qp_ooo_transmit_default",     0x00, 23>,
    Bits<"qp_ts_format",                0x00,  1,  0>,
    Bits<"l3_type",                     0x10, 19, 16>,
    Bits<"roce_version",                0x10,  7,  0>,
    Bits<"r_roce_dest_udp_port",        0x14, 15,  0>,
    Bits<"r_roce_max_src_udp_port",     0x18, 31, 16>,
    Bits<"r_roce_min_src_udp_port",     0x18, 15,  0>,
    Bits<"roce_address_table_size",     0x1c, 15,  0>>;

/// What one transport may leave to a page fault.
using OdpPerTransportServiceCap = Layout<"odp_per_transport_service_cap", 0x4,
    Bits<"send",        0x00, 31>,
    Bits<"receive",     0x00, 30>,
    Bits<"write",       0x00, 29>,
    Bits<"read",        0x00, 28>,
    Bits<"atomic",      0x00, 27>,
    Bits<"srq_receive", 0x00, 26>>;

/// One scheme of page fault handling.
using OdpSchemeCap = Layout<"odp_scheme_cap", 0x40,
    Bits<"sig",                 0x08, 31>,
    Bits<"page_prefetch",       0x08, 26>,
    Sub <"rc_odp_caps",         0x10, OdpPerTransportServiceCap>,
    Sub <"uc_odp_caps",         0x14, OdpPerTransportServiceCap>,
    Sub <"ud_odp_caps",         0x18, OdpPerTransportServiceCap>,
    Sub <"xrc_odp_caps",        0x1c, OdpPerTransportServiceCap>,
    Sub <"dc_odp_caps",         0x20, OdpPerTransportServiceCap>>;

using OdpCap = Layout<"odp_cap", 0x100,
    Sub <"transport_page_fault_scheme_cap", 0x00, OdpSchemeCap>,
    Sub <"memory_page_fault_scheme_cap",    0x40, OdpSchemeCap>,
    Bits<"mem_page_fault",                  0xc0, 31>>;
// clang-format on

} // namespace abi::prm
