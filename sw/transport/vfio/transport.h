// The transport of a driver whose function the kernel has given to this program (vfio-pci): BARs as mappings, or by
// calls where that cannot be, DMA memory through the IOMMU, MSI-X as event files.
#pragma once

#include "abi/pcie/config_space.h"
#include "sw/transport/interrupts.h"
#include "sw/transport/transport.h"
#include "sw/transport/vfio/machine.h"

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace sw::transport::vfio {

class DeviceTransport final : public Transport {
public:
    /// Opens the function at a PCI address ("0000:3b:00.0"). `machine` is shared by all of this program's functions and
    /// outlives them.
    static Result<std::unique_ptr<DeviceTransport>> open(const std::string& address, Machine& machine);
    ~DeviceTransport() override;
    DeviceTransport(const DeviceTransport&) = delete;
    DeviceTransport& operator=(const DeviceTransport&) = delete;

    /// Function-level reset, or what the kernel has in its place.
    Result<void> reset();

    std::uint32_t config_read(std::uint16_t offset, unsigned bytes) override;
    void config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) override;
    std::uint64_t bar_size(unsigned bar) override { return bar < bars_.size() ? bars_[bar].size : 0; }
    std::uint64_t bar_address(unsigned bar) override { return bar < bars_.size() ? bars_[bar].address : 0; }
    void mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override;
    void mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override;
    void bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override;

    Result<DmaMemory> allocate(std::size_t bytes, std::size_t alignment = 4096) override {
        return machine_.allocate(bytes, alignment);
    }
    void release(const DmaMemory& memory) override { machine_.release(memory); }
    /// The peer must have been opened by this program.
    Result<std::uint64_t> map_peer(std::uint64_t bus, std::size_t bytes) override {
        return machine_.map_bar(bus, bytes);
    }
    void unmap_peer(std::uint64_t address, std::size_t bytes) override { machine_.unmap_bar(address, bytes); }

    Result<void> enable_interrupts(unsigned count) override;
    void disable_interrupts() override;
    bool wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) override;

    void relax() override { (void)rest_.take(-1); }
    std::chrono::nanoseconds now() override { return std::chrono::steady_clock::now().time_since_epoch(); }

private:
    struct Bar {
        std::uint64_t size = 0, address = 0;
        std::uint64_t offset = 0; ///< in the device's file
        Mapping memory;           ///< of all of it, or nothing
    };

    DeviceTransport(std::string address, File file, Machine& machine)
        : name_(std::move(address)), file_(std::move(file)), machine_(machine) {}
    Result<void> bring_up(const FunctionFiles& function);
    Result<Bar> region(std::uint32_t index);
    bool has_range(unsigned bar, std::uint64_t offset, std::size_t size) const;
    void read_file(std::uint64_t offset, std::span<std::byte> into) const;

    std::string name_;
    File file_;
    Machine& machine_;
    std::array<Bar, abi::pcie::type0_bars> bars_;
    std::uint64_t config_offset_ = 0;
    std::optional<Interrupts> interrupts_;
    Rest rest_;
};

} // namespace sw::transport::vfio
