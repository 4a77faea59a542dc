// What the tests of a client's functions share: two cards, memory that can be mapped for them, and vectors.
#pragma once

#include "platform/bridge/vfio_user/guest_module.h"

#include "testbench/harness/guest_bench.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace testbench::guest {

using namespace platform::bridge::vfio_user;
using abi::BusAddress;
using model::port::DmaStatus;

inline constexpr std::uint64_t page = 4096;

/// A machine with two cards, both enabled, and memory of a client that can be mapped for them.
struct MappedGuest : GuestMachine {
    GuestRam ram{64 * page};
    explicit MappedGuest(const model::pcie::AtsConfig& ats = {}) : GuestMachine(ats) {
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        enable(0);
        enable(1);
    }
    int map(unsigned number, std::uint64_t address, std::uint64_t size, std::uint64_t offset = 0,
            bool is_writable = true) {
        return port(number).map({address, size, offset, true, is_writable}, ram.descriptor());
    }
    model::port::Dma& dma(ScratchCard& card) { return card.endpoint.dma(); }
    /// What becomes of it, also where the card does not hear of it.
    DmaStatus write(ScratchCard& card, BusAddress address, std::span<const std::byte> data) {
        return card.fate(dma(card).write(address, data, {}));
    }
};

inline std::array<std::byte, 8> pattern(int seed) {
    std::array<std::byte, 8> out;
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::byte>(seed + static_cast<int>(i));
    return out;
}

/// For vectors of MSI-X.
inline IrqSetRequest irqs(IrqSetRequest::Data data, IrqSetRequest::Action action, std::uint32_t start,
                          std::uint32_t count) {
    return {data, action, 2, start, count, {}};
}
using Data = IrqSetRequest::Data;
using Action = IrqSetRequest::Action;

/// Gives a vector of MSI-X its eventfd; 0 or an errno.
inline int set_event(FunctionPort& port, std::uint32_t vector, const EventCounter& event) {
    std::vector<Descriptor> files;
    files.push_back(event.descriptor());
    return port.set_irqs(irqs(Data::eventfd, Action::trigger, vector, 1), std::move(files));
}

} // namespace testbench::guest
