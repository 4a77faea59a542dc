// How the card reads and writes host memory: so many reads at a time, each of which begins when one before it has
// ended. The bytes are copied into the card, which keeps no reference to memory that is software's.
#pragma once

#include "model/port/dma.h"
#include "model/time/window.h"

#include <algorithm>
#include <span>

namespace model::simple {

class HostMemory {
public:
    HostMemory(port::Dma& dma, unsigned reads) : dma_(dma), reads_("PCIe reads", reads) {}

    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, port::Time at, port::Purpose purpose) {
        const auto begin = reads_.enter(at);
        const auto result = dma_.read(address, into, begin, purpose);
        reads_.leave(begin, result.done);
        if (begin > at) // no place was free: whoever asks next would wait, too
            blocked_until_ = std::max(blocked_until_, begin);
        return result;
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, port::Time at,
                          port::Purpose purpose) {
        return dma_.write(address, from, at, purpose);
    }
    /// Until when a unit that has asked for more than goes at a time has to wait before it asks again.
    port::Time next_read(port::Time now) { return std::max(blocked_until_, dma_.next_read(now)); }
    time::Account account() const { return reads_.account(); }

private:
    port::Dma& dma_;
    time::Window reads_;
    port::Time blocked_until_{};
};

} // namespace model::simple
