// A function behind a remapping unit: its DMA memory and its peers have addresses of its address space, and nothing
// else reaches anywhere. Everything but memory goes straight to the function.
#pragma once

#include "sw/memory/iommu/address_space.h"
#include "sw/memory/peer_route.h"
#include "sw/transport/transport.h"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace sw::memory::iommu {

class TranslatedTransport : public transport::Transport {
public:
    /// The way to the peer that has a bus address.
    using FindRoute = std::function<PeerRoute(std::uint64_t bus)>;
    /// `function` gives physical addresses; the caller attaches it to `space`. Without `find_route` peers are reached
    /// through the host.
    TranslatedTransport(transport::Transport& function, AddressSpace& space, FindRoute find_route = {})
        : function_(function), space_(space), find_route_(std::move(find_route)) {}

    std::uint32_t config_read(std::uint16_t offset, unsigned bytes) override {
        return function_.config_read(offset, bytes);
    }
    void config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) override {
        function_.config_write(offset, bytes, value);
    }
    std::uint64_t bar_size(unsigned bar) override { return function_.bar_size(bar); }
    std::uint64_t bar_address(unsigned bar) override { return function_.bar_address(bar); }
    void mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override {
        function_.mmio_read(bar, offset, into);
    }
    void mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override {
        function_.mmio_write(bar, offset, from);
    }
    void bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override {
        function_.bar_read(bar, offset, into);
    }
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override {
        function_.bar_write(bar, offset, from);
    }

    Result<transport::DmaMemory> allocate(std::size_t bytes, std::size_t alignment = 4096) override;
    void release(const transport::DmaMemory& memory) override;
    /// EREMOTEIO when there is no way.
    Result<std::uint64_t> map_peer(std::uint64_t bus, std::size_t bytes) override;
    void unmap_peer(std::uint64_t address, std::size_t bytes) override;
    /// EINVAL for memory that no function behind the same unit has.
    Result<std::uint64_t> map_memory(const transport::DmaMemory& memory) override;
    void unmap_memory(std::uint64_t address, std::size_t bytes) override;

    Result<void> enable_interrupts(unsigned count) override { return function_.enable_interrupts(count); }
    void disable_interrupts() override { function_.disable_interrupts(); }
    bool wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) override {
        return function_.wait_interrupt(vector, timeout);
    }
    void relax() override { function_.relax(); }
    void spend(transport::Work work, std::size_t count) override { function_.spend(work, count); }
    std::chrono::nanoseconds now() override { return function_.now(); }
    transport::OwnershipListener* ownership_listener() override { return function_.ownership_listener(); }

private:
    transport::Transport& function_;
    AddressSpace& space_;
    FindRoute find_route_;
    std::map<std::uint64_t, std::uint64_t> physical_; ///< of our memory, by iova
    std::map<std::uint64_t, std::uint64_t> peers_;    ///< what the function's own map_peer() gave, by iova of the page
};

} // namespace sw::memory::iommu
