#include "model/pcie/gateway.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace model;
using model::pcie::Gateway;
using Space = abi::pcie::GatewaySpace;

namespace {
constexpr std::uint16_t control = 0x04, counter = 0x08, semaphore = 0x0c, address = 0x10, data = 0x14;
constexpr std::uint32_t flag = 1u << 31, syndrome = 1u << 30, supported = 1u << 29, size_valid = 1u << 28;

/// Four words, which a sweep reads from the first to the last but one.
struct Words final : port::RegisterSpaces {
    std::array<std::uint32_t, 4> words{10, 11, 12, 13};
    std::uint32_t size(Space space) const override { return space == Space::cr || space == Space::scan_cr ? 16 : 0; }
    std::optional<std::uint32_t> read(Space, std::uint32_t at, port::Time) override {
        return at % 4 == 0 ? std::optional(words.at(at / 4)) : std::nullopt;
    }
    bool write(Space, std::uint32_t at, std::uint32_t value) override {
        if (at % 4 != 0)
            return false;
        words.at(at / 4) = value;
        return true;
    }
    std::optional<std::uint32_t> next(Space space, std::uint32_t at) const override {
        return space == Space::scan_cr ? std::optional(at == 0 ? 8u : 16u) : std::nullopt;
    }
};

struct Bench {
    Words words;
    Gateway gateway;
    std::uint32_t read(std::uint16_t offset) { return gateway.read(offset, 4); }
    void write(std::uint16_t offset, std::uint32_t value) { gateway.write(offset, 4, value, &words, {}); }
    void choose(Space space) { write(control, static_cast<std::uint32_t>(space)); }
};
} // namespace

TEST_CASE("a space that is there has a status and tells its size", "[unit][pcie][gateway]") {
    Bench bench;

    bench.choose(Space::cr);

    CHECK(bench.read(control) == (supported | size_valid | 2));
    CHECK(bench.read(address) == 16);
}

TEST_CASE("a space that is not there has status 0 and every access of it a syndrome", "[unit][pcie][gateway]") {
    Bench bench;

    bench.choose(Space::icmd);

    CHECK(bench.read(control) == 1);
    bench.write(address, 0);
    CHECK(bench.read(address) == (flag | syndrome));
    bench.write(address, flag);
    CHECK(bench.read(address) == syndrome);
    CHECK(bench.words.words[0] == 10);
}

TEST_CASE("a read ends with flag 1 and the word, a write with flag 0", "[unit][pcie][gateway]") {
    Bench bench;
    bench.choose(Space::cr);

    bench.write(address, 4);
    CHECK(bench.read(address) == (flag | 4));
    CHECK(bench.read(data) == 11);
    bench.write(data, 0x1234);
    bench.write(address, flag | 8);

    CHECK(bench.read(address) == 8);
    CHECK(bench.words.words == std::array<std::uint32_t, 4>{10, 11, 0x1234, 13});
}

TEST_CASE("an address outside the space ends with the syndrome and its code, until the next access",
          "[unit][pcie][gateway]") {
    Bench bench;
    bench.choose(Space::cr);

    for (const std::uint32_t bad : {16u, 2u, 0x3fffffffu}) {
        bench.write(address, bad);
        CHECK(bench.read(address) == (flag | syndrome | bad));
        CHECK(bench.read(control) == (supported | 3u << 24 | 2));
        bench.write(address, flag | bad);
        CHECK(bench.read(address) == (syndrome | bad));
    }
    CHECK(bench.words.words == Words().words);
    bench.write(address, 0);
    CHECK(bench.read(address) == flag);
    CHECK(bench.read(control) == (supported | 2));
}

TEST_CASE("reading a space in sweeps tells the next address", "[unit][pcie][gateway]") {
    Bench bench;
    bench.choose(Space::scan_cr);

    bench.write(address, 0);
    CHECK(bench.read(address) == (flag | 8));
    bench.write(address, 8);

    CHECK(bench.read(data) == 12);
    CHECK(bench.read(address) == (flag | 16));
}

TEST_CASE("each read of the counter draws another number", "[unit][pcie][gateway]") {
    Bench bench;

    CHECK(bench.read(counter) == 1);
    CHECK(bench.read(counter) == 2);
    bench.write(counter, 0);
    CHECK(bench.read(counter) == 3);
    CHECK(bench.gateway.read(counter + 1, 1) == 0); // the rest of the number just drawn
}

TEST_CASE("one number holds the gateway until 0 is written", "[unit][pcie][gateway]") {
    Bench bench;

    bench.write(semaphore, 5);
    bench.write(semaphore, 6);
    CHECK(bench.read(semaphore) == 5);
    bench.write(semaphore, 0);
    bench.write(semaphore, 6);

    CHECK(bench.read(semaphore) == 6);
}

TEST_CASE("an address written byte by byte is accessed with its last byte", "[unit][pcie][gateway]") {
    Bench bench;
    bench.choose(Space::cr);

    for (std::uint16_t i = 0; i < 3; ++i) {
        bench.gateway.write(address + i, 1, i == 0 ? 12 : 0, &bench.words, {});
        CHECK(bench.read(data) == 0);
    }
    bench.gateway.write(address + 3, 1, 0, &bench.words, {});

    CHECK(bench.read(data) == 13);
    CHECK(bench.gateway.read(address + 3, 1) == 0x80);
}

TEST_CASE("a device without spaces has none, and nothing outlives a reset", "[unit][pcie][gateway]") {
    Gateway gateway;
    gateway.write(control, 4, 2, nullptr, {});
    gateway.write(address, 4, 0, nullptr, {});
    CHECK(gateway.read(control, 4) == (3u << 24 | 2));
    CHECK(gateway.read(address, 4) == (flag | syndrome));
    gateway.write(semaphore, 4, 9, nullptr, {});
    gateway.read(counter, 4);

    gateway.reset();

    for (const auto offset : {control, semaphore, address, data})
        CHECK(gateway.read(offset, 4) == 0);
    CHECK(gateway.read(counter, 4) == 1);
}
