// The initialization segment (PRM "Initialization segment"), the start of BAR 0: what a driver reads before it can send
// commands, the address and doorbell of the command queue, the health buffer and the free-running timer. Big endian.
// The MSI-X structures in the same BAR belong to the PCIe endpoint, the UAR pages behind it to the data path.
#pragma once

#include "abi/prm/init_segment.h"
#include "firmware/command_queue.h"
#include "firmware/state.h"
#include "model/port/time.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace firmware {

class InitSegment {
public:
    /// `disable`: what happens when the driver turns the NIC interface off.
    InitSegment(const model::hca::HcaConfig& config, CommandQueue& queue, std::function<void()> disable);

    /// Any length and alignment; beyond the segment everything reads 0.
    void read(std::uint64_t offset, std::span<std::byte> into, model::port::Time at);
    /// Whole dwords count, in ascending order; what is not writable is ignored.
    void write(std::uint64_t offset, std::span<const std::byte> from, model::port::Time at);
    void reset();

    static std::uint64_t timer(const model::hca::HcaConfig& config, model::port::Time at);

private:
    void write_dword(std::uint64_t offset, std::uint32_t value, model::port::Time at);

    const model::hca::HcaConfig& config_;
    CommandQueue& queue_;
    std::function<void()> disable_;
    abi::Block<abi::prm::InitialSegment> image_;
    std::uint32_t health_reads_ = 0;
};

} // namespace firmware
