// A remapping unit as software and requests see it: registers on one side, translate() on the other.
// VT-d "Register Descriptions".
#pragma once

#include "model/iommu/config.h"
#include "model/iommu/fault_log.h"
#include "model/iommu/invalidation_queue.h"
#include "model/iommu/page_requests.h"
#include "model/iommu/translator.h"

#include <cstdint>

namespace model::iommu {

class Iommu {
public:
    /// memory    host memory as the unit itself reaches it: tables, queues, status words, and interrupt messages
    /// listener  is told which translations have ended; may be nullptr
    Iommu(const IommuConfig& config, port::Dma& memory, Listener* listener = nullptr);

    Translation translate(const Request& request, port::Time now) { return translator_.translate(request, now); }

    void request_page(const PageRequest& request, port::Time now) { page_requests_.receive(request, now); }

    /// Registers: aligned accesses of 4 or 8 bytes. Others read as zero and change nothing.
    std::uint64_t read(std::uint32_t offset, unsigned bytes) const;
    void write(std::uint32_t offset, unsigned bytes, std::uint64_t value, port::Time now);

    void set_events(traces::Events events) { faults_.set_events(events); }
    const IommuConfig& config() const { return config_; }
    const Translator& translator() const { return translator_; }
    const FaultLog& faults() const { return faults_; }
    const InvalidationQueue& queue() const { return queue_; }

private:
    std::uint32_t read_dword(std::uint32_t offset) const;
    void write_dword(std::uint32_t offset, std::uint32_t value, port::Time now);
    void command(std::uint32_t value, port::Time now);
    /// The event that has a register at `offset`, with the register's number among its four; or nullptr.
    template <class Self> static auto event_at(Self& self, std::uint32_t offset);

    IommuConfig config_;
    FaultLog faults_;
    Translator translator_;
    InvalidationQueue queue_;
    PageRequests page_requests_;
    abi::iommu::GlobalStatus status_;
    abi::iommu::RootTableAddress root_;
    abi::iommu::ContextCommand context_command_;
    abi::iommu::InvalidateAddress invalidate_address_;
    abi::iommu::IotlbInvalidate iotlb_command_;
};

} // namespace model::iommu
