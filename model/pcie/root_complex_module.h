// The root complex: DRAM, root ports and interrupt messages of one machine. The processor's side is two calls: config()
// and the Dma of processor(); devices come in by the root ports. Holds no memory of its own and enumerates nothing.
#pragma once

#include "model/iommu/iommu_module.h"
#include "model/pcie/root_complex.h"
#include "model/tlm/held_writes.h"
#include "model/tlm/initiator.h"
#include "model/tlm/pcie_port.h"
#include "traces/events.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <systemc>
#include <vector>

namespace model::pcie {

/// Takes interrupt messages: memory writes of a dword into the interrupt range.
class InterruptSink {
public:
    virtual ~InterruptSink() = default;
    virtual void message(std::uint64_t address, std::uint32_t data, port::Time at) = 0;
};

struct RootComplexConfig {
    RootComplex::Config core;
    port::Time dram_read_latency = std::chrono::nanoseconds{90};
    std::optional<iommu::IommuModuleConfig> iommu{}; ///< core.has_iommu follows
    HostCacheConfig cache{};
};

class RootComplexModule final : public sc_core::sc_module,
                                private tlm::PcieComponent,
                                private tlm::Fabric,
                                private Completer {
public:
    /// `dram` has config.core.map.dram_bytes bytes.
    RootComplexModule(sc_core::sc_module_name name, const RootComplexConfig& config, std::span<std::byte> dram);

    /// Connect a device with `root(n).connect(device.port)`.
    tlm::PciePort& root(unsigned port) { return *ports_[port]; }
    unsigned port_count() const { return static_cast<unsigned>(ports_.size()); }
    const RootComplex& core() const { return core_; }

    struct ConfigResult {
        std::uint32_t value = ~0u; ///< all ones where no function answers
        port::DmaStatus status = port::DmaStatus::ok;
        port::Time done{};
    };
    ConfigResult config_read(abi::pcie::Bdf target, std::uint16_t offset, unsigned bytes, port::Time at);
    ConfigResult config_write(abi::pcie::Bdf target, std::uint16_t offset, unsigned bytes, std::uint32_t value,
                              port::Time at);
    /// Memory accesses of the processor.
    tlm::Initiator& processor() { return processor_; }

    /// In front of DRAM, for devices; not on: DRAM answers them all alike.
    HostCache& cache() { return cache_; }
    const HostCache& cache() const { return cache_; }
    /// The remapping unit, or nullptr.
    const iommu::IommuModule* iommu() const { return iommu_.get(); }

    /// See IommuModule::set_invalidated; without a remapping unit it is never called.
    void set_invalidated(std::function<void(const iommu::Gone&)> invalidated) {
        if (iommu_ != nullptr)
            iommu_->set_invalidated(std::move(invalidated));
    }

    /// Where RequestBlocked goes, and what the remapping unit says.
    void set_events(traces::Events events);
    void set_interrupt_sink(InterruptSink* sink) { sink_ = sink; }
    /// Counts device writes into DRAM, so that a waiting processor can be woken.
    PostedWrites& memory_writes() { return memory_writes_; }
    /// Notified (next delta) by a device write while memory_writes() is watched.
    const sc_core::sc_event& memory_written() const { return memory_writes_.written(); }

private:
    void receive(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                 sc_core::sc_time& delay) override;
    bool receive_direct(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                        ::tlm::tlm_dmi& dmi) override;
    void receive_invalidate(unsigned port, Range range) override;
    void linked(unsigned port, const LinkConfig& negotiated) override { core_.port(port).set_link(negotiated); }

    void enter(::tlm::tlm_generic_payload& payload, tlm::Extension& request, sc_core::sc_time& delay) override;
    bool enter_direct(::tlm::tlm_generic_payload& payload, tlm::Extension& request, ::tlm::tlm_dmi& dmi) override;
    void refused(port::DmaStatus) override {}

    // Completer: interrupt messages
    port::DmaResult complete_read(unsigned, std::uint64_t, std::span<std::byte>, port::Time at) override {
        return {port::DmaStatus::unsupported_request, at};
    }
    port::DmaStatus complete_write(unsigned, std::uint64_t offset, std::span<const std::byte> from,
                                   port::Time at) override;

    /// The remapping unit's way to memory and to the interrupt controller.
    struct TableFabric final : tlm::Fabric {
        RootComplexModule& root;
        explicit TableFabric(RootComplexModule& r) : root(r) {}
        void enter(::tlm::tlm_generic_payload& payload, tlm::Extension& request, sc_core::sc_time& delay) override {
            root.forward(root.core_.route_from_iommu(payload.get_address()), payload, request, delay, Writes::posted);
        }
        bool enter_direct(::tlm::tlm_generic_payload& payload, tlm::Extension& request, ::tlm::tlm_dmi& dmi) override {
            const auto routing = root.core_.route_from_iommu(payload.get_address());
            const bool is_memory = root.find_direct(routing, payload, request, dmi);
            request.answer.is_delayed = root.is_timed_;
            return is_memory;
        }
        void refused(port::DmaStatus) override {}
    };

    /// Control writes of devices over timed links are posted: memory shows them at their time.
    enum class Writes : std::uint8_t { at_once, posted };
    void refuse(unsigned port, std::optional<traces::BlockReason> why, bool is_violation,
                ::tlm::tlm_generic_payload& payload, const tlm::Extension& request, const sc_core::sc_time& delay);
    void forward(const RootComplex::Routing& routing, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                 sc_core::sc_time& delay, Writes writes);
    bool find_from_port(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                        ::tlm::tlm_dmi& dmi);
    bool find_direct(const RootComplex::Routing& routing, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                     ::tlm::tlm_dmi& dmi);
    port::DmaStatus access_dram(std::uint64_t offset, std::uint64_t room, ::tlm::tlm_generic_payload& payload,
                                const tlm::Extension& request, sc_core::sc_time& delay, Writes writes);
    void send_message(tlm::Request& message, sc_core::sc_time& delay);
    ConfigResult configure(::tlm::tlm_command command, abi::pcie::Bdf target, std::uint16_t offset,
                           std::span<std::byte> data, port::Time at);

    RootComplex core_;
    std::span<std::byte> dram_;
    port::Time dram_read_latency_;
    HostCache cache_; ///< by bus address
    bool is_timed_;   ///< some link is
    std::vector<std::unique_ptr<tlm::PciePort>> ports_;
    tlm::Initiator processor_;
    TableFabric table_fabric_{*this};
    std::unique_ptr<iommu::IommuModule> iommu_;
    tlm::Request config_request_;
    InterruptSink* sink_ = nullptr;
    traces::Events events_;
    tlm::HeldWrites memory_writes_;
};

} // namespace model::pcie
