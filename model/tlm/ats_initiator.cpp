#include "model/tlm/ats_initiator.h"

#include <algorithm>

namespace model::tlm {

using port::DmaResult;
using port::DmaStatus;
using port::Purpose;
using port::Time;

/// The first part of an access: what lies in one page.
AtsInitiator::Piece AtsInitiator::translate(std::uint64_t address, std::size_t length, bool is_write, Time at) {
    auto entry = tlb_.find(pasid_, address, is_write);
    tlb_.note(entry.has_value());
    at += hit_latency_;
    if (!entry) {
        const auto [result, completion] = untranslated_.ask_translation(address, is_write, at);
        if (!result.is_ok())
            return {.status = result.status, .ready = result.done};
        entry = {.address = completion.address,
                 .shift = completion.shift,
                 .is_readable = completion.is_readable,
                 .is_writable = completion.is_writable,
                 .is_untranslated_only = completion.is_untranslated_only};
        at = result.done;
        if (!(is_write ? entry->is_writable : entry->is_readable)) // what is not there is not kept (§10.2.3.5)
            return {.status = DmaStatus::unsupported_request, .ready = at};
        tlb_.insert(pasid_, address, *entry);
    }
    const auto offset = address & ((std::uint64_t{1} << entry->shift) - 1);
    return {.ready = at,
            .address = entry->is_untranslated_only ? address : entry->address + offset,
            .length = std::min<std::uint64_t>(length, (std::uint64_t{1} << entry->shift) - offset),
            .initiator = entry->is_untranslated_only ? &untranslated_ : &translated_};
}

/// A part that has been sent, translated.
void AtsInitiator::tell(const Piece& piece, std::uint64_t address, bool is_write, Purpose purpose) const {
    if (piece.initiator == &translated_)
        watch_->landed({.requester = translated_.requester(),
                        .address = address,
                        .physical = piece.address,
                        .length = piece.length,
                        .is_write = is_write,
                        .is_translated = true,
                        .purpose = purpose},
                       piece.ready);
}

DmaResult AtsInitiator::read(abi::BusAddress address, std::span<std::byte> into, Time at, Purpose purpose) {
    if (!is_on_)
        return untranslated_.read(address, into, at, purpose);
    DmaResult result{DmaStatus::ok, at};
    auto rest = into;
    auto from = address.value;
    do { // once for a zero-length read, which is a request as any other
        const auto piece = translate(from, rest.size(), false, at);
        const auto done = piece.status == DmaStatus::ok
                              ? piece.initiator->fetch(piece.address, rest.first(piece.length), piece.ready, purpose)
                              : DmaResult{piece.status, piece.ready};
        result = {done.status, std::max(result.done, done.done)};
        if (watch_ != nullptr && result.is_ok()) [[unlikely]]
            tell(piece, from, false, purpose);
        from += piece.length, rest = rest.subspan(piece.length);
    } while (!rest.empty() && result.is_ok());
    if (events_.is_on()) [[unlikely]]
        events_.emit(at, traces::DmaRead{address.value, into.size(), static_cast<std::uint8_t>(result.status)});
    return result;
}

DmaResult AtsInitiator::write(abi::BusAddress address, std::span<const std::byte> from, Time at, Purpose purpose) {
    note_issued(at);
    if (!is_on_)
        return untranslated_.write(address, from, at, purpose);
    DmaResult result{DmaStatus::ok, at};
    auto rest = from;
    auto to = address.value;
    do {
        const auto piece = translate(to, rest.size(), true, at);
        const auto lost_before = piece.initiator != nullptr ? piece.initiator->losses() : 0;
        const auto done =
            piece.status == DmaStatus::ok
                ? piece.initiator->store(piece.address, rest.first(piece.length), {at, piece.ready}, purpose)
                : DmaResult{piece.status, piece.ready};
        result = {done.status, std::max(result.done, done.done)};
        if (watch_ != nullptr && result.is_ok() && piece.initiator->losses() == lost_before) [[unlikely]]
            tell(piece, to, true, purpose);
        to += piece.length, rest = rest.subspan(piece.length);
    } while (!rest.empty() && result.is_ok());
    if (events_.is_on()) [[unlikely]]
        events_.emit(at, traces::DmaWritten{address.value, from.size(), static_cast<std::uint8_t>(result.status)});
    return result;
}

port::Loan AtsInitiator::lend(abi::BusAddress address, std::size_t length, Time at, Purpose purpose) {
    if (!is_on_)
        return untranslated_.lend(address, length, at, purpose);
    constexpr std::uint64_t page = 4096;
    if (length == 0 || length > page - address.value % page)
        return {nullptr, {DmaStatus::ok, at}};
    const auto piece = translate(address.value, length, false, at);
    if (piece.status != DmaStatus::ok) {
        if (events_.is_on()) [[unlikely]]
            events_.emit(at, traces::DmaRead{address.value, length, static_cast<std::uint8_t>(piece.status)});
        return {nullptr, {piece.status, piece.ready}};
    }
    const auto loan = piece.initiator->lend(abi::BusAddress{piece.address}, length, piece.ready, purpose);
    if (loan.data != nullptr && events_.is_on()) [[unlikely]]
        events_.emit(at, traces::DmaRead{address.value, length, static_cast<std::uint8_t>(loan.result.status)});
    if (loan.data != nullptr && watch_ != nullptr) [[unlikely]]
        tell(piece, address.value, false, purpose);
    return loan;
}

} // namespace model::tlm
