#include "platform/host/bar_access.h"

#include "model/port/memory_dma.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <span>
#include <vector>

using model::port::DmaResult;
using model::port::DmaStatus;
using model::port::Purpose;
using model::port::Time;
using platform::host::BarAccess;
using platform::host::BarAccessConfig;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t mebibyte = 1 << 20;

/// Memory behind a BAR: what it is asked takes its time, however much comes at once.
struct Far final : model::port::Dma {
    Time latency = 1us;
    std::vector<std::size_t> sizes;
    DmaResult read(abi::BusAddress, std::span<std::byte> into, Time at, Purpose) override {
        sizes.push_back(into.size());
        return {DmaStatus::ok, at + latency};
    }
    DmaResult write(abi::BusAddress, std::span<const std::byte> from, Time at, Purpose) override {
        sizes.push_back(from.size());
        return {DmaStatus::ok, at + latency};
    }
    model::port::Loan lend(abi::BusAddress, std::size_t, Time at, Purpose) override {
        return {nullptr, {DmaStatus::ok, at}};
    }
};

/// When the last byte of [address, +length) is there.
Time read(BarAccess& access, Far& far, std::uint64_t address, std::size_t length) {
    std::vector<std::byte> bytes(length);
    Time now{}, done{};
    for (std::size_t at = 0; at != length;) {
        const auto piece = std::span(bytes).subspan(at, access.load_piece(address + at, length - at));
        const auto load = access.load(far, address + at, piece, now);
        now = load.begin;
        done = std::max(done, load.result.done);
        at += piece.size();
    }
    return done;
}
/// When the processor has made the last store.
Time write(BarAccess& access, Far& far, std::uint64_t address, std::size_t length) {
    const std::vector<std::byte> bytes(length);
    Time now{};
    for (std::size_t at = 0; at != length;) {
        const auto piece = std::span(bytes).subspan(at, access.store_piece(address + at, length - at));
        now = access.store(far, address + at, piece, now).begin;
        at += piece.size();
    }
    return now;
}

} // namespace

TEST_CASE("loads of memory behind a BAR bring a line each, as many at a time as there are buffers", "[unit][host]") {
    Far far;
    BarAccess access({}, true);

    const auto took = read(access, far, 0x10000, mebibyte);

    CHECK(far.sizes == std::vector<std::size_t>(mebibyte / 64, 64));
    CHECK(took == mebibyte / 64 / 8 * 1us); // 0.51 GB/s; gdrcopy has 0.53
}

TEST_CASE("a processor without streaming loads reads a BAR one word in a round trip", "[unit][host]") {
    Far far;
    BarAccess access({.load_bytes = 8, .loads = 1}, true);

    CHECK(read(access, far, 0x10000, mebibyte) == mebibyte / 8 * 1us);
    CHECK(far.sizes == std::vector<std::size_t>(mebibyte / 8, 8));
}

TEST_CASE("stores to memory behind a BAR leave combined, as fast as the processor makes them", "[unit][host]") {
    Far far;
    BarAccess access({}, true);

    const auto took = write(access, far, 0x10000, mebibyte);

    CHECK(far.sizes == std::vector<std::size_t>(mebibyte / 64, 64));
    CHECK(took > 109us); // 9.6 GB/s
    CHECK(took < 110us);
}

TEST_CASE("a store that is not combined takes as long as a full one", "[unit][host]") {
    Far far;
    BarAccess access({.store_bytes = 8}, true), combining({}, true);

    CHECK(write(access, far, 0x10000, 8) < 1ns);
    CHECK(write(combining, far, 0x10000, 8) > 6ns);
}

TEST_CASE("accesses of memory behind a BAR end at lines", "[unit][host]") {
    Far far;
    BarAccess access({}, true);

    write(access, far, 60, 140);
    read(access, far, 62, 3);

    CHECK(far.sizes == std::vector<std::size_t>{4, 64, 64, 8, 2, 1});
}

TEST_CASE("stores wait for credits of the root port", "[unit][host]") {
    Far far;
    BarAccess access({.posted = 4}, true);

    const auto took = write(access, far, 0x10000, mebibyte);

    CHECK(took > (mebibyte / 64 / 4 - 1) * 1us);
    CHECK(took <= mebibyte / 64 / 4 * 1us);
}

TEST_CASE("without timing a processor waits for nothing at a BAR", "[unit][host]") {
    Far far;
    far.latency = {};
    BarAccess access({}, false);

    CHECK(write(access, far, 0, mebibyte) == Time{});
    CHECK(read(access, far, 0, mebibyte) == Time{});
}

TEST_CASE("what a processor did at BARs is in its accounts", "[unit][host]") {
    Far far;
    BarAccess access({}, true);
    std::vector<model::time::Account> rows;
    access.accounts(rows);
    CHECK(rows.empty());

    read(access, far, 0, 6400);
    write(access, far, 0, 640);
    access.accounts(rows);

    REQUIRE(rows.size() == 3);
    CHECK(rows[0].usage.uses == 100);
    CHECK(rows[0].units == 8);
    CHECK(rows[0].usage.busy == 100us); // each held a buffer for its round trip (Little's law)
    CHECK(rows[1].bytes == 640);
    CHECK(rows[2].usage.uses == 10);
}
