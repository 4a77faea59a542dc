#include "platform/observe/ownership/function_watch.h"

#include <algorithm>

namespace platform::observe::ownership {

using model::pcie::Landing;
using model::port::Allowance;
using model::port::Purpose;
using model::port::Time;

namespace {
constexpr std::uint64_t page_bytes = 4096;
} // namespace

void FunctionWatch::use(Purpose purpose, std::span<const Allowance> allowances) {
    allowances_[static_cast<std::size_t>(purpose)].assign(allowances.begin(), allowances.end());
}

void FunctionWatch::give(std::uint64_t table, std::uint64_t address, std::uint64_t length) {
    auto& given = tables_[table];
    const auto now = ownership_.now_();
    const auto requester = requester_();
    given.assign(address, address + length, {0, now});
    // In pages: neighbours on the device's side need be none in memory.
    for (auto bus = address; bus < address + length; bus += page_bytes)
        if (const auto tag = ownership_.tag_of(ownership_.follow(requester, bus)); tag != 0)
            given.assign(bus, bus + page_bytes, {tag, now});
}

void FunctionWatch::find_grant(Purpose purpose, std::uint64_t address, std::uint64_t physical,
                               const Ownership::Page& there, Ownership::Used& used) const {
    for (const auto& one : allowances_[static_cast<std::size_t>(purpose)]) {
        if (address - one.address >= one.length)
            continue;
        if (!one.table) {
            used.grant = one.grant;
            const bool is_older = one.grant.since < there.since;
            used.by_grant = {is_older ? ownership_.tag_at(physical, one.grant.since) : there.tag, one.grant.since};
            return;
        }
        const auto table = tables_.find(*one.table);
        if (const auto* made = table != tables_.end() ? table->second.find(address) : nullptr; made != nullptr) {
            used.grant = one.grant;
            used.by_grant = *made;
            return;
        }
    }
}

void FunctionWatch::landed(const Landing& landing, Time at) {
    const auto& pages = ownership_.pages_;
    const auto end = landing.physical + landing.length;
    for (auto physical = landing.physical; physical < end;) {
        const auto length = std::min(end, (physical & ~(page_bytes - 1)) + page_bytes) - physical;
        if (const auto* there = pages.find(physical); there != nullptr) {
            const auto address = landing.address + (physical - landing.physical);
            Ownership::Used used;
            find_grant(landing.purpose, address, physical, *there, used);
            if (landing.is_translated)
                used.by_unit = ownership_.find(landing.requester.value, address, physical);
            if (const auto access = ownership_.judge(landing, *there, physical, length, used))
                if (ownership_.note({.function = name_, .at = at, .access = *access, .grant = used.grant}, there->tag))
                    events_.emit(at, *access);
        }
        physical += length;
    }
}

} // namespace platform::observe::ownership
