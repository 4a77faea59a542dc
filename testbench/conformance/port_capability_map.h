// As capability_map.h, of functions (the capabilities of their configuration space at reset) and of ports (PortInfo and
// the registers PTYS, PMTU and PVLC). A row of a structure is "structure.row", a bit of a mask "mask bit n".
#pragma once

#include "testbench/conformance/capability_map.h"

namespace conformance {

inline constexpr std::array built_in_functions{
    Built{"power_management.no_soft_reset", "model/pcie/endpoint_space.cpp"},
    Built{"pci_express.port_type", "model/pcie/bridge_space.cpp"},
    Built{"pci_express.max_payload_supported", "model/pcie/tlp_cost.h"},
    Built{"pci_express.extended_tag_supported", "model/tlm/initiator.cpp"}, // as many requests as anybody likes
    Built{"pci_express.role_based_error_reporting", "model/pcie/endpoint_space.cpp"},
    Built{"pci_express.function_level_reset", "model/pcie/endpoint_space.cpp"},
    Built{"pci_express.max_read_request_size", "model/pcie/tlp_cost.h"},
    Built{"pci_express.max_link_speed", "model/pcie/link.cpp"},
    Built{"pci_express.max_link_width", "model/pcie/link.cpp"},
    Built{"pci_express.supported_link_speeds", "model/pcie/link.cpp"},
    Built{"pci_express.target_link_speed", "model/pcie/link.cpp"},
    Built{"pci_express.link_speed", "model/tlm/pcie_port.cpp"},
    Built{"pci_express.link_width", "model/tlm/pcie_port.cpp"},
    Built{"pci_express.link_active_reporting", "model/pcie/bridge_space.cpp"},
    Built{"pci_express.port_number", "model/pcie/bridge_space.cpp"},
    Built{"msix_capability.table_size", "model/pcie/msix.cpp"},
    Built{"msix_capability.table_offset", "model/pcie/endpoint_module.cpp"},
    Built{"msix_capability.pending_offset", "model/pcie/endpoint_module.cpp"},
    Built{"vendor_gateway.length", "model/pcie/gateway.cpp"},
    Built{"resizable_bar.supported_sizes", "model/pcie/endpoint_space.cpp"},
    Built{"resizable_bar.bar_index", "model/pcie/endpoint_space.cpp"},
    Built{"resizable_bar.bar_count", "model/pcie/endpoint_space.cpp"},
    Built{"resizable_bar.bar_size", "model/pcie/endpoint_space.cpp"},
    Built{"address_translation.page_aligned", "model/tlm/initiator.cpp"},
    Built{"page_request_interface.stopped", "model/pcie/endpoint_space.cpp"},
    Built{"page_request_interface.needs_pasid", "model/iommu/iommu_module.cpp"},
    Built{"page_request_interface.capacity", "model/pcie/endpoint_module.cpp"},
    Built{"pasid_capability.width", "model/pcie/endpoint_module.cpp"},
    Built{"access_control.has_source_validation", "model/pcie/bridge_space.h"},
    Built{"access_control.has_translation_blocking", "model/pcie/bridge_space.h"},
    Built{"access_control.has_request_redirect", "model/pcie/switch.cpp"},
    Built{"access_control.has_completion_redirect", "model/pcie/switch_module.cpp"},
    Built{"access_control.has_upstream_forwarding", "model/pcie/switch.cpp"},
    Built{"access_control.has_direct_translated", "model/pcie/switch.cpp"},
};

inline constexpr std::array built_in_ports{
    Built{"cap_mask bit 3", "firmware/management/traps.cpp"},   // IsTrapSupported
    Built{"cap_mask bit 11", "firmware/management/subnet.cpp"}, // IsSystemImageGUIDSupported
    Built{"cap_mask bit 14", "model/management/link_rate.h"},   // IsExtendedSpeedsSupported
    Built{"cap_mask bit 15", "model/management/port_info.cpp"}, // IsCapabilityMask2Supported
    Built{"cap_mask bit 25", "firmware/management/subnet.cpp"}, // IsClientReregistrationSupported
    Built{"cap_mask2 bit 5", "model/management/link_rate.h"},   // IsLinkSpeedHDRSupported
    Built{"cap_mask2 bit 10", "model/management/link_rate.h"},  // IsLinkSpeedNDRSupported
    Built{"port_info.link_width_supported", "model/management/link_rate.h"},
    Built{"port_info.link_speed_supported", "model/management/link_rate.h"},
    Built{"port_info_extended.link_speed_ext_supported", "model/management/link_rate.h"},
    Built{"port_info.vl_cap", "model/management/port_info.cpp"}, // VL 0 alone
    Built{"port_info.mtu_cap", "model/management/port_info.cpp"},
    Built{"port_info.guid_cap", "firmware/management/subnet.cpp"},
    Built{"ptys_reg.ib_link_width_capability", "firmware/handlers/access_register.cpp"},
    Built{"ptys_reg.ib_proto_capability", "firmware/handlers/access_register.cpp"},
    Built{"ptys_reg.eth_proto_capability", "firmware/handlers/access_register.cpp"},
    Built{"ptys_reg.ext_eth_proto_capability", "firmware/handlers/access_register.cpp"},
    Built{"pmtu_reg.max_mtu", "firmware/handlers/access_register.cpp"},
    Built{"pvlc_reg.vl_hw_cap", "firmware/handlers/access_register.cpp"}, // VL 0 alone
};

/// What PortInfo and the registers say of a port's state and settings, and promise nothing by.
inline constexpr auto port_state = std::to_array<std::string_view>({"port_info.mkey",
                                                                    "port_info.gid_prefix",
                                                                    "port_info.lid",
                                                                    "port_info.sm_lid",
                                                                    "port_info.mkey_lease_period",
                                                                    "port_info.local_port_num",
                                                                    "port_info.link_width_enabled",
                                                                    "port_info.link_width_active",
                                                                    "port_info.port_state",
                                                                    "port_info.physical_state",
                                                                    "port_info.mkey_protect",
                                                                    "port_info.lmc",
                                                                    "port_info.link_speed_active",
                                                                    "port_info.link_speed_enabled",
                                                                    "port_info.neighbor_mtu",
                                                                    "port_info.master_sm_sl",
                                                                    "port_info.operational_vls",
                                                                    "port_info.subnet_timeout",
                                                                    "port_info_extended.link_speed_ext_active",
                                                                    "port_info_extended.link_speed_ext_enabled",
                                                                    "ptys_reg.local_port",
                                                                    "ptys_reg.proto_mask",
                                                                    "ptys_reg.connector_type",
                                                                    "ptys_reg.ib_link_width_admin",
                                                                    "ptys_reg.ib_proto_admin",
                                                                    "ptys_reg.ib_link_width_oper",
                                                                    "ptys_reg.ib_proto_oper",
                                                                    "ptys_reg.eth_proto_admin",
                                                                    "ptys_reg.eth_proto_oper",
                                                                    "ptys_reg.ext_eth_proto_admin",
                                                                    "ptys_reg.ext_eth_proto_oper",
                                                                    "pmtu_reg.local_port",
                                                                    "pmtu_reg.admin_mtu",
                                                                    "pmtu_reg.oper_mtu",
                                                                    "pvlc_reg.local_port",
                                                                    "pvlc_reg.vl_admin",
                                                                    "pvlc_reg.vl_operational"});

} // namespace conformance
