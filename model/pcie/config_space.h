// Registers of a configuration space: 4 KiB of bytes with an exact write mask for each bit. Knows layouts of `abi/pcie`
// and the capabilities every function has (power management, PCI Express); what the registers mean is the business of
// EndpointSpace (type 0) and BridgeSpace (type 1). PCIe 6.0 §7.5.
#pragma once

#include "abi/layout.h"
#include "abi/pcie/capability.h"
#include "abi/pcie/config_space.h"
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
    /// Row of the structure at `offset` becomes writable (or constant again).
    template <class L, abi::Name... Rows> void allow(std::uint16_t offset) {
        const abi::View<L> mask(part<L>(writable_, offset));
        (fill<L, Rows>(mask), ...);
    }
    /// Row of the structure at `offset` is cleared by writing ones.
    template <class L, abi::Name... Rows> void allow_clear(std::uint16_t offset) {
        const abi::View<L> mask(part<L>(clearable_, offset));
        (fill<L, Rows>(mask), ...);
    }
    void set_mask(std::uint16_t offset, std::uint32_t mask) {
        abi::store<std::uint32_t, abi::Endian::little>(writable_.data() + offset, mask);
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
    template <class L, abi::Name Row> static void fill(const abi::View<L>& mask) {
        using T = typename L::template field<Row>::type;
        if constexpr (std::is_same_v<T, bool>)
            mask.template set<Row>(true);
        else
            mask.template set<Row>(static_cast<T>(~std::uint64_t{0}));
    }

    Bytes values_{}, writable_{}, clearable_{};
};

} // namespace model::pcie
