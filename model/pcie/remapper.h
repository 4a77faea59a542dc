// A remapping unit in the middle of a direct path. One path leads from the requester to the unit. For each request the
// unit gives a host address, and another path leads there. The unit answers from its caches as they are, even where
// they are stale.
#pragma once

#include "abi/pcie/config_space.h"
#include "abi/pcie/tlp.h"
#include "model/port/dma.h"

#include <cstdint>

namespace model::pcie {

using abi::pcie::no_pasid;

class Remapper {
public:
    struct Request { ///< does not cross 4 KiB
        abi::pcie::Bdf requester;
        abi::pcie::AddressType type = abi::pcie::AddressType::untranslated;
        std::uint32_t pasid = no_pasid;
        std::uint64_t address = 0, length = 0;
        bool is_write = false;
        std::uint64_t packets = 1; ///< on the link
    };
    struct Remapped {
        port::DmaStatus status = port::DmaStatus::ok;
        std::uint64_t address = 0; ///< as the host has it
        port::Time ready{};        ///< when the request goes on, or its completion back
        bool is_ok() const { return status == port::DmaStatus::ok; }
    };
    virtual ~Remapper() = default;
    /// A request that has arrived at `at`.
    virtual Remapped remap(const Request& request, port::Time at) = 0;
};

} // namespace model::pcie
