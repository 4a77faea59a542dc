// PRM "Memory key": CREATE_MKEY, DESTROY_MKEY, QUERY_MKEY.
#include "firmware/buffer.h"
#include "firmware/handlers/handlers.h"
#include "model/hca/tpt/mkey_context.h"

#include <algorithm>
#include <expected>
#include <utility>
#include <vector>

namespace firmware::handlers {

namespace tpt = model::hca::tpt;
using prm::AccessMode;

namespace {
/// What CREATE_MKEY may not ask for, since no capability advertises it.
Reply check_features(In<prm::CreateMkeyIn> in) {
    const auto mkc = in.sub<"memory_key_mkey_entry">();
    const auto mode = prm::access_mode(mkc);
    if (in.get<"data_direct">())
        return refuse("create_mkey.data_direct");
    if (mode != AccessMode::pa && mode != AccessMode::mtt && !tpt::is_indirect(mode))
        return refuse("create_mkey.access_mode");
    if (mkc.get<"bsf_en">() || mkc.get<"bsf_octword_size">() || mkc.get<"sync_umr">())
        return refuse("create_mkey.signature");
    if (mkc.get<"relaxed_ordering_write">() || mkc.get<"relaxed_ordering_read">())
        return refuse("create_mkey.relaxed_ordering");
    return accepted;
}

/// How many entries a translation table counts in the account of objects. The unit is a page address; a range counts as
/// more than one.
constexpr std::uint64_t account(AccessMode mode, std::uint64_t room) {
    return tpt::is_indirect(mode) ? room * (sizeof(tpt::KeyRange) / sizeof(std::uint64_t)) : room;
}

/// The list behind the command, with the length that the command gives it.
std::expected<std::span<const std::byte>, Reply> translation_list(In<prm::CreateMkeyIn> in,
                                                                  std::span<const std::byte> list) {
    const auto octowords = in.get<"translations_octword_actual_size">();
    if (list.size() / prm::octoword_bytes < octowords)
        return std::unexpected(refuse("create_mkey.list_too_short"));
    if (octowords > in.sub<"memory_key_mkey_entry">().get<"translations_octword_size">())
        return std::unexpected(refuse("create_mkey.list_too_long"));
    return list.first(octowords * prm::octoword_bytes);
}

/// What holds for every key with a page list.
Reply check_pages(const tpt::MkeyAttributes& key) {
    if (key.page_shift < tpt::min_page_shift || key.page_shift > tpt::max_page_shift)
        return refuse("create_mkey.page_size");
    if (key.length64 && !key.is_free)
        return refuse("create_mkey.length64_with_mtt");
    if (tpt::wraps(key.start, key.length))
        return refuse("create_mkey.range_wraps");
    return accepted;
}

/// How many translation entries its range needs. The first covers the page that holds start_addr.
std::uint64_t page_count(const tpt::MkeyAttributes& key) {
    const auto page_mask = (std::uint64_t{1} << key.page_shift) - 1;
    return (key.length >> key.page_shift) +
           (((key.length & page_mask) + (key.start & page_mask) + page_mask) >> key.page_shift);
}

/// The translation entries of a key whose byte 0 is in user memory. The pages of the two need not have the same size.
std::expected<std::vector<std::uint64_t>, Reply> pages_in(const Scope& scope, const InUmem& umem,
                                                          const tpt::MkeyAttributes& key) {
    if (page_count(key) > objects::Account::max_entries)
        return std::unexpected(refuse("resources.page_entries"));
    const auto memory = part_of(scope, umem, key.length);
    if (!memory)
        return std::unexpected(memory.error());
    const auto page = std::uint64_t{1} << key.page_shift, first_byte = key.start & (page - 1);
    std::vector<std::uint64_t> entries;
    entries.reserve(page_count(key));
    for (std::uint64_t offset = 0, in_page = first_byte; offset < key.length; in_page = 0) {
        const auto base = memory->address(offset).value - in_page;
        if (base & (page - 1))
            return std::unexpected(refuse("create_mkey.umem_alignment"));
        entries.push_back(base);
        const auto end = std::min(key.length, offset + page - in_page);
        for (auto next = offset + memory->contiguous(offset); next < end; next += memory->contiguous(next))
            if (memory->address(next).value != base + in_page + (next - offset))
                return std::unexpected(refuse("create_mkey.umem_pages"));
        offset = end;
    }
    return entries;
}

/// The translation entries of an MTT key: as many as its range needs.
std::expected<std::vector<std::uint64_t>, Reply> pages(const tpt::MkeyAttributes& key,
                                                       std::span<const std::byte> list) {
    if (key.is_free && list.empty())
        return std::vector<std::uint64_t>{}; // filled when a UMR enables the key
    const auto page_mask = (std::uint64_t{1} << key.page_shift) - 1;
    const auto count = page_count(key);
    if (list.size() / prm::Mtt::size < count)
        return std::unexpected(refuse("create_mkey.range_beyond_list"));

    std::vector<std::uint64_t> entries(count);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        entries[i] = abi::load<std::uint64_t, std::endian::big>(list.data() + prm::Mtt::size * i);
        constexpr std::uint64_t flags = 0xfff; // bits 11..0 carry rights or are ignored; they are no address bits
        if (entries[i] & page_mask & ~flags)
            return std::unexpected(refuse("create_mkey.page_not_aligned"));
    }
    return entries;
}
/// The ranges of a key that refers to other keys, as many as the output has room for: two in the structure, the rest
/// behind it. The list of an interleaved key begins with another block, which is left out.
void write_list(const tpt::Mkey& mkey, Out<prm::QueryMkeyOut> out, std::span<std::byte> tail) {
    const auto first = out.bytes().subspan(prm::QueryMkeyOut::field<"bsf0_klm0_pas_mtt0_1">::offset);
    for (std::size_t i = 0; i < mkey.ranges.size(); ++i) {
        const auto at = i * prm::Klm::size;
        const auto room =
            at < first.size() ? first.subspan(at) : tail.subspan(std::min(tail.size(), at - first.size()));
        if (room.size() < prm::Klm::size)
            return;
        const auto& range = mkey.ranges[i];
        abi::View<prm::Klm>(room.first(prm::Klm::size))
            .set<"bcount">(static_cast<std::uint32_t>(range.length))
            .set<"mkey">(range.key.value)
            .set<"address">(range.address);
    }
}
} // namespace

Reply create_mkey(State& state, const Call& call, In<prm::CreateMkeyIn> in, Out<prm::CreateMkeyOut> out) {
    const auto mkc = in.sub<"memory_key_mkey_entry">();
    if (auto refused = check_features(in))
        return refused;
    auto attributes = tpt::decode(mkc);
    attributes.entries_carry_rights = in.get<"pg_access">() != 0;
    if (call.scope.find<Kind::pd>(attributes.pd.value) == nullptr)
        return refuse("create_mkey.pd");
    std::vector<std::uint64_t> entries;
    std::span<const std::byte> ranges;
    std::uint64_t room = 0;
    const InUmem umem{in.get<"mkey_umem_valid">() != 0, in.get<"mkey_umem_id">(), in.get<"mkey_umem_offset">()};
    if (umem.is_valid && attributes.mode != AccessMode::mtt)
        return refuse("create_mkey.umem");
    if (attributes.mode == AccessMode::mtt)
        if (auto refused = check_pages(attributes))
            return refused;
    if (umem.is_valid) {
        auto found = pages_in(call.scope, umem, attributes);
        if (!found)
            return found.error();
        entries = std::move(*found);
        room = entries.size();
    } else if (attributes.mode == AccessMode::pa) {
        if (!attributes.length64 && tpt::wraps(attributes.start, attributes.length))
            return refuse("create_mkey.pa_range_wraps");
    } else {
        const auto list = translation_list(in, call.tail);
        if (!list)
            return list.error();
        const auto octowords = mkc.get<"translations_octword_size">();
        // The entries of a KSM have one size, so an entry is found without a search, and only the device's memory
        // limits them.
        if (attributes.mode == AccessMode::klms &&
            octowords > 1u << state.capabilities.general().get<"log_max_klm_list_size">())
            return refuse("create_mkey.klm_list");
        room = tpt::room_of(attributes.mode, octowords);
        if (attributes.mode == AccessMode::mtt) {
            auto found = pages(attributes, *list);
            if (!found)
                return found.error();
            entries = std::move(*found);
        } else {
            ranges = *list;
        }
    }
    const auto index = call.scope.create<Kind::mkey>(
        {.at = call.at, .entries = account(attributes.mode, room), .umems = {umem.memory(call.scope)}},
        std::move(attributes), std::move(entries));
    if (!index)
        return index.error();
    auto& mkey = *call.scope.find<Kind::mkey>(*index);
    mkey.room = room;
    if (!ranges.empty())
        tpt::write_ranges(mkey, 0, ranges);
    out.set<"mkey_index">(*index);
    return accepted;
}

Reply destroy_mkey(State&, const Call& call, In<prm::DestroyMkeyIn> in, Out<prm::DestroyMkeyOut>) {
    return call.scope.destroy<Kind::mkey>(in.get<"mkey_index">(), call.at);
}

Reply query_mkey(State&, const Call& call, In<prm::QueryMkeyIn> in, Out<prm::QueryMkeyOut> out) {
    const auto* mkey = call.scope.find<Kind::mkey>(in.get<"mkey_index">());
    if (mkey == nullptr)
        return refuse("query_mkey.unknown");
    std::ranges::copy(mkey->attributes.context, out.sub<"memory_key_mkey_entry">().bytes().begin());
    if (tpt::is_indirect(mkey->attributes.mode))
        write_list(*mkey, out, call.out_tail);
    const auto first_entries = out.bytes().subspan(prm::QueryMkeyOut::field<"bsf0_klm0_pas_mtt0_1">::offset);
    for (std::size_t i = 0; i < std::min<std::size_t>(mkey->mtt.size(), first_entries.size() / 8); ++i)
        abi::store<std::uint64_t, std::endian::big>(first_entries.data() + 8 * i, mkey->mtt[i]);
    return accepted;
}

} // namespace firmware::handlers
