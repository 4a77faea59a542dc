// Memory of which only reads are known: what another reader finds there, and when.
#include "platform/record/memory_image.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using model::port::DmaStatus;
using model::port::Time;
using platform::record::MemoryImage;

namespace {

using Bytes = std::vector<std::byte>;

Bytes filled(std::size_t length, int value) { return Bytes(length, static_cast<std::byte>(value)); }

struct Bench {
    MemoryImage image;
    void saw(std::uint64_t record, std::uint64_t address, const Bytes& bytes) {
        image.observe(record, address, bytes.size(), bytes, DmaStatus::ok, Time{7});
    }
    /// What is read between the calls of these records.
    Bytes read(std::uint64_t address, std::size_t length, std::uint64_t applied, std::uint64_t next) {
        Bytes bytes(length);
        is_known = image.read(address, bytes, applied, next).is_known;
        return bytes;
    }
    bool is_known = true;
};

} // namespace

TEST_CASE("a read in other pieces finds the same bytes", "[unit][record]") {
    Bench bench;
    bench.saw(11, 0x1ff0, filled(32, 1));
    bench.saw(12, 0x2010, filled(16, 2));

    auto expected = filled(32, 1);
    expected.resize(48, std::byte{2});
    CHECK(bench.read(0x1ff0, 48, 10, 20) == expected);
    CHECK(bench.is_known);
    CHECK(bench.read(0x2008, 4, 10, 20) == filled(4, 1));
}

TEST_CASE("bytes that nobody has read are not known", "[unit][record]") {
    Bench bench;
    bench.saw(11, 0x1000, filled(16, 1));

    CHECK(bench.read(0x1008, 16, 10, 20).size() == 16);

    CHECK_FALSE(bench.is_known);
}

TEST_CASE("each version is found once, in its order, and the last one again", "[unit][record]") {
    Bench bench;
    for (const int version : {1, 2})
        bench.saw(10 + static_cast<std::uint64_t>(version), 0x1000, filled(4, version));

    CHECK(bench.read(0x1000, 4, 10, 20) == filled(4, 1));
    CHECK(bench.read(0x1000, 4, 10, 20) == filled(4, 2));
    CHECK(bench.read(0x1000, 4, 10, 20) == filled(4, 2));
}

TEST_CASE("who reads sooner finds what will be there, one version ahead and no further", "[unit][record]") {
    Bench bench;
    bench.saw(11, 0x1000, filled(4, 1));
    bench.saw(31, 0x1000, filled(4, 3));
    bench.saw(41, 0x1000, filled(4, 4));

    CHECK(bench.read(0x1000, 4, 10, 20) == filled(4, 1));
    CHECK(bench.read(0x1000, 4, 10, 20) == filled(4, 3));
    CHECK(bench.read(0x1000, 4, 10, 20) == filled(4, 3));
    CHECK(bench.read(0x1000, 4, 30, 40) == filled(4, 4)); // which is now the next one
}

TEST_CASE("who reads seldom finds what is there now", "[unit][record]") {
    Bench bench;
    for (const int version : {1, 2, 3})
        bench.saw(static_cast<std::uint64_t>(version) * 10 + 1, 0x1000, filled(4, version));

    CHECK(bench.read(0x1000, 4, 30, 40) == filled(4, 3));
}

TEST_CASE("what the device has written is there until software writes over it", "[unit][record]") {
    Bench bench;
    bench.saw(11, 0x1000, filled(8, 1));
    bench.image.write(0x1004, filled(8, 9), 12);
    bench.saw(31, 0x1008, filled(4, 3));

    auto expected = filled(4, 1);
    expected.resize(12, std::byte{9});
    CHECK(bench.read(0x1000, 12, 10, 20) == [&] {
        std::ranges::fill(std::span(expected).last(4), std::byte{3}); // the next version, as nothing else is there
        return expected;
    }());
}

TEST_CASE("what is old is forgotten but for its bytes", "[unit][record]") {
    Bench bench;
    bench.saw(11, 0x1000, filled(8192, 1));
    bench.image.forget(12);

    CHECK(bench.image.held_bytes() == 0);
    CHECK(bench.read(0x1ffc, 8, 20, 30) == filled(8, 1));
    CHECK(bench.is_known);
}

TEST_CASE("a read that was refused is refused", "[unit][record]") {
    Bench bench;
    bench.image.observe(11, 0x1000, 64, {}, DmaStatus::unsupported_request, Time{3});
    Bytes bytes(16);

    const auto answer = bench.image.read(0x1010, bytes, 10, 20);

    CHECK(answer.status == DmaStatus::unsupported_request);
    CHECK(answer.took == Time{3});
}
