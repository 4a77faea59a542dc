// Configuration space of an endpoint function (type 0): takes configuration writes, gives what they mean: which BARs
// decode where, whether the function may master the bus, MSI-X control, packet sizes, function-level reset. Keeps no
// device state. PCIe 6.0 §7.5.1.2, §7.7.2, §7.8.6, §6.6.2.
#pragma once

#include "abi/pcie/vendor_gateway.h"
#include "model/pcie/config_space.h"
#include "model/pcie/device_tlb.h"
#include "model/pcie/tlp_cost.h"
#include "model/port/dma.h"

#include <array>
#include <cstdint>
#include <optional>

namespace model::pcie {

struct BarConfig {
    std::uint64_t size = 0; ///< bytes, a power of two; 0: there is none
    bool is_64bit = false;  ///< takes the next BAR register too
    bool is_prefetchable = false;
    std::uint64_t resizable_sizes = 0; ///< sizes it may be given: bit n is 1 MiB << n; 0: fixed
};

struct FunctionConfig {
    ConfigSpace::Identity identity;
    std::array<BarConfig, abi::pcie::type0_bars> bars{};
    std::uint16_t msix_vectors = 0; ///< 0: no MSI-X
    unsigned msix_bar = 0;
    std::uint64_t msix_table_offset = 0x2000;
    std::uint64_t msix_pending_offset = 0x3000; ///< behind the table: with more than 256 vectors, move it
    bool has_gateway = false;                   ///< a vendor-specific capability, behind which is Function::spaces
    AtsConfig ats{};                            ///< address translation services, page requests, PASIDs
    LinkConfig link;                            ///< what the link registers of the function say
    port::Time memory_latency{};                ///< of a read of memory behind Function::direct
};

/// Refuses a function that cannot be built; static text, or nullptr.
const char* find_fault(const FunctionConfig& config);

/// The range a BAR claims on the bus; size 0: does not decode.
struct Aperture {
    std::uint64_t base = 0, size = 0;
    bool contains(std::uint64_t address) const { return address - base < size; }
    bool operator==(const Aperture&) const = default;
};

class EndpointSpace {
public:
    /// `is_one_of_several`: there are other functions behind the same link. `number`: which of them this one is.
    explicit EndpointSpace(const FunctionConfig& config, bool is_one_of_several = false, unsigned number = 0);

    /// What the registers mean right now.
    struct Meaning {
        std::array<Aperture, abi::pcie::type0_bars> bars{}; ///< all empty while memory space is disabled
        bool is_master = false;
        bool msix_enable = false, msix_function_mask = false;
        TlpSizes sizes;
        bool ats_enable = false, page_request_enable = false, pasid_enable = false;
        std::uint32_t page_request_allocation = 0; ///< page requests that may be outstanding
        bool operator==(const Meaning&) const = default;
    };
    const Meaning& meaning() const { return meaning_; }

    std::uint32_t read(std::uint16_t offset, unsigned bytes) const { return space_.read(offset, bytes); }
    /// Returns true when the write asks for a function-level reset. The space is reset then; the rest is the caller's.
    [[nodiscard]] bool write(std::uint16_t offset, unsigned bytes, std::uint32_t value);
    /// A reset of the link leaves what is sticky, one of the function alone also MPS and link control (§6.6.1, §6.6.2).
    void reset(bool is_function_level);

    /// Speed and width the link has come up with.
    void set_link(const LinkConfig& negotiated);

    /// BAR that claims `address`, the offset in it, and the bytes left to its end.
    struct Hit {
        unsigned bar;
        std::uint64_t offset, left;
    };
    std::optional<Hit> decode(std::uint64_t address) const;
    /// Whether `offset` is a register of the vendor-specific capability, behind its header.
    bool is_gateway(std::uint16_t offset) const {
        return config_.has_gateway && offset >= gateway_offset + abi::pcie::CapabilityHeader::size &&
               offset < gateway_offset + abi::pcie::VendorGateway::size;
    }

    /// Set error bits for a request of this function that ended so, and for a request to it that was answered so.
    void note_received(port::DmaStatus status);
    void note_refused(port::DmaStatus status, bool is_posted);
    /// A page response that says failure, or answers nothing that was asked (PCIe 6.0 §10.5.2.3).
    void note_page_response(bool is_failure, bool is_unexpected);

    const FunctionConfig& config() const { return config_; }

private:
    void define();
    void define_bar(unsigned bar, std::uint64_t size);
    void define_translation();
    template <class L> std::uint16_t place(abi::pcie::ExtendedCapabilityId id);
    std::uint64_t bar_size(unsigned bar) const;
    std::uint64_t bar_base(unsigned bar) const;
    void apply_resize(std::uint32_t previous_control);
    Meaning interpret() const;

    FunctionConfig config_;
    bool is_one_of_several_;
    unsigned number_;
    LinkConfig negotiated_;
    std::optional<unsigned> resizable_;                    ///< the BAR of the Resizable BAR capability
    std::uint16_t ats_ = 0, page_request_ = 0, pasid_ = 0; ///< where the capabilities lie; 0: there is none
    std::uint16_t last_extended_ = 0, next_extended_ = 0;  ///< the last capability, and where another may lie
    ConfigSpace space_;
    Meaning meaning_;
};

} // namespace model::pcie
