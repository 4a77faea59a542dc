// PRM "Memory key": CREATE_MKEY, DESTROY_MKEY, QUERY_MKEY.
#include "firmware/handlers/handlers.h"

#include <algorithm>
#include <expected>
#include <utility>
#include <vector>

namespace firmware::handlers {

namespace {
constexpr std::uint32_t min_page_shift = 12,
                        max_page_shift = 31; ///< log_page_size without the wider entity sizes of general 2

/// What CREATE_MKEY may not ask for, since no capability advertises it.
Reply check_features(In<prm::CreateMkeyIn> in) {
    const auto mkc = in.sub<"memory_key_mkey_entry">();
    const auto mode = prm::access_mode(mkc);
    if (in.get<"mkey_umem_valid">())
        return refuse("create_mkey.umem");
    if (in.get<"data_direct">())
        return refuse("create_mkey.data_direct");
    if (mode != prm::AccessMode::pa && mode != prm::AccessMode::mtt)
        return refuse("create_mkey.access_mode");
    if (mkc.get<"bsf_en">() || mkc.get<"bsf_octword_size">() || mkc.get<"sync_umr">())
        return refuse("create_mkey.signature");
    if (mkc.get<"en_rinval">())
        return refuse("create_mkey.remote_invalidate");
    return accepted;
}

/// Whether a range leaves the upper end of the address space.
constexpr bool wraps(std::uint64_t start, std::uint64_t length) { return length != 0 && start > ~(length - 1); }

/// The translation entries of an MTT key: as many as its range needs, from the list behind the command.
std::expected<std::vector<std::uint64_t>, Reply> translation(In<prm::CreateMkeyIn> in,
                                                             std::span<const std::byte> list) {
    const auto mkc = in.sub<"memory_key_mkey_entry">();
    const auto shift = mkc.get<"log_page_size">();
    if (shift < min_page_shift || shift > max_page_shift)
        return std::unexpected(refuse("create_mkey.page_size"));
    if (mkc.get<"length64">())
        return std::unexpected(refuse("create_mkey.length64_with_mtt"));
    const auto octowords = in.get<"translations_octword_actual_size">();
    if (list.size() / prm::octoword_bytes < octowords)
        return std::unexpected(refuse("create_mkey.list_too_short"));
    if (octowords > mkc.get<"translations_octword_size">())
        return std::unexpected(refuse("create_mkey.list_too_long"));

    const auto page_mask = (std::uint64_t{1} << shift) - 1;
    const auto start = mkc.get<"start_addr">(), length = mkc.get<"len">();
    if (wraps(start, length))
        return std::unexpected(refuse("create_mkey.range_wraps"));
    if (mkc.get<"free">() && octowords == 0)
        return std::vector<std::uint64_t>{}; // filled when a UMR enables the key
    // The first entry covers the page that holds start_addr.
    const auto count = (length >> shift) + (((length & page_mask) + (start & page_mask) + page_mask) >> shift);
    if (std::uint64_t{octowords} * 2 < count)
        return std::unexpected(refuse("create_mkey.range_beyond_list"));

    std::vector<std::uint64_t> entries(count);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        entries[i] = abi::load<std::uint64_t, std::endian::big>(list.data() + 8 * i);
        constexpr std::uint64_t flags = 0xfff; // bits 11..0 carry rights or nothing, never address
        if (entries[i] & page_mask & ~flags)
            return std::unexpected(refuse("create_mkey.page_not_aligned"));
    }
    return entries;
}
} // namespace

Reply create_mkey(State& state, const Call& call, In<prm::CreateMkeyIn> in, Out<prm::CreateMkeyOut> out) {
    const auto mkc = in.sub<"memory_key_mkey_entry">();
    if (auto refused = check_features(in))
        return refused;
    auto* pd = state.pds.find(mkc.get<"pd">());
    if (pd == nullptr)
        return refuse("create_mkey.pd");
    std::vector<std::uint64_t> entries;
    if (prm::access_mode(mkc) == prm::AccessMode::mtt) {
        auto list = translation(in, call.tail);
        if (!list)
            return list.error();
        entries = std::move(*list);
    } else if (!mkc.get<"length64">() && wraps(mkc.get<"start_addr">(), mkc.get<"len">())) {
        return refuse("create_mkey.pa_range_wraps");
    }
    if (auto refused = state.admit(entries.size(), call.at))
        return refused;
    const auto index = state.mkey_ids.take();
    if (!index)
        return refuse("create_mkey.none_left");

    const auto count = entries.size();
    model::hca::tpt::MkeyAttributes attributes{
        .start = mkc.get<"start_addr">(),
        .length = mkc.get<"len">(),
        .pd = abi::Pd{mkc.get<"pd">()},
        .qpn = mkc.get<"qpn">(),
        .variant = static_cast<std::uint8_t>(mkc.get<"mkey_7_0">()),
        .is_free = mkc.get<"free">() != 0,
        .mode = prm::access_mode(mkc),
        .rights = {.local_read = mkc.get<"lr">() != 0,
                   .local_write = mkc.get<"lw">() != 0,
                   .remote_read = mkc.get<"rr">() != 0,
                   .remote_write = mkc.get<"rw">() != 0,
                   .atomic = mkc.get<"a">() != 0},
        .length64 = mkc.get<"length64">() != 0,
        .page_shift = static_cast<std::uint8_t>(mkc.get<"log_page_size">()),
        .entries_carry_rights = in.get<"pg_access">() != 0,
    };
    std::ranges::copy(mkc.bytes(), attributes.context.begin());
    state.hca.mkeys().create(*index, std::move(attributes), std::move(entries));
    ++pd->users;
    state.charge(count, call.at);
    out.set<"mkey_index">(*index);
    return accepted;
}

Reply destroy_mkey(State& state, const Call&, In<prm::DestroyMkeyIn> in, Out<prm::DestroyMkeyOut>) {
    const auto index = in.get<"mkey_index">();
    const auto* mkey = state.hca.mkeys().find(index);
    if (mkey == nullptr)
        return refuse("destroy_mkey.unknown");
    if (auto* pd = state.pds.find(mkey->attributes.pd.value))
        --pd->users;
    state.release(mkey->mtt.size());
    state.hca.translator().forget(index);
    state.hca.mkeys().destroy(index);
    state.mkey_ids.give_back(index);
    return accepted;
}

Reply query_mkey(State& state, const Call&, In<prm::QueryMkeyIn> in, Out<prm::QueryMkeyOut> out) {
    const auto* mkey = state.hca.mkeys().find(in.get<"mkey_index">());
    if (mkey == nullptr)
        return refuse("query_mkey.unknown");
    const auto mkc = out.sub<"memory_key_mkey_entry">();
    std::ranges::copy(mkey->attributes.context, mkc.bytes().begin());
    mkc.set<"free">(mkey->attributes.is_free);
    const auto first_entries = out.bytes().subspan(prm::QueryMkeyOut::field<"bsf0_klm0_pas_mtt0_1">::offset);
    for (std::size_t i = 0; i < std::min<std::size_t>(mkey->mtt.size(), first_entries.size() / 8); ++i)
        abi::store<std::uint64_t, std::endian::big>(first_entries.data() + 8 * i, mkey->mtt[i]);
    return accepted;
}

} // namespace firmware::handlers
