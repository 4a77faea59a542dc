// What is no trace, or none that this program reads, is refused by the kind of fault and the place.
#include "testbench/unit/traces/codec/trace_blocks.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace trace_bench;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The mark of a frame of 61 bytes once more, behind itself.
void repeat_mark(Bytes& block) {
    constexpr auto bytes = pcapng::Option::size + MarkOption::size;
    const auto mark = block.begin() + static_cast<std::ptrdiff_t>(body + 64 + pcapng::Option::size + 4);
    const Bytes again(mark, mark + static_cast<std::ptrdiff_t>(bytes));
    block.insert(mark, again.begin(), again.end());
    const auto length = static_cast<std::uint32_t>(block.size());
    abi::store<std::uint32_t, abi::Endian::little>(block.data() + 4, length);
    abi::store<std::uint32_t, abi::Endian::little>(block.data() + block.size() - 4, length);
}

// clang-format off
const std::vector<Case>& cases() {
    using B = Blocks;
    using enum FaultKind;
    static const std::vector<Case> all{
        {"the section is of pcapng 2", [](B& b) { b.set8(0, 12, 2); }, newer, "pcapng of version 2"},
        {"the section is big endian", [](B& b) { b.set32(0, 8, 0x4d3c2b1a); }, foreign, "big endian"},
        {"the identity is somebody else's", [](B& b) { b.set8(1, 12, 'x'); }, foreign, "second block is no identity"},
        {"the identity is missing", [](B& b) { b.blocks.erase(b.blocks.begin() + 1); }, corrupt,
         "begins with its identity"},
        {"the second block is an interface", [](B& b) { b.blocks.erase(b.blocks.begin() + 1, b.blocks.begin() + 5); },
         foreign, "no trace of hcasim"},
        {"the format is newer", [](B& b) { b.set8(1, 0x14, 2); }, newer, "format 2; this program reads 1"},
        {"the format is none", [](B& b) { b.set8(1, 0x14, 0); }, corrupt, "format 0"},
        {"a flag of a block is unknown", [](B& b) { b.set8(1, 0x17, 0x90); }, newer, "unknown flags 0x90"},
        {"a block's length is wrong", [](B& b) { b.set32(1, 0x18, 100); }, corrupt, "cannot hold 100"},
        {"digests are made otherwise", [](B& b) { b.set32(1, data + 4, 2); }, newer, "digests by algorithm 2"},
        {"the dictionary is too large", [](B& b) { b.set32(1, data + 20, 1); }, excessive, "a dictionary of"},
        {"there are two identities", [](B& b) { b.blocks.insert(b.blocks.begin() + 1, b.blocks[1]); }, corrupt,
         "a second identity"},
        {"there are two configurations", [](B& b) { b.blocks.insert(b.blocks.begin() + 2, b.blocks[2]); }, corrupt,
         "a second configuration"},
        {"the configuration is not complete", [](B& b) { b.set8(2, 0x17, 0x81); }, corrupt,
         "before the configuration is complete"},
        {"a name is out of turn", [](B& b) { b.set32(b.ours(BlockKind::name), data, 5); }, corrupt,
         "source 5 where that of 0"},
        {"a sync block may be copied", [](B& b) { b.set32(b.ours(BlockKind::sync), 0, 0xbad); }, corrupt, "copied"},
        {"a sync block has other records", [](B& b) { b.set8(b.ours(BlockKind::sync), data, 1); }, corrupt,
         "behind 1 records; it is behind 0"},
        {"a sync block has another digest", [](B& b) { b.set8(b.ours(BlockKind::sync), data + 0x18, 1); }, corrupt,
         "another digest"},
        {"an indispensable block is unknown", [](B& b) { b.set8(2, 0x16, 77); }, newer, "kind 77"},
        {"an interface has no known type", [](B& b) { b.set8(b.of_type(1), 8, 99); }, newer, "link type 99"},
        {"an interface has options that are none", [](B& b) { b.set8(b.of_type(1), 18, 0xff); }, corrupt,
         "without a name"},
        {"an interface comes late", [](B& b) { b.blocks.insert(b.blocks.end() - 1, b.blocks[b.of_type(1)]); }, corrupt,
         "behind the head"},
        {"a second section follows", [](B& b) { b.blocks.push_back(b.blocks[0]); }, corrupt, "behind the end"},
        {"a second section comes in between", [](B& b) { b.blocks.insert(b.blocks.end() - 1, b.blocks[0]); }, corrupt,
         "a second section"},
        {"the end is twice", [](B& b) { b.blocks.push_back(b.blocks.back()); }, corrupt, "behind the end"},
        {"a block is too long", [](B& b) { b.set32(b.ours(BlockKind::name), 4, most_block_bytes + 4); }, excessive,
         "262148 bytes"},
        {"a block's length is odd", [](B& b) { b.set32(b.ours(BlockKind::name), 4, 33); }, corrupt, "cannot have 33"},
        {"a block is shorter than itself", [](B& b) { b.set32(b.ours(BlockKind::name), 4, 8); }, corrupt,
         "cannot have 8"},
        {"a block's ends differ", [](B& b) { b.blocks[2].back() = std::byte{1}; }, corrupt, "says at its end"},
        {"a custom block of somebody else under our number",
         [](B& b) { b.set8(b.ours(BlockKind::name), 13, 'x'); }, foreign, "somebody else"},

        {"a record has no interface", [](B& b) { b.set32(record_block(b, 1), 8, 4); }, corrupt, "interface 4, of 4"},
        {"a record is longer than its block", [](B& b) { b.set32(record_block(b, 1), 20, 4000); }, corrupt, "4000"},
        {"a record was shorter than it is", [](B& b) { b.set32(record_block(b, 1), 24, 3); }, corrupt, "3 bytes"},
        {"a time is negative", [](B& b) { b.set32(record_block(b, 1), 12, 0x8000'0000); }, corrupt, "a time"},
        {"a frame is not whole", [](B& b) { b.set32(record_block(b, 1), 24, 100); }, corrupt, "a part is missing"},
        {"a frame has no mark", [](B& b) { b.set8(record_block(b, 1), body + 64 + 8, 1); }, corrupt, "its mark"},
        {"a frame's direction is not its mark's", [](B& b) { b.set8(record_block(b, 1), body + 64 + 4, 2); }, corrupt,
         "differ"},
        {"an InfiniBand record is none", [](B& b) { b.set8(record_block(b, 2), body + 8, 2); }, corrupt, "InfiniBand"},
        {"an InfiniBand record's length differs", [](B& b) { b.set8(record_block(b, 2), body + 11, 2); }, corrupt,
         "InfiniBand"},
        {"a record's format is newer", [](B& b) { b.set8(record_block(b, 3), body, 2); }, newer, "record of format 2"},
        {"a record's kind is unknown", [](B& b) { b.set8(record_block(b, 3), body + 1, 9); }, corrupt, "kind 9"},
        {"a record is on another interface", [](B& b) { b.set8(record_block(b, 3), body + 1, 6); }, corrupt,
         "does not belong"},
        {"a signal is longer", [](B& b) { b.set32(record_block(b, 3), 20, 31); b.set32(record_block(b, 3), 24, 31); },
         corrupt, "a signal of 15"},
        {"a cause is later", [](B& b) { b.set8(record_block(b, 4), body + 12, 4); }, corrupt,
         "record 4 is caused by record 4"},
        {"an event is by reference", [](B& b) { b.set8(record_block(b, 4), body + 3, 1); }, corrupt, "part is missing"},
        {"a TLP announces more", [](B& b) { b.set8(record_block(b, 5), body + 16 + 3, 3); }, corrupt, "announces 12"},
        {"a TLP has no header", [](B& b) { b.set8(record_block(b, 5), body + 16, 0xe0); }, corrupt, "no header"},
        {"an entry has another digest", [](B& b) { b.set8(b.ours(BlockKind::entry), data, 1); }, corrupt,
         "another digest than"},
        {"an entry is in pieces", [](B& b) { b.set8(b.ours(BlockKind::entry), 0x17, 0x81); }, corrupt, "in pieces"},
        {"a name is in pieces", [](B& b) { b.set8(b.ours(BlockKind::name), 0x17, 0x01); }, corrupt, "in pieces"},
        {"a sync block is indispensable", [](B& b) { b.set8(b.ours(BlockKind::sync), 0x17, 0x80); }, corrupt,
         "flags 0x80"},
        {"a frame has two marks", [](B& b) { repeat_mark(b.blocks[record_block(b, 1)]); }, corrupt, "two marks"},
        {"an entry comes again", [](B& b) { const auto i = b.ours(BlockKind::entry);
            b.blocks.insert(b.blocks.begin() + static_cast<std::ptrdiff_t>(i), b.blocks[i]); }, corrupt, "already"},
        {"an entry is missing", [](B& b) { b.blocks.erase(b.blocks.begin() +
            static_cast<std::ptrdiff_t>(b.ours(BlockKind::entry))); }, corrupt, "does not have"},
        {"a reference leaves its entry", [](B& b) { b.set32(record_block(b, 6), body + 32 + 16, 200); }, corrupt,
         "of a payload of 256"},
        {"a reference wraps around", [](B& b) { b.set32(record_block(b, 6), body + 32 + 16, 0xffff'ffff); }, corrupt,
         "of a payload of 256"},
    };
    return all;
}
// clang-format on

} // namespace

TEST_CASE("a trace that breaks one rule is refused by it", "[unit][traces]") { check_refusals(cases()); }

TEST_CASE("a fault names file, stream, block and reason in one line", "[unit][traces]") {
    Blocks blocks(small_trace());
    const auto damaged = record_block(blocks, 5);
    blocks.set8(damaged, body + 16 + 3, 3);
    std::size_t offset = 0;
    for (std::size_t i = 0; i < damaged; ++i)
        offset += blocks.blocks[i].size();

    const auto story = read_all(blocks.joined());

    const auto at = std::to_string(offset);
    CHECK(story.why() == "corrupt: a TLP that announces 12 bytes of data has 8 (block " + std::to_string(damaged + 1) +
                             "; byte " + at + " of the file, byte " + at + " decompressed)");
    CHECK(story.records.size() == 4);
}

TEST_CASE("blocks that a reader need not know are passed over", "[unit][traces]") {
    // An unknown block that may be left out, a foreign custom block, a block for local use, interface statistics. The
    // writer of such a file would have them in its digests; here the refusal comes there, and not before.
    Blocks blocks(small_trace());
    const auto where = blocks.blocks.begin() + static_cast<std::ptrdiff_t>(record_block(blocks, 1));
    const std::uint32_t type = GENERATE(0x5u, 0x8000'0001u, 0xbadu, 0x4000'0badu);
    Bytes block(16);
    abi::store<std::uint32_t, abi::Endian::little>(block.data(), type);
    abi::store<std::uint32_t, abi::Endian::little>(block.data() + 4, 16);
    abi::store<std::uint32_t, abi::Endian::little>(block.data() + 8, 1);
    abi::store<std::uint32_t, abi::Endian::little>(block.data() + 12, 16);
    blocks.blocks.insert(where, block);

    const auto story = read_all(blocks.joined());

    CHECK(story.records.size() == 6);
    CHECK_THAT(story.why(), ContainsSubstring("another digest"));
}

TEST_CASE("a file of another program is called foreign", "[unit][traces]") {
    struct Other {
        std::string bytes, reason;
    };
    const auto other =
        GENERATE(Other{"\x1f\x8b\x08 and so on", "gzip"}, Other{"\x04\x22\x4d\x18 and so on", "lz4"},
                 Other{"\xfd\x37zXZ and so on", "xz"}, Other{"BZh91AY", "bzip2"},
                 Other{"\xd4\xc3\xb2\xa1\x02 a pcap file", "no pcapng"}, Other{"[simulation]\nseed = 1\n", "no pcapng"},
                 Other{"x", "no pcapng"}, Other{std::string("\x0a\x0d\x0d\x0a\x1c\0\0\0abcd", 12), "byte order"});

    const auto story = read_all(bytes_of(other.bytes));

    REQUIRE(story.fault);
    CHECK(story.fault->kind == FaultKind::foreign);
    CHECK_THAT(story.why(), ContainsSubstring(other.reason));
}

TEST_CASE("an empty file is a truncated one", "[unit][traces]") {
    CHECK(read_all({}).fault->kind == FaultKind::truncated);
}

TEST_CASE("a fault stays", "[unit][traces]") {
    auto bytes = small_trace();
    bytes.resize(bytes.size() - 1);
    MemorySource source(bytes);
    Reader reader(source);
    REQUIRE(reader.open());
    for (int i = 0; i < 6; ++i)
        REQUIRE(reader.next());

    const auto first = reader.next(), second = reader.next();

    REQUIRE_FALSE(first);
    CHECK(first.error().text() == second.error().text());
}

TEST_CASE("the end of a trace stays its end", "[unit][traces]") {
    const auto bytes = small_trace();
    MemorySource source(bytes);
    Reader reader(source);
    REQUIRE(reader.open());
    for (int i = 0; i < 6; ++i)
        REQUIRE(*reader.next() != nullptr);

    CHECK(*reader.next() == nullptr);
    CHECK(*reader.next() == nullptr);
}
