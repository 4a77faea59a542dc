#include "model/pcie/bridge_space.h"

#include "abi/pcie/access_control.h"

namespace model::pcie {

using namespace abi::pcie;

namespace {
constexpr unsigned granule_shift = 20;
constexpr std::uint8_t header_type_bridge = 1;
constexpr std::uint32_t prefetchable_64bit = 1;
constexpr std::uint16_t access_control_offset = first_extended_capability;

bool has_access_control(PortType type) { return type == PortType::switch_downstream || type == PortType::root_port; }

Range window(std::uint64_t base, std::uint64_t limit) {
    if (base > limit)
        return {};
    const auto end = (limit + 1) << granule_shift;
    return {base << granule_shift, end != 0 ? end : ~std::uint64_t{0}};
}
} // namespace

BridgeSpace::BridgeSpace(const ConfigSpace::Identity& identity, PortType type, const LinkConfig& link,
                         std::uint8_t port_number)
    : identity_(identity), type_(type), link_(link), port_number_(port_number) {
    define();
}

void BridgeSpace::reset() {
    const auto before = space_;
    define();
    space_.keep_sticky<PciExpress>(pci_express_offset, before);
}

void BridgeSpace::define() {
    space_.define_function(identity_, type_, link_, port_number_, 0);
    space_.view<CommonHeader>(0).set<"header_type">(header_type_bridge);
    space_.view<Type1Header>(0)
        .set<"prefetchable_base_type">(prefetchable_64bit)
        .set<"prefetchable_limit_type">(prefetchable_64bit);
    space_.define<Type1Header>(0);
    // A port has no registers of its own in memory, no ROM, and sends no I/O requests down (§7.5.1.3.6).
    space_.hardwire<Type1Header, "bar0", "bar1", "expansion_rom", "io_base", "io_limit">(0);
    if (has_access_control(type_))
        define_access_control();
    if (negotiated_)
        set_link(*negotiated_);
    meaning_ = interpret();
}

void BridgeSpace::define_access_control() {
    const bool is_switch = type_ == PortType::switch_downstream;
    space_.view<AccessControl>(access_control_offset)
        .set<"id">(ExtendedCapabilityId::access_control)
        .set<"version">(1)
        .set<"has_source_validation">(true)
        .set<"has_translation_blocking">(true)
        .set<"has_upstream_forwarding">(true)
        .set<"has_request_redirect">(is_switch)
        .set<"has_completion_redirect">(is_switch)
        .set<"has_direct_translated">(is_switch);
    space_.define<AccessControl>(access_control_offset);
    // What a port does not have cannot be turned on (§7.7.11.3).
    space_.hardwire<AccessControl, "egress_control">(access_control_offset);
    if (!is_switch)
        space_.hardwire<AccessControl, "request_redirect", "completion_redirect", "direct_translated">(
            access_control_offset);
}

void BridgeSpace::set_link(const LinkConfig& negotiated) {
    negotiated_ = negotiated;
    space_.set_link(negotiated);
    const auto express = space_.view<PciExpress>(pci_express_offset);
    express.set<"link_active">(express.get<"link_active_reporting">());
}

bool BridgeSpace::write(std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    const auto pm = space_.view<PowerManagement>(power_management_offset);
    const auto power = pm.get<"power_state">();
    const bool was_reset = space_.view<Type1Header>(0).get<"secondary_bus_reset">();

    if (!space_.write(offset, bytes, value))
        return false;

    if (const auto state = pm.get<"power_state">(); state != power_state_d0 && state != power_state_d3hot)
        pm.set<"power_state">(power);
    meaning_ = interpret();
    return !was_reset && space_.view<Type1Header>(0).get<"secondary_bus_reset">();
}

BridgeSpace::Meaning BridgeSpace::interpret() const {
    const auto header = space_.view<CommonHeader>(0);
    const auto bridge = space_.view<Type1Header>(0);
    const bool is_awake = space_.view<PowerManagement>(power_management_offset).get<"power_state">() == power_state_d0;

    Meaning meaning;
    meaning.primary = bridge.get<"primary_bus">();
    meaning.secondary = bridge.get<"secondary_bus">();
    meaning.subordinate = bridge.get<"subordinate_bus">();
    meaning.is_master = is_awake && header.get<"bus_master_enable">();
    if (has_access_control(type_)) {
        const auto control = space_.view<AccessControl>(access_control_offset);
        meaning.acs = {.source_validation = control.get<"source_validation">(),
                       .translation_blocking = control.get<"translation_blocking">(),
                       .request_redirect = control.get<"request_redirect">(),
                       .completion_redirect = control.get<"completion_redirect">(),
                       .upstream_forwarding = control.get<"upstream_forwarding">(),
                       .direct_translated = control.get<"direct_translated">()};
    }
    if (!is_awake || !header.get<"memory_space_enable">())
        return meaning;
    meaning.memory = window(bridge.get<"memory_base">(), bridge.get<"memory_limit">());
    const auto upper = [](std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 12 | low; };
    meaning.prefetchable = window(upper(bridge.get<"prefetchable_base_upper">(), bridge.get<"prefetchable_base">()),
                                  upper(bridge.get<"prefetchable_limit_upper">(), bridge.get<"prefetchable_limit">()));
    return meaning;
}

void BridgeSpace::note_violation(bool is_posted) {
    const auto bridge = space_.view<Type1Header>(0);
    if (!is_posted)
        bridge.set<"secondary_signaled_target_abort">(true);
    space_.view<PciExpress>(pci_express_offset).set<"non_fatal_detected">(true);
}

void BridgeSpace::note_refused(bool is_posted) {
    const auto express = space_.view<PciExpress>(pci_express_offset);
    express.set<"unsupported_request_detected">(true);
    if (is_posted)
        express.set<"non_fatal_detected">(true);
    else
        express.set<"correctable_detected">(true);
}

} // namespace model::pcie
