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
    /// Software has served every condition before the message was sent.
    void clear_pending() { control_.set<"ip">(false); }

    /// The four registers of an event stand one behind the other: control, data, address, upper address.
    static constexpr std::uint32_t register_count = 4;
    std::uint32_t read(std::uint32_t index) const;
    /// Clearing the mask sends a pending message.
    void write(std::uint32_t index, std::uint32_t value, port::Time at);

private:
    void write_control(std::uint32_t value, port::Time at);
    void send(port::Time at);

    port::Dma& memory_;
    abi::iommu::EventControl control_ = abi::iommu::EventControl{}.set<"im">(true);
    abi::iommu::EventData data_;
    abi::iommu::EventAddress address_;
    abi::iommu::EventUpperAddress upper_address_;
};

} // namespace model::iommu
