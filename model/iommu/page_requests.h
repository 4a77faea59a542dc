// The page request queue: writes the requests of devices into memory, where software reads them. Where software will
// not answer, the unit does: when the tables forbid page requests, and when the queue is full. VT-d "Page Request
// Servicing".
#pragma once

#include "abi/iommu/page_request.h"
#include "abi/iommu/registers.h"
#include "model/iommu/event.h"
#include "model/iommu/fault_log.h"
#include "model/iommu/listener.h"
#include "model/iommu/translator.h"

#include <cstdint>

namespace model::iommu {

/// A page request message (PCIe 6.0 §10.4.1). One that is neither read nor write is a stop marker.
struct PageRequest {
    std::uint16_t requester = 0;
    std::uint32_t pasid = no_pasid;
    std::uint64_t address = 0;
    std::uint16_t group = 0; ///< page request group index, 9 bits
    bool is_last = false;    ///< of its group
    bool is_read = false, is_write = false, is_execute = false, is_privileged = false;
};

class PageRequests {
public:
    PageRequests(const IommuConfig& config, port::Dma& memory, Translator& translator, FaultLog& faults,
                 Listener* listener)
        : event(memory), config_(config), memory_(memory), translator_(translator), faults_(faults),
          listener_(listener) {}

    void receive(const PageRequest& request, port::Time at);

    std::uint64_t head() const { return head_; }
    std::uint64_t tail() const { return tail_; }
    std::uint64_t base() const { return base_.value(); }
    void set_head(std::uint64_t value) { head_ = abi::iommu::PageQueueHead{value}.get<"pqh">(); }
    void set_tail(std::uint64_t value) { tail_ = abi::iommu::PageQueueTail{value}.get<"pqt">(); }
    void write_base(abi::iommu::Written value) { base_ = base_.written(value); }
    std::uint32_t status() const { return static_cast<std::uint32_t>(status_.value()); }
    /// Bits written 1 are cleared.
    void write_status(std::uint32_t value);

    Event event;

private:
    abi::iommu::FaultReason admit(const PageRequest& request, bool& is_recorded, WalkCost& cost);
    void respond(const PageRequest& request, abi::iommu::ResponseCode code, port::Time at);

    const IommuConfig& config_;
    port::Dma& memory_;
    Translator& translator_;
    FaultLog& faults_;
    Listener* listener_;
    abi::iommu::PageQueueAddress base_;
    abi::iommu::PageRequestStatus status_;
    std::uint64_t head_ = 0, tail_ = 0;
};

} // namespace model::iommu
