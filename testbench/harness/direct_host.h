// A host without a bus: the driver stack on one side, the device on the other, flat memory between them and no SystemC.
// For tests of driver, firmware and core together; the real way goes through PCIe (platform/).
#pragma once

#include "model/net/link.h"
#include "platform/card/mlx5_device.h"
#include "platform/record/recorded_device.h"
#include "sw/transport/transport.h"
#include "testbench/harness/flat_memory.h"
#include "testbench/harness/hca_pair.h"

#include <map>
#include <optional>

namespace harness {

class DirectHost final : public sw::transport::Transport, private model::port::Interrupts {
public:
    DirectHost(const model::hca::HcaConfig& config, TestClock& clock, model::net::Link& link, unsigned end,
               std::size_t memory_bytes, traces::Events events, platform::record::Boundary* boundary = nullptr)
        : memory(memory_bytes), function_(platform::card::Mlx5Device::function_config(config)), clock_(clock),
          link_(link), wires_{&link.end(end)}, ports_{memory, clock, *this, wires_},
          recorded_ports_(record_at(boundary, ports_)),
          device(config, recorded_ports_ ? recorded_ports_->ports() : ports_, events) {
        if (boundary != nullptr)
            recorded_device_.emplace(*boundary, device);
        link.attach(end, *front().receiver(0));
    }

    std::uint32_t config_read(std::uint16_t offset, unsigned) override {
        if (offset == 0)
            return std::uint32_t{function_.identity.device_id} << 16 | function_.identity.vendor_id;
        return offset < config_space_.size() ? config_space_[offset] : 0;
    }
    void config_write(std::uint16_t offset, unsigned, std::uint32_t value) override { config_space_[offset] = value; }
    std::uint64_t bar_size(unsigned bar) override { return function_.bars[bar].size; }
    std::uint64_t bar_address(unsigned bar) override { return bar == 0 ? 0xf000'0000 : 0; }
    void mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override {
        front().bar_read(bar, offset, into, clock_.now());
    }
    void mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override {
        front().bar_write(bar, offset, from, clock_.now());
        flush();
    }
    /// As a processor that combines stores: a line of 64 bytes at a time.
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override {
        for (std::size_t done = 0; done != from.size();) {
            const auto piece = std::min<std::size_t>(64 - (offset + done) % 64, from.size() - done);
            mmio_write(bar, offset + done, from.subspan(done, piece));
            done += piece;
        }
    }
    void wake() {
        front().wake(clock_.now());
        flush();
    }
    sw::Result<sw::transport::DmaMemory> allocate(std::size_t bytes, std::size_t alignment) override {
        const auto address = (next_ + alignment - 1) & ~(std::uint64_t{alignment} - 1);
        if (address + bytes > memory.size())
            return sw::failure(ENOMEM, "the test's memory is used up");
        next_ = address + bytes;
        ++live_allocations;
        return sw::transport::DmaMemory{memory.at(address), address, bytes};
    }
    void release(const sw::transport::DmaMemory&) override { --live_allocations; } // its place is not used again
    sw::Result<std::uint64_t> map_peer(std::uint64_t bus, std::size_t) override { return bus; }
    void unmap_peer(std::uint64_t, std::size_t) override {}
    sw::Result<void> enable_interrupts(unsigned) override { return {}; }
    void disable_interrupts() override {}
    bool wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) override {
        for (const auto deadline = now() + timeout; raised_[vector] == 0 && now() < deadline;)
            relax();
        return std::exchange(raised_[vector], 0) != 0;
    }
    void relax() override { step(clock_.now() + 1us); }
    std::chrono::nanoseconds now() override {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.now());
    }

    std::size_t live_allocations = 0; ///< DMA memory the driver has not given back
    /// Lets everything that is due by `until` happen.
    std::function<void(Time until)> step;
    std::map<unsigned, unsigned> raised_;
    FlatMemory memory;

private:
    void raise(std::uint16_t vector, Time) override { ++raised_[vector]; }
    void flush() {
        do
            link_.pump(clock_.now());
        while (front().settle());
    }
    using RecordedPorts = std::optional<platform::record::RecordedPorts>;
    static RecordedPorts record_at(platform::record::Boundary* boundary, const model::pcie::DevicePorts& ports) {
        return boundary == nullptr ? RecordedPorts() : RecordedPorts(std::in_place, *boundary, ports);
    }
    /// The device as the outside sees it.
    model::pcie::Device& front() {
        return recorded_device_ ? static_cast<model::pcie::Device&>(*recorded_device_) : device;
    }
    model::pcie::FunctionConfig function_;
    TestClock& clock_;
    model::net::Link& link_;
    std::array<model::port::Wire*, 1> wires_;
    std::array<std::uint32_t, 4096> config_space_{};
    std::uint64_t next_ = 0x10000;
    model::pcie::DevicePorts ports_;
    RecordedPorts recorded_ports_;

public:
    platform::card::Mlx5Device device;

private:
    std::optional<platform::record::RecordedDevice> recorded_device_; ///< where a boundary was given
};

} // namespace harness
