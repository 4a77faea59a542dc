// What stands in the middle of a direct path and judges each request on it: a remapping unit. The path leads to the
// gate and from it to whatever address the gate gives; what the gate has kept, it answers from there, stale or not.
#pragma once

#include "abi/pcie/config_space.h"
#include "abi/pcie/tlp.h"
#include "model/port/dma.h"

#include <cstdint>

namespace model::pcie {

inline constexpr std::uint32_t no_pasid = ~0u;

class Gate {
public:
    struct Request { ///< does not cross 4 KiB
        abi::pcie::Bdf requester;
        abi::pcie::AddressType type = abi::pcie::AddressType::untranslated;
        std::uint32_t pasid = no_pasid;
        std::uint64_t address = 0, length = 0;
        bool is_write = false;
        std::uint64_t packets = 1; ///< on the link
    };
    struct Passage {
        port::DmaStatus status = port::DmaStatus::ok;
        std::uint64_t address = 0; ///< beyond the gate
        port::Time ready{};        ///< when the request goes on, or its completion back
        bool is_ok() const { return status == port::DmaStatus::ok; }
    };
    virtual ~Gate() = default;
    /// A request that has arrived at `at`.
    virtual Passage pass(const Request& request, port::Time at) = 0;
};

} // namespace model::pcie
