#include "testbench/harness/function_reset.h"

#include "model/tlm/time.h"
#include "sw/memory/iommu/device_tlb.h"

#include <chrono>
#include <cstddef>
#include <systemc>

namespace harness {
namespace {

constexpr std::chrono::milliseconds reset_time{100};
constexpr std::uint8_t pci_express = 0x10, capabilities_pointer = 0x34;
constexpr std::uint16_t device_control = 8; ///< in the PCI Express capability
constexpr std::uint32_t initiate_reset = 1u << 15;

} // namespace

FunctionReset::FunctionReset(sw::transport::Transport& function) : function_(function) {
    for (std::size_t i = 0; i < dwords_.size(); ++i)
        dwords_[i] = function.config_read(static_cast<std::uint16_t>(4 * i), 4);
    control_ = static_cast<std::uint16_t>(find(pci_express) + device_control);
    value_ = function.config_read(control_, 2);
    has_device_tlb_on_ = sw::memory::iommu::is_device_tlb_on(function);
}

/// Of a capability, by its id (PCIe 6.0 §7.5.1.1.11).
std::uint16_t FunctionReset::find(std::uint8_t capability) const {
    auto at = static_cast<std::uint16_t>(function_.config_read(capabilities_pointer, 1));
    while (at != 0 && function_.config_read(at, 1) != capability)
        at = static_cast<std::uint16_t>(function_.config_read(static_cast<std::uint16_t>(at + 1), 1));
    return at;
}

void FunctionReset::begin() { function_.config_write(control_, 2, value_ | initiate_reset); }

void FunctionReset::finish() {
    sc_core::wait(model::tlm::to_sc(reset_time));
    for (std::size_t i = dwords_.size(); i-- > 0;) // BARs before the command register
        function_.config_write(static_cast<std::uint16_t>(4 * i), 4, dwords_[i]);
    if (has_device_tlb_on_) // its context still says so: the unit would wait for its answers
        [[maybe_unused]]
        const auto enabled = sw::memory::iommu::enable_device_tlb(function_);
}

void reset_function(sw::transport::Transport& function) {
    FunctionReset reset(function);
    reset.begin();
    reset.finish();
}

} // namespace harness
