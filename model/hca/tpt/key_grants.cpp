#include "model/hca/tpt/key_grants.h"

namespace model::hca::tpt {

namespace {
/// As deep as translations go.
constexpr unsigned most_indirections = 4;
} // namespace

/// A range of a key was translated, and the accesses follow.
void KeyGrants::on(const traces::Stamp& stamp, const traces::Event& event) {
    const auto* translated = stamp.source == source_ ? std::get_if<traces::Translated>(&event) : nullptr;
    if (translated == nullptr)
        return;
    grant_ = {.kind = port::GrantKind::memory_key, .object = translated->key};
    allowances_.clear();
    add(abi::Key{translated->key}.index(), translated->address, translated->length, 0);
    watch_.use(port::Purpose::payload, allowances_);
}

/// The key, or those behind it whose turn it is in [address, address + length).
void KeyGrants::add(std::uint32_t index, std::uint64_t address, std::uint64_t length, unsigned depth) {
    const auto* mkey = keys_.find(index);
    if (mkey == nullptr || depth > most_indirections)
        return;
    const auto& attributes = mkey->attributes;
    if (!is_indirect(attributes.mode)) {
        allowances_.push_back({.grant = grant_, .table = index});
        return;
    }
    const auto start = attributes.length64 ? 0 : attributes.start;
    for (const auto& range : mkey->ranges) {
        const bool has_turn = mkey->interleaving.repetition != 0 ||
                              (address - start < range.end && range.end - range.length < address - start + length);
        if (has_turn && range.length != 0)
            add(range.key.index(), range.address, range.length, depth + 1);
    }
}

void KeyGrants::key_mapped(const Mkey& mkey, std::uint64_t first, std::uint64_t count) {
    const auto& attributes = mkey.attributes;
    if (count == mkey.mtt.size())
        watch_.take(mkey.index);
    const auto size = std::uint64_t{1} << attributes.page_shift;
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
        watch_.give(mkey.index, begin, end - begin);
    }
}

} // namespace model::hca::tpt
