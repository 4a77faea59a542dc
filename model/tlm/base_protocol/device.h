// A device made of third-party modules: a PCIe function with configuration space and BARs, behind which stands a target
// of TLM-2.0's base protocol, and whose requests come from an initiator of that protocol. Either may be absent.
// Accesses to its BARs are calls of b_transport from a thread, which may wait.
#pragma once

#include "model/pcie/endpoint_module.h"
#include "model/tlm/base_protocol/requests.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

namespace model::tlm::base_protocol {

struct DeviceConfig {
    pcie::FunctionConfig function{};                              ///< free of faults (pcie::find_fault)
    std::array<std::uint64_t, abi::pcie::type0_bars> addresses{}; ///< what the target calls the first byte of each BAR
    /// Memory that the target gives for direct use is read and written without it. It has to stay where it is for the
    /// whole simulation: after invalidate_direct_mem_ptr it is asked for again, but packets under way may still refer
    /// to what was given before. Writes to it do not wait for writes to registers.
    bool is_dmi_honoured = false;
};

/// What is the same for buses of any width.
class Device : public sc_core::sc_module, private pcie::Function {
public:
    pcie::EndpointModule endpoint;

    /// Limit of writes that a waiting target has not taken yet; a thread that writes more waits itself.
    static constexpr std::size_t posted_limit = 64;

protected:
    Device(const sc_core::sc_module_name& name, const DeviceConfig& config);
    /// Direct memory of the target must be asked for again.
    void invalidate();

private:
    using Target = ::tlm::tlm_fw_transport_if<>;
    /// Who stands behind the BARs; nullptr: nobody.
    virtual Target* target() = 0;

    // Function
    port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, port::Time at) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, port::Time at) override;
    std::span<std::byte> direct(unsigned bar, std::uint64_t offset) override;
    std::size_t peek(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override;
    std::size_t poke(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override;
    void reset(port::Time) override {} // the base protocol has no way to say so

    void carry_writes();
    std::uint64_t address_of(unsigned bar, std::uint64_t offset) const { return config_.addresses[bar] + offset; }

    struct Write {
        std::uint64_t address;
        std::vector<std::byte> bytes;
        port::Time at;
    };
    DeviceConfig config_;
    std::deque<Write> writes_;               ///< posted; the first one is under way
    std::uint64_t posted_ = 0, carried_ = 0; ///< writes, so far
    sc_core::sc_event write_posted_, write_carried_;
};

/// Bind a target to `bar` and an initiator to `dma()`, or one of them; connect `endpoint` as any other.
template <unsigned width = 32> class DeviceModule final : public Device {
public:
    tlm_utils::simple_initiator_socket_optional<DeviceModule, width> bar{"bar"};

    DeviceModule(sc_core::sc_module_name name, const DeviceConfig& config)
        : Device(name, config), requester_("dma", endpoint.initiator()) {
        bar.register_invalidate_direct_mem_ptr(this, &DeviceModule::invalidated);
    }
    auto& dma() { return requester_.socket; }

private:
    ::tlm::tlm_fw_transport_if<>* target() override { return bar.size() != 0 ? bar.operator->() : nullptr; }
    void invalidated(sc_dt::uint64, sc_dt::uint64) { invalidate(); }

    Requester<width> requester_;
};

} // namespace model::tlm::base_protocol
