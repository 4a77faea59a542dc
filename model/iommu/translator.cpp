#include "model/iommu/translator.h"

#include "abi/pcie/capability.h"
#include "model/iommu/fault_reason.h"

#include <algorithm>

namespace model::iommu {

using abi::iommu::FaultReason;
using abi::iommu::TableMode;
using port::DmaStatus;

namespace {

using abi::pcie::interrupts_begin, abi::pcie::interrupts_end;

constexpr bool touches_interrupts(std::uint64_t address, std::uint64_t length) {
    return address < interrupts_end && address + std::max<std::uint64_t>(length, 1) > interrupts_begin;
}

constexpr bool is_canonical(std::uint64_t address, unsigned bits) {
    const auto upper = static_cast<std::int64_t>(address) >> (bits - 1);
    return upper == 0 || upper == -1;
}

/// Whether a cached page answers the request. One that lacks a right does not: software may have added the right since,
/// and need not invalidate for that (VT-d "Caching Mode", "Required Invalidations": only rights that are taken away are
/// invalidated).
bool answers(const Page& page, const Request& request, bool is_supervisor, bool is_write_protected,
             bool takes_empty_reads) {
    if (request.access != Access::read && page.is_clean)
        return false;
    if (!is_supervisor && !page.is_user)
        return false;
    const bool may_write = page.is_writable || (is_supervisor && !is_write_protected);
    const bool may_read = page.is_readable || (takes_empty_reads && request.length == 0 && page.is_writable);
    return (request.access == Access::read || may_write) && (request.access == Access::write || may_read);
}

/// Uses a cached fault for another kind of access than the one that found it: in legacy mode an absent page cannot be
/// read, or cannot be written.
FaultReason absence(FaultReason kept, Access access) {
    if (kept != FaultReason::no_read && kept != FaultReason::no_write)
        return kept;
    return access == Access::read ? FaultReason::no_read : FaultReason::no_write;
}

constexpr std::uint16_t domain_of(std::uint64_t owner) { return static_cast<std::uint16_t>(owner); }
constexpr std::uint64_t owner_of(std::uint16_t domain, std::uint32_t pasid) {
    return domain | (std::uint64_t{pasid} + 1) << 16;
}

} // namespace

Translator::Translator(const IommuConfig& config, port::Dma& memory, FaultLog& faults, Listener* listener)
    : config_(config), faults_(faults), listener_(listener), contexts_(config, memory), pasids_(config, memory),
      pages_(config, memory), iotlb_(config.iotlb), no_mode_(refusal(FaultReason::table_mode_invalid)) {}

// --- requests ---

Translation Translator::translate(const Request& request, port::Time at) {
    WalkCost cost{.at = at};
    const bool is_translation = request.type == AddressType::translation_request;
    if (!is_enabled_) {
        if (is_translation)
            return {.status = DmaStatus::unsupported_request, .ready = at};
        return {.address = request.address,
                .length = request.length,
                .shift = 64,
                .is_readable = true,
                .is_writable = true,
                .is_interrupt = request.access == Access::write && touches_interrupts(request.address, request.length),
                .ready = at};
    }
    if (request.pasid == no_pasid && request.type != AddressType::translated &&
        touches_interrupts(request.address, request.length)) [[unlikely]]
        return interrupt(request, cost);

    const auto& space = find_space(request, cost);
    if (const auto reason = admit(request, space); reason != FaultReason::none) [[unlikely]]
        return refuse(request, reason, space.is_recorded, cost);
    if (space.is_pass_through || request.type == AddressType::translated)
        return pass(request, space, cost);

    const auto owner = space.tables.owner;
    auto* const cached = look_up(owner, request.address);
    const bool is_supervisor = request.pasid == no_pasid ? space.is_supervisor : request.is_privileged;
    const bool ignores_protection = space.stage == Stage::first_stage && !space.tables.is_write_protected;
    const bool is_hit = cached != nullptr &&
                        (cached->fault != FaultReason::none ||
                         answers(cached->page, request, is_supervisor, !ignores_protection, config_.zero_length_read));
    iotlb_.note(is_hit, request.packets);
    if (is_hit) [[likely]] {
        if (cached->fault != FaultReason::none) [[unlikely]]
            return refuse(request, absence(cached->fault, request.access), space.is_recorded, cost);
        return finish(request, space, cached->page, cost);
    }
    Wanted wanted{.address = request.address,
                  .access = request.access,
                  .is_empty = config_.zero_length_read && request.length == 0,
                  .is_any_right = is_translation,
                  .is_supervisor = is_supervisor};
    const auto page = pages_.walk(space.tables, wanted, cost);
    if (!page) {
        const auto reason = reason_of(page.error(), space.stage);
        const auto is_absent = [&] {
            if (page.error() == WalkError::not_present || page.error() == WalkError::reserved)
                return true;
            // A second-stage entry is absent when it allows nothing; one that lacks this right alone is there.
            if (page.error() != WalkError::no_read && page.error() != WalkError::no_write)
                return false;
            WalkCost aside{.at = cost.at};
            wanted.is_any_right = true;
            return !pages_.walk(space.tables, wanted, aside);
        };
        if (config_.caching_mode && is_absent()) {
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

const AddressSpace& Translator::find_space(const Request& request, WalkCost& cost) {
    switch (mode()) {
    case TableMode::legacy: return contexts_.find(root(), request, cost);
    case TableMode::scalable:
        if (config_.scalable_mode)
            return pasids_.find(root(), request, cost);
        [[fallthrough]];
    default: return no_mode_;
    }
}

/// Faults that do not depend on the page.
FaultReason Translator::admit(const Request& request, const AddressSpace& space) const {
    if (space.fault != FaultReason::none)
        return space.fault;
    if (request.type != AddressType::untranslated && !space.has_device_tlb)
        return FaultReason::blocked;
    if (request.pasid != no_pasid && request.is_execute) // ERE is reserved: execute requests are not supported
        return FaultReason::execute_disabled;
    const bool is_supervisor = request.pasid == no_pasid ? space.is_supervisor : request.is_privileged;
    if (is_supervisor && !space.allows_supervisor)
        return FaultReason::supervisor_disabled;
    const bool is_reachable = request.type == AddressType::translated
                                  ? request.address >> config_.host_address_bits == 0
                              : space.stage == Stage::first_stage ? is_canonical(request.address, space.address_bits)
                                                                  : request.address >> space.address_bits == 0;
    return is_reachable ? FaultReason::none : reason_of(AddressError::beyond_width, space);
}

/// A request that has a host address already.
Translation Translator::pass(const Request& request, const AddressSpace& space, const WalkCost& cost) {
    if (touches_interrupts(request.address, request.length)) [[unlikely]]
        return refuse(request, reason_of(AddressError::interrupt_range, space), space.is_recorded, cost);
    const auto size = std::uint64_t{1} << config_.host_address_bits;
    return {.address = request.address,
            .length = std::min(request.length, size - request.address),
            .shift = static_cast<std::uint8_t>(config_.host_address_bits),
            .is_readable = true,
            .is_writable = true,
            .reads = static_cast<std::uint8_t>(cost.reads),
            .ready = cost.at};
}

Translation Translator::finish(const Request& request, const AddressSpace& space, const Page& page,
                               const WalkCost& cost) {
    const bool is_translation = request.type == AddressType::translation_request;
    const bool is_supervisor = request.pasid == no_pasid ? space.is_supervisor : request.is_privileged;
    const bool is_user_refused = !is_supervisor && !page.is_user;
    const bool may_write =
        page.is_writable || (space.stage == Stage::first_stage && is_supervisor && !space.tables.is_write_protected);
    const bool may_read = page.is_readable || (config_.zero_length_read && request.length == 0 && page.is_writable);
    if (is_user_refused) [[unlikely]]
        return refuse(request, FaultReason::no_user, space.is_recorded, cost);
    if (!is_translation && request.access != Access::read && !may_write) [[unlikely]]
        return refuse(request, reason_of(WalkError::no_write, space.stage), space.is_recorded, cost);
    if (!is_translation && request.access != Access::write && !may_read) [[unlikely]]
        return refuse(request, reason_of(WalkError::no_read, space.stage), space.is_recorded, cost);
    const auto size = std::uint64_t{1} << page.shift;
    const auto offset = request.address & (size - 1);
    const auto address = page.address | offset;
    const auto length = std::min(request.length, size - offset);
    if (touches_interrupts(address, length)) [[unlikely]]
        return refuse(request, reason_of(AddressError::interrupt_range, space), space.is_recorded, cost);
    return {.address = address,
            .length = length,
            .shift = page.shift,
            .is_readable = page.is_readable,
            // A device that has promised not to write gets no right to write, so that the page stays clean.
            .is_writable = may_write && !(is_translation && page.is_clean && request.access == Access::read),
            .reads = static_cast<std::uint8_t>(cost.reads),
            .ready = cost.at};
}

/// A dword written to the interrupt range is a message, not a memory request; a translation request learns that the
/// range is to be used as it is; anything else there is refused (VT-d "Handling Requests to Interrupt Address Range").
Translation Translator::interrupt(const Request& request, WalkCost& cost) {
    if (request.type == AddressType::untranslated && request.access == Access::write && request.length == 4 &&
        request.address % 4 == 0)
        return {.address = request.address, .length = 4, .is_writable = true, .is_interrupt = true, .ready = cost.at};
    const auto& space = find_space(request, cost);
    if (const auto reason = admit(request, space); reason != FaultReason::none)
        return refuse(request, reason, space.is_recorded, cost);
    if (request.type == AddressType::translation_request)
        return {.address = request.address,
                .length = request.length,
                .shift = 12,
                .is_writable = true,
                .is_untranslated_only = true,
                .reads = static_cast<std::uint8_t>(cost.reads),
                .ready = cost.at};
    return refuse(request, reason_of(AddressError::interrupt_range, space), space.is_recorded, cost);
}

/// A translation request that finds no page is answered, not recorded: the device may ask for the page.
Translation Translator::refuse(const Request& request, FaultReason reason, bool is_recorded, const WalkCost& cost) {
    const bool is_translation = request.type == AddressType::translation_request;
    const auto status = is_translation ? translation_status(reason) : DmaStatus::unsupported_request;
    if (status != DmaStatus::ok && is_recorded)
        faults_.record(request, reason, cost.at);
    else if (status != DmaStatus::ok)
        faults_.pass_over(request, reason, cost.at);
    return {.status = status,
            .fault = reason,
            .shift = 12,
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
    root_ = root;
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
    pasids_.forget_contexts();
    tell({});
}

void Translator::forget_contexts(std::uint16_t domain) {
    contexts_.forget_domain(domain);
    pasids_.forget_contexts();
    tell({});
}

void Translator::forget_contexts(std::uint16_t domain, std::uint16_t requester, std::uint16_t ignored) {
    contexts_.forget_requester(domain, requester, ignored);
    pasids_.forget_requester(requester, ignored);
    tell({.requester = ignored == 0 ? std::optional(requester) : std::nullopt});
}

void Translator::forget_pasids() {
    pasids_.forget_pasids();
    tell({});
}

void Translator::forget_pasids(std::uint16_t domain) {
    pasids_.forget_domain(domain);
    tell({.domain = domain});
}

void Translator::forget_pasids(std::uint16_t domain, std::uint32_t pasid) {
    pasids_.forget_pasid(domain, pasid);
    tell({.domain = domain});
}

template <class Owns> void Translator::drop(Owns&& owns) {
    iotlb_.invalidate([&](const CacheKey& key, const Cached&) { return owns(key.owner & ~(std::uint64_t{3} << 62)); });
    pages_.forget(owns);
}

template <class Owns> void Translator::drop(Owns&& owns, std::uint64_t first, std::uint64_t last, bool is_leaf_only) {
    iotlb_.invalidate([&](const CacheKey& key, const Cached&) {
        const auto shift = shifts[key.owner >> 62];
        return owns(key.owner & ~(std::uint64_t{3} << 62)) && key.page >= first >> shift && key.page <= last >> shift;
    });
    if (!is_leaf_only)
        pages_.forget(owns, first, last);
}

void Translator::forget_pages() {
    iotlb_.clear();
    pages_.forget_all();
    kept_ = {};
    tell({});
}

void Translator::forget_pages(std::uint16_t domain) {
    drop([=](std::uint64_t owner) { return domain_of(owner) == domain; });
    tell({.domain = domain});
}

void Translator::forget_pages(std::uint16_t domain, std::uint64_t begin, std::uint64_t bytes, bool is_leaf_only) {
    const auto first = begin & ~(bytes - 1), last = first + (bytes - 1);
    drop([=](std::uint64_t owner) { return owner == domain; }, first, last, is_leaf_only);
    tell({.domain = domain, .begin = first, .last = last});
}

void Translator::forget_pages_of(std::uint16_t domain, std::uint32_t pasid) {
    drop([=](std::uint64_t owner) { return owner == owner_of(domain, pasid); });
    tell({.domain = domain});
}

void Translator::forget_pages_of(std::uint16_t domain, std::uint32_t pasid, std::uint64_t begin, std::uint64_t bytes,
                                 bool is_leaf_only) {
    const auto first = begin & ~(bytes - 1), last = first + (bytes - 1);
    drop([=](std::uint64_t owner) { return owner == owner_of(domain, pasid); }, first, last, is_leaf_only);
    tell({.domain = domain, .begin = first, .last = last});
}

void Translator::tell(const Gone& gone) {
    if (listener_ != nullptr)
        listener_->translations_gone(gone);
}

} // namespace model::iommu
