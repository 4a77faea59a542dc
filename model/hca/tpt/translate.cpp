#include "model/hca/tpt/translate.h"

#include <algorithm>

namespace model::hca::tpt {

using abi::BusAddress;
using abi::prm::AccessMode;

namespace {

/// A cache line of translation entries: 64 bytes hold eight.
constexpr unsigned log_entries_per_line = 3;
/// The tag of a line is its number behind its key's index.
constexpr unsigned line_number_bits = 40;
/// Indirect keys may name indirect ones; the depth is a limit of ours.
constexpr unsigned max_indirections = 4;

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

/// The bit of an entry that this access needs: present for reading, or for writing.
std::uint64_t needed_rights(Access access) {
    return access == Access::local_read || access == Access::remote_read ? 1 : 2;
}

/// How far an address lies behind the place from which a key's entries count. Pages count from the boundary of the
/// first page, also in a key without an end, as children of mlx5_ib's implicit regions have length64 and a start.
/// Ranges count from where the key begins, also those of a KSM, whose first address need not be a multiple of their
/// size.
std::uint64_t offset_of(const MkeyAttributes& key, std::uint64_t address) {
    const auto first = is_indirect(key.mode) ? key.start : key.start & ~((std::uint64_t{1} << key.page_shift) - 1);
    return address - first;
}

/// Whether an entry leads to a page that may be accessed so.
bool allows(const MkeyAttributes& key, std::uint64_t entry, std::uint64_t needed) {
    return !key.entries_carry_rights || (entry & needed) != 0;
}

/// The right that the keys behind an indirect key must grant. Local rights are enough there, since their owner gave
/// access to others when it made the indirect key.
Access behind_indirection(Access access) {
    return access == Access::local_read || access == Access::remote_read ? Access::local_read : Access::local_write;
}

/// Adds a piece, and merges it with the last one when they touch. Returns false when there is no room.
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

traces::RefusalReason reason_of(Violation violation) {
    switch (violation) {
    case Violation::no_such_key: return "no such key";
    case Violation::key_is_free: return "key is free";
    case Violation::wrong_variant: return "wrong variant";
    case Violation::wrong_pd: return "wrong protection domain";
    case Violation::wrong_queue_pair: return "key bound to another queue pair";
    case Violation::no_right: return "no right";
    case Violation::out_of_bounds: return "out of bounds";
    case Violation::page_not_present: return "page not present";
    case Violation::divided_atomic: return "atomic on divided bytes";
    case Violation::page_fault: return "page fault";
    }
    return "unknown";
}

Translator::Translator(const MkeyTable& table, const HcaConfig& config, icm::ContextMemory& contexts,
                       Counters& counters, const traces::Events& events)
    : table_(table), contexts_(contexts), counters_(counters), events_(events),
      mkey_miss_(config.timed ? config.mkey_miss : port::Time{}),
      mtt_miss_(config.timed ? config.mtt_miss : port::Time{}), has_paging_(config.on_demand_paging),
      mkey_cache_(config.mkey_cache_entries, config.cache_ways),
      mtt_cache_(config.mtt_cache_entries, config.cache_ways, line_number_bits) {}

std::expected<const Mkey*, Violation> Translator::admit(const Request& request) const {
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
    if (a.qpn != abi::prm::mkey_any_qpn && a.qpn != request.qpn)
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

/// The violation when an entry does not allow the access. It is a page fault where the key has room for the entry, as
/// software may fill it any time.
Violation Translator::absent(const Mkey& mkey, const Request& request, std::uint64_t entry) const {
    return has_paging_ && request.may_wait && entry < std::max<std::uint64_t>(mkey.mtt.size(), mkey.room)
               ? Violation::page_fault
               : Violation::page_not_present;
}

/// Brings the line of an entry into the cache. Returns when it is there.
port::Time Translator::look_up(const Request& request, std::uint64_t entry, port::Time at) {
    const auto line = entry >> log_entries_per_line;
    const auto index = std::uint64_t{request.key.index()};
    return icm::ContextMemory::look_up(
        mtt_cache_, index << line_number_bits | line, counters_.mtt_hits, counters_.mtt_misses, at,
        // Lists of keys lie behind each other; where each begins makes no difference to who reads one line.
        [&] { return contexts_.fetch(icm::Table::translations, index + line, at, mtt_miss_); });
}

/// Fills `out`, whose `ready` is when the key is known.
std::optional<Violation> Translator::walk(const Mkey& mkey, const Request& request, Segments& out, unsigned depth) {
    const auto& a = mkey.attributes;
    if (request.length == 0)
        return {};
    if (a.mode == AccessMode::pa) {
        append(out, BusAddress{request.address}, request.length);
        return {};
    }
    if (is_indirect(a.mode)) [[unlikely]]
        return walk_ranges(mkey, request, out, depth);
    const auto page = std::uint64_t{1} << a.page_shift;
    const auto offset = offset_of(a, request.address);
    const auto in_page = offset & (page - 1);
    if (request.length > page - in_page)
        return walk_pages(mkey, request, offset, out);
    // The range lies in one page, as with most packets.
    const auto entry = offset >> a.page_shift;
    if (entry >= mkey.mtt.size()) [[unlikely]]
        return absent(mkey, request, entry);
    out.ready = look_up(request, entry, out.ready);
    const auto value = mkey.mtt[entry];
    if (!allows(a, value, needed_rights(request.access))) [[unlikely]]
        return absent(mkey, request, entry);
    // The low bits of an entry hold flags, never address.
    out.items[0] = {BusAddress{(value & ~(page - 1)) + in_page}, request.length};
    out.count = 1;
    out.covered = request.length;
    return {};
}

std::optional<Violation> Translator::walk_pages(const Mkey& mkey, const Request& request, std::uint64_t offset,
                                                Segments& out) {
    const auto& a = mkey.attributes;
    const auto page = std::uint64_t{1} << a.page_shift;
    const auto needed = needed_rights(request.access);
    auto left = request.length;
    auto line = ~std::uint64_t{0};
    bool has_room = true;
    while (left != 0) {
        const auto entry = offset >> a.page_shift;
        if (entry >= mkey.mtt.size())
            return absent(mkey, request, entry);
        if (entry >> log_entries_per_line != line) {
            line = entry >> log_entries_per_line;
            out.ready = look_up(request, entry, out.ready);
        }
        const auto value = mkey.mtt[entry];
        if (!allows(a, value, needed))
            return absent(mkey, request, entry);
        const auto length = std::min(left, page - (offset & (page - 1)));
        has_room = has_room && append(out, BusAddress{(value & ~(page - 1)) + (offset & (page - 1))}, length);
        offset += length;
        left -= length;
    }
    return {};
}

/// Walks the ranges of other keys one after the other. Each is admitted and walked as if it were asked for by itself.
std::optional<Violation> Translator::walk_ranges(const Mkey& mkey, const Request& request, Segments& out,
                                                 unsigned depth) {
    if (depth == max_indirections)
        return Violation::page_not_present;
    auto offset = offset_of(mkey.attributes, request.address);
    auto left = request.length;
    // Only what the result has room for is looked at: a list may have very many short or empty entries.
    for (bool has_room = true; left != 0 && has_room;) {
        const auto turn = mkey.interleaving.repetition != 0 ? offset / mkey.interleaving.repetition : 0;
        const auto in_turn = offset - turn * mkey.interleaving.repetition;
        if (mkey.interleaving.repetition != 0 && turn >= mkey.interleaving.count)
            return Violation::page_not_present;
        const auto range = std::ranges::upper_bound(mkey.ranges, in_turn, {}, &KeyRange::end);
        if (range == mkey.ranges.end() || range->length == 0)
            return Violation::page_not_present;
        out.ready = look_up(request, static_cast<std::uint64_t>(range - mkey.ranges.begin()) * 2, out.ready);
        if (range->key == null_key) // software may put a key there any time
            return has_paging_ && request.may_wait ? Violation::page_fault : Violation::page_not_present;
        auto length = std::min(left, range->end - in_turn);
        if (mkey.interleaving.repetition != 0)
            length = std::min(length, mkey.interleaving.repetition - in_turn);
        const Request inner{.key = range->key,
                            .address = range->address + turn * range->stride + (range->length - (range->end - in_turn)),
                            .length = length,
                            .access = behind_indirection(request.access),
                            .pd = request.pd,
                            .qpn = request.qpn,
                            .may_wait = request.may_wait};
        const auto target = admit(inner);
        if (!target)
            return target.error();
        Segments pieces;
        pieces.ready = out.ready;
        if (const auto violation = walk(**target, inner, pieces, depth + 1))
            return violation;
        out.ready = pieces.ready;
        for (const auto& piece : pieces.all())
            has_room = has_room && append(out, piece.address, piece.length);
        has_room = has_room && pieces.covered == length;
        offset += length;
        left -= length;
    }
    return {};
}

std::unexpected<Violation> Translator::refuse(const Request& request, Violation violation, port::Time at) {
    ++counters_.refusals;
    if (events_.is_on())
        events_.emit(at, traces::Refused{request.key.value, request.address, request.length, reason_of(violation)});
    return std::unexpected(violation);
}

std::expected<Segments, Violation> Translator::translate(const Request& request, port::Time at) {
    std::expected<Segments, Violation> result; // every return names it, so that it is filled in place
    ++counters_.translations;
    const auto index = request.key.index();
    result->ready =
        icm::ContextMemory::look_up(mkey_cache_, index, counters_.mkey_hits, counters_.mkey_misses, at,
                                    [&] { return contexts_.fetch(icm::Table::memory_keys, index, at, mkey_miss_); });
    const auto mkey = admit(request);
    if (!mkey) [[unlikely]] {
        result = refuse(request, mkey.error(), at);
        return result;
    }
    if (const auto violation = walk(**mkey, request, *result)) [[unlikely]] {
        if (*violation == Violation::page_fault)
            result = std::unexpected(*violation);
        else
            result = refuse(request, *violation, at);
        return result;
    }
    // An atomic is one operation on 8 naturally aligned bytes (IBA 9.4.5). A list of ranges may divide them between two
    // places, and no single access reaches both: the key does not give such an operation, as if its right were missing
    // (IBA 10.6.3).
    if (request.access == Access::remote_atomic && result->count != 1) [[unlikely]] {
        result = refuse(request, Violation::divided_atomic, at);
        return result;
    }
    if (events_.is_on()) [[unlikely]]
        events_.emit(result->ready,
                     traces::Translated{request.key.value, request.address, request.length, result->count});
    return result;
}

std::expected<void, Violation> Translator::check(const Request& request, port::Time at) {
    if (const auto mkey = admit(request); !mkey) [[unlikely]]
        return refuse(request, mkey.error(), at);
    return {};
}

std::optional<BusAddress> Translator::place_of(const Request& request) const {
    const auto mkey = admit(request);
    if (!mkey || is_indirect((*mkey)->attributes.mode))
        return {};
    const auto& a = (*mkey)->attributes;
    if (a.mode == AccessMode::pa)
        return BusAddress{request.address};
    const auto offset = offset_of(a, request.address);
    const auto page = std::uint64_t{1} << a.page_shift;
    const auto needed = needed_rights(request.access);
    const auto first = offset >> a.page_shift, last = (offset + request.length - 1) >> a.page_shift;
    const auto& entries = (*mkey)->mtt;
    if (request.length == 0 || last >= entries.size())
        return {};
    const auto begin = entries[first] & ~(page - 1);
    for (auto entry = first; entry <= last; ++entry)
        if (!allows(a, entries[entry], needed) || (entries[entry] & ~(page - 1)) != begin + (entry - first) * page)
            return {};
    return BusAddress{begin + (offset & (page - 1))};
}

void Translator::look_up_units(const Request& request, std::uint32_t unit) {
    const auto& a = table_.find(request.key.index())->attributes;
    const auto index = std::uint64_t{request.key.index()};
    const auto units = (request.length - 1) / unit + 1;
    counters_.translations += units;
    icm::ContextMemory::look_up_again(mkey_cache_, index, counters_.mkey_hits, counters_.mkey_misses, units,
                                      [&] { return contexts_.fetch(icm::Table::memory_keys, index, {}, mkey_miss_); });
    if (a.mode == AccessMode::pa)
        return;
    // Each unit looks its lines up in ascending order, so that those of one line follow each other.
    const auto log_line = a.page_shift + log_entries_per_line;
    const auto begin = offset_of(a, request.address), end = begin + request.length;
    for (auto line = begin >> log_line; line <= (end - 1) >> log_line; ++line) {
        const auto from = std::max(begin, line << log_line), to = std::min(end, (line + 1) << log_line);
        const auto times = (to - 1 - begin) / unit - (from - begin) / unit + 1;
        icm::ContextMemory::look_up_again(
            mtt_cache_, index << line_number_bits | line, counters_.mtt_hits, counters_.mtt_misses, times,
            [&] { return contexts_.fetch(icm::Table::translations, index + line, {}, mtt_miss_); });
    }
}

bool Translator::lacks_page(const Request& request) {
    if (!has_paging_)
        return false;
    const auto found = admit(request);
    if (!found || (*found)->attributes.mode != AccessMode::mtt)
        return false;
    const auto& mkey = **found;
    const auto& a = mkey.attributes;
    const auto offset = offset_of(a, request.address);
    for (auto entry = offset >> a.page_shift; entry <= (offset + request.length - 1) >> a.page_shift; ++entry) {
        const bool is_there = entry < mkey.mtt.size() && allows(a, mkey.mtt[entry], needed_rights(request.access));
        if (!is_there && absent(mkey, request, entry) == Violation::page_fault)
            return true;
    }
    return false;
}

void Translator::created(std::uint32_t index, std::uint64_t entries) {
    constexpr std::uint64_t most_lines = 64; // of a long list only the first ones: it is written past the cache
    icm::ContextMemory::bring_in(mkey_cache_, index);
    const auto lines = std::min(most_lines, (entries + 7) >> log_entries_per_line);
    for (std::uint64_t line = 0; line != lines; ++line)
        icm::ContextMemory::bring_in(mtt_cache_, std::uint64_t{index} << line_number_bits | line);
}

std::size_t Translator::forget(std::uint32_t index) {
    mkey_cache_.drop(index);
    return mtt_cache_.drop_group(index, [](std::uint64_t) { return true; });
}

std::size_t Translator::forget(std::uint32_t index, std::uint64_t first, std::uint64_t count) {
    constexpr std::uint64_t few_lines = 64; // with more of them, the key usually has fewer lines in the cache
    const auto begin = first >> log_entries_per_line, end = (first + count + 7) >> log_entries_per_line;
    mkey_cache_.drop(index);
    if (end - begin > few_lines)
        return mtt_cache_.drop_group(index, [=](std::uint64_t tag) {
            const auto line = tag & ((1ull << line_number_bits) - 1);
            return line >= begin && line < end;
        });
    for (auto line = begin; line != end; ++line)
        mtt_cache_.drop(std::uint64_t{index} << line_number_bits | line);
    return end - begin;
}

void Translator::forget_all() {
    mkey_cache_.clear();
    mtt_cache_.clear();
}

} // namespace model::hca::tpt
