#include "model/pcie/config_space.h"

namespace model::pcie {

using namespace abi::pcie;

bool ConfigSpace::is_well_formed(std::uint16_t offset, unsigned bytes) {
    return (bytes == 1 || bytes == 2 || bytes == 4) && offset % 4 + bytes <= 4 && offset + bytes <= config_space_bytes;
}

std::uint32_t ConfigSpace::read(std::uint16_t offset, unsigned bytes) const {
    if (!is_well_formed(offset, bytes))
        return ~0u;
    std::uint32_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
        value |= std::to_integer<std::uint32_t>(values_[offset + i]) << 8 * i;
    return value;
}

bool ConfigSpace::write(std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    if (!is_well_formed(offset, bytes))
        return false;
    for (unsigned i = 0; i < bytes; ++i) {
        const auto at = offset + i;
        const auto written = static_cast<std::byte>(value >> 8 * i);
        values_[at] = abi::after_write(values_[at], written, writable_[at], clearable_[at], settable_[at]);
    }
    return true;
}

void ConfigSpace::define_function(const Identity& identity, PortType type, const LinkConfig& link,
                                  std::uint8_t port_number, std::uint8_t next) {
    for (auto* bytes : {&values_, &writable_, &clearable_, &settable_})
        bytes->fill({});

    view<CommonHeader>(0)
        .set<"vendor_id">(identity.vendor_id)
        .set<"device_id">(identity.device_id)
        .set<"capabilities_list">(true)
        .set<"revision_id">(identity.revision)
        .set<"class_code">(identity.class_code)
        .set<"capabilities_pointer">(power_management_offset);
    define<CommonHeader>(0);

    view<PowerManagement>(power_management_offset)
        .set<"id">(CapabilityId::power_management)
        .set<"next">(pci_express_offset)
        .set<"version">(3)
        .set<"no_soft_reset">(true);
    define<PowerManagement>(power_management_offset);

    const bool is_endpoint = type == PortType::endpoint;
    const bool faces_down = type == PortType::root_port || type == PortType::switch_downstream;
    view<PciExpress>(pci_express_offset)
        .set<"id">(CapabilityId::pci_express)
        .set<"next">(next)
        .set<"version">(2)
        .set<"port_type">(type)
        .set<"max_payload_supported">(size_code(link.max_payload))
        .set<"extended_tag_supported">(true)
        .set<"role_based_error_reporting">(true)
        .set<"function_level_reset">(is_endpoint)
        .set<"max_read_request_size">(size_code(512))
        .set<"max_link_speed">(link.generation)
        .set<"max_link_width">(link.width)
        .set<"link_active_reporting">(faces_down)
        .set<"port_number">(port_number)
        .set<"supported_link_speeds">((1u << link.generation) - 1)
        .set<"target_link_speed">(link.generation);
    define<PciExpress>(pci_express_offset);
    // No request relaxes the order or omits the snoop, so the bits that enable this are 0 (§7.5.3.4). Software cannot
    // take links down, and completions always come in time.
    hardwire<PciExpress, "relaxed_ordering_enable", "no_snoop_enable", "link_disable", "timeout_disable">(
        pci_express_offset);
    if (!is_endpoint) // a port asks for no memory itself, and is reset by the port above it
        hardwire<PciExpress, "max_read_request_size", "initiate_reset", "read_completion_boundary">(pci_express_offset);
}

void ConfigSpace::set_link(const LinkConfig& negotiated) {
    view<PciExpress>(pci_express_offset).set<"link_speed">(negotiated.generation).set<"link_width">(negotiated.width);
}

} // namespace model::pcie
