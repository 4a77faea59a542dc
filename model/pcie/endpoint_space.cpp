#include "model/pcie/endpoint_space.h"

#include "abi/pcie/translation_services.h"

#include <algorithm>
#include <bit>

namespace model::pcie {

using namespace abi::pcie;

namespace {
constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::uint16_t resizable_offset = first_extended_capability;
constexpr std::uint16_t resizable_control = resizable_offset + ResizableBar::field<"bar_size">::offset;

constexpr std::uint32_t page_request_groups = 512; ///< an index of 9 bits

constexpr std::uint16_t register_of(unsigned bar) { return static_cast<std::uint16_t>(bar_offset + 4 * bar); }
constexpr std::uint32_t size_code_of(std::uint64_t bytes) {
    return static_cast<std::uint32_t>(std::bit_width(bytes / mebibyte) - 1);
}
} // namespace

const char* find_fault(const FunctionConfig& config) {
    unsigned resizable = 0;
    for (unsigned i = 0; i < type0_bars; ++i) {
        const auto& bar = config.bars[i];
        if (bar.size == 0)
            continue;
        if (!std::has_single_bit(bar.size) || bar.size < 16)
            return "the size of a BAR is a power of two, at least 16";
        if (bar.is_64bit && (i + 1 == type0_bars || config.bars[i + 1].size != 0))
            return "a 64-bit BAR takes two registers";
        if (!bar.is_64bit && bar.size > std::uint64_t{1} << 31)
            return "a 32-bit BAR is at most 2 GiB";
        if (bar.resizable_sizes == 0)
            continue;
        if (++resizable > 1)
            return "one BAR can be resizable";
        if (bar.size < mebibyte || bar.resizable_sizes >> 28 != 0 ||
            !(bar.resizable_sizes >> size_code_of(bar.size) & 1))
            return "the size of a resizable BAR is one of its sizes, 1 MiB to 128 TiB";
    }
    if (config.ats.has_page_requests && config.ats.entries == 0)
        return "page requests come with a device-TLB";
    if (config.ats.pasid_bits > 20)
        return "a PASID has at most 20 bits";
    if (config.msix_vectors != 0) {
        if (config.msix_vectors > 2048)
            return "MSI-X has at most 2048 vectors";
        if (config.msix_bar >= type0_bars || config.bars[config.msix_bar].size == 0)
            return "the MSI-X table lies in a BAR";
        const auto size = config.bars[config.msix_bar].size;
        const auto table_end = config.msix_table_offset + std::uint64_t{config.msix_vectors} * MsixEntry::size;
        const auto pending_end = config.msix_pending_offset + std::uint64_t{config.msix_vectors + 63u} / 64 * 8;
        if (config.msix_table_offset % 8 != 0 || config.msix_pending_offset % 8 != 0 || table_end > size ||
            pending_end > size)
            return "MSI-X table and pending bits are 8-byte aligned and inside the BAR";
        if (config.msix_table_offset < pending_end && config.msix_pending_offset < table_end)
            return "MSI-X table and pending bits overlap";
    }
    return find_fault(config.link);
}

EndpointSpace::EndpointSpace(const FunctionConfig& config, bool is_one_of_several, unsigned number)
    : config_(config), is_one_of_several_(is_one_of_several), number_(number), negotiated_(config.link) {
    for (unsigned i = 0; i < type0_bars; ++i)
        if (config_.bars[i].resizable_sizes != 0)
            resizable_ = i;
    define();
}

void EndpointSpace::define() {
    const bool has_msix = config_.msix_vectors != 0;
    const auto behind_msix = config_.has_gateway ? gateway_offset : std::uint8_t{0};
    space_.define_function(config_.identity, PortType::endpoint, config_.link, 0, has_msix ? msix_offset : behind_msix);
    space_.view<CommonHeader>(0).set<"multi_function">(is_one_of_several_);
    if (number_ != 0) { // function 0 alone controls the link; in the others the field is reserved (§7.5.3.19)
        space_.view<PciExpress>(pci_express_offset).set<"target_link_speed">(0);
        space_.hardwire<PciExpress, "target_link_speed">(pci_express_offset);
    }
    space_.view<Type0Header>(0)
        .set<"subsystem_vendor_id">(config_.identity.subsystem_vendor_id)
        .set<"subsystem_id">(config_.identity.subsystem_id);
    // Each BAR takes what its size says, and there is no expansion ROM: what is not there reads 0.
    space_.define<Type0Header>(0);
    space_.hardwire<Type0Header, "bar0", "bar1", "bar2", "bar3", "bar4", "bar5", "expansion_rom">(0);
    for (unsigned i = 0; i < type0_bars; ++i)
        if (config_.bars[i].size != 0)
            define_bar(i, config_.bars[i].size);
    if (has_msix) {
        space_.view<MsixCapability>(msix_offset)
            .set<"id">(CapabilityId::msix)
            .set<"next">(behind_msix)
            .set<"table_size">(config_.msix_vectors - 1u)
            .set<"table_bir">(config_.msix_bar)
            .set<"table_offset">(static_cast<std::uint32_t>(config_.msix_table_offset / 8))
            .set<"pending_bir">(config_.msix_bar)
            .set<"pending_offset">(static_cast<std::uint32_t>(config_.msix_pending_offset / 8));
        space_.define<MsixCapability>(msix_offset);
    }
    if (config_.has_gateway)
        space_.view<VendorGateway>(gateway_offset)
            .set<"id">(CapabilityId::vendor_specific)
            .set<"length">(static_cast<std::uint8_t>(VendorGateway::size));
    last_extended_ = 0, next_extended_ = first_extended_capability;
    if (resizable_) { // the first, so that it lies at resizable_offset
        place<ResizableBar>(ExtendedCapabilityId::resizable_bar);
        space_.view<ResizableBar>(resizable_offset)
            .set<"supported_sizes">(static_cast<std::uint32_t>(config_.bars[*resizable_].resizable_sizes))
            .set<"bar_index">(*resizable_)
            .set<"bar_count">(1)
            .set<"bar_size">(size_code_of(config_.bars[*resizable_].size));
        space_.define<ResizableBar>(resizable_offset);
    }
    define_translation();
    space_.set_link(negotiated_);
    meaning_ = interpret();
}

/// Chains an extended capability behind the others.
template <class L> std::uint16_t EndpointSpace::place(ExtendedCapabilityId id) {
    constexpr std::size_t alignment = 16;
    const auto at = next_extended_;
    if (last_extended_ != 0)
        space_.view<ExtendedCapabilityHeader>(last_extended_).set<"next">(at);
    space_.view<ExtendedCapabilityHeader>(at).set<"id">(id).set<"version">(1);
    last_extended_ = at;
    next_extended_ = static_cast<std::uint16_t>(at + (L::size + alignment - 1) / alignment * alignment);
    return at;
}

void EndpointSpace::define_translation() {
    const auto& ats = config_.ats;
    if (ats.entries != 0) {
        ats_ = place<AddressTranslation>(ExtendedCapabilityId::address_translation);
        space_.view<AddressTranslation>(ats_).set<"page_aligned">(true);
        space_.define<AddressTranslation>(ats_);
        space_.hardwire<AddressTranslation, "smallest_unit">(ats_); // translations of 4 KiB are taken
    }
    if (ats.has_page_requests) {
        page_request_ = place<PageRequestInterface>(ExtendedCapabilityId::page_request);
        space_.view<PageRequestInterface>(page_request_)
            .set<"stopped">(true)
            .set<"needs_pasid">(ats.pasid_bits != 0)
            .set<"capacity">(page_request_groups);
        space_.define<PageRequestInterface>(page_request_);
        space_.hardwire<PageRequestInterface, "reset">(page_request_); // it would reset credits, which are not counted
    }
    if (ats.pasid_bits != 0) {
        pasid_ = place<PasidCapability>(ExtendedCapabilityId::pasid);
        space_.view<PasidCapability>(pasid_).set<"width">(ats.pasid_bits);
        space_.define<PasidCapability>(pasid_);
    }
}

void EndpointSpace::note_page_response(bool is_failure, bool is_unexpected) {
    if (page_request_ == 0)
        return;
    const auto interface = space_.view<PageRequestInterface>(page_request_);
    if (is_failure)
        interface.set<"response_failure">(true);
    if (is_unexpected)
        interface.set<"unexpected_group">(true);
}

void EndpointSpace::set_link(const LinkConfig& negotiated) {
    negotiated_ = negotiated;
    space_.set_link(negotiated);
}

void EndpointSpace::define_bar(unsigned bar, std::uint64_t size) {
    const auto& shape = config_.bars[bar];
    const auto mask = ~(size - 1);
    space_.set_dword(register_of(bar), space_.dword(register_of(bar)) & static_cast<std::uint32_t>(mask));
    space_.view<MemoryBar>(register_of(bar))
        .set<"type">(shape.is_64bit ? bar_type_64 : 0)
        .set<"prefetchable">(shape.is_prefetchable);
    space_.define_within<MemoryBar>(register_of(bar), static_cast<std::uint32_t>(mask));
    if (shape.is_64bit) {
        const auto upper = static_cast<std::uint32_t>(mask >> 32);
        space_.define_within<MemoryBarUpper>(register_of(bar + 1), upper);
        space_.set_dword(register_of(bar + 1), space_.dword(register_of(bar + 1)) & upper);
    }
}

std::uint64_t EndpointSpace::bar_size(unsigned bar) const {
    if (resizable_ == bar)
        return mebibyte << space_.view<ResizableBar>(resizable_offset).get<"bar_size">();
    return config_.bars[bar].size;
}

std::uint64_t EndpointSpace::bar_base(unsigned bar) const {
    const std::uint64_t low = std::uint64_t{space_.view<MemoryBar>(register_of(bar)).get<"base">()} << 4;
    return config_.bars[bar].is_64bit ? low | std::uint64_t{space_.dword(register_of(bar + 1))} << 32 : low;
}

bool EndpointSpace::write(std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    const auto control = resizable_ ? space_.dword(resizable_control) : 0;
    const auto power = space_.view<PowerManagement>(power_management_offset).get<"power_state">();

    if (!space_.write(offset, bytes, value))
        return false;

    const auto pm = space_.view<PowerManagement>(power_management_offset);
    if (const auto state = pm.get<"power_state">(); state != power_state_d0 && state != power_state_d3hot)
        pm.set<"power_state">(power); // D1 and D2 are not supported: the write has no effect (§7.5.2.2)
    if (resizable_ && space_.dword(resizable_control) != control)
        apply_resize(control);
    if (space_.view<PciExpress>(pci_express_offset).get<"initiate_reset">()) {
        reset(true);
        return true;
    }
    if (page_request_ != 0) { // nothing is under way once it is off: requests are answered one by one
        const auto interface = space_.view<PageRequestInterface>(page_request_);
        interface.set<"stopped">(!interface.get<"enable">());
    }
    meaning_ = interpret();
    return false;
}

void EndpointSpace::apply_resize(std::uint32_t previous_control) {
    const auto code = space_.view<ResizableBar>(resizable_offset).get<"bar_size">();
    if (code >= 28 || !(config_.bars[*resizable_].resizable_sizes >> code & 1))
        return space_.set_dword(resizable_control, previous_control); // not one of the supported sizes: keeps its size
    define_bar(*resizable_, mebibyte << code);
}

void EndpointSpace::reset(bool is_function_level) {
    const auto before = space_;
    define();
    if (is_function_level)
        space_.keep<PciExpress>(pci_express_offset, before); // what is the link's, and what is sticky (§6.6.2)
    else
        space_.keep_sticky<PciExpress>(pci_express_offset, before); // no reset here is a fundamental one (§6.6.1)
    meaning_ = interpret();
}

EndpointSpace::Meaning EndpointSpace::interpret() const {
    const auto header = space_.view<CommonHeader>(0);
    const auto express = space_.view<PciExpress>(pci_express_offset);
    const bool is_awake = space_.view<PowerManagement>(power_management_offset).get<"power_state">() == power_state_d0;

    Meaning meaning;
    meaning.is_master = is_awake && header.get<"bus_master_enable">();
    meaning.sizes = TlpSizes::of(size_of_code(express.get<"max_payload_size">()),
                                 size_of_code(express.get<"max_read_request_size">()));
    if (config_.msix_vectors != 0) {
        const auto msix = space_.view<MsixCapability>(msix_offset);
        meaning.msix_enable = msix.get<"enable">();
        meaning.msix_function_mask = msix.get<"function_mask">();
    }
    meaning.ats_enable = ats_ != 0 && space_.view<AddressTranslation>(ats_).get<"enable">();
    meaning.pasid_enable = pasid_ != 0 && space_.view<PasidCapability>(pasid_).get<"enable">();
    if (page_request_ != 0) {
        const auto interface = space_.view<PageRequestInterface>(page_request_);
        meaning.page_request_enable = interface.get<"enable">();
        meaning.page_request_allocation = std::min(interface.get<"allocation">(), page_request_groups);
    }
    if (!is_awake || !header.get<"memory_space_enable">())
        return meaning;
    for (unsigned i = 0; i < type0_bars; ++i)
        if (config_.bars[i].size != 0)
            meaning.bars[i] = {bar_base(i), bar_size(i)};
    return meaning;
}

std::optional<EndpointSpace::Hit> EndpointSpace::decode(std::uint64_t address) const {
    for (unsigned i = 0; i < type0_bars; ++i)
        if (const auto& bar = meaning_.bars[i]; bar.contains(address))
            return Hit{i, address - bar.base, bar.size - (address - bar.base)};
    return {};
}

void EndpointSpace::note_received(port::DmaStatus status) {
    if (status == port::DmaStatus::unsupported_request)
        space_.view<CommonHeader>(0).set<"received_master_abort">(true);
    if (status == port::DmaStatus::completer_abort)
        space_.view<CommonHeader>(0).set<"received_target_abort">(true);
}

void EndpointSpace::note_refused(port::DmaStatus status, bool is_posted) {
    const auto express = space_.view<PciExpress>(pci_express_offset);
    if (status == port::DmaStatus::completer_abort)
        space_.view<CommonHeader>(0).set<"signaled_target_abort">(true);
    if (status == port::DmaStatus::unsupported_request)
        express.set<"unsupported_request_detected">(true);
    // A refused non-posted request is an advisory non-fatal error: its requester gets the status (§6.2.3.2.4.1).
    if (is_posted)
        express.set<"non_fatal_detected">(true);
    else
        express.set<"correctable_detected">(true);
}

} // namespace model::pcie
