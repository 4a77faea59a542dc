#include "sw/memory/iommu/device_tlb.h"

#include "abi/layout.h"
#include "abi/pcie/translation_services.h"
#include "sw/transport/capabilities.h"

#include <cerrno>
#include <cstdint>

namespace sw::memory::iommu {

using abi::pcie::AddressTranslation;

namespace {

constexpr std::uint16_t control = AddressTranslation::field<"enable">::offset;

std::uint16_t find(transport::Transport& function) {
    return transport::find_capability(function, abi::pcie::ExtendedCapabilityId::address_translation);
}

abi::Block<AddressTranslation> read_control(transport::Transport& function, std::uint16_t at) {
    abi::Block<AddressTranslation> block;
    abi::store<std::uint32_t, abi::Endian::little>(block.bytes.data() + control,
                                                   function.config_read(static_cast<std::uint16_t>(at + control), 4));
    return block;
}

/// Translations in pages of 4 KiB or more, whether it is on or off.
void write_control(transport::Transport& function, std::uint16_t at, bool is_on) {
    auto block = read_control(function, at);
    block.view().set<"smallest_unit">(0).set<"enable">(is_on);
    function.config_write(static_cast<std::uint16_t>(at + control), 4,
                          abi::load<std::uint32_t, abi::Endian::little>(block.bytes.data() + control));
}

} // namespace

bool has_device_tlb(transport::Transport& function) { return find(function) != 0; }

bool is_device_tlb_on(transport::Transport& function) {
    const auto at = find(function);
    return at != 0 && read_control(function, at).view().get<"enable">();
}

Result<void> enable_device_tlb(transport::Transport& function) {
    const auto at = find(function);
    if (at == 0)
        return failure(ENODEV, "enable address translation services: the function has no such capability");
    write_control(function, at, true);
    if (!read_control(function, at).view().get<"enable">())
        return failure(EIO, "enable address translation services: the function does not take it");
    return {};
}

void disable_device_tlb(transport::Transport& function) {
    if (const auto at = find(function); at != 0)
        write_control(function, at, false);
}

} // namespace sw::memory::iommu
