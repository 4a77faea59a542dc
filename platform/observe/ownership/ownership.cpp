#include "platform/observe/ownership/ownership.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace platform::observe::ownership {

using model::hca::tpt::is_indirect;
using model::hca::tpt::Mkey;
using model::pcie::Landing;
using model::port::Purpose;
using model::port::Time;

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::size_t most_ended = 4096; ///< mappings of an address space that are remembered after their end
constexpr unsigned most_indirections = 4;
constexpr std::uint64_t never_ps = ~std::uint64_t{0};

std::uint64_t ps(Time time) { return static_cast<std::uint64_t>(time.count()); }
std::uint64_t ps(std::optional<Time> time) { return time ? ps(*time) : never_ps; }

std::string when(std::uint64_t time_ps) {
    return time_ps == never_ps ? std::string("never")
                               : fmt::format("at {:.3f} us", static_cast<double>(time_ps) * 1e-6);
}

} // namespace

std::string describe_stale(const traces::StaleAccess& access) {
    const bool has_key = access.key != 0, has_unit = access.mapping != stale::key && access.mapping != stale::unknown;
    auto text = fmt::format("{} {} bytes at {:#x}{}, which led to page {:#x}; that is of {} since {:.3f} us",
                            access.is_write ? "writes" : "reads", access.length, access.address,
                            has_key ? fmt::format(" by key {:#x}", access.key) : std::string(), access.page,
                            access.owner_now, static_cast<double>(access.changed_ps) * 1e-6);
    if (access.mapping == stale::unknown)
        return text + "; no mapping is known that led there";
    text += fmt::format("; mapped {} ({}), when it was of {}", when(access.mapped_ps), access.mapping.text(),
                        access.owner_then);
    if (has_unit)
        text += fmt::format("; unmapped {}, invalidated {}", when(access.unmapped_ps), when(access.invalidated_ps));
    return text;
}

std::string to_string(const StaleFinding& finding) {
    auto text = fmt::format("stale mapping: {} at {:.3f} us {}", finding.function,
                            static_cast<double>(finding.at.count()) * 1e-6, describe_stale(finding.access));
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

void Ownership::own(std::uint64_t bus, std::uint64_t bytes, std::string who) {
    pages_.assign(bus, bus + bytes, {add_owner(std::move(who), false), now_()});
}

void Ownership::disown(std::uint64_t bus, std::uint64_t bytes) {
    const auto* before = pages_.find(bus);
    auto name = before != nullptr ? fmt::format("nobody (before: {})", owners_[before->tag].name) : "nobody";
    pages_.assign(bus, bus + bytes, {add_owner(std::move(name), true), now_()});
}

Ownership::Tag Ownership::tag_of(std::uint64_t physical) const {
    const auto* found = pages_.find(physical);
    return found != nullptr ? found->tag : 0;
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
    const bool is_key_stale = used.by_key != nullptr && (used.by_key->tag != there.tag || is_free);
    const bool is_unit_stale = used.by_unit != nullptr && (then_by_unit != there.tag || is_free);
    if (!is_key_stale && !is_unit_stale && !is_free)
        return {};
    const auto mapping = is_key_stale && is_unit_stale ? stale::both
                         : is_unit_stale               ? stale::unit
                         : is_key_stale                ? stale::key
                                                       : stale::unknown;
    const auto then = is_unit_stale ? then_by_unit : is_key_stale ? used.by_key->tag : Tag{0};
    return traces::StaleAccess{.requester = landing.requester.value,
                               .key = used.by_key != nullptr ? used.key : 0,
                               .address = landing.address + (physical - landing.physical),
                               .page = physical & ~(page - 1),
                               .length = length,
                               .is_write = landing.is_write,
                               .mapping = mapping,
                               .owner_then = owners_[then].name,
                               .owner_now = owners_[there.tag].name,
                               .mapped_ps = is_unit_stale  ? ps(used.by_unit->made)
                                            : is_key_stale ? ps(used.by_key->made)
                                                           : never_ps,
                               .unmapped_ps = used.by_unit != nullptr ? ps(used.by_unit->unmapped) : never_ps,
                               .invalidated_ps = used.by_unit != nullptr ? ps(used.by_unit->invalidated) : never_ps,
                               .changed_ps = ps(there.since)};
}

bool Ownership::note(const StaleFinding& finding, Tag now) {
    const auto [known, is_new] = known_.try_emplace(
        {finding.function, finding.access.mapping, finding.access.key, now, finding.access.is_write}, findings_.size());
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

// --- a function ---

void FunctionWatch::on(const traces::Stamp& stamp, const traces::Event& event) {
    if (stamp.source != source_)
        return;
    if (const auto* translated = std::get_if<traces::Translated>(&event))
        last_ = *translated;
}

void FunctionWatch::key_mapped(const Mkey& mkey, std::uint64_t first, std::uint64_t count) {
    const auto& attributes = mkey.attributes;
    auto& grants = grants_[mkey.index];
    if (first == 0 && count == mkey.mtt.size())
        grants = {};
    const auto size = std::uint64_t{1} << attributes.page_shift;
    const auto now = ownership_.now_();
    const auto requester = requester_();
    const auto bus_of = [&](std::uint64_t entry) { return mkey.mtt[entry] & ~(size - 1); };
    const auto is_present = [&](std::uint64_t entry) {
        return !attributes.entries_carry_rights || (mkey.mtt[entry] & 3) != 0;
    };
    for (auto entry = first; entry < first + count;) {
        if (!is_present(entry)) {
            ++entry;
            continue;
        }
        const auto begin = bus_of(entry);
        auto end = begin + size;
        for (++entry; entry < first + count && is_present(entry) && bus_of(entry) == end; ++entry)
            end += size;
        grants.assign(begin, end, {0, now});
        // In pages: neighbours on the device's side need be none in memory.
        for (auto bus = begin; bus < end; bus += page)
            if (const auto tag = ownership_.tag_of(ownership_.follow(requester, bus)); tag != 0)
                grants.assign(bus, bus + page, {tag, now});
    }
}

/// The grant for `bus` in the key, or in one of those behind it whose turn it is in [begin, +length).
void FunctionWatch::find_grant(std::uint32_t index, std::uint64_t begin, std::uint64_t length, std::uint64_t bus,
                               unsigned depth, Ownership::Used& used) const {
    const auto* mkey = keys_.find(index);
    if (mkey == nullptr || depth > most_indirections)
        return;
    if (!is_indirect(mkey->attributes.mode)) {
        const auto grants = grants_.find(index);
        if (grants != grants_.end())
            used.by_key = grants->second.find(bus);
        return;
    }
    const auto& attributes = mkey->attributes;
    const auto start = attributes.length64 ? 0 : attributes.start;
    for (const auto& range : mkey->ranges) {
        const bool has_turn = mkey->interleaving.repetition != 0 ||
                              (begin - start < range.end && range.end - range.length < begin - start + length);
        if (has_turn && range.length != 0 && used.by_key == nullptr)
            find_grant(range.key.index(), range.address, range.length, bus, depth + 1, used);
    }
}

void FunctionWatch::landed(const Landing& landing, Time at) {
    const auto& pages = ownership_.pages_;
    const auto end = landing.physical + landing.length;
    for (auto physical = landing.physical; physical < end;) {
        const auto length = std::min(end, (physical & ~(page - 1)) + page) - physical;
        const auto* there = pages.find(physical);
        if (there != nullptr) {
            const auto address = landing.address + (physical - landing.physical);
            Ownership::Used used;
            if (landing.purpose == Purpose::payload) { // what a translation was asked for
                used.key = last_.key;
                find_grant(last_.key >> 8, last_.address, last_.length, address, 0, used);
            }
            if (landing.is_translated)
                used.by_unit = ownership_.find(landing.requester.value, address, physical);
            if (const auto access = ownership_.judge(landing, *there, physical, length, used))
                if (ownership_.note({.function = name_, .at = at, .access = *access}, there->tag))
                    events_.emit(at, *access);
        }
        physical += length;
    }
}

} // namespace platform::observe::ownership
