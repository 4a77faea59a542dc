// Memory of an application, as a holder of its key reaches it (IBA 10.6): translates a range of the key, walks the
// pieces of bus address space behind it, and moves the bytes. Every room of the data path that touches application
// memory asks here, and gets the time at which the bytes are there, or one answer that says all about why they are not.
#pragma once

#include "model/hca/memory/atomic_locks.h"
#include "model/hca/memory/denied.h"
#include "model/hca/memory/order.h"
#include "model/hca/tpt/translate.h"
#include "model/port/dma.h"
#include "model/port/payload.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

namespace model::hca::memory {

/// The time at which the last byte has moved.
using Moved = std::expected<port::Time, Denied>;

/// The length of each request is that of the bytes that move; what precedes a denied piece has moved. Requests go by
/// reference down to the translator: a copy of one that was just made waits for its members to be stored.
class ApplicationMemory {
public:
    ApplicationMemory(tpt::Translator& translator, port::Dma& dma) : translator_(translator), dma_(dma) {}

    /// The book of what is lent of this memory at the moment.
    port::LoanBook& loans() { return dma_.loans(); }

    /// Adds the range to `payload`. Plain memory is not copied but lent, of which `loans` keeps account.
    Moved lend(const tpt::Request& request, port::Payload& payload, port::Loans& loans, port::Time at);
    /// Copies the range into `into`, which has the request's length.
    Moved read(const tpt::Request& request, std::span<std::byte> into, port::Time at, port::Purpose purpose);
    /// Copies `from`, which has the request's length, into the range. Each write goes out when it is translated and,
    /// with an `order`, no earlier than the last write of that order.
    Moved write(const tpt::Request& request, std::span<const std::byte> from, port::Time at, Order* order = nullptr);
    /// lend() and write() of units of so many bytes, and what is left, all at once. False where that makes a
    /// difference, and then nothing has happened.
    bool lend_units(const tpt::Request& request, std::uint32_t unit, port::Payload& payload, port::Loans& loans);
    bool write_units(const tpt::Request& request, std::uint32_t unit, std::span<const std::byte> from);
    /// Reads the 8 bytes of one place, and writes them again when `change(bytes)` says that it changed them (IBA
    /// 9.4.5).
    template <class Change>
    Moved modify(const tpt::Request& request, Order& order, AtomicLocks& locks, port::Time at, Change&& change);
    /// Whether the key allows the whole range, without a look at its pages.
    std::expected<void, Denied> check(const tpt::Request& request, port::Time at);

    /// The same, of which nobody hears.
    bool is_allowed(const tpt::Request& request) const { return translator_.is_allowed(request); }
    /// Whether a page of the range is not there and may be waited for. Emits no event and counts nothing.
    bool lacks_page(const tpt::Request& request) { return translator_.lacks_page(request); }

private:
    template <class Move> Moved walk(const tpt::Request& request, port::Time at, Move&& move);

    tpt::Translator& translator_;
    port::Dma& dma_;
};

template <class Change>
Moved ApplicationMemory::modify(const tpt::Request& request, Order& order, AtomicLocks& locks, port::Time at,
                                Change&& change) {
    std::array<std::byte, 8> bytes;
    assert(request.length == bytes.size());
    const auto target = translator_.translate(request, at);
    if (!target)
        return std::unexpected(Denied{request, target.error()});
    const auto address = target->items[0].address;
    const auto begin = locks.take(address, target->ready);
    auto result = dma_.read(address, bytes, order.issue(begin), port::Purpose::payload);
    locks.release(address, begin, result.done);
    if (result.is_ok() && change(bytes))
        result = dma_.write(address, bytes, order.issue(result.done), port::Purpose::payload);
    if (!result.is_ok())
        return std::unexpected(Denied{request, result.status});
    return result.done;
}

} // namespace model::hca::memory
