#include "testbench/scenario/storage_stream.h"

#include "testbench/scenario/sha256.h"
#include "testbench/scenario/storage_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace scenario {

using sw::failure;
using namespace std::chrono_literals;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

constexpr std::chrono::nanoseconds patience = 60s; // for a stream that does not go on

/// Nothing has happened for too long.
sw::Result<void> check_progress(const StorageEnd& end, std::chrono::nanoseconds last, std::chrono::nanoseconds now) {
    if (now - last < patience)
        return {};
    return failure(ETIMEDOUT, end.machine().name + ": the stream does not go on");
}

} // namespace

sw::Result<void> stream_from(const StreamMachine& machine, const StreamOptions& options, StreamReport& report) {
    StorageEnd end(machine, options);
    TRY(end.open());
    Sha256 digest;
    for (std::uint64_t number = 0; number < end.chunks(); ++number) {
        const auto into = end.vram(0);
        if (const auto read = options.payload.read(number * end.chunk(), into.first(end.used(number))); !read)
            return failure(EIO, read.error());
        std::ranges::fill(into.subspan(end.used(number)), std::byte{});
        end.filled(0);
        digest.add(into.first(end.used(number)));
        TRY(end.carry_out(true, number, 0));
        if (options.progress)
            options.progress("write the payload", end.bytes_before(number + 1), options.payload.size());
    }
    TRY(end.flush());
    report.source_sha256 = digest.finish();
    for (std::uint64_t slot = 0; slot < options.slots; ++slot) { // nothing of it is left in VRAM
        std::ranges::fill(end.vram(slot), std::byte{});
        end.filled(slot);
    }
    TRY(end.connect());
    if (options.boundary)
        options.boundary(false);

    std::uint64_t next = 0, kept = 0, sent = 0;
    auto last = end.now();
    while (kept < end.chunks() || sent < end.chunks()) {
        for (; next < end.chunks() && next < kept + options.slots; ++next) {
            report.read.starts(end.now());
            TRY(end.begin(false, next, end.slot_of(next)));
        }
        const auto read = end.poll_drive([&](std::uint64_t number) -> sw::Result<void> {
            report.read.ends(end.length(number), end.now());
            report.wire.starts(end.now());
            return end.write_to_peer(number);
        });
        if (!read)
            return std::unexpected(read.error());
        const auto heard = end.poll_peer(
            [&](std::uint32_t count) -> sw::Result<void> {
                kept = count; // so many chunks are on the other drive, from the first on
                return {};
            },
            [&] {
                report.wire.ends(end.length(sent), end.now());
                ++sent; // a queue pair completes in order, and all but the last are as long
            });
        if (!heard)
            return std::unexpected(heard.error());
        if (*read || *heard)
            last = end.now();
        TRY(check_progress(end, last, end.now()));
        if (options.progress)
            options.progress("stream", end.bytes_before(kept), options.payload.size());
        end.relax();
    }
    char is_verified = 0; // the peer has looked
    if (!machine.peer.receive_value(is_verified))
        return failure(EPIPE, machine.name + ": the peer has gone");
    return end.close();
}

sw::Result<void> stream_to(const StreamMachine& machine, const StreamOptions& options, StreamReport& report) {
    StorageEnd end(machine, options);
    TRY(end.open());
    TRY(end.connect());
    std::vector<bool> is_kept(end.chunks());
    std::uint64_t kept = 0;
    auto last = end.now();
    while (kept < end.chunks()) {
        const auto heard = end.poll_peer(
            [&](std::uint32_t number) -> sw::Result<void> {
                report.write.starts(end.now());
                return end.begin(true, number, end.slot_of(number));
            },
            [] {});
        if (!heard)
            return std::unexpected(heard.error());
        const auto written = end.poll_drive([&](std::uint64_t number) -> sw::Result<void> {
            report.write.ends(end.length(number), end.now());
            is_kept[number] = true;
            const auto before = kept;
            while (kept < end.chunks() && is_kept[kept])
                ++kept;
            return kept != before ? end.tell_peer(static_cast<std::uint32_t>(kept)) : sw::Result<void>{};
        });
        if (!written)
            return std::unexpected(written.error());
        if (*heard || *written)
            last = end.now();
        TRY(check_progress(end, last, end.now()));
        end.relax();
    }
    TRY(end.flush());
    if (options.boundary)
        options.boundary(true);
    Sha256 digest;
    for (std::uint64_t number = 0; number < end.chunks(); ++number) {
        std::ranges::fill(end.vram(0), std::byte{});
        end.filled(0);
        TRY(end.carry_out(false, number, 0));
        digest.add(end.vram(0).first(end.used(number)));
    }
    report.target_sha256 = digest.finish();
    machine.peer.send_value('V');
    return end.close();
}

} // namespace scenario
