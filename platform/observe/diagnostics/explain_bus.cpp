// Paragraphs about what remapping units and ports refuse.
#include "platform/observe/diagnostics/explain.h"

#include "abi/pcie/config_space.h"
#include "abi/pcie/tlp.h"
#include "model/iommu/request.h"
#include "platform/observe/ownership/ownership.h"

#include <fmt/format.h>

#include <array>

namespace platform::observe::diagnostics {
namespace {

constexpr std::array<std::string_view, 4> accesses{"read", "write", "atomic", "page request"};
constexpr std::array<std::string_view, 3> types{"untranslated", "translation request", "translated"};

template <std::size_t n> std::string_view pick(const std::array<std::string_view, n>& names, std::uint8_t index) {
    return index < n ? names[index] : "reserved";
}

std::string name_device(std::uint16_t value) {
    const abi::pcie::Bdf bdf{value};
    return fmt::format("{:02x}:{:02x}.{}", bdf.bus(), bdf.device(), bdf.function());
}

} // namespace

void Explain::take(const traces::Stamp& stamp, Device&, const traces::RemappingFault& event) {
    const auto pasid =
        event.pasid != model::iommu::no_pasid ? fmt::format(", PASID {:#x}", event.pasid) : std::string{};
    out_.print(stamp,
               {fmt::format("remapping fault of device {}: {:#04x} ({})", name_device(event.requester), event.fault,
                            event.reason()),
                fmt::format("{} at {:#x}{}, {}; {}", pick(accesses, event.access), event.address, pasid,
                            pick(types, event.type),
                            event.is_recorded ? "there is a fault record of it"
                                              : "there is no fault record of it: FPD is set, or the records are full"),
                or_none(explain(static_cast<abi::iommu::FaultReason>(event.fault)))});
}

void Explain::take(const traces::Stamp& stamp, Device&, const traces::InvalidationStopped& event) {
    const auto& text =
        event.error != 0 ? or_none(explain(static_cast<abi::iommu::QueueError>(event.error))) : explain_silence();
    out_.print(stamp, {fmt::format("the invalidation queue stops: {}", event.reason()),
                       event.error != 0 ? fmt::format("invalidation queue error {}", event.error)
                                        : fmt::format("invalidation time-out, device {}", name_device(event.device)),
                       text});
}

void Explain::take(const traces::Stamp& stamp, Device&, const traces::RequestBlocked& event) {
    out_.print(stamp, {fmt::format("port {} blocks a request of device {}: {}", name_device(event.port),
                                   name_device(event.requester), event.reason.text()),
                       fmt::format("address {:#x}, {}", event.address, pick(types, event.type)),
                       or_none(explain(event.reason))});
}

void Explain::take(const traces::Stamp& stamp, Device&, const traces::StaleAccess& event) {
    out_.print(stamp, {fmt::format("device {} uses a stale mapping: its {} led to another's page",
                                   name_device(event.requester), event.mapping.text()),
                       ownership::describe_stale(event), or_none(explain(event.mapping))});
}

void Explain::take(const traces::Stamp& stamp, Device&, const traces::WriteLost& event) {
    const auto status = static_cast<model::port::DmaStatus>(event.status);
    out_.print(stamp,
               {fmt::format("a posted write of device {} is lost ({})", name_device(event.requester), name_of(status)),
                fmt::format("{} bytes at bus address {:#x}", event.length, event.address),
                or_none(explain_loss(status))});
}

} // namespace platform::observe::diagnostics
