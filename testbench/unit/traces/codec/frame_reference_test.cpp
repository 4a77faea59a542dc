// Frames whose payload is in memory, too, and so in the dictionary: they stand in the file by reference, and are whole
// for whoever reads them.
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace trace_bench;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::size_t headers = 58, carried = 4096, checks = 4;
constexpr Mark sent{.kind = RecordKind::frame, .direction = Direction::outbound, .gate = 3};

Bytes frame(unsigned seed = 1) {
    std::mt19937_64 random(seed);
    return random_bytes(headers + carried + checks, random);
}

/// A memory write of what the frame carries, then the frame, at an Ethernet port and at an InfiniBand one.
Bytes trace(const Bytes& whole, int level = FrameWriter::plain) {
    MemoryDestination destination;
    Writer writer(destination, small_head(), {.level = level});
    const Bytes memory(whole.begin() + headers, whole.begin() + headers + carried);
    writer.share(memory);
    const auto head = write_header(0x8000'0000, carried);
    writer.put({.interface = 0,
                .time_ps = 1,
                .mark = {.kind = RecordKind::request, .direction = Direction::inbound},
                .head = head,
                .payload = memory});
    for (const std::uint32_t port : {1u, 2u}) {
        writer.share(std::span(whole).subspan(headers, carried));
        writer.put({.interface = port, .time_ps = 5, .mark = sent, .head = whole, .payload = {}});
    }
    writer.share({});
    REQUIRE(writer.close());
    return destination.bytes;
}

/// Where the first frame's block begins, and its option that says where the rest is.
struct Places {
    std::size_t block = 0, option = 0;
};
Places places(const Bytes& bytes) {
    Places found;
    for (std::size_t at = 0; at < bytes.size();) {
        const auto load = [&](std::size_t where) {
            return abi::load<std::uint32_t, abi::Endian::little>(bytes.data() + where);
        };
        if (load(at) == pcapng::enhanced_packet_type && load(at + 8) == 1 && found.block == 0) {
            found.block = at;
            // Data, epb_flags, the mark, and then this one.
            found.option = at + pcapng::EnhancedPacket::size + pcapng::padded(headers) + 8 + 4 + MarkOption::size;
        }
        at += load(at + 4);
    }
    return found;
}

} // namespace

TEST_CASE("a frame that carries what memory holds is read whole, and kept once", "[unit][traces]") {
    const auto whole = frame();

    const auto bytes = trace(whole, GENERATE(FrameWriter::plain, 1));
    const auto story = read_all(bytes);

    CHECK(story.why() == "");
    REQUIRE(story.records.size() == 3);
    CHECK(story.records[1] == Kept{1, 5, sent, whole, {}});
    CHECK(story.records[2] == Kept{2, 5, sent, whole, {}});
    CHECK(bytes.size() < carried + 2500);
}

TEST_CASE("other tools see the beginning of such a frame and its true length", "[unit][traces]") {
    const auto bytes = trace(frame());
    const auto at = places(bytes).block;

    CHECK(abi::load<std::uint32_t, abi::Endian::little>(bytes.data() + at + 20) == headers);
    CHECK(abi::load<std::uint32_t, abi::Endian::little>(bytes.data() + at + 24) == headers + carried + checks);
}

TEST_CASE("a frame that carries other bytes than those that are shared stands in its record", "[unit][traces]") {
    MemoryDestination destination;
    Writer writer(destination, small_head(), {.level = FrameWriter::plain});
    const auto whole = frame(), other = frame(2);
    writer.share(std::span(other).subspan(headers, carried));
    writer.put({.interface = 1, .time_ps = 5, .mark = sent, .head = whole, .payload = {}});
    REQUIRE(writer.close());

    CHECK(read_all(destination.bytes).records.at(0).head == whole);
}

TEST_CASE("a frame that refers to what there is not is refused with the reason", "[unit][traces]") {
    struct Change {
        std::size_t at; ///< in the option's value
        unsigned value;
        const char* reason;
    };
    const auto [at, value, reason] =
        GENERATE(Change{4, 0xff, "a payload that the dictionary does not have"}, // its digest
                 Change{4 + 16, 1, "refers to 4096 bytes from 1 on"},            // its offset
                 Change{4 + 20, 1, "that has 58, 3841 and 4"},                   // its length, of which this is
                 Change{4 + 21, 0, "refers to 0 bytes"});                        // the lower half
    auto bytes = trace(frame());
    auto& changed = bytes[places(bytes).option + 4 + at];
    if (at == 4 + 20) { // a length of 0x0f01
        bytes[places(bytes).option + 4 + at + 1] = std::byte{0x0f};
    }
    changed = static_cast<std::byte>(value) == changed ? ~changed : static_cast<std::byte>(value);

    const auto story = read_all(bytes);

    REQUIRE(story.fault);
    CHECK(story.fault->kind == FaultKind::corrupt);
    CHECK_THAT(story.why(), ContainsSubstring(reason));
    CHECK(story.records.size() == 1);
}

TEST_CASE("a frame of which a part is elsewhere, and whose mark does not say so, is refused", "[unit][traces]") {
    auto bytes = trace(frame());
    auto& flags = bytes[places(bytes).option - MarkOption::size + 4 + RecordMark::field<"flags">::offset];
    REQUIRE(flags == std::byte{by_reference});
    flags = {};

    CHECK_THAT(read_all(bytes).why(), ContainsSubstring("whose mark does not say so"));
}

TEST_CASE("behind the part of a frame that is elsewhere there are at most 16 bytes", "[unit][traces]") {
    auto bytes = trace(frame());
    const auto [block, option] = places(bytes);
    constexpr std::uint32_t more = 16; // behind the four that there are
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(option + 4 + FrameReferenceOption::size), more, {});
    const auto add = [&](std::size_t at) {
        const auto value = abi::load<std::uint32_t, abi::Endian::little>(bytes.data() + at);
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data() + at, value + more);
        return value + more;
    };
    add(block + 24);                                                           // the length that the frame had
    bytes[option + 2] = std::byte{FrameReferenceOption::size + checks + more}; // the option's length
    add(block + add(block + 4) - 4);                                           // the block's, at both ends

    const auto story = read_all(bytes);

    REQUIRE(story.fault);
    CHECK_THAT(story.why(), ContainsSubstring("no option where"));
}

TEST_CASE("a frame that is longer than a record may be is refused, however little of it is here", "[unit][traces]") {
    const auto whole = frame();
    MemoryDestination destination;
    Writer writer(destination, small_head(), {.level = FrameWriter::plain});
    const Bytes large(20'000, std::byte{7});
    REQUIRE(writer.refer(large));
    writer.share(std::span(whole).subspan(headers, carried));
    writer.put({.interface = 1, .time_ps = 5, .mark = sent, .head = whole, .payload = {}});
    REQUIRE(writer.close());
    auto& bytes = destination.bytes;
    const auto [block, option] = places(bytes);
    const auto value = std::span<std::byte>(bytes).subspan(option + 4);
    abi::View<FrameReferenceOption>(value).sub<"reference">().set<"digest">(digest_of(large)).set<"length">(20'000);
    abi::store<std::uint32_t, abi::Endian::little>(bytes.data() + block + 24, headers + 20'000 + checks);

    CHECK_THAT(read_all(bytes).why(), ContainsSubstring("a frame of 20062 bytes"));
}

TEST_CASE("a frame without the option that its mark promises is refused", "[unit][traces]") {
    auto bytes = trace(frame());
    bytes[places(bytes).option] ^= std::byte{0xff}; // the option's code

    const auto story = read_all(bytes);

    REQUIRE(story.fault);
    CHECK_THAT(story.why(), ContainsSubstring("no option where"));
}

TEST_CASE("what is shared again is found by its bytes, not by a sample of them", "[unit][traces]") {
    MemoryDestination destination;
    Writer writer(destination, small_head(), {.level = FrameWriter::plain});
    std::mt19937_64 random(3);
    auto first = random_bytes(4096, random);
    auto second = first;
    second[100] ^= std::byte{1}; // where no sample looks
    for (const auto* memory : {&first, &second, &first, &second}) {
        writer.share(*memory);
        const auto head = write_header(0x8000'0000, memory->size());
        writer.put({.interface = 0,
                    .time_ps = 1,
                    .mark = {.kind = RecordKind::request, .direction = Direction::inbound},
                    .head = head,
                    .payload = *memory});
    }
    REQUIRE(writer.close());

    const auto story = read_all(destination.bytes);

    REQUIRE(story.records.size() == 4);
    CHECK(story.records[0].payload == first);
    CHECK(story.records[1].payload == second);
    CHECK(story.records[2].payload == first);
    CHECK(story.records[3].payload == second);
    CHECK(destination.bytes.size() < 3 * 4096);
}
