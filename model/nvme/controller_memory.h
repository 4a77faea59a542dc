// Memory of the controller that software may use for queues and data: in BAR 2, and for the controller itself at the
// bus address that CMBMSC names (NVMe base 2.0 "Controller Memory Buffer"). In front of the controller's DMA: what lies
// there never leaves it. Knows what it may be used for, too, as CMBSZ says it; who uses it asks. Its bytes are a memory
// file: a processor that has mapped them and stores an entry before it stores the doorbell into its own memory has them
// seen in that order, as on a bus, where the answer to the read of the doorbell pushes the entry.
#pragma once

#include "abi/nvme/registers.h"
#include "model/memory/sparse_memory.h"
#include "model/port/dma.h"

#include <cstring>
#include <optional>
#include <span>

namespace model::nvme {

class ControllerMemory final : public port::Dma {
public:
    ControllerMemory(port::Dma& dma, std::uint64_t bytes, std::uint32_t uses) : dma_(dma), uses_(uses) {
        if (bytes != 0)
            bytes_ = memory_.emplace("controller memory buffer", bytes).bytes();
    }

    std::span<std::byte> bytes() { return bytes_; }
    /// The memory file; -1: there is no buffer.
    int file() const { return memory_ ? memory_->file() : -1; }
    void map(std::uint64_t base) { base_ = base, is_mapped_ = !bytes_.empty(); }
    void unmap() { is_mapped_ = false; }
    bool is_mapped() const { return is_mapped_; }

    enum class Place : std::uint8_t { outside, inside, across };
    Place place(std::uint64_t address, std::uint64_t length) const {
        if (!is_mapped_ || length == 0)
            return Place::outside;
        if (address - base_ < bytes_.size())
            return length <= bytes_.size() - (address - base_) ? Place::inside : Place::across;
        return base_ - address < length ? Place::across : Place::outside;
    }
    bool is_for(abi::nvme::MemoryUse use) const { return (uses_ & static_cast<std::uint32_t>(use)) != 0; }
    /// Whether memory for this use may lie there: not at all in the buffer, or all of it where CMBSZ has the use.
    bool takes(std::uint64_t address, std::uint64_t length, abi::nvme::MemoryUse use) const {
        const auto where = place(address, length);
        return where == Place::outside || (where == Place::inside && is_for(use));
    }

    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, port::Time at,
                         port::Purpose purpose = port::Purpose::control) override {
        if (!has(address.value, into.size())) [[likely]]
            return dma_.read(address, into, at, purpose);
        std::memcpy(into.data(), bytes_.data() + (address.value - base_), into.size());
        return {port::DmaStatus::ok, at};
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, port::Time at,
                          port::Purpose purpose = port::Purpose::control) override {
        note_issued(at);
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
    bool has(std::uint64_t address, std::size_t length) const { return place(address, length) == Place::inside; }

    port::Dma& dma_;
    std::optional<memory::SparseMemory> memory_;
    std::span<std::byte> bytes_; ///< of it
    std::uint32_t uses_;
    std::uint64_t base_ = 0;
    bool is_mapped_ = false;
};

} // namespace model::nvme
