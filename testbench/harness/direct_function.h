// One device of any kind and its driver without a bus: flat memory between them, time that goes on while the driver
// waits, and no SystemC. As direct_host.h, for devices without a cable.
#pragma once

#include "platform/card/kinds.h"
#include "sw/transport/transport.h"
#include "testbench/harness/direct_host.h"
#include "testbench/harness/test_ports.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <span>

namespace harness {

class DirectFunction final : public sw::transport::Transport, private model::port::Interrupts {
public:
    explicit DirectFunction(const platform::card::DeviceConfig& config, std::size_t memory_bytes = 32 << 20)
        : own_(memory_bytes), memory(own_), function_(config.functions().front()),
          device(config.make({memory, clock, *this}, {.name = "function"})) {}
    /// In the same host as an HCA: its memory is that host's.
    DirectFunction(const platform::card::DeviceConfig& config, DirectHost& host)
        : host_(&host), own_(0), memory(host.memory), function_(config.functions().front()),
          device(config.make({memory, clock, *this}, {.name = "function"})) {}

    std::uint32_t config_read(std::uint16_t offset, unsigned bytes) override {
        if (offset == 0)
            return std::uint32_t{function_.identity.device_id} << 16 | function_.identity.vendor_id;
        std::uint32_t value = 0;
        std::memcpy(&value, config_space_.data() + offset, bytes);
        return value;
    }
    void config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) override {
        std::memcpy(config_space_.data() + offset, &value, bytes);
    }
    std::uint64_t bar_size(unsigned bar) override { return function_.bars[bar].size; }
    std::uint64_t bar_address(unsigned bar) override {
        return function_.bars[bar].size == 0 ? 0 : 0xe0'0000'0000 + (std::uint64_t{bar} << 32);
    }
    void mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override {
        device->bar_read(bar, offset, into, clock.now());
    }
    void mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override {
        device->bar_write(bar, offset, from, clock.now());
        settle();
    }
    sw::Result<sw::transport::DmaMemory> allocate(std::size_t bytes, std::size_t alignment) override {
        if (host_ != nullptr)
            return host_->allocate(bytes, alignment);
        const auto address = (next_ + alignment - 1) & ~(std::uint64_t{alignment} - 1);
        if (address + bytes > memory.size())
            return sw::failure(ENOMEM, "the test's memory is used up");
        next_ = address + bytes;
        ++live_allocations;
        return sw::transport::DmaMemory{memory.at(address), address, bytes};
    }
    void release(const sw::transport::DmaMemory& released) override { // its place is not used again
        if (host_ != nullptr)
            return host_->release(released);
        --live_allocations;
    }
    sw::Result<std::uint64_t> map_peer(std::uint64_t bus, std::size_t) override { return bus; }
    void unmap_peer(std::uint64_t, std::size_t) override {}
    sw::Result<void> enable_interrupts(unsigned) override { return {}; }
    void disable_interrupts() override {}
    bool wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) override {
        for (const auto deadline = now() + timeout; raised[vector] == 0 && now() < deadline;)
            relax();
        return std::exchange(raised[vector], 0) != 0;
    }
    /// To the next time at which the device wants to be woken, or a little on.
    void relax() override {
        const auto next = std::min(clock.next(), clock.now() + Time{1us});
        const bool is_due = clock.next() <= next;
        clock.set(next);
        if (is_due)
            device->wake(next);
        settle();
    }
    std::chrono::nanoseconds now() override {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(clock.now());
    }

    std::size_t live_allocations = 0; ///< DMA memory the driver has not given back
    std::map<unsigned, unsigned> raised;
    TestClock clock;

private:
    DirectHost* host_ = nullptr;
    FlatMemory own_;

public:
    FlatMemory& memory;

private:
    void raise(std::uint16_t vector, Time) override { ++raised[vector]; }
    void settle() {
        while (device->settle())
            ;
    }
    model::pcie::FunctionConfig function_;
    std::array<std::byte, 4096> config_space_{};
    std::uint64_t next_ = 0x10000;

public:
    std::unique_ptr<model::pcie::Device> device;
};

} // namespace harness
