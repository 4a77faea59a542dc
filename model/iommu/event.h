// One of the three events of a remapping unit (fault, invalidation completion, page request): a control register with
// mask and pending bit, and the message it sends, which is a memory write. VT-d "Remapping Hardware Event Interrupt
// Programming".
#pragma once

#include "abi/iommu/registers.h"
#include "model/port/dma.h"

#include <cstdint>

namespace model::iommu {

class Event {
public:
    explicit Event(port::Dma& memory) : memory_(memory) {}

    /// An interrupt condition arose. Masked: it stays pending.
    void raise(port::Time at);
    /// Software has served every condition before the message went out.
    void settle() { control_.set<"ip">(false); }

    std::uint32_t control() const { return static_cast<std::uint32_t>(control_.value()); }
    /// Taking the mask away sends what is pending.
    void write_control(std::uint32_t value, port::Time at);

    std::uint32_t data = 0, address = 0, upper_address = 0;

private:
    void send(port::Time at);

    port::Dma& memory_;
    abi::iommu::EventControl control_ = abi::iommu::EventControl{}.set<"im">(true);
};

} // namespace model::iommu
