#include "model/iommu/invalidation_queue.h"

#include <algorithm>
#include <array>
#include <utility>

namespace model::iommu {

using namespace abi::iommu;

void InvalidationQueue::set_enabled(bool is_enabled, port::Time at) {
    if (is_enabled == is_enabled_)
        return;
    is_enabled_ = is_enabled;
    head_ = 0;
    run(at);
}

void InvalidationQueue::set_tail(std::uint64_t value, port::Time at) {
    tail_ = QueueTail{value}.get<"qt">();
    run(at);
}

QueueError InvalidationQueue::check() const {
    const auto mode = translator_.mode();
    const bool is_wide = base_.get<"dw">();
    if (mode == TableMode::reserved)
        return QueueError::invalid_table_mode;
    if ((is_wide && !config_.scalable_mode) || (!is_wide && mode == TableMode::scalable))
        return QueueError::invalid_descriptor_width;
    if (tail_ >= bytes())
        return QueueError::invalid_tail;
    return tail_ % width() == 0 ? QueueError::none : QueueError::misaligned_tail;
}

void InvalidationQueue::run(port::Time at) {
    while (is_enabled_ && head_ != tail_ && !faults_.is_queue_stopped()) {
        if (const auto error = check(); error != QueueError::none)
            return faults_.queue_error(error, at);
        if (head_ >= bytes() ||
            head_ % width() != 0) // software has changed the size of the queue or of its descriptors
            head_ = 0;
        std::array<std::byte, 32> raw{};
        const auto from = std::span(raw).first(width());
        const auto result = memory_.read(abi::BusAddress{base_.get<"iqa">() + head_}, from, at);
        at = result.done;
        if (!result.is_ok())
            return faults_.queue_error(QueueError::fetch_error, at);
        Words words;
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = abi::load<std::uint64_t, abi::Endian::little>(raw.data() + 8 * i);
        const auto executed = execute(words, at);
        at = executed.done;
        if (executed.error != QueueError::none)
            return faults_.queue_error(executed.error, at);
        ++descriptors_;
        head_ = (head_ + width()) % bytes();
    }
    // No wait descriptor follows: the time-out is reported all the same.
    if (head_ == tail_ && silent_device_)
        faults_.invalidation_timeout(*std::exchange(silent_device_, std::nullopt), at);
}

bool InvalidationQueue::is_offered(DescriptorType type) const {
    switch (type) {
    case DescriptorType::context_cache:
    case DescriptorType::iotlb:
    case DescriptorType::wait: return true;
    case DescriptorType::device_tlb: return config_.device_tlb;
    case DescriptorType::pasid_iotlb:
    case DescriptorType::pasid_cache: return config_.scalable_mode;
    case DescriptorType::pasid_device_tlb: return config_.scalable_mode && config_.device_tlb;
    case DescriptorType::page_response: return config_.page_requests && config_.device_tlb;
    case DescriptorType::interrupt_entry: return false; // no interrupt remapping
    }
    return false;
}

InvalidationQueue::Executed InvalidationQueue::execute(const Words& words, port::Time at) {
    const AnyDescriptor any({words[0], words[1]});
    const auto type = static_cast<DescriptorType>(any.get<"type">() | any.get<"type_high">() << 4);
    if (!is_offered(type))
        return {QueueError::invalid_type, at};
    const auto has_reserved = [&](const auto& descriptor) {
        return descriptor.has_reserved() || (words[2] | words[3]) != 0;
    };
    const auto run = [&](const auto& descriptor, auto... when) -> Executed {
        return {has_reserved(descriptor) ? QueueError::reserved_field : execute(descriptor, when...), at};
    };
    switch (type) {
    case DescriptorType::context_cache: return run(ContextCacheDescriptor(any.words));
    case DescriptorType::iotlb: return run(IotlbDescriptor(any.words));
    case DescriptorType::device_tlb: return run(DeviceTlbDescriptor(any.words), at);
    case DescriptorType::pasid_iotlb: return run(PasidIotlbDescriptor(any.words));
    case DescriptorType::pasid_cache: return run(PasidCacheDescriptor(any.words));
    case DescriptorType::pasid_device_tlb: return run(PasidDeviceTlbDescriptor(any.words), at);
    case DescriptorType::page_response: return run(PageResponseDescriptor(any.words), at);
    case DescriptorType::wait: {
        const WaitDescriptor wait(any.words);
        return has_reserved(wait) ? Executed{QueueError::reserved_field, at} : execute(wait, at);
    }
    case DescriptorType::interrupt_entry: break;
    }
    return {QueueError::invalid_type, at};
}

QueueError InvalidationQueue::execute(const ContextCacheDescriptor& descriptor) {
    const auto domain = static_cast<std::uint16_t>(descriptor.get<"did">());
    switch (descriptor.get<"g">()) {
    case ContextGranularity::global: translator_.forget_contexts(); return QueueError::none;
    case ContextGranularity::domain: translator_.forget_contexts(domain); return QueueError::none;
    case ContextGranularity::device: {
        // The function mask ignores upper bits of the function number.
        static constexpr std::array<std::uint16_t, 4> ignored{0, 4, 6, 7};
        translator_.forget_contexts(domain, static_cast<std::uint16_t>(descriptor.get<"sid">()),
                                    ignored[descriptor.get<"fm">()]);
        return QueueError::none;
    }
    }
    return QueueError::reserved_field;
}

/// A wait descriptor behind this one completes when all writes that the unit let through before are in memory. From
/// major version 2 on the unit drains whether DW is set or not (VT-d "Capability Register", DWD); the listener has
/// drained reads.
void InvalidationQueue::drain_writes() {
    if (listener_ != nullptr)
        writes_landed_ = std::max(writes_landed_, listener_->writes_landed());
}

QueueError InvalidationQueue::execute(const IotlbDescriptor& descriptor) {
    drain_writes();
    const auto domain = static_cast<std::uint16_t>(descriptor.get<"did">());
    switch (descriptor.get<"g">()) {
    case IotlbGranularity::global: translator_.forget_pages(); return QueueError::none;
    case IotlbGranularity::page:
        if (config_.page_selective) {
            if (descriptor.get<"am">() > config_.max_address_mask)
                return QueueError::reserved_field;
            translator_.forget_pages(domain, descriptor.get<"addr">(),
                                     std::uint64_t{1} << (page_shift + descriptor.get<"am">()), descriptor.get<"ih">());
            return QueueError::none;
        }
        [[fallthrough]]; // hardware without it invalidates the domain
    case IotlbGranularity::domain: translator_.forget_pages(domain); return QueueError::none;
    }
    return QueueError::reserved_field;
}

QueueError InvalidationQueue::execute(const PasidIotlbDescriptor& descriptor) {
    drain_writes();
    const auto domain = static_cast<std::uint16_t>(descriptor.get<"did">());
    const auto pasid = static_cast<std::uint32_t>(descriptor.get<"pasid">());
    switch (descriptor.get<"g">()) {
    case PasidIotlbGranularity::page:
        if (config_.page_selective) {
            if (descriptor.get<"am">() > config_.max_address_mask)
                return QueueError::reserved_field;
            translator_.forget_pages_of(domain, pasid, descriptor.get<"addr">(),
                                        std::uint64_t{1} << (page_shift + descriptor.get<"am">()),
                                        descriptor.get<"ih">());
            return QueueError::none;
        }
        [[fallthrough]];
    case PasidIotlbGranularity::pasid: translator_.forget_pages_of(domain, pasid); return QueueError::none;
    }
    return QueueError::reserved_field;
}

QueueError InvalidationQueue::execute(const PasidCacheDescriptor& descriptor) {
    const auto domain = static_cast<std::uint16_t>(descriptor.get<"did">());
    switch (descriptor.get<"g">()) {
    case PasidCacheGranularity::domain: translator_.forget_pasids(domain); return QueueError::none;
    case PasidCacheGranularity::pasid:
        translator_.forget_pasids(domain, static_cast<std::uint32_t>(descriptor.get<"pasid">()));
        return QueueError::none;
    case PasidCacheGranularity::global: translator_.forget_pasids(); return QueueError::none;
    }
    return QueueError::reserved_field;
}

QueueError InvalidationQueue::execute(const DeviceTlbDescriptor& descriptor, port::Time at) {
    const auto range = invalidation_range(descriptor.get<"addr">(), descriptor.get<"s">());
    invalidate_device(
        {.device = static_cast<std::uint16_t>(descriptor.get<"sid">()), .begin = range.begin, .bytes = range.bytes},
        at);
    return QueueError::none;
}

QueueError InvalidationQueue::execute(const PasidDeviceTlbDescriptor& descriptor, port::Time at) {
    const auto range = invalidation_range(descriptor.get<"addr">(), descriptor.get<"s">());
    invalidate_device({.device = static_cast<std::uint16_t>(descriptor.get<"sid">()),
                       .pasid = static_cast<std::uint32_t>(descriptor.get<"pasid">()),
                       .is_global = descriptor.get<"g">(),
                       .begin = range.begin,
                       .bytes = range.bytes},
                      at);
    return QueueError::none;
}

/// Sends the request and does not wait; that is for the wait descriptor. The device's completion arrives behind its
/// posted writes (PCIe 6.0 §10.3.1).
void InvalidationQueue::invalidate_device(const DeviceInvalidation& invalidation, port::Time at) {
    drain_writes();
    const auto done = listener_ != nullptr ? listener_->invalidate_device(invalidation, at) : std::nullopt;
    if (done)
        devices_done_ = std::max(devices_done_, *done);
    else if (!silent_device_)
        silent_device_ = invalidation.device;
}

QueueError InvalidationQueue::execute(const PageResponseDescriptor& descriptor, port::Time at) {
    if (listener_ != nullptr)
        listener_->page_response(
            {.device = static_cast<std::uint16_t>(descriptor.get<"rid">()),
             .pasid = descriptor.get<"pp">() ? static_cast<std::uint32_t>(descriptor.get<"pasid">()) : no_pasid,
             .group = static_cast<std::uint16_t>(descriptor.get<"prgi">()),
             .code = descriptor.get<"code">()},
            at);
    return QueueError::none;
}

InvalidationQueue::Executed InvalidationQueue::execute(const WaitDescriptor& descriptor, port::Time at) {
    if (descriptor.get<"pd">() && !(config_.page_requests && config_.device_tlb))
        return {QueueError::reserved_field, at};
    // A device that did not answer in time aborts the wait: no status, no interrupt (VT-d "Hardware Handling of Queued
    // Invalidation Interface Errors").
    if (silent_device_) {
        faults_.invalidation_timeout(*std::exchange(silent_device_, std::nullopt), at);
        return {QueueError::none, at};
    }
    // All descriptors before this one are done, since they are carried out one by one: there is nothing to fence.
    at = std::max({at, devices_done_, writes_landed_});
    if (descriptor.get<"sw">()) {
        std::array<std::byte, 4> status;
        abi::store<std::uint32_t, abi::Endian::little>(status.data(),
                                                       static_cast<std::uint32_t>(descriptor.get<"stdata">()));
        at = memory_.write(abi::BusAddress{descriptor.get<"staddr">()}, status, at).done;
    }
    if (descriptor.get<"if">() && !completion_.get<"iwc">()) {
        completion_.set<"iwc">(true);
        event.raise(at);
    }
    return {QueueError::none, at};
}

void InvalidationQueue::write_completion_status(std::uint32_t value) {
    if (CompletionStatus{value}.get<"iwc">()) {
        completion_.set<"iwc">(false);
        event.clear_pending();
    }
}

} // namespace model::iommu
