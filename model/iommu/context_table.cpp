#include "model/iommu/context_table.h"

#include <algorithm>

namespace model::iommu {

using namespace abi::iommu;

const AddressSpace& ContextTable::find(std::uint64_t root, const Request& request, WalkCost& cost) {
    if (request.pasid != no_pasid)
        return found_ = refusal(FaultReason::pasid_in_legacy_mode);

    const CacheKey key{.owner = 0, .page = request.requester};
    const auto* const found = cache_.find(key);
    cache_.note(found != nullptr);
    if (found != nullptr)
        return *found;
    found_ = look_up(root, request.requester, cost);
    // In caching mode entries that are not present or faulty are kept, too, under domain 0 (VT-d "Caching Mode").
    if (found_.fault == FaultReason::none || config_.caching_mode)
        cache_.insert(key, found_);
    return found_;
}

AddressSpace ContextTable::look_up(std::uint64_t table, std::uint16_t requester, WalkCost& cost) const {
    const auto is_beyond = [&](std::uint64_t address) { return address >> config_.host_address_bits != 0; };

    RootEntry root;
    if (!read_entry(memory_, table + (requester >> 8) * RootEntry::size, root, cost))
        return refusal(FaultReason::root_access);
    if (!root.get<"p">())
        return refusal(FaultReason::root_not_present);
    if (root.has_reserved() || is_beyond(root.get<"ctp">()))
        return refusal(FaultReason::root_reserved);

    ContextEntry context;
    if (!read_entry(memory_, root.get<"ctp">() + (requester & 0xffu) * ContextEntry::size, context, cost))
        return refusal(FaultReason::context_access);
    const bool is_recorded = !context.get<"fpd">();
    if (!context.get<"p">())
        return refusal(FaultReason::context_not_present, is_recorded);
    const auto type = context.get<"tt">();
    const bool is_pass_through = type == TranslationType::pass_through;
    const bool is_domain = context.get<"did">() >> config_.domain_bits == 0;
    if (context.has_reserved() || !is_domain || (!is_pass_through && is_beyond(context.get<"ssptptr">())))
        return refusal(FaultReason::context_reserved, is_recorded);
    const bool has_device_tlb = type == TranslationType::with_device_tlb;
    const bool is_supported = type == TranslationType::untranslated_only || (is_pass_through && config_.pass_through) ||
                              (has_device_tlb && config_.device_tlb);
    const auto levels = static_cast<unsigned>(context.get<"aw">()) + 2;
    if (!is_supported || !has_levels(config_, levels))
        return refusal(FaultReason::context_invalid, is_recorded);

    AddressSpace space;
    space.is_recorded = is_recorded;
    space.is_pass_through = is_pass_through;
    space.has_device_tlb = has_device_tlb;
    space.domain = static_cast<std::uint16_t>(context.get<"did">());
    space.address_bits =
        is_pass_through ? config_.host_address_bits : std::min(config_.guest_address_bits, shift_of(levels + 1));
    space.tables = {.table = context.get<"ssptptr">(), .levels = levels, .owner = space.domain};
    return space;
}

void ContextTable::forget_domain(std::uint16_t domain) {
    cache_.invalidate([&](const CacheKey&, const AddressSpace& space) { return space.domain == domain; });
}

void ContextTable::forget_requester(std::uint16_t domain, std::uint16_t requester, std::uint16_t ignored) {
    cache_.invalidate([&](const CacheKey& key, const AddressSpace& space) {
        return space.domain == domain && ((key.page ^ requester) & 0xffffu & ~unsigned{ignored}) == 0;
    });
}

} // namespace model::iommu
