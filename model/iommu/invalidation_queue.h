// The invalidation queue: descriptors that software wrote, carried out in order. Stops at one that is malformed, until
// software has cleared the error. VT-d "Queued Invalidation Interface".
#pragma once

#include "abi/iommu/invalidation.h"
#include "abi/iommu/registers.h"
#include "model/iommu/event.h"
#include "model/iommu/translator.h"

#include <array>
#include <cstdint>
#include <optional>

namespace model::iommu {

class InvalidationQueue {
public:
    InvalidationQueue(const IommuConfig& config, port::Dma& memory, Translator& translator, FaultLog& faults,
                      Listener* listener)
        : event(memory), config_(config), memory_(memory), translator_(translator), faults_(faults),
          listener_(listener) {}

    void set_enabled(bool is_enabled, port::Time at);
    bool is_enabled() const { return is_enabled_; }
    std::uint64_t base() const { return base_.value(); }
    void write_base(abi::iommu::Written value) { base_ = base_.written(value); }
    std::uint64_t head() const { return head_; }
    std::uint64_t tail() const { return tail_; }
    void set_tail(std::uint64_t value, port::Time at);
    /// Carries out the descriptors that are in the queue; also called after an error was cleared.
    void run(port::Time at);

    std::uint32_t completion_status() const { return static_cast<std::uint32_t>(completion_.value()); }
    void write_completion_status(std::uint32_t value);

    std::uint64_t descriptors() const { return descriptors_; }
    /// When the devices have completed all invalidations sent so far.
    port::Time devices_done() const { return devices_done_; }

    Event event;

private:
    using Words = std::array<std::uint64_t, 4>;
    struct Executed {
        abi::iommu::QueueError error = abi::iommu::QueueError::none;
        port::Time done{}; ///< when the next descriptor may begin
    };

    std::uint64_t bytes() const { return std::uint64_t{0x1000} << base_.get<"qs">(); }
    std::uint64_t width() const { return base_.get<"dw">() ? 32 : 16; }
    /// Carries out one descriptor. After an error the queue stands at this descriptor.
    Executed execute(const Words& words, port::Time at);
    abi::iommu::QueueError execute(const abi::iommu::ContextCacheDescriptor& descriptor);
    abi::iommu::QueueError execute(const abi::iommu::IotlbDescriptor& descriptor);
    abi::iommu::QueueError execute(const abi::iommu::PasidIotlbDescriptor& descriptor);
    abi::iommu::QueueError execute(const abi::iommu::PasidCacheDescriptor& descriptor);
    abi::iommu::QueueError execute(const abi::iommu::DeviceTlbDescriptor& descriptor, port::Time at);
    abi::iommu::QueueError execute(const abi::iommu::PasidDeviceTlbDescriptor& descriptor, port::Time at);
    abi::iommu::QueueError execute(const abi::iommu::PageResponseDescriptor& descriptor, port::Time at);
    Executed execute(const abi::iommu::WaitDescriptor& descriptor, port::Time at);
    void invalidate_device(const DeviceInvalidation& invalidation, port::Time at);
    void drain_writes();
    /// What is wrong with the queue itself.
    abi::iommu::QueueError check() const;
    bool is_offered(abi::iommu::DescriptorType type) const;

    const IommuConfig& config_;
    port::Dma& memory_;
    Translator& translator_;
    FaultLog& faults_;
    Listener* listener_;
    abi::iommu::QueueAddress base_;
    abi::iommu::CompletionStatus completion_;
    std::uint64_t head_ = 0, tail_ = 0, descriptors_ = 0;
    port::Time devices_done_{};                  ///< when the devices have completed all invalidations sent so far
    port::Time writes_landed_{};                 ///< when writes by invalidated translations are in memory
    std::optional<std::uint16_t> silent_device_; ///< a device that did not complete in time
    bool is_enabled_ = false;
};

} // namespace model::iommu
