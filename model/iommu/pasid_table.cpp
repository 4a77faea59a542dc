#include "model/iommu/pasid_table.h"

#include <algorithm>

namespace model::iommu {

using namespace abi::iommu;

const AddressSpace& PasidTable::find(std::uint64_t root, const Request& request, WalkCost& cost) {
    const auto refused = [&](FaultReason reason, bool is_recorded) -> const AddressSpace& {
        return found_ = refusal(reason, is_recorded, Stage::second_stage);
    };
    const auto& context = context_of(root, request.requester, cost);
    if (context.fault != FaultReason::none)
        return refused(context.fault, context.is_recorded);
    const bool has_pasid = request.pasid != no_pasid;
    if (request.type != AddressType::untranslated && !context.has_device_tlb)
        return refused(FaultReason::device_tlb_disabled, context.is_recorded);
    if (has_pasid && !context.has_pasid)
        return refused(FaultReason::pasid_disabled, context.is_recorded);
    const auto pasid = has_pasid ? request.pasid : context.default_pasid;
    if (pasid >> pasid_table_bits >= context.directory_entries)
        return refused(has_pasid ? FaultReason::pasid_too_large : FaultReason::rid_pasid_too_large,
                       context.is_recorded);

    const CacheKey key{.owner = request.requester, .page = pasid};
    const auto* const kept = pasids_.find(key);
    pasids_.note(kept != nullptr);
    if (kept != nullptr)
        return *kept;
    found_ = look_up(context, pasid, cost);
    found_.has_device_tlb = context.has_device_tlb;
    found_.is_supervisor = context.is_supervisor;
    found_.is_recorded = found_.is_recorded && context.is_recorded;
    if (found_.fault == FaultReason::none || config_.caching_mode)
        pasids_.insert(key, found_);
    return found_;
}

const PasidContext& PasidTable::context_of(std::uint64_t root, std::uint16_t requester, WalkCost& cost) {
    const CacheKey key{.owner = 0, .page = requester};
    const auto* const kept = contexts_.find(key);
    contexts_.note(kept != nullptr);
    if (kept != nullptr)
        return *kept;
    found_context_ = look_up_context(root, requester, cost);
    if (found_context_.fault == FaultReason::none || config_.caching_mode)
        contexts_.insert(key, found_context_);
    return found_context_;
}

PasidContext PasidTable::look_up_context(std::uint64_t table, std::uint16_t requester, WalkCost& cost) const {
    PasidContext out;
    const auto refused = [&](FaultReason reason) {
        out.fault = reason;
        return out;
    };

    // Two tables of 128 contexts for each bus: devices 0 to 15, and 16 to 31.
    ScalableRootEntry root;
    if (!read_entry(memory_, table + (requester >> 8) * ScalableRootEntry::size, root, cost))
        return refused(FaultReason::sm_root_access);
    const bool is_upper = (requester & 0x80) != 0;
    const auto half = root.words[is_upper];
    const auto contexts = is_upper ? root.get<"uctp">() : root.get<"lctp">();
    if (!(is_upper ? root.get<"up">() : root.get<"lp">()))
        return refused(FaultReason::sm_root_not_present);
    if ((half & ~ScalableRootEntry::defined[is_upper]) != 0 || is_beyond(contexts))
        return refused(FaultReason::sm_root_reserved);

    ScalableContextEntry entry;
    if (!read_entry(memory_, contexts + (requester & 0x7fu) * ScalableContextEntry::size, entry, cost))
        return refused(FaultReason::sm_context_access);
    out.is_recorded = !entry.get<"fpd">();
    if (!entry.get<"p">())
        return refused(FaultReason::sm_context_not_present);
    const bool is_unsupported = (entry.get<"dte">() && !config_.device_tlb) ||
                                (entry.get<"pre">() && !(config_.page_requests && config_.device_tlb));
    if (entry.has_reserved() || is_unsupported || is_beyond(entry.get<"pasiddirptr">()))
        return refused(FaultReason::sm_context_reserved);
    if (entry.get<"rid_priv">() && !config_.first_stage) // supervisor requests are not supported
        return refused(FaultReason::sm_context_invalid);
    out.has_device_tlb = entry.get<"dte">();
    out.has_pasid = entry.get<"paside">();
    out.has_page_requests = entry.get<"pre">();
    out.is_supervisor = entry.get<"rid_priv">();
    out.directory = entry.get<"pasiddirptr">();
    out.directory_entries = std::uint64_t{1} << (entry.get<"pdts">() + 7);
    out.default_pasid = static_cast<std::uint32_t>(entry.get<"rid_pasid">());
    return out;
}

AddressSpace PasidTable::look_up(const PasidContext& context, std::uint32_t pasid, WalkCost& cost) const {
    const auto refused = [](FaultReason reason, bool is_recorded) {
        return refusal(reason, is_recorded, Stage::second_stage);
    };
    PasidDirectoryEntry directory;
    const auto index = pasid >> pasid_table_bits;
    if (!read_entry(memory_, context.directory + index * PasidDirectoryEntry::size, directory, cost))
        return refused(FaultReason::pasid_directory_access, true);
    bool is_recorded = !directory.get<"fpd">();
    if (!directory.get<"p">())
        return refused(FaultReason::pasid_directory_not_present, is_recorded);
    if (directory.has_reserved() || is_beyond(directory.get<"smptblptr">()))
        return refused(FaultReason::pasid_directory_reserved, is_recorded);

    PasidEntry entry;
    const auto slot = pasid & ((1u << pasid_table_bits) - 1);
    if (!read_entry(memory_, directory.get<"smptblptr">() + slot * PasidEntry::size, entry, cost))
        return refused(FaultReason::pasid_access, is_recorded);
    is_recorded = is_recorded && !entry.get<"fpd">();
    if (!entry.get<"p">())
        return refused(FaultReason::pasid_not_present, is_recorded);
    auto space = decode(entry, pasid);
    space.is_recorded = is_recorded;
    return space;
}

AddressSpace PasidTable::decode(const PasidEntry& entry, std::uint32_t pasid) const {
    const auto type = entry.get<"pgtt">();
    const bool is_first = type == PasidTranslation::first_stage, is_second = type == PasidTranslation::second_stage;
    // Accessed and dirty bits of the second stage, execute requests and extended accessed flags are not supported.
    const bool is_unsupported =
        entry.get<"ssade">() || entry.get<"ssee">() || entry.get<"ere">() || entry.get<"eafe">();
    const bool is_wrong_pointer =
        (is_first && is_beyond(entry.get<"fsptptr">())) || (is_second && is_beyond(entry.get<"ssptptr">()));
    if (entry.has_reserved() || is_unsupported || is_wrong_pointer || entry.get<"did">() >> config_.domain_bits != 0)
        return refusal(FaultReason::pasid_reserved, true, Stage::second_stage);

    AddressSpace space;
    space.domain = static_cast<std::uint16_t>(entry.get<"did">());
    space.stage = is_first ? Stage::first_stage : Stage::second_stage;
    space.allows_supervisor = entry.get<"sre">();
    const auto invalid = refusal(FaultReason::pasid_invalid, true, Stage::second_stage);
    if (is_first) {
        const auto levels = entry.get<"fspm">() == 0 ? 4u : 5u;
        if (!config_.first_stage || entry.get<"fspm">() > 1 || (levels == 5 && !config_.five_levels))
            return invalid;
        space.address_bits = shift_of(levels + 1);
        space.tables = {.table = entry.get<"fsptptr">(),
                        .levels = levels,
                        // First-stage translations belong to a PASID of a domain.
                        .owner = space.domain | (std::uint64_t{pasid} + 1) << 16,
                        .format = TableFormat::first_stage,
                        .is_write_protected = entry.get<"wpe">()};
        return space;
    }
    if (is_second) {
        const auto levels = static_cast<unsigned>(entry.get<"aw">()) + 2;
        if (!has_levels(config_, levels))
            return invalid;
        space.address_bits = std::min(config_.guest_address_bits, shift_of(levels + 1));
        space.tables = {.table = entry.get<"ssptptr">(), .levels = levels, .owner = space.domain};
        return space;
    }
    if (type != PasidTranslation::pass_through || !config_.pass_through)
        return invalid;
    space.is_pass_through = true;
    space.address_bits = config_.host_address_bits;
    return space;
}

void PasidTable::forget_requester(std::uint16_t requester, std::uint16_t ignored) {
    contexts_.invalidate([&](const CacheKey& key, const PasidContext&) {
        return ((key.page ^ requester) & 0xffffu & ~unsigned{ignored}) == 0;
    });
}

void PasidTable::forget_domain(std::uint16_t domain) {
    pasids_.invalidate([&](const CacheKey&, const AddressSpace& space) { return space.domain == domain; });
}

void PasidTable::forget_pasid(std::uint16_t domain, std::uint32_t pasid) {
    pasids_.invalidate(
        [&](const CacheKey& key, const AddressSpace& space) { return space.domain == domain && key.page == pasid; });
}

} // namespace model::iommu
