#include "model/hca/memory/application_memory.h"

#include <algorithm>

namespace model::hca::memory {

namespace {

/// What is left of a request of which this much has moved.
tpt::Request rest(const tpt::Request& request, std::uint64_t moved) {
    auto rest = request;
    rest.address += moved;
    rest.length -= moved;
    return rest;
}

} // namespace

/// Calls `move(piece, ready)` for the pieces of the range in ascending order. Every piece is asked for at `at`, since
/// translation and bus work on many at once.
template <class Move> Moved ApplicationMemory::walk(const tpt::Request& request, port::Time at, Move&& move) {
    auto done = at;
    for (std::uint64_t moved = 0; moved != request.length;) {
        const auto pieces =
            moved == 0 ? translator_.translate(request, at) : translator_.translate(rest(request, moved), at);
        if (!pieces) [[unlikely]]
            return std::unexpected(Denied{rest(request, moved), pieces.error()});
        for (const auto& piece : pieces->all()) {
            const port::DmaResult result = move(piece, pieces->ready);
            if (!result.is_ok()) [[unlikely]]
                return std::unexpected(Denied{rest(request, moved), result.status});
            done = std::max(done, result.done);
        }
        moved += pieces->covered;
    }
    return done;
}

Moved ApplicationMemory::lend(const tpt::Request& request, port::Payload& payload, port::Loans& loans, port::Time at) {
    return walk(request, at, [&](const tpt::Segment& piece, port::Time ready) {
        const auto loan = dma_.lend(piece.address, piece.length, ready, port::Purpose::payload);
        if (loan.data != nullptr)
            payload.lend({loan.data, piece.length}, loans);
        else if (loan.result.is_ok()) // no plain memory, so its bytes are copied
            return dma_.read(piece.address, payload.extend(piece.length), ready, port::Purpose::payload);
        return loan.result;
    });
}

Moved ApplicationMemory::read(const tpt::Request& request, std::span<std::byte> into, port::Time at,
                              port::Purpose purpose) {
    assert(request.length == into.size());
    return walk(request, at, [&](const tpt::Segment& piece, port::Time ready) {
        const auto result = dma_.read(piece.address, into.first(piece.length), ready, purpose);
        into = into.subspan(piece.length);
        return result;
    });
}

Moved ApplicationMemory::write(const tpt::Request& request, std::span<const std::byte> from, port::Time at,
                               Order* order) {
    assert(request.length == from.size());
    return walk(request, at, [&](const tpt::Segment& piece, port::Time ready) {
        const auto result = dma_.write(piece.address, from.first(piece.length),
                                       order != nullptr ? order->issue(ready) : ready, port::Purpose::payload);
        from = from.subspan(piece.length);
        return result;
    });
}

bool ApplicationMemory::lend_units(const tpt::Request& request, std::uint32_t unit, port::Payload& payload,
                                   port::Loans& loans) {
    const auto place = translator_.place_of(request);
    const auto* data = place ? dma_.lend_units(*place, request.length, unit) : nullptr;
    if (data == nullptr)
        return false;
    translator_.look_up_units(request, unit);
    payload.lend({data, request.length}, loans);
    return true;
}

bool ApplicationMemory::write_units(const tpt::Request& request, std::uint32_t unit, std::span<const std::byte> from) {
    assert(request.length == from.size());
    const auto place = translator_.place_of(request);
    if (!place || !dma_.write_units(*place, from, unit))
        return false;
    translator_.look_up_units(request, unit);
    return true;
}

std::expected<void, Denied> ApplicationMemory::check(const tpt::Request& request, port::Time at) {
    if (const auto allowed = translator_.check(request, at); !allowed) [[unlikely]]
        return std::unexpected(Denied{request, allowed.error()});
    return {};
}

} // namespace model::hca::memory
