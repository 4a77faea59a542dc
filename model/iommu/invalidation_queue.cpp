#include "model/iommu/invalidation_queue.h"

#include <array>

namespace model::iommu {

using namespace abi::iommu;

void InvalidationQueue::set_enabled(bool is_enabled, port::Time at) {
    if (is_enabled == is_enabled_)
        return;
    is_enabled_ = is_enabled;
    head_ = 0;
    run(at);
}

void InvalidationQueue::set_base(std::uint64_t value) { base_ = QueueAddress{value & QueueAddress::defined[0]}; }

void InvalidationQueue::set_tail(std::uint64_t value, port::Time at) {
    tail_ = QueueTail{value}.get<"qt">();
    run(at);
}

void InvalidationQueue::run(port::Time at) {
    while (is_enabled_ && head_ != tail_ && !faults_.is_queue_stopped()) {
        if (tail_ >= bytes())
            return faults_.queue_error(QueueError::invalid_tail, at);
        if (base_.get<"dw">()) // no 256-bit descriptors without scalable mode
            return faults_.queue_error(QueueError::invalid_descriptor_width, at);
        if (tail_ % width() != 0)
            return faults_.queue_error(QueueError::misaligned_tail, at);
        if (head_ >= bytes()) // the queue was made smaller behind our back
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
        if (const auto error = execute(words, at); error != QueueError::none)
            return faults_.queue_error(error, at);
        ++descriptors_;
        head_ = (head_ + width()) % bytes();
    }
}

QueueError InvalidationQueue::execute(const Words& words, port::Time& at) {
    if ((words[2] | words[3]) != 0)
        return QueueError::reserved_field;
    const AnyDescriptor any({words[0], words[1]});
    const auto run = [&](const auto& descriptor, auto&&... more) {
        return descriptor.has_reserved() ? QueueError::reserved_field : execute(descriptor, more...);
    };
    switch (static_cast<DescriptorType>(any.get<"type">() | any.get<"type_high">() << 4)) {
    case DescriptorType::context_cache: return run(ContextCacheDescriptor(any.words));
    case DescriptorType::iotlb: return run(IotlbDescriptor(any.words));
    case DescriptorType::wait: return run(WaitDescriptor(any.words), at);
    default: return QueueError::invalid_type;
    }
}

QueueError InvalidationQueue::execute(const ContextCacheDescriptor& descriptor) {
    const auto domain = static_cast<std::uint16_t>(descriptor.get<"did">());
    switch (descriptor.get<"g">()) {
    case ContextGranularity::global: translator_.forget_contexts(); return QueueError::none;
    case ContextGranularity::domain: translator_.forget_contexts(domain); return QueueError::none;
    case ContextGranularity::device: {
        // The function mask leaves out bits of the function number, from its highest down.
        static constexpr std::array<std::uint16_t, 4> ignored{0, 4, 6, 7};
        translator_.forget_contexts(domain, static_cast<std::uint16_t>(descriptor.get<"sid">()),
                                    ignored[descriptor.get<"fm">()]);
        return QueueError::none;
    }
    }
    return QueueError::reserved_field;
}

QueueError InvalidationQueue::execute(const IotlbDescriptor& descriptor) {
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

QueueError InvalidationQueue::execute(const WaitDescriptor& descriptor, port::Time& at) {
    // Everything before is done: descriptors are carried out one by one, so there is nothing to fence.
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
    return QueueError::none;
}

void InvalidationQueue::write_completion_status(std::uint32_t value) {
    if (CompletionStatus{value}.get<"iwc">()) {
        completion_.set<"iwc">(false);
        event.settle();
    }
}

} // namespace model::iommu
