#include "testbench/harness/host_functions.h"

#include "abi/layout.h"
#include "abi/pcie/access_control.h"
#include "abi/pcie/config_space.h"
#include "sw/memory/iommu/device_tlb.h"
#include "sw/memory/iommu/translated_transport.h"

#include <utility>

namespace harness {

using platform::bridge::InProcessTransport;
using sw::memory::iommu::AddressSpace;
using sw::memory::iommu::TranslatedTransport;
using sw::memory::iommu::Unit;

namespace {

struct FunctionAndSpace {
    FunctionAndSpace(platform::host::Host& host, abi::pcie::Bdf bdf, std::unique_ptr<AddressSpace> own)
        : function(host, bdf), space(std::move(own)) {}
    InProcessTransport function;
    std::unique_ptr<AddressSpace> space;
};

/// A function, its address space, and what holds them together: attached as long as this lives.
class TranslatedFunction final : private FunctionAndSpace, public TranslatedTransport {
public:
    TranslatedFunction(platform::host::Host& host, abi::pcie::Bdf bdf, std::unique_ptr<AddressSpace> own,
                       FindRoute route)
        : FunctionAndSpace(host, bdf, std::move(own)), TranslatedTransport(function, *space, std::move(route)),
          requester_(bdf.value) {}
    ~TranslatedFunction() override {
        if (!is_attached_)
            return;
        sw::memory::iommu::disable_device_tlb(function);
        [[maybe_unused]] const auto detached = space->unit().detach(requester_);
    }
    sw::Result<void> attach(bool translates) {
        auto attached = space->unit().attach(requester_, *space, translates);
        is_attached_ = attached.has_value();
        if (!attached || !translates)
            return attached;
        return sw::memory::iommu::enable_device_tlb(function);
    }

private:
    std::uint16_t requester_;
    bool is_attached_ = false;
};

/// A port of the root complex or of a switch, by its configuration space.
sw::memory::Bridge look_at_bridge(platform::host::Host& host, abi::pcie::Bdf bdf) {
    namespace pcie = abi::pcie;
    struct Config final : platform::host::ConfigAccess {
        InProcessTransport port;
        Config(platform::host::Host& owner, pcie::Bdf at) : port(owner, at) {}
        std::uint32_t read(pcie::Bdf, std::uint16_t offset, unsigned bytes) override {
            return port.config_read(offset, bytes);
        }
        void write(pcie::Bdf, std::uint16_t offset, unsigned bytes, std::uint32_t value) override {
            port.config_write(offset, bytes, value);
        }
    } config(host, bdf);
    sw::memory::Bridge bridge{.bus = bdf.bus(),
                              .secondary = static_cast<std::uint8_t>(
                                  config.port.config_read(pcie::Type1Header::field<"secondary_bus">::offset, 1))};
    const auto at = find_capability(config, bdf, pcie::ExtendedCapabilityId::access_control);
    if (at == 0)
        return bridge;
    abi::Block<pcie::AccessControl> control;
    abi::store<std::uint32_t, abi::Endian::little>(control.bytes.data() + 4,
                                                   config.port.config_read(static_cast<std::uint16_t>(at + 4), 4));
    const bool requests = control.view().get<"request_redirect">() || control.view().get<"egress_control">(),
               completions = control.view().get<"completion_redirect">();
    bridge.redirects = requests || completions;
    bridge.redirects_translated = (requests && !control.view().get<"direct_translated">()) || completions;
    return bridge;
}

} // namespace

sw::memory::PeerRoute HostFunctions::route(abi::pcie::Bdf from, std::uint64_t bus) const {
    for (const auto& function : host_.enumeration().functions)
        for (const auto& bar : function.bars)
            if (bar.size != 0 && bus >= bar.address && bus - bar.address < bar.size)
                return find_peer_route(bridges_, from.bus(), function.bdf.bus(), host_.config().peer_forwarding,
                                       translating_.contains(from.value));
    return sw::memory::PeerRoute::none;
}

sw::Result<std::unique_ptr<HostFunctions>> HostFunctions::open(platform::host::Host& host,
                                                               const sw::memory::iommu::UnitOptions& options) {
    std::unique_ptr<HostFunctions> made(new HostFunctions(host));
    for (const auto& function : host.enumeration().functions)
        if (function.class_code == abi::pcie::class_bridge_pci)
            made->bridges_.push_back(look_at_bridge(host, function.bdf));
    if (!host.config().iommu)
        return made;
    made->registers_.emplace(host);
    auto unit = Unit::open(*made->registers_, options);
    if (!unit)
        return std::unexpected(std::move(unit.error()));
    made->unit_ = std::move(*unit);
    return made;
}

sw::Result<std::unique_ptr<sw::transport::Transport>> HostFunctions::function(abi::pcie::Bdf bdf) {
    if (!unit_)
        return std::make_unique<InProcessTransport>(host_, bdf);
    auto space = AddressSpace::create(*unit_);
    if (!space)
        return std::unexpected(std::move(space.error()));
    spaces_[bdf.value] = space->get();
    auto function = std::make_unique<TranslatedFunction>(host_, bdf, std::move(*space),
                                                         [this, bdf](std::uint64_t bus) { return route(bdf, bus); });
    const bool translates = unit_->extended_capability().get<"dt">() && sw::memory::iommu::has_device_tlb(*function);
    if (translates)
        translating_.insert(bdf.value);
    if (auto attached = function->attach(translates); !attached)
        return std::unexpected(std::move(attached.error()));
    return function;
}

} // namespace harness
