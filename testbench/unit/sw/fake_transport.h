// A transport of plain memory for the drivers' unit tests: bus addresses are numbers of our own, MMIO goes to a
// callback or a byte array, time advances by one microsecond per relax(). Knows no device; a test scripts one.
#pragma once

#include "sw/transport/transport.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <vector>

namespace testbench {

class FakeTransport : public sw::transport::Transport {
public:
    std::array<std::vector<std::byte>, 6> bars; ///< contents; size() is the BAR's size
    std::array<std::uint64_t, 6> bar_addresses{};
    std::array<std::byte, 4096> config{};
    std::function<void(unsigned, std::uint64_t, std::span<std::byte>)> on_read; ///< called before a read is answered
    std::function<void(unsigned, std::uint64_t, std::span<const std::byte>)>
        on_write;                   ///< called after a write is stored
    std::function<void()> on_relax; ///< what the device does while the driver waits
    std::set<unsigned> raised;      ///< interrupt vectors not yet waited for
    std::uint64_t peer_offset = 0;  ///< added by map_peer
    std::map<std::uint64_t, std::size_t> mapped_peers;
    bool refuse_peers = false;
    std::size_t memory_limit = SIZE_MAX; ///< bytes allocate() gives before it fails
    std::size_t allocated_bytes = 0;
    unsigned interrupt_vectors = 0;
    unsigned relaxed = 0;
    std::chrono::nanoseconds time{};
    std::function<void(sw::transport::Work, std::size_t)> on_spend;

    ~FakeTransport() override {
        for (const auto& [bus, area] : areas_)
            free_area(area);
    }

    std::uint32_t config_read(std::uint16_t offset, unsigned bytes) override {
        std::uint32_t value = 0;
        std::memcpy(&value, config.data() + offset, bytes);
        return value;
    }
    void config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) override {
        std::memcpy(config.data() + offset, &value, bytes);
    }
    std::uint64_t bar_size(unsigned bar) override { return bars[bar].size(); }
    std::uint64_t bar_address(unsigned bar) override { return bar_addresses[bar]; }
    void mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override {
        if (offset + into.size() > bars[bar].size()) {
            std::ranges::fill(into, std::byte{0xff});
            return;
        }
        std::ranges::copy_n(bars[bar].begin() + static_cast<std::ptrdiff_t>(offset),
                            static_cast<std::ptrdiff_t>(into.size()), into.begin());
        if (on_read)
            on_read(bar, offset, into);
    }
    void mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override {
        if (offset + from.size() > bars[bar].size())
            return;
        std::ranges::copy(from, bars[bar].begin() + static_cast<std::ptrdiff_t>(offset));
        if (on_write)
            on_write(bar, offset, from);
    }
    sw::Result<sw::transport::DmaMemory> allocate(std::size_t bytes, std::size_t alignment) override {
        if (allocated_bytes + bytes > memory_limit)
            return sw::failure(ENOMEM, "fake transport: out of memory");
        auto* data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment}));
        std::memset(data, 0, bytes);
        next_bus_ = (next_bus_ + alignment - 1) & ~(alignment - 1);
        areas_[next_bus_] = {data, bytes, alignment};
        const sw::transport::DmaMemory memory{data, next_bus_, bytes};
        next_bus_ += bytes + 4096; // a hole, so that neighbours never merge by chance
        allocated_bytes += bytes;
        return memory;
    }
    void release(const sw::transport::DmaMemory& memory) override {
        const auto at = areas_.find(memory.bus);
        allocated_bytes -= at->second.bytes;
        free_area(at->second);
        areas_.erase(at);
    }
    sw::Result<std::uint64_t> map_peer(std::uint64_t bus, std::size_t bytes) override {
        if (refuse_peers)
            return sw::failure(EREMOTEIO, "fake transport: no way to the peer");
        mapped_peers[bus + peer_offset] = bytes;
        return bus + peer_offset;
    }
    void unmap_peer(std::uint64_t address, std::size_t) override { mapped_peers.erase(address); }
    sw::Result<void> enable_interrupts(unsigned count) override {
        interrupt_vectors = count;
        return {};
    }
    void disable_interrupts() override { interrupt_vectors = 0; }
    bool wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) override {
        const auto deadline = time + timeout;
        while (!raised.contains(vector) && time < deadline)
            relax();
        return raised.erase(vector) != 0;
    }
    void relax() override {
        ++relaxed;
        time += std::chrono::microseconds{1};
        if (on_relax)
            on_relax();
    }
    void spend(sw::transport::Work work, std::size_t count) override {
        if (on_spend)
            on_spend(work, count);
    }
    std::chrono::nanoseconds now() override { return time; }

    /// The memory behind a bus address, as the device's DMA reaches it; empty when nobody owns all of it.
    std::span<std::byte> at(std::uint64_t bus, std::size_t bytes) {
        auto area = areas_.upper_bound(bus);
        if (area == areas_.begin())
            return {};
        --area;
        if (bus + bytes > area->first + area->second.bytes)
            return {};
        return {area->second.data + (bus - area->first), bytes};
    }
    std::size_t live_allocations() const { return areas_.size(); }

private:
    struct Area {
        std::byte* data;
        std::size_t bytes;
        std::size_t alignment;
    };
    static void free_area(const Area& area) { ::operator delete(area.data, std::align_val_t{area.alignment}); }

    std::map<std::uint64_t, Area> areas_;
    std::uint64_t next_bus_ = 0x1'0000'0000;
};

} // namespace testbench
