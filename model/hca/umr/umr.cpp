#include "model/hca/umr/umr.h"

#include "abi/layout.h"
#include "abi/prm/wqe.h"
#include "model/hca/tpt/mkey_context.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace model::hca::umr {

using abi::prm::CqeSyndrome;
using abi::prm::Mkc;
using abi::prm::MkeyMask;
using abi::prm::WqeCtrl;
using abi::prm::WqeUmrCtrl;
using completion::LocalError;
using queue::QueuePair;
using queue::WorkRequest;
namespace vendor = completion::vendor;

namespace {

using Control = abi::ConstView<WqeUmrCtrl>;

std::unexpected<LocalError> refusal(Fault fault) {
    return std::unexpected(
        LocalError{CqeSyndrome::mw_bind_err, static_cast<std::uint8_t>(vendor::umr + static_cast<unsigned>(fault))});
}
std::uint64_t translation_offset(Control control) {
    if (!control.get<"xlt_offset_en">())
        return 0;
    return std::uint64_t{control.get<"xlt_offset_47_16">()} << 16 | control.get<"xlt_offset">();
}

/// The rule against this queue pair changing this key in its present state, if any.
std::optional<Fault> check_key(const tpt::Mkey& mkey, const QueuePair& qp, Control control) {
    const auto& key = mkey.attributes;
    if (!key.takes_umr)
        return Fault::not_enabled;
    if (!qp.service.is_local && key.pd != qp.attributes.pd)
        return Fault::wrong_pd;
    if (control.get<"check_free">() && key.is_free)
        return Fault::is_free;
    if (control.get<"check_not_free">() && !key.is_free)
        return Fault::is_not_free;
    if (control.get<"check_qpn">() && key.qpn != abi::prm::mkey_any_qpn && key.qpn != qp.number.value)
        return Fault::wrong_queue_pair;
    const bool is_privileged = qp.attributes.fast_registration || qp.service.is_local;
    if (!is_privileged &&
        (!tpt::is_indirect(key.mode) || control.get<"mkey_mask">() & static_cast<std::uint64_t>(MkeyMask::pd)))
        return Fault::not_privileged;
    return std::nullopt;
}

/// The rule that a context breaks which is about to be put in force, if any.
std::optional<Fault> check_context(const tpt::MkeyAttributes& wanted, const ObjectTable<ProtectionDomain>& domains) {
    if (domains.find(wanted.pd.value) == nullptr)
        return Fault::no_such_pd;
    const bool has_pages = wanted.mode == abi::prm::AccessMode::mtt;
    if (has_pages && (wanted.page_shift < tpt::min_page_shift || wanted.page_shift > tpt::max_page_shift))
        return Fault::bad_page_size;
    if (!wanted.length64 && tpt::wraps(wanted.start, wanted.length))
        return Fault::range_wraps;
    return std::nullopt;
}

} // namespace

traces::KeyChangeReason reason_of(Fault fault) {
    switch (fault) {
    case Fault::no_such_key: return "no such key";
    case Fault::not_enabled: return "the key does not take UMRs";
    case Fault::wrong_pd: return "wrong protection domain";
    case Fault::is_free: return "the key is free";
    case Fault::is_not_free: return "the key is not free";
    case Fault::wrong_queue_pair: return "key bound to another queue pair";
    case Fault::not_privileged: return "the queue pair may not change this kind of key";
    case Fault::bad_mask: return "a field that no UMR may change";
    case Fault::no_such_pd: return "no such protection domain";
    case Fault::bad_page_size: return "page size";
    case Fault::range_wraps: return "the range leaves the address space";
    case Fault::table_too_small: return "translations beyond the table";
    case Fault::list_too_short: return "fewer translations than announced";
    }
    return "unknown";
}

std::expected<port::Time, LocalError> Umr::execute(const QueuePair& qp, const WorkRequest& request, port::Time at) {
    const auto refuse = [&](Fault fault) {
        events_.emit(at, traces::KeyChangeRefused{qp.number.value, request.immediate, reason_of(fault)});
        return refusal(fault);
    };
    const auto raw = std::span<const std::byte>(request.raw);
    const Control control{raw.subspan(WqeCtrl::size)};
    const abi::Key key{request.immediate};
    auto* mkey = keys_.table.find(key.index());
    if (mkey == nullptr)
        return refuse(Fault::no_such_key);
    if (const auto fault = check_key(*mkey, qp, control))
        return refuse(*fault);

    abi::Block<Mkc> context;
    context.bytes = mkey->attributes.context;
    if (!tpt::copy_fields(control.get<"mkey_mask">(),
                          abi::ConstView<Mkc>{raw.subspan(WqeCtrl::size + WqeUmrCtrl::size)}, context.view()))
        return refuse(Fault::bad_mask);
    auto wanted = tpt::decode(context.view());
    wanted.entries_carry_rights = mkey->attributes.entries_carry_rights;
    if (const auto fault = check_context(wanted, keys_.domains))
        return refuse(*fault);

    const auto octowords = std::uint64_t{control.get<"xlt_octowords">()};
    const auto first = tpt::entries_of(wanted.mode, translation_offset(control));
    const auto count = tpt::entries_of(wanted.mode, octowords);
    if (octowords != 0) {
        if (first > mkey->room || count > mkey->room - first)
            return refuse(Fault::table_too_small);
        const auto done = fetch_list(qp, request, octowords * abi::prm::octoword_bytes, at);
        if (!done)
            return done;
        at = *done;
        write_translations(*mkey, first, list_);
    }
    memory_.loans().drain(port::Giver::work_request); // afterwards software may use what the key led to for others
    const bool is_resized =
        wanted.mode == abi::prm::AccessMode::ksm && wanted.page_shift != mkey->attributes.page_shift;
    wanted.entries_carry_rights = mkey->attributes.entries_carry_rights;
    put(*mkey, std::move(wanted));
    if (is_resized)
        tpt::write_ranges(*mkey, 0, {});
    if (!tpt::is_indirect(mkey->attributes.mode) && octowords != 0)
        keys_.table.note_mapped(*mkey, first, count);
    const auto lines_per_entry = tpt::is_indirect(mkey->attributes.mode) ? 2u : 1u;
    keys_.translator.forget(mkey->index, first * lines_per_entry, count * lines_per_entry);
    events_.emit(at, traces::KeyChanged{qp.number.value, key.value, control.get<"mkey_mask">(),
                                        static_cast<std::uint32_t>(octowords)});
    return at;
}

/// Brings the request's translations into `list_`.
std::expected<port::Time, LocalError> Umr::fetch_list(const QueuePair& qp, const WorkRequest& request,
                                                      std::size_t bytes, port::Time at) {
    constexpr auto head = WqeCtrl::size + WqeUmrCtrl::size + Mkc::size;
    const auto raw = std::span<const std::byte>(request.raw);
    list_.resize(bytes);
    if (Control{raw.subspan(WqeCtrl::size)}.get<"inline">()) {
        if (head + bytes > request.segments_16 * abi::prm::wqe_ds_bytes)
            return refusal(Fault::list_too_short);
        std::ranges::copy(raw.subspan(head, bytes), list_.begin());
        return at;
    }
    if (request.segment_count != 1 || request.segments[0].length < bytes)
        return refusal(Fault::list_too_short);
    const auto& source = request.segments[0];
    // A local queue pair has no protection domain of its own: that of the key which the request names counts.
    const auto* named = keys_.table.find(source.key.index());
    const auto pd = qp.service.is_local && named != nullptr ? named->attributes.pd : qp.attributes.pd;
    const auto done = memory_.read({.key = source.key,
                                    .address = source.address,
                                    .length = list_.size(),
                                    .access = tpt::Access::local_read,
                                    .pd = pd,
                                    .qpn = qp.number.value},
                                   list_, at, port::Purpose::control);
    if (!done)
        return std::unexpected(completion::local_error(done.error()));
    return *done;
}

/// Puts a context in force.
void Umr::put(tpt::Mkey& mkey, tpt::MkeyAttributes attributes) {
    if (attributes.pd != mkey.attributes.pd)
        mkey.domain = Ref(keys_.domains.find(attributes.pd.value));
    mkey.attributes = std::move(attributes);
}

void Umr::write_translations(tpt::Mkey& mkey, std::uint64_t first, std::span<const std::byte> list) {
    if (tpt::is_indirect(mkey.attributes.mode))
        return tpt::write_ranges(mkey, first, list);
    auto& mtt = mkey.mtt;
    if (!mkey.attributes.entries_carry_rights) {
        // Entries of CREATE_MKEY without page rights are present; from now on the bits say so.
        for (auto& entry : mtt)
            entry |= 3;
        mkey.attributes.entries_carry_rights = true;
    }
    const auto count = list.size() / abi::prm::Mtt::size;
    if (mtt.size() < first + count)
        mtt.resize(first + count);
    for (std::size_t i = 0; i < count; ++i)
        mtt[first + i] = abi::load<std::uint64_t, abi::Endian::big>(list.data() + i * abi::prm::Mtt::size);
}

bool Umr::invalidate(const QueuePair& qp, abi::Key key, abi::Pd pd, port::Time at) {
    auto* mkey = keys_.table.find(key.index());
    if (mkey == nullptr)
        return false;
    auto& a = mkey->attributes;
    const bool is_allowed = a.remote_invalidate && !a.is_free && a.variant == key.variant() && a.pd == pd &&
                            (a.qpn == abi::prm::mkey_any_qpn || a.qpn == qp.number.value);
    if (!is_allowed)
        return false;
    memory_.loans().drain(); // afterwards software may use what the key led to for others
    a.is_free = true;
    abi::View<Mkc>(std::span(a.context)).set<"free">(1);
    keys_.translator.forget(mkey->index, 0, 0);
    events_.emit(at, traces::KeyInvalidated{qp.number.value, key.value});
    return true;
}

} // namespace model::hca::umr
