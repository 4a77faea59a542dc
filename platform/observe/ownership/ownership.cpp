#include "platform/observe/ownership/ownership.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace platform::observe::ownership {

using model::pcie::Landing;
using model::port::Grant;
using model::port::GrantKind;
using model::port::Time;

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::size_t most_ended = 4096;    ///< mappings of an address space that are remembered after their end
constexpr std::size_t most_changes = 65536; ///< of owners that are remembered
constexpr std::uint64_t never_ps = ~std::uint64_t{0};

std::uint64_t ps(Time time) { return static_cast<std::uint64_t>(time.count()); }
std::uint64_t ps(std::optional<Time> time) { return time ? ps(*time) : never_ps; }

std::string when(std::uint64_t time_ps) {
    return time_ps == never_ps ? std::string("never")
                               : fmt::format("at {:.3f} us", static_cast<double>(time_ps) * 1e-6);
}

} // namespace

std::string to_string(const Grant& grant) {
    const auto of_command = [&](std::string_view what) {
        return fmt::format("{} of command {:#x} of SQ {}", what, grant.object, grant.holder);
    };
    switch (grant.kind) {
    case GrantKind::none: return {};
    case GrantKind::memory_key: return fmt::format("key {:#x}", grant.object);
    case GrantKind::prp: return of_command(fmt::format("PRP {}", grant.part));
    case GrantKind::sgl: return of_command(fmt::format("SGL descriptor {}", grant.part));
    case GrantKind::metadata: return of_command("the metadata pointer");
    case GrantKind::submission_queue: return fmt::format("SQ {}", grant.object);
    case GrantKind::completion_queue: return fmt::format("CQ {}", grant.object);
    case GrantKind::shadow_doorbells: return "shadow doorbells";
    case GrantKind::gpu_page: return fmt::format("page {:#x} of VMID {}", grant.object, grant.holder);
    case GrantKind::gpu_line: return fmt::format("the line of {:#x} in GL2", grant.object);
    }
    return {};
}

namespace {

/// What StaleAccess calls a grant, alone and where a remapping unit led astray, too.
struct Names {
    traces::StaleMapping alone, and_unit;
};
Names names_of(GrantKind kind) {
    switch (kind) {
    case GrantKind::none: break;
    case GrantKind::memory_key: return {stale::key, stale::key_and_unit};
    case GrantKind::prp:
    case GrantKind::sgl:
    case GrantKind::metadata: return {stale::data_pointer, stale::data_pointer_and_unit};
    case GrantKind::submission_queue:
    case GrantKind::completion_queue:
    case GrantKind::shadow_doorbells: return {stale::queue, stale::queue_and_unit};
    case GrantKind::gpu_page:
    case GrantKind::gpu_line: return {stale::gpu_page, stale::gpu_page_and_unit};
    }
    return {stale::unknown, stale::unit};
}

bool has_unit(traces::StaleMapping mapping) {
    constexpr std::array all{stale::unit, stale::key_and_unit, stale::data_pointer_and_unit, stale::queue_and_unit,
                             stale::gpu_page_and_unit};
    return std::ranges::find(all, mapping) != all.end();
}

std::string describe(const traces::StaleAccess& access, const Grant& grant) {
    const auto by = to_string(grant);
    auto text =
        fmt::format("{} {} bytes at {:#x}{}{}, which led to page {:#x}; that is of {} since {:.3f} us",
                    access.is_write ? "writes" : "reads", access.length, access.address, by.empty() ? "" : " by ", by,
                    access.page, access.owner_now, static_cast<double>(access.changed_ps) * 1e-6);
    if (access.mapped_ps == never_ps)
        return text + "; no mapping is known that led there";
    text += fmt::format("; mapped {} ({}), when it was of {}", when(access.mapped_ps), access.mapping.text(),
                        access.owner_then);
    if (has_unit(access.mapping))
        text += fmt::format("; unmapped {}, invalidated {}", when(access.unmapped_ps), when(access.invalidated_ps));
    return text;
}

} // namespace

std::string describe_stale(const traces::StaleAccess& access) {
    return describe(access, {.kind = access.key != 0 ? GrantKind::memory_key : GrantKind::none, .object = access.key});
}

std::string to_string(const StaleFinding& finding) {
    auto text = fmt::format("stale mapping: {} at {:.3f} us {}", finding.function,
                            static_cast<double>(finding.at.count()) * 1e-6, describe(finding.access, finding.grant));
    if (finding.count > 1)
        text += fmt::format(" ({} such accesses)", finding.count);
    return text;
}

// --- what software says ---

/// The parts of one buffer come one after the other, and have one owner.
Ownership::Tag Ownership::add_owner(std::string name, bool is_free) {
    if (owners_.back().name != name)
        owners_.push_back({std::move(name), is_free});
    return static_cast<Tag>(owners_.size() - 1);
}

void Ownership::set_page(std::uint64_t bus, std::uint64_t bytes, Tag tag) {
    const Page page{tag, now_()};
    pages_.assign(bus, bus + bytes, page);
    changes_.push_front({bus, bus + bytes, page});
    if (changes_.size() > most_changes)
        changes_.pop_back();
}

void Ownership::own(std::uint64_t bus, std::uint64_t bytes, std::string who) {
    set_page(bus, bytes, add_owner(std::move(who), false));
}

void Ownership::disown(std::uint64_t bus, std::uint64_t bytes) {
    const auto* before = pages_.find(bus);
    auto name = before != nullptr ? fmt::format("nobody (before: {})", owners_[before->tag].name) : "nobody";
    set_page(bus, bytes, add_owner(std::move(name), true));
}

Ownership::Tag Ownership::tag_of(std::uint64_t physical) const {
    const auto* found = pages_.find(physical);
    return found != nullptr ? found->tag : 0;
}

Ownership::Tag Ownership::tag_at(std::uint64_t physical, Time then) const {
    const auto found = std::ranges::find_if(changes_, [&](const Change& change) {
        return change.begin <= physical && physical < change.end && change.page.since <= then;
    });
    return found != changes_.end() ? found->page.tag : 0;
}

void Ownership::map(std::uint16_t domain, std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes) {
    Mapping made{.iova = iova, .physical = physical, .bytes = bytes, .made = now_()};
    pages_.for_each(physical, physical + bytes,
                    [&](const auto& piece) { made.owners.assign(piece.begin, piece.end, piece.value->tag); });
    spaces_[domain].mappings.insert_or_assign(iova, std::move(made));
}

void Ownership::unmap(std::uint16_t domain, std::uint64_t iova, std::uint64_t bytes) {
    auto& space = spaces_[domain];
    for (auto at = space.mappings.lower_bound(iova); at != space.mappings.end() && at->first - iova < bytes;) {
        at->second.unmapped = now_();
        space.ended.push_front(std::move(at->second));
        at = space.mappings.erase(at);
    }
    if (space.ended.size() > most_ended)
        space.ended.resize(most_ended);
}

void Ownership::invalidated(const model::iommu::Gone& gone) {
    for (auto& [domain, space] : spaces_) {
        if (gone.domain && *gone.domain != domain)
            continue;
        for (auto& mapping : space.ended)
            if (!mapping.invalidated && mapping.iova <= gone.last && mapping.iova + (mapping.bytes - 1) >= gone.begin)
                mapping.invalidated = now_();
    }
}

// --- what a request came by ---

std::uint64_t Ownership::follow(std::uint16_t requester, std::uint64_t address) const {
    const auto domain = domains_.find(requester);
    if (domain == domains_.end())
        return address;
    const auto space = spaces_.find(domain->second);
    if (space == spaces_.end())
        return address;
    const auto after = space->second.mappings.upper_bound(address);
    if (after == space->second.mappings.begin())
        return address;
    const auto& mapping = std::prev(after)->second;
    const auto offset = address - mapping.iova;
    return offset < mapping.bytes ? mapping.physical + offset : address;
}

const Ownership::Mapping* Ownership::find(std::uint16_t requester, std::uint64_t address,
                                          std::uint64_t physical) const {
    const auto domain = domains_.find(requester);
    if (domain == domains_.end())
        return nullptr;
    const auto space = spaces_.find(domain->second);
    if (space == spaces_.end())
        return nullptr;
    const auto& [mappings, ended] = space->second;
    if (const auto after = mappings.upper_bound(address); after != mappings.begin())
        if (const auto& mapping = std::prev(after)->second; mapping.leads(address, physical))
            return &mapping;
    const auto past =
        std::ranges::find_if(ended, [&](const Mapping& mapping) { return mapping.leads(address, physical); });
    return past != ended.end() ? &*past : nullptr;
}

std::optional<traces::StaleAccess> Ownership::judge(const Landing& landing, const Page& there, std::uint64_t physical,
                                                    std::uint64_t length, const Used& used) const {
    const auto* tag_by_unit = used.by_unit != nullptr ? used.by_unit->owners.find(physical) : nullptr;
    const Tag then_by_unit = tag_by_unit != nullptr ? *tag_by_unit : 0;
    const bool is_free = owners_[there.tag].is_free;
    const bool is_grant_stale = used.by_grant && (used.by_grant->tag != there.tag || is_free);
    const bool is_unit_stale = used.by_unit != nullptr && (then_by_unit != there.tag || is_free);
    if (!is_grant_stale && !is_unit_stale && !is_free)
        return {};
    const bool is_key = used.grant.kind == GrantKind::memory_key;
    const auto names = names_of(is_grant_stale ? used.grant.kind : GrantKind::none);
    const auto mapping = is_unit_stale ? names.and_unit : names.alone;
    const auto then = is_unit_stale ? then_by_unit : is_grant_stale ? used.by_grant->tag : Tag{0};
    return traces::StaleAccess{.requester = landing.requester.value,
                               .key = is_key ? static_cast<std::uint32_t>(used.grant.object) : 0,
                               .address = landing.address + (physical - landing.physical),
                               .page = physical & ~(page - 1),
                               .length = length,
                               .is_write = landing.is_write,
                               .mapping = mapping,
                               .owner_then = owners_[then].name,
                               .owner_now = owners_[there.tag].name,
                               .mapped_ps = is_unit_stale    ? ps(used.by_unit->made)
                                            : is_grant_stale ? ps(used.by_grant->at)
                                                             : never_ps,
                               .unmapped_ps = used.by_unit != nullptr ? ps(used.by_unit->unmapped) : never_ps,
                               .invalidated_ps = used.by_unit != nullptr ? ps(used.by_unit->invalidated) : never_ps,
                               .changed_ps = ps(there.since)};
}

bool Ownership::note(const StaleFinding& finding, Tag now) {
    const auto [known, is_new] = known_.try_emplace({finding.function, finding.access.mapping, finding.grant.object,
                                                     finding.grant.holder, now, finding.access.is_write},
                                                    findings_.size());
    if (is_new)
        findings_.push_back(finding);
    else
        ++findings_[known->second].count;
    return is_new;
}

std::vector<StaleFinding> Ownership::take_findings() {
    known_.clear();
    return std::exchange(findings_, {});
}

} // namespace platform::observe::ownership
