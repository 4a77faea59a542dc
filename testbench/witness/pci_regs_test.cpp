// abi/pcie against linux/pci_regs.h, which we did not write.
#include "abi/pcie/access_control.h"
#include "abi/pcie/capability.h"
#include "abi/pcie/config_space.h"
#include "abi/pcie/translation_services.h"
#include "abi/pcie/vendor_gateway.h"
#include "abi/write_masks.h"

#include <catch2/catch_test_macros.hpp>

#include <linux/pci_regs.h>

using namespace abi::pcie;

namespace {
/// Register offset and bits of a row, as the kernel writes them: `unit` is the width of the register it names.
template <class L, abi::Name Row> constexpr bool stands(std::size_t offset, std::uint64_t bits, unsigned unit = 4) {
    using Field = typename L::template field<Row>;
    const auto shift = 8 * (offset % 4);
    std::uint64_t mask = 0;
    for (unsigned b = Field::low; b <= Field::high; ++b)
        mask |= std::uint64_t{1} << b;
    const auto dword = Field::offset / 4 * 4;
    mask <<= 8 * (Field::offset % 4);
    const auto unit_mask = unit == 4 ? 0xffff'ffffull : (1ull << 8 * unit) - 1;
    return offset / 4 * 4 == dword && mask >> shift == bits && (mask >> shift & ~unit_mask) == 0 &&
           (bits << shift) == mask;
}
template <class L, abi::Name Row> constexpr std::size_t offset_of() { return L::template field<Row>::offset; }
constexpr std::uint64_t byte = 0xff, word = 0xffff, dword = 0xffff'ffff;
} // namespace

TEST_CASE("the common header stands where Linux has it", "[witness][pcie]") {
    using L = CommonHeader;
    STATIC_CHECK(stands<L, "vendor_id">(PCI_VENDOR_ID, word, 2));
    STATIC_CHECK(stands<L, "device_id">(PCI_DEVICE_ID, word, 2));
    STATIC_CHECK(stands<L, "memory_space_enable">(PCI_COMMAND, PCI_COMMAND_MEMORY, 2));
    STATIC_CHECK(stands<L, "bus_master_enable">(PCI_COMMAND, PCI_COMMAND_MASTER, 2));
    STATIC_CHECK(stands<L, "parity_error_response">(PCI_COMMAND, PCI_COMMAND_PARITY, 2));
    STATIC_CHECK(stands<L, "serr_enable">(PCI_COMMAND, PCI_COMMAND_SERR, 2));
    STATIC_CHECK(stands<L, "interrupt_disable">(PCI_COMMAND, PCI_COMMAND_INTX_DISABLE, 2));
    STATIC_CHECK(stands<L, "capabilities_list">(PCI_STATUS, PCI_STATUS_CAP_LIST, 2));
    STATIC_CHECK(stands<L, "master_data_parity_error">(PCI_STATUS, PCI_STATUS_PARITY, 2));
    STATIC_CHECK(stands<L, "signaled_target_abort">(PCI_STATUS, PCI_STATUS_SIG_TARGET_ABORT, 2));
    STATIC_CHECK(stands<L, "received_target_abort">(PCI_STATUS, PCI_STATUS_REC_TARGET_ABORT, 2));
    STATIC_CHECK(stands<L, "received_master_abort">(PCI_STATUS, PCI_STATUS_REC_MASTER_ABORT, 2));
    STATIC_CHECK(stands<L, "signaled_system_error">(PCI_STATUS, PCI_STATUS_SIG_SYSTEM_ERROR, 2));
    STATIC_CHECK(stands<L, "detected_parity_error">(PCI_STATUS, PCI_STATUS_DETECTED_PARITY, 2));
    STATIC_CHECK(stands<L, "revision_id">(PCI_REVISION_ID, byte, 1));
    STATIC_CHECK(stands<L, "class_code">(PCI_CLASS_PROG, 0xffffff));
    STATIC_CHECK(stands<L, "cache_line_size">(PCI_CACHE_LINE_SIZE, byte, 1));
    STATIC_CHECK(stands<L, "header_type">(PCI_HEADER_TYPE, PCI_HEADER_TYPE_MASK, 1));
    STATIC_CHECK(stands<L, "capabilities_pointer">(PCI_CAPABILITY_LIST, byte, 1));
    STATIC_CHECK(stands<L, "interrupt_line">(PCI_INTERRUPT_LINE, byte, 1));
    STATIC_CHECK(stands<L, "interrupt_pin">(PCI_INTERRUPT_PIN, byte, 1));
    STATIC_CHECK(config_space_bytes == PCI_CFG_SPACE_EXP_SIZE);
}

TEST_CASE("type 0 headers and BARs stand where Linux has them", "[witness][pcie]") {
    using L = Type0Header;
    STATIC_CHECK(bar_offset == PCI_BASE_ADDRESS_0);
    STATIC_CHECK(type0_bars == PCI_STD_NUM_BARS);
    STATIC_CHECK(offset_of<L, "bar0">() == PCI_BASE_ADDRESS_0);
    STATIC_CHECK(offset_of<L, "bar1">() == PCI_BASE_ADDRESS_1);
    STATIC_CHECK(offset_of<L, "bar2">() == PCI_BASE_ADDRESS_2);
    STATIC_CHECK(offset_of<L, "bar3">() == PCI_BASE_ADDRESS_3);
    STATIC_CHECK(offset_of<L, "bar4">() == PCI_BASE_ADDRESS_4);
    STATIC_CHECK(offset_of<L, "bar5">() == PCI_BASE_ADDRESS_5);
    STATIC_CHECK(stands<L, "subsystem_vendor_id">(PCI_SUBSYSTEM_VENDOR_ID, word, 2));
    STATIC_CHECK(stands<L, "subsystem_id">(PCI_SUBSYSTEM_ID, word, 2));
    STATIC_CHECK(offset_of<L, "expansion_rom">() == PCI_ROM_ADDRESS);
    STATIC_CHECK(stands<MemoryBar, "is_io">(0, PCI_BASE_ADDRESS_SPACE_IO));
    STATIC_CHECK(stands<MemoryBar, "type">(0, PCI_BASE_ADDRESS_MEM_TYPE_MASK));
    STATIC_CHECK(bar_type_64 << 1 == PCI_BASE_ADDRESS_MEM_TYPE_64);
    STATIC_CHECK(stands<MemoryBar, "prefetchable">(0, PCI_BASE_ADDRESS_MEM_PREFETCH));
    STATIC_CHECK(stands<MemoryBar, "base">(0, static_cast<std::uint32_t>(PCI_BASE_ADDRESS_MEM_MASK)));
}

TEST_CASE("type 1 headers stand where Linux has them", "[witness][pcie]") {
    using L = Type1Header;
    STATIC_CHECK(stands<L, "primary_bus">(PCI_PRIMARY_BUS, byte, 1));
    STATIC_CHECK(stands<L, "secondary_bus">(PCI_SECONDARY_BUS, byte, 1));
    STATIC_CHECK(stands<L, "subordinate_bus">(PCI_SUBORDINATE_BUS, byte, 1));
    STATIC_CHECK(stands<L, "io_base_type">(PCI_IO_BASE, PCI_IO_RANGE_TYPE_MASK, 1));
    STATIC_CHECK(stands<L, "io_base">(PCI_IO_BASE, PCI_IO_RANGE_MASK & byte, 1));
    STATIC_CHECK(stands<L, "io_limit_type">(PCI_IO_LIMIT, PCI_IO_RANGE_TYPE_MASK, 1));
    STATIC_CHECK(stands<L, "io_limit">(PCI_IO_LIMIT, PCI_IO_RANGE_MASK & byte, 1));
    STATIC_CHECK(stands<L, "secondary_master_data_parity_error">(PCI_SEC_STATUS, PCI_STATUS_PARITY, 2));
    STATIC_CHECK(stands<L, "secondary_signaled_target_abort">(PCI_SEC_STATUS, PCI_STATUS_SIG_TARGET_ABORT, 2));
    STATIC_CHECK(stands<L, "secondary_received_target_abort">(PCI_SEC_STATUS, PCI_STATUS_REC_TARGET_ABORT, 2));
    STATIC_CHECK(stands<L, "secondary_received_master_abort">(PCI_SEC_STATUS, PCI_STATUS_REC_MASTER_ABORT, 2));
    STATIC_CHECK(stands<L, "secondary_received_system_error">(PCI_SEC_STATUS, PCI_STATUS_SIG_SYSTEM_ERROR, 2));
    STATIC_CHECK(stands<L, "secondary_detected_parity_error">(PCI_SEC_STATUS, PCI_STATUS_DETECTED_PARITY, 2));
    STATIC_CHECK(stands<L, "memory_base">(PCI_MEMORY_BASE, PCI_MEMORY_RANGE_MASK & word, 2));
    STATIC_CHECK(stands<L, "memory_limit">(PCI_MEMORY_LIMIT, PCI_MEMORY_RANGE_MASK & word, 2));
    STATIC_CHECK(stands<L, "prefetchable_base_type">(PCI_PREF_MEMORY_BASE, PCI_PREF_RANGE_TYPE_MASK, 2));
    STATIC_CHECK(stands<L, "prefetchable_base">(PCI_PREF_MEMORY_BASE, PCI_PREF_RANGE_MASK & word, 2));
    STATIC_CHECK(stands<L, "prefetchable_limit">(PCI_PREF_MEMORY_LIMIT, PCI_PREF_RANGE_MASK & word, 2));
    STATIC_CHECK(stands<L, "prefetchable_base_upper">(PCI_PREF_BASE_UPPER32, dword));
    STATIC_CHECK(stands<L, "prefetchable_limit_upper">(PCI_PREF_LIMIT_UPPER32, dword));
    STATIC_CHECK(offset_of<L, "expansion_rom">() == PCI_ROM_ADDRESS1);
    STATIC_CHECK(stands<L, "bridge_parity_response">(PCI_BRIDGE_CONTROL, PCI_BRIDGE_CTL_PARITY, 2));
    STATIC_CHECK(stands<L, "bridge_serr_enable">(PCI_BRIDGE_CONTROL, PCI_BRIDGE_CTL_SERR, 2));
    STATIC_CHECK(stands<L, "secondary_bus_reset">(PCI_BRIDGE_CONTROL, PCI_BRIDGE_CTL_BUS_RESET, 2));
}

TEST_CASE("capability headers and power management stand where Linux has them", "[witness][pcie]") {
    STATIC_CHECK(offset_of<CapabilityHeader, "id">() == PCI_CAP_LIST_ID);
    STATIC_CHECK(stands<CapabilityHeader, "next">(PCI_CAP_LIST_NEXT, byte, 1));
    STATIC_CHECK(static_cast<int>(CapabilityId::power_management) == PCI_CAP_ID_PM);
    STATIC_CHECK(static_cast<int>(CapabilityId::pci_express) == PCI_CAP_ID_EXP);
    STATIC_CHECK(static_cast<int>(CapabilityId::msix) == PCI_CAP_ID_MSIX);
    STATIC_CHECK(static_cast<int>(CapabilityId::vendor_specific) == PCI_CAP_ID_VNDR);
    STATIC_CHECK(stands<VendorGateway, "next">(PCI_CAP_LIST_NEXT, byte, 1));
    STATIC_CHECK(stands<VendorGateway, "length">(PCI_CAP_FLAGS, byte, 1)); // PCIe 6.0 §7.9.4
    STATIC_CHECK(static_cast<int>(ExtendedCapabilityId::resizable_bar) == PCI_EXT_CAP_ID_REBAR);
    STATIC_CHECK(stands<ExtendedCapabilityHeader, "id">(0, 0xffff));
    STATIC_CHECK(PCI_EXT_CAP_VER(0x000a'0000u) == 0xa);
    STATIC_CHECK(stands<ExtendedCapabilityHeader, "version">(0, 0x000f'0000));
    STATIC_CHECK(PCI_EXT_CAP_NEXT(0xabc0'0000u) == 0xabc);
    STATIC_CHECK(stands<ExtendedCapabilityHeader, "next">(0, 0xfff0'0000));

    STATIC_CHECK(PowerManagement::size == PCI_PM_SIZEOF);
    STATIC_CHECK(stands<PowerManagement, "version">(PCI_PM_PMC, PCI_PM_CAP_VER_MASK, 2));
    STATIC_CHECK(stands<PowerManagement, "power_state">(PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK, 2));
    STATIC_CHECK(stands<PowerManagement, "no_soft_reset">(PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET, 2));
}

TEST_CASE("the PCI Express capability stands where Linux has it", "[witness][pcie]") {
    using L = PciExpress;
    STATIC_CHECK(L::size == PCI_CAP_EXP_RC_ENDPOINT_SIZEOF_V2 + 16);
    STATIC_CHECK(stands<L, "version">(PCI_EXP_FLAGS, PCI_EXP_FLAGS_VERS, 2));
    STATIC_CHECK(stands<L, "port_type">(PCI_EXP_FLAGS, PCI_EXP_FLAGS_TYPE, 2));
    STATIC_CHECK(static_cast<int>(PortType::endpoint) == PCI_EXP_TYPE_ENDPOINT);
    STATIC_CHECK(static_cast<int>(PortType::root_port) == PCI_EXP_TYPE_ROOT_PORT);
    STATIC_CHECK(static_cast<int>(PortType::switch_upstream) == PCI_EXP_TYPE_UPSTREAM);
    STATIC_CHECK(static_cast<int>(PortType::switch_downstream) == PCI_EXP_TYPE_DOWNSTREAM);
    STATIC_CHECK(stands<L, "slot_implemented">(PCI_EXP_FLAGS, PCI_EXP_FLAGS_SLOT, 2));
    STATIC_CHECK(stands<L, "max_payload_supported">(PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_PAYLOAD));
    STATIC_CHECK(stands<L, "extended_tag_supported">(PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_EXT_TAG));
    STATIC_CHECK(stands<L, "role_based_error_reporting">(PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_RBER));
    STATIC_CHECK(stands<L, "function_level_reset">(PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_FLR));
    STATIC_CHECK(stands<L, "correctable_enable">(PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_CERE, 2));
    STATIC_CHECK(stands<L, "non_fatal_enable">(PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_NFERE, 2));
    STATIC_CHECK(stands<L, "fatal_enable">(PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_FERE, 2));
    STATIC_CHECK(stands<L, "unsupported_request_enable">(PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_URRE, 2));
    STATIC_CHECK(stands<L, "relaxed_ordering_enable">(PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_RELAX_EN, 2));
    STATIC_CHECK(stands<L, "max_payload_size">(PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_PAYLOAD, 2));
    STATIC_CHECK(stands<L, "extended_tag_enable">(PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_EXT_TAG, 2));
    STATIC_CHECK(stands<L, "no_snoop_enable">(PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_NOSNOOP_EN, 2));
    STATIC_CHECK(stands<L, "max_read_request_size">(PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_READRQ, 2));
    STATIC_CHECK(stands<L, "initiate_reset">(PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2));
    STATIC_CHECK(stands<L, "correctable_detected">(PCI_EXP_DEVSTA, PCI_EXP_DEVSTA_CED, 2));
    STATIC_CHECK(stands<L, "non_fatal_detected">(PCI_EXP_DEVSTA, PCI_EXP_DEVSTA_NFED, 2));
    STATIC_CHECK(stands<L, "fatal_detected">(PCI_EXP_DEVSTA, PCI_EXP_DEVSTA_FED, 2));
    STATIC_CHECK(stands<L, "unsupported_request_detected">(PCI_EXP_DEVSTA, PCI_EXP_DEVSTA_URD, 2));
    STATIC_CHECK(stands<L, "max_link_speed">(PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS));
    STATIC_CHECK(stands<L, "max_link_width">(PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_MLW));
    STATIC_CHECK(stands<L, "link_active_reporting">(PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_DLLLARC));
    STATIC_CHECK(stands<L, "port_number">(PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_PN));
    STATIC_CHECK(stands<L, "aspm_control">(PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_ASPMC, 2));
    STATIC_CHECK(stands<L, "read_completion_boundary">(PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_RCB, 2));
    STATIC_CHECK(stands<L, "link_disable">(PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_LD, 2));
    STATIC_CHECK(stands<L, "common_clock">(PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_CCC, 2));
    STATIC_CHECK(stands<L, "extended_synch">(PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_ES, 2));
    STATIC_CHECK(stands<L, "link_speed">(PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS, 2));
    STATIC_CHECK(stands<L, "link_width">(PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_NLW, 2));
    STATIC_CHECK(stands<L, "link_active">(PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_DLLLA, 2));
    STATIC_CHECK(stands<L, "timeout_disable_supported">(PCI_EXP_DEVCAP2, PCI_EXP_DEVCAP2_COMP_TMOUT_DIS));
    STATIC_CHECK(stands<L, "timeout_disable">(PCI_EXP_DEVCTL2, PCI_EXP_DEVCTL2_COMP_TMOUT_DIS, 2));
    STATIC_CHECK(stands<L, "supported_link_speeds">(PCI_EXP_LNKCAP2, 0xfe));
    STATIC_CHECK((PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_64_0GB) == 0x42);
    STATIC_CHECK(stands<L, "target_link_speed">(PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS, 2));
}

TEST_CASE("MSI-X stands where Linux has it", "[witness][pcie]") {
    using L = MsixCapability;
    STATIC_CHECK(L::size == PCI_CAP_MSIX_SIZEOF);
    STATIC_CHECK(stands<L, "table_size">(PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_QSIZE, 2));
    STATIC_CHECK(stands<L, "function_mask">(PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_MASKALL, 2));
    STATIC_CHECK(stands<L, "enable">(PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE, 2));
    STATIC_CHECK(stands<L, "table_bir">(PCI_MSIX_TABLE, PCI_MSIX_TABLE_BIR));
    STATIC_CHECK(stands<L, "table_offset">(PCI_MSIX_TABLE, PCI_MSIX_TABLE_OFFSET));
    STATIC_CHECK(stands<L, "pending_bir">(PCI_MSIX_PBA, PCI_MSIX_PBA_BIR));
    STATIC_CHECK(stands<L, "pending_offset">(PCI_MSIX_PBA, PCI_MSIX_PBA_OFFSET));
    STATIC_CHECK(MsixEntry::size == PCI_MSIX_ENTRY_SIZE);
    STATIC_CHECK(stands<MsixEntry, "address">(PCI_MSIX_ENTRY_LOWER_ADDR, dword & ~3u));
    STATIC_CHECK(stands<MsixEntry, "address_upper">(PCI_MSIX_ENTRY_UPPER_ADDR, dword));
    STATIC_CHECK(stands<MsixEntry, "data">(PCI_MSIX_ENTRY_DATA, dword));
    STATIC_CHECK(stands<MsixEntry, "mask">(PCI_MSIX_ENTRY_VECTOR_CTRL, PCI_MSIX_ENTRY_CTRL_MASKBIT));
}

TEST_CASE("Resizable BAR stands where Linux has it", "[witness][pcie]") {
    using L = ResizableBar;
    STATIC_CHECK(offset_of<L, "supported_sizes">() == PCI_REBAR_CAP);
    // Linux names sizes up to 512 GiB (bits 23..4) and 5 bits of the code; PCIe 6.0 §7.8.6 has bits 31..4 and 13..8.
    STATIC_CHECK((PCI_REBAR_CAP_SIZES & 0xfffffff0) == PCI_REBAR_CAP_SIZES);
    STATIC_CHECK(L::field<"supported_sizes">::low == 4);
    STATIC_CHECK(stands<L, "bar_index">(PCI_REBAR_CTRL, PCI_REBAR_CTRL_BAR_IDX));
    STATIC_CHECK(stands<L, "bar_count">(PCI_REBAR_CTRL, PCI_REBAR_CTRL_NBAR_MASK));
    STATIC_CHECK(offset_of<L, "bar_size">() == PCI_REBAR_CTRL);
    STATIC_CHECK(L::field<"bar_size">::low == PCI_REBAR_CTRL_BAR_SHIFT);
}

TEST_CASE("access control stands where Linux has it, capabilities and controls alike", "[witness][pcie]") {
    using L = AccessControl;
    STATIC_CHECK(static_cast<unsigned>(ExtendedCapabilityId::access_control) == PCI_EXT_CAP_ID_ACS);
    STATIC_CHECK(stands<L, "has_source_validation">(PCI_ACS_CAP, PCI_ACS_SV, 2));
    STATIC_CHECK(stands<L, "has_translation_blocking">(PCI_ACS_CAP, PCI_ACS_TB, 2));
    STATIC_CHECK(stands<L, "has_request_redirect">(PCI_ACS_CAP, PCI_ACS_RR, 2));
    STATIC_CHECK(stands<L, "has_completion_redirect">(PCI_ACS_CAP, PCI_ACS_CR, 2));
    STATIC_CHECK(stands<L, "has_upstream_forwarding">(PCI_ACS_CAP, PCI_ACS_UF, 2));
    STATIC_CHECK(stands<L, "has_egress_control">(PCI_ACS_CAP, PCI_ACS_EC, 2));
    STATIC_CHECK(stands<L, "has_direct_translated">(PCI_ACS_CAP, PCI_ACS_DT, 2));
    STATIC_CHECK(stands<L, "source_validation">(PCI_ACS_CTRL, PCI_ACS_SV, 2));
    STATIC_CHECK(stands<L, "translation_blocking">(PCI_ACS_CTRL, PCI_ACS_TB, 2));
    STATIC_CHECK(stands<L, "request_redirect">(PCI_ACS_CTRL, PCI_ACS_RR, 2));
    STATIC_CHECK(stands<L, "completion_redirect">(PCI_ACS_CTRL, PCI_ACS_CR, 2));
    STATIC_CHECK(stands<L, "upstream_forwarding">(PCI_ACS_CTRL, PCI_ACS_UF, 2));
    STATIC_CHECK(stands<L, "egress_control">(PCI_ACS_CTRL, PCI_ACS_EC, 2));
    STATIC_CHECK(stands<L, "direct_translated">(PCI_ACS_CTRL, PCI_ACS_DT, 2));
}

TEST_CASE("address translation, page requests and PASIDs stand where Linux has them", "[witness][pcie]") {
    using Ats = AddressTranslation;
    STATIC_CHECK(static_cast<unsigned>(ExtendedCapabilityId::address_translation) == PCI_EXT_CAP_ID_ATS);
    STATIC_CHECK(stands<Ats, "queue_depth">(PCI_ATS_CAP, PCI_ATS_CAP_QDEP(~0u), 2));
    STATIC_CHECK(stands<Ats, "page_aligned">(PCI_ATS_CAP, PCI_ATS_CAP_PAGE_ALIGNED, 2));
    STATIC_CHECK(stands<Ats, "smallest_unit">(PCI_ATS_CTRL, PCI_ATS_CTRL_STU(~0u), 2));
    STATIC_CHECK(stands<Ats, "enable">(PCI_ATS_CTRL, PCI_ATS_CTRL_ENABLE, 2));
    using Pri = PageRequestInterface;
    STATIC_CHECK(static_cast<unsigned>(ExtendedCapabilityId::page_request) == PCI_EXT_CAP_ID_PRI);
    STATIC_CHECK(stands<Pri, "enable">(PCI_PRI_CTRL, PCI_PRI_CTRL_ENABLE, 2));
    STATIC_CHECK(stands<Pri, "reset">(PCI_PRI_CTRL, PCI_PRI_CTRL_RESET, 2));
    STATIC_CHECK(stands<Pri, "response_failure">(PCI_PRI_STATUS, PCI_PRI_STATUS_RF, 2));
    STATIC_CHECK(stands<Pri, "unexpected_group">(PCI_PRI_STATUS, PCI_PRI_STATUS_UPRGI, 2));
    STATIC_CHECK(stands<Pri, "stopped">(PCI_PRI_STATUS, PCI_PRI_STATUS_STOPPED, 2));
    STATIC_CHECK(stands<Pri, "needs_pasid">(PCI_PRI_STATUS, PCI_PRI_STATUS_PASID, 2));
    STATIC_CHECK(offset_of<Pri, "capacity">() == PCI_PRI_MAX_REQ);
    STATIC_CHECK(offset_of<Pri, "allocation">() == PCI_PRI_ALLOC_REQ);
    using Pasid = PasidCapability;
    STATIC_CHECK(static_cast<unsigned>(ExtendedCapabilityId::pasid) == PCI_EXT_CAP_ID_PASID);
    STATIC_CHECK(stands<Pasid, "width">(PCI_PASID_CAP, 0x1f00, 2));
    STATIC_CHECK(stands<Pasid, "enable">(PCI_PASID_CTRL, PCI_PASID_CTRL_ENABLE, 2));
}

namespace {
/// What the name of a register says of its bits: CAP, CTL or CTRL, STA or STATUS.
enum class Role { capability, control, status };
constexpr bool fits(abi::AccessPolicy policy, Role role) {
    using enum abi::AccessPolicy;
    switch (role) {
    case Role::capability: return policy == ro || policy == hwinit;
    case Role::control: return abi::is_writable(policy) || policy == rw1s;
    case Role::status: return policy == ro || policy == rw1c;
    }
    return false;
}
/// Whether all rows in the `bytes` bytes at `offset` have a policy that fits the register's name; there is one at
/// least.
template <class L> constexpr bool fits(std::size_t offset, std::size_t bytes, Role role) {
    std::size_t count = 0;
    for (const auto& row : L::fields) {
        const auto first = row.kind == abi::FieldKind::bits ? row.offset + row.low / 8 : row.offset;
        if (first < offset || first >= offset + bytes)
            continue;
        if (!fits(row.access, role))
            return false;
        ++count;
    }
    return count != 0;
}
} // namespace

TEST_CASE("software may do to a register what the name that Linux has for it says", "[witness][pcie]") {
    STATIC_CHECK(fits<CommonHeader>(PCI_COMMAND, 2, Role::control));
    STATIC_CHECK(fits<CommonHeader>(PCI_STATUS, 2, Role::status));
    STATIC_CHECK(fits<Type1Header>(PCI_SEC_STATUS, 2, Role::status));
    STATIC_CHECK(fits<Type1Header>(PCI_BRIDGE_CONTROL, 2, Role::control));
    STATIC_CHECK(fits<PciExpress>(PCI_EXP_DEVCAP, 4, Role::capability));
    STATIC_CHECK(fits<PciExpress>(PCI_EXP_DEVCTL, 2, Role::control));
    STATIC_CHECK(fits<PciExpress>(PCI_EXP_DEVSTA, 2, Role::status));
    STATIC_CHECK(fits<PciExpress>(PCI_EXP_LNKCAP, 4, Role::capability));
    STATIC_CHECK(fits<PciExpress>(PCI_EXP_LNKCTL, 2, Role::control));
    STATIC_CHECK(fits<PciExpress>(PCI_EXP_LNKSTA, 2, Role::status));
    STATIC_CHECK(fits<PciExpress>(PCI_EXP_DEVCAP2, 4, Role::capability));
    STATIC_CHECK(fits<PciExpress>(PCI_EXP_DEVCTL2, 2, Role::control));
    STATIC_CHECK(fits<PciExpress>(PCI_EXP_LNKCAP2, 4, Role::capability));
    STATIC_CHECK(fits<PciExpress>(PCI_EXP_LNKCTL2, 2, Role::control));
    STATIC_CHECK(fits<AccessControl>(PCI_ACS_CAP, 2, Role::capability));
    STATIC_CHECK(fits<AccessControl>(PCI_ACS_CTRL, 2, Role::control));
    STATIC_CHECK(fits<ResizableBar>(PCI_REBAR_CAP, 4, Role::capability));
    STATIC_CHECK(fits<AddressTranslation>(PCI_ATS_CAP, 2, Role::capability));
    STATIC_CHECK(fits<AddressTranslation>(PCI_ATS_CTRL, 2, Role::control));
    STATIC_CHECK(fits<PageRequestInterface>(PCI_PRI_CTRL, 2, Role::control));
    STATIC_CHECK(fits<PageRequestInterface>(PCI_PRI_STATUS, 2, Role::status));
    STATIC_CHECK(fits<PasidCapability>(PCI_PASID_CAP, 2, Role::capability));
    STATIC_CHECK(fits<PasidCapability>(PCI_PASID_CTRL, 2, Role::control));
    // Where it gives the mask of what software sets.
    constexpr auto writable = [](const auto& mask, std::size_t at) {
        return abi::load<std::uint32_t, abi::Endian::little>(mask.writable.data() + at);
    };
    STATIC_CHECK(writable(abi::write_masks<MemoryBar>, 0) == static_cast<std::uint32_t>(PCI_BASE_ADDRESS_MEM_MASK));
    STATIC_CHECK((writable(abi::write_masks<Type1Header>, PCI_MEMORY_BASE) & word) == (PCI_MEMORY_RANGE_MASK & word));
    STATIC_CHECK((writable(abi::write_masks<Type1Header>, PCI_PREF_MEMORY_BASE) & word) ==
                 (PCI_PREF_RANGE_MASK & word));
}
