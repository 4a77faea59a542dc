// Registers of a configuration space: 4 KiB of bytes. What a write does to each bit is said by the access policies of
// the layouts in `abi/pcie`, and by name where a function has a field hardwired. Knows the capabilities every function
// has (power management, PCI Express); what the registers mean is the business of EndpointSpace (type 0) and
// BridgeSpace (type 1). PCIe 6.0 §7.4, §7.5.
#pragma once

#include "abi/layout.h"
#include "abi/pcie/capability.h"
#include "abi/pcie/config_space.h"
#include "abi/write_masks.h"
#include "model/pcie/link.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace model::pcie {

/// Where the capabilities lie; the chain is power management, PCI Express, MSI-X and vendor specific where there is
/// one.
inline constexpr std::uint8_t power_management_offset = 0x40, pci_express_offset = 0x60, msix_offset = 0x9c,
                              gateway_offset = 0xc0;

class ConfigSpace {
public:
    /// What a function says of itself.
    struct Identity {
        std::uint16_t vendor_id = 0, device_id = 0;
        std::uint16_t subsystem_vendor_id = 0, subsystem_id = 0;
        std::uint32_t class_code = 0;
        std::uint8_t revision = 0;
    };

    /// 1, 2 or 4 bytes inside one dword of the space.
    static bool is_well_formed(std::uint16_t offset, unsigned bytes);
    /// Reads 1, 2 or 4 bytes inside one dword; anything else reads as all ones.
    std::uint32_t read(std::uint16_t offset, unsigned bytes) const;
    /// Writes what may be written; an access outside the space or across dwords changes nothing. Returns whether it was
    /// a well-formed access.
    bool write(std::uint16_t offset, unsigned bytes, std::uint32_t value);

    template <class L> abi::View<L> view(std::uint16_t offset) { return abi::View<L>(part<L>(values_, offset)); }
    template <class L> abi::ConstView<L> view(std::uint16_t offset) const {
        return abi::ConstView<L>(std::span<const std::byte>(values_).subspan(offset, L::size));
    }
    /// The registers of `L` lie at `offset`: from now on a write to them does what their rows say.
    template <class L> void define(std::uint16_t offset) {
        constexpr const auto& masks = abi::write_masks<L>;
        for (std::size_t i = 0; i < L::size; ++i) {
            writable_[offset + i] |= masks.writable[i];
            clearable_[offset + i] |= masks.clearable[i];
            settable_[offset + i] |= masks.settable[i];
        }
    }
    /// This function has the rows hardwired, as the specification allows: writes leave them as they are.
    template <class L, abi::Name... Rows> void hardwire(std::uint16_t offset) {
        for (auto* mask : {&writable_, &clearable_, &settable_})
            (clear<L, Rows>(abi::View<L>(part<L>(*mask, offset))), ...);
    }
    /// A register as the rows of `L` say, of which only bits of `mask` can be set (a BAR takes none below its size).
    template <class L> void define_within(std::uint16_t offset, std::uint32_t mask) {
        static_assert(L::size == 4);
        constexpr auto writable = abi::load<std::uint32_t, L::endian>(abi::write_masks<L>.writable.data());
        abi::store<std::uint32_t, L::endian>(writable_.data() + offset, writable & mask);
    }
    /// Takes from `before`, the space as it was, the rows of `L` that a function-level reset leaves.
    template <class L> void keep(std::uint16_t offset, const ConfigSpace& before) {
        take(offset, abi::write_masks<L>.kept, before);
    }
    /// The same of those that a reset of the link leaves.
    template <class L> void keep_sticky(std::uint16_t offset, const ConfigSpace& before) {
        take(offset, abi::write_masks<L>.sticky, before);
    }
    std::uint32_t dword(std::uint16_t offset) const {
        return abi::load<std::uint32_t, abi::Endian::little>(values_.data() + offset);
    }
    void set_dword(std::uint16_t offset, std::uint32_t value) {
        abi::store<std::uint32_t, abi::Endian::little>(values_.data() + offset, value);
    }

    /// The common header, power management and PCI Express capabilities at their reset values. `next`: the capability
    /// behind them, or 0.
    void define_function(const Identity& identity, abi::pcie::PortType type, const LinkConfig& link,
                         std::uint8_t port_number, std::uint8_t next);
    /// Link status: what the link has come up with.
    void set_link(const LinkConfig& negotiated);

private:
    using Bytes = std::array<std::byte, abi::pcie::config_space_bytes>;
    template <class L> static std::span<std::byte> part(Bytes& bytes, std::uint16_t offset) {
        return std::span<std::byte>(bytes).subspan(offset, L::size);
    }
    void take(std::uint16_t offset, std::span<const std::byte> mask, const ConfigSpace& before) {
        for (std::size_t i = 0; i < mask.size(); ++i)
            values_[offset + i] = (values_[offset + i] & ~mask[i]) | (before.values_[offset + i] & mask[i]);
    }
    template <class L, abi::Name Row> static void clear(const abi::View<L>& mask) { mask.template set<Row>({}); }

    Bytes values_{}, writable_{}, clearable_{}, settable_{};
};

} // namespace model::pcie
