// Memory of the controller that software may use for queues and data: in BAR 2, and for the controller itself at the
// bus address that CMBMSC names (NVMe base 2.0 "Controller Memory Buffer"). In front of the controller's DMA: what lies
// there never leaves it. Its bytes are a memory file: a processor that has mapped them and stores an entry before it
// stores the doorbell into its own memory has them seen in that order, as on a bus, where the answer to the read of the
// doorbell pushes the entry.
#pragma once

#include "model/memory/sparse_memory.h"
#include "model/port/dma.h"

#include <cstring>
#include <optional>
#include <span>

namespace model::nvme {

class ControllerMemory final : public port::Dma {
public:
    ControllerMemory(port::Dma& dma, std::uint64_t bytes) : dma_(dma) {
        if (bytes != 0)
            bytes_ = memory_.emplace("controller memory buffer", bytes).bytes();
    }

    std::span<std::byte> bytes() { return bytes_; }
    /// The memory file; -1: there is no buffer.
    int file() const { return memory_ ? memory_->file() : -1; }
    void map(std::uint64_t base) { base_ = base, is_mapped_ = !bytes_.empty(); }
    void unmap() { is_mapped_ = false; }

    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, port::Time at,
                         port::Purpose purpose = port::Purpose::control) override {
        if (!has(address.value, into.size())) [[likely]]
            return dma_.read(address, into, at, purpose);
        std::memcpy(into.data(), bytes_.data() + (address.value - base_), into.size());
        return {port::DmaStatus::ok, at};
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, port::Time at,
                          port::Purpose purpose = port::Purpose::control) override {
        if (!has(address.value, from.size())) [[likely]]
            return dma_.write(address, from, at, purpose);
        std::memcpy(bytes_.data() + (address.value - base_), from.data(), from.size());
        return {port::DmaStatus::ok, at};
    }
    port::Loan lend(abi::BusAddress address, std::size_t length, port::Time at,
                    port::Purpose purpose = port::Purpose::control) override {
        if (!has(address.value, length)) [[likely]]
            return dma_.lend(address, length, at, purpose);
        return {bytes_.data() + (address.value - base_), {port::DmaStatus::ok, at}};
    }

private:
    bool has(std::uint64_t address, std::size_t length) const {
        return is_mapped_ && length != 0 && address - base_ < bytes_.size() &&
               length <= bytes_.size() - (address - base_);
    }
    port::Dma& dma_;
    std::optional<memory::SparseMemory> memory_;
    std::span<std::byte> bytes_; ///< of it
    std::uint64_t base_ = 0;
    bool is_mapped_ = false;
};

} // namespace model::nvme
