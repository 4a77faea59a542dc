#include "model/hca/tpt/translate.h"

#include <algorithm>

namespace model::hca::tpt {

using abi::BusAddress;
using abi::prm::AccessMode;

namespace {

/// A cache line of translation entries: 64 bytes hold eight.
constexpr unsigned log_entries_per_line = 3;
/// Bits 11..0 of an entry hold flags, never address; entries of larger pages are aligned to 4 KiB at least.
constexpr std::uint64_t entry_address_mask = ~std::uint64_t{0xfff};

bool grants(const Rights& rights, Access access) {
    switch (access) {
    case Access::local_read: return rights.local_read;
    case Access::local_write: return rights.local_write;
    case Access::remote_read: return rights.remote_read;
    case Access::remote_write: return rights.remote_write;
    case Access::remote_atomic: return rights.atomic;
    }
    return false;
}

bool reads_only(Access access) { return access == Access::local_read || access == Access::remote_read; }

/// Adds a piece, merged with the last one when they touch. False when there is no room.
bool append(Segments& out, BusAddress address, std::uint64_t length) {
    if (out.count != 0) {
        auto& last = out.items[out.count - 1];
        if (last.address + last.length == address) {
            last.length += length;
            out.covered += length;
            return true;
        }
        if (out.count == Segments::capacity)
            return false;
    }
    out.items[out.count++] = {address, length};
    out.covered += length;
    return true;
}

} // namespace

std::string_view to_string(Violation violation) {
    switch (violation) {
    case Violation::no_such_key: return "no such key";
    case Violation::key_is_free: return "key is free";
    case Violation::wrong_variant: return "wrong variant";
    case Violation::wrong_pd: return "wrong protection domain";
    case Violation::wrong_queue_pair: return "key bound to another queue pair";
    case Violation::no_right: return "no right";
    case Violation::out_of_bounds: return "out of bounds";
    case Violation::page_not_present: return "page not present";
    }
    return "unknown";
}

Translator::Translator(const MkeyTable& table, const HcaConfig& config, Counters& counters, const traces::Events& events)
    : table_(table), counters_(counters), events_(events), mkey_miss_(config.timed ? config.mkey_miss : port::Time{}),
      mtt_miss_(config.timed ? config.mtt_miss : port::Time{}), mkey_cache_(config.mkey_cache_entries, config.cache_ways),
      mtt_cache_(config.mtt_cache_entries, config.cache_ways) {}

std::expected<const Mkey*, Violation> Translator::admit(const Request& request) {
    const auto* mkey = table_.find(request.key.index());
    if (mkey == nullptr)
        return std::unexpected(Violation::no_such_key);
    const auto& a = mkey->attributes;
    if (a.is_free)
        return std::unexpected(Violation::key_is_free);
    if (a.variant != request.key.variant())
        return std::unexpected(Violation::wrong_variant);
    if (a.pd != request.pd)
        return std::unexpected(Violation::wrong_pd);
    if (a.qpn != 0xffffff && a.qpn != request.qpn)
        return std::unexpected(Violation::wrong_queue_pair);
    if (!grants(a.rights, request.access))
        return std::unexpected(Violation::no_right);
    if (request.length == 0)
        return mkey;
    if (a.length64) {
        if (request.address + (request.length - 1) < request.address)
            return std::unexpected(Violation::out_of_bounds);
        return mkey;
    }
    if (request.address < a.start || request.length > a.length || request.address - a.start > a.length - request.length)
        return std::unexpected(Violation::out_of_bounds);
    return mkey;
}

/// Brings the line of an entry into the cache; returns what that costs.
port::Time Translator::look_up(const Mkey& mkey, std::uint64_t entry) {
    const bool hit = mtt_cache_.touch(std::uint64_t{mkey.index} << 40 | entry >> log_entries_per_line);
    ++(hit ? counters_.mtt_hits : counters_.mtt_misses);
    return hit ? port::Time{} : mtt_miss_;
}

std::expected<Segments, Violation> Translator::walk(const Mkey& mkey, const Request& request, port::Time at) {
    const auto& a = mkey.attributes;
    Segments out;
    out.ready = at;
    if (request.length == 0)
        return out;
    if (a.mode == AccessMode::pa) {
        append(out, BusAddress{request.address}, request.length);
        return out;
    }
    const auto page = std::uint64_t{1} << a.page_shift;
    const auto offset = request.address - (a.length64 ? 0 : a.start & ~(page - 1));
    const std::uint64_t needed = reads_only(request.access) ? 1 : 2;
    if (request.length <= page - (offset & (page - 1))) [[likely]] {
        // One page: what most packets need.
        const auto entry = offset >> a.page_shift;
        if (entry >= mkey.mtt.size())
            return std::unexpected(Violation::page_not_present);
        out.ready += look_up(mkey, entry);
        const auto value = mkey.mtt[entry];
        if (a.entries_carry_rights && (value & needed) == 0)
            return std::unexpected(Violation::page_not_present);
        out.items[0] = {BusAddress{(value & entry_address_mask) + (offset & (page - 1))}, request.length};
        out.count = 1;
        out.covered = request.length;
        return out;
    }
    auto at_offset = offset;
    auto left = request.length;
    auto line = ~std::uint64_t{0};
    bool has_room = true;
    while (left != 0) {
        const auto entry = at_offset >> a.page_shift;
        if (entry >= mkey.mtt.size())
            return std::unexpected(Violation::page_not_present);
        if (entry >> log_entries_per_line != line) {
            line = entry >> log_entries_per_line;
            out.ready += look_up(mkey, entry);
        }
        const auto value = mkey.mtt[entry];
        if (a.entries_carry_rights && (value & needed) == 0)
            return std::unexpected(Violation::page_not_present);
        const auto length = std::min(left, page - (at_offset & (page - 1)));
        has_room = has_room && append(out, BusAddress{(value & entry_address_mask) + (at_offset & (page - 1))}, length);
        at_offset += length;
        left -= length;
    }
    return out;
}

void Translator::say(const Request& request, const std::expected<Segments, Violation>& result, port::Time at) {
    if (result)
        events_.emit(result->ready, traces::Translated{request.key.value, request.address, request.length, result->count});
    else
        events_.emit(at, traces::Refused{request.key.value, request.address, request.length, to_string(result.error())});
}

std::expected<Segments, Violation> Translator::translate(const Request& request, port::Time at) {
    ++counters_.translations;
    const bool hit = mkey_cache_.touch(request.key.index());
    ++(hit ? counters_.mkey_hits : counters_.mkey_misses);
    const auto known = hit ? at : at + mkey_miss_;
    const auto mkey = admit(request);
    auto result = mkey ? walk(**mkey, request, known) : std::unexpected(mkey.error());
    if (!result) [[unlikely]]
        ++counters_.refusals;
    if (events_.is_on()) [[unlikely]]
        say(request, result, at);
    return result;
}

std::expected<void, Violation> Translator::check(const Request& request, port::Time at) {
    const auto mkey = admit(request);
    if (mkey)
        return {};
    ++counters_.refusals;
    if (events_.is_on())
        say(request, std::unexpected(mkey.error()), at);
    return std::unexpected(mkey.error());
}

void Translator::forget(std::uint32_t index) {
    mkey_cache_.invalidate([index](std::uint64_t tag) { return tag == index; });
    mtt_cache_.invalidate([index](std::uint64_t tag) { return tag >> 40 == index; });
}

void Translator::forget_all() {
    mkey_cache_.invalidate([](std::uint64_t) { return true; });
    mtt_cache_.invalidate([](std::uint64_t) { return true; });
}

} // namespace model::hca::tpt
