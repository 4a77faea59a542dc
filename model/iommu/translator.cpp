#include "model/iommu/translator.h"

#include <algorithm>

namespace model::iommu {

using abi::iommu::FaultReason;
using port::DmaStatus;

namespace {

constexpr std::uint64_t interrupts_begin = 0xfee0'0000, interrupts_end = 0xfef0'0000;

constexpr bool touches_interrupts(std::uint64_t address, std::uint64_t length) {
    return address < interrupts_end && address + std::max<std::uint64_t>(length, 1) > interrupts_begin;
}

constexpr FaultReason reason_of(WalkError error) {
    switch (error) {
    case WalkError::access: return FaultReason::paging_access;
    case WalkError::reserved: return FaultReason::paging_reserved;
    case WalkError::no_read: return FaultReason::no_read;
    case WalkError::no_write: return FaultReason::no_write;
    }
    return FaultReason::paging_access;
}

} // namespace

Translator::Translator(const IommuConfig& config, port::Dma& memory, FaultLog& faults, Listener* listener)
    : config_(config), faults_(faults), listener_(listener), contexts_(config, memory), pages_(config, memory),
      iotlb_(config.iotlb) {}

// --- requests ---

Translation Translator::translate(const Request& request, port::Time at) {
    WalkCost cost{.at = at};
    if (!is_enabled_) {
        if (request.type == AddressType::translation_request)
            return {.status = DmaStatus::unsupported_request, .ready = at};
        return {.address = request.address,
                .length = request.length,
                .shift = 64,
                .is_readable = true,
                .is_writable = true,
                .is_interrupt = request.access == Access::write && touches_interrupts(request.address, request.length),
                .ready = at};
    }
    // A dword written to the interrupt range is a message, not a memory request; anything else there is refused
    // (VT-d "Handling Requests to Interrupt Address Range").
    if (request.pasid == no_pasid && touches_interrupts(request.address, request.length) &&
        request.type == AddressType::untranslated) {
        if (request.access == Access::write && request.length == 4 && request.address % 4 == 0)
            return {.address = request.address, .length = 4, .is_writable = true, .is_interrupt = true, .ready = at};
        const auto& space = contexts_.find(request, cost);
        return refuse(request, space.fault != FaultReason::none ? space.fault : FaultReason::interrupt_range,
                      space.is_recorded, cost);
    }

    const auto& space = contexts_.find(request, cost);
    if (space.fault != FaultReason::none) [[unlikely]]
        return refuse(request, space.fault, space.is_recorded, cost);
    if (request.type != AddressType::untranslated && !space.has_device_tlb) [[unlikely]]
        return refuse(request, FaultReason::blocked, space.is_recorded, cost);
    if (request.address >> space.address_bits != 0) [[unlikely]]
        return refuse(request, FaultReason::beyond_width, space.is_recorded, cost);
    if (space.is_pass_through) {
        const Page everything{0, static_cast<std::uint8_t>(space.address_bits), true, true};
        return finish(request, space, everything, cost);
    }

    const auto owner = space.tables.owner;
    auto* const cached = look_up(owner, request.address);
    iotlb_.note(cached != nullptr);
    if (cached != nullptr) [[likely]] {
        if (cached->fault != FaultReason::none) [[unlikely]]
            return refuse(request, cached->fault, space.is_recorded, cost);
        return finish(request, space, cached->page, cost);
    }
    const auto page = pages_.walk(space.tables, request.address, request.access,
                                  config_.zero_length_read && request.length == 0, cost);
    if (!page) {
        const auto reason = reason_of(page.error());
        if (config_.caching_mode && page.error() != WalkError::access) {
            iotlb_.insert(key_of(owner, request.address, 0), {.page = {}, .fault = reason});
            kept_[0] = true;
        }
        return refuse(request, reason, space.is_recorded, cost);
    }
    const auto size = static_cast<std::size_t>(std::ranges::find(shifts, page->shift) - shifts.begin());
    iotlb_.insert(key_of(owner, request.address, size), {.page = *page});
    kept_[size] = true;
    return finish(request, space, *page, cost);
}

Translation Translator::finish(const Request& request, const AddressSpace& space, const Page& page,
                               const WalkCost& cost) {
    const bool may_read = page.is_readable || (config_.zero_length_read && request.length == 0 && page.is_writable);
    if (request.access != Access::read && !page.is_writable) [[unlikely]]
        return refuse(request, FaultReason::no_write, space.is_recorded, cost);
    if (request.access != Access::write && !may_read) [[unlikely]]
        return refuse(request, FaultReason::no_read, space.is_recorded, cost);
    const auto size = std::uint64_t{1} << page.shift;
    const auto offset = request.address & (size - 1);
    const auto address = page.address | offset;
    const auto length = std::min(request.length, size - offset);
    if (touches_interrupts(address, length)) [[unlikely]]
        return refuse(request, FaultReason::interrupt_range, space.is_recorded, cost);
    return {.address = address,
            .length = length,
            .shift = page.shift,
            .is_readable = page.is_readable,
            .is_writable = page.is_writable,
            .reads = static_cast<std::uint8_t>(cost.reads),
            .ready = cost.at};
}

Translation Translator::refuse(const Request& request, FaultReason reason, bool is_recorded, const WalkCost& cost) {
    if (is_recorded)
        faults_.record(request, reason, cost.at);
    return {.status = DmaStatus::unsupported_request,
            .fault = reason,
            .reads = static_cast<std::uint8_t>(cost.reads),
            .ready = cost.at};
}

// --- what is kept ---

CacheKey Translator::key_of(std::uint64_t owner, std::uint64_t address, std::size_t size) {
    return {.owner = owner | std::uint64_t{size} << 62, .page = address >> shifts[size]};
}

Translator::Cached* Translator::look_up(std::uint64_t owner, std::uint64_t address) {
    for (std::size_t size = 0; size < shifts.size(); ++size)
        if (kept_[size])
            if (auto* const found = iotlb_.find(key_of(owner, address, size)))
                return found;
    return nullptr;
}

void Translator::set_root(abi::iommu::RootTableAddress root) {
    contexts_.set_root(root);
    tell({});
}

void Translator::set_enabled(bool is_enabled) {
    if (is_enabled_ == is_enabled)
        return;
    is_enabled_ = is_enabled;
    tell({});
}

void Translator::forget_contexts() {
    contexts_.forget_all();
    tell({});
}

void Translator::forget_contexts(std::uint16_t domain) {
    contexts_.forget_domain(domain);
    tell({.domain = domain});
}

void Translator::forget_contexts(std::uint16_t domain, std::uint16_t requester, std::uint16_t ignored) {
    contexts_.forget_requester(domain, requester, ignored);
    tell({.requester = ignored == 0 ? std::optional(requester) : std::nullopt});
}

void Translator::forget_pages() {
    iotlb_.clear();
    pages_.forget_all();
    kept_ = {};
    tell({});
}

void Translator::forget_pages(std::uint16_t domain) {
    iotlb_.invalidate([&](const CacheKey& key, const Cached&) { return (key.owner & 0xffff) == domain; });
    pages_.forget(domain);
    tell({.domain = domain});
}

void Translator::forget_pages(std::uint16_t domain, std::uint64_t begin, std::uint64_t bytes, bool is_leaf_only) {
    const auto first = begin & ~(bytes - 1), last = first + (bytes - 1);
    iotlb_.invalidate([&](const CacheKey& key, const Cached&) {
        const auto shift = shifts[key.owner >> 62];
        return (key.owner & 0xffff) == domain && key.page >= first >> shift && key.page <= last >> shift;
    });
    if (!is_leaf_only)
        pages_.forget(domain, first, last);
    tell({.domain = domain, .begin = first, .last = last});
}

void Translator::tell(const Gone& gone) {
    if (listener_ != nullptr)
        listener_->translations_gone(gone);
}

} // namespace model::iommu
