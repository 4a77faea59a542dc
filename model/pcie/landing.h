// An observer is told where each memory request of a function ends: the address as the function has it, and the address
// on the bus of the host, whatever path the request took. There need be no observer.
#pragma once

#include "abi/pcie/config_space.h"
#include "model/port/dma.h"

#include <cstdint>

namespace model::pcie {

struct Landing {
    abi::pcie::Bdf requester;
    std::uint64_t address = 0;  ///< as the function has it
    std::uint64_t physical = 0; ///< on the bus of the host, of its memory or of a BAR
    std::uint64_t length = 0;   ///< bytes; all of them are consecutive at both addresses
    bool is_write = false;
    bool is_translated = false; ///< by a remapping unit, or by the function's own TLB
    port::Purpose purpose{};
};

class LandingWatch {
public:
    virtual ~LandingWatch() = default;
    virtual void landed(const Landing& landing, port::Time at) = 0;
};

} // namespace model::pcie
