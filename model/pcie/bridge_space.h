// Configuration space of a port (type 1): a PCI-to-PCI bridge between its primary and its secondary bus. Takes
// configuration writes, gives the windows and bus numbers it claims. Routes nothing itself. PCIe 6.0 §7.5.1.3.
#pragma once

#include "model/pcie/acs.h"
#include "model/pcie/config_space.h"

#include <cstdint>
#include <optional>

namespace model::pcie {

/// Addresses [begin, end) on the bus; empty when begin == end.
struct Range {
    std::uint64_t begin = 0, end = 0;
    bool contains(std::uint64_t address) const { return address >= begin && address < end; }
    bool operator==(const Range&) const = default;
    /// Shrinks to the part around `address` that lies wholly inside or wholly outside `other`.
    void narrow(std::uint64_t address, const Range& other) {
        for (const auto edge : {other.begin, other.end}) {
            if (other.begin == other.end)
                return;
            if (edge <= address && edge > begin)
                begin = edge;
            if (edge > address && edge < end)
                end = edge;
        }
    }
};

class BridgeSpace {
public:
    BridgeSpace(const ConfigSpace::Identity& identity, abi::pcie::PortType type, const LinkConfig& link,
                std::uint8_t port_number);

    struct Meaning {
        std::uint8_t primary = 0, secondary = 0, subordinate = 0;
        Range memory, prefetchable; ///< both empty while memory space is disabled: nothing goes down
        bool is_master = false;     ///< whether memory requests may go up
        Acs acs{};
        bool operator==(const Meaning&) const = default;
        bool claims(std::uint64_t address) const { return memory.contains(address) || prefetchable.contains(address); }
        bool claims_bus(std::uint8_t bus) const { return secondary != 0 && bus >= secondary && bus <= subordinate; }
        /// Why the port refuses a request of this origin; none: it accepts it (PCIe 6.0 §6.12.1.1).
        std::optional<traces::BlockReason> find_violation(const Origin& origin) const {
            if (acs.source_validation && !claims_bus(origin.requester.bus()))
                return blocked::source;
            if (acs.translation_blocking && origin.type != abi::pcie::AddressType::untranslated)
                return blocked::translation;
            return {};
        }
    };
    const Meaning& meaning() const { return meaning_; }

    std::uint32_t read(std::uint16_t offset, unsigned bytes) const { return space_.read(offset, bytes); }
    /// Returns true when the write starts a reset of the secondary bus (0 to 1).
    [[nodiscard]] bool write(std::uint16_t offset, unsigned bytes, std::uint32_t value);
    /// By the link above, or the port above in the same switch: what is sticky stays (§6.6.1).
    void reset();
    /// The port's link has come up, with this speed and width.
    void set_link(const LinkConfig& negotiated);
    void note_refused(bool is_posted);
    /// Notes an ACS violation. A non-posted request ends with Completer Abort (§6.12.4).
    void note_violation(bool is_posted);

private:
    void define();
    void define_access_control();
    Meaning interpret() const;

    ConfigSpace::Identity identity_;
    abi::pcie::PortType type_;
    LinkConfig link_;
    std::uint8_t port_number_;
    std::optional<LinkConfig> negotiated_;
    ConfigSpace space_;
    Meaning meaning_;
};

} // namespace model::pcie
