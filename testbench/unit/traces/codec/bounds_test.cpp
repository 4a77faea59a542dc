// What a block, an option or a record holds less of than it must, or more of than it may, is refused by that rule.
#include "testbench/unit/traces/codec/trace_blocks.h"
#include "traces/codec/packet.h"

using namespace trace_bench;
using Catch::Matchers::ContainsSubstring;

namespace {

// clang-format off
const std::vector<Case>& blocks_of_the_trace() {
    using B = Blocks;
    using enum BlockKind;
    using enum FaultKind;
    static const std::vector<Case> all{
        {"the section is too short", [](B& b) { b.resize(0, 24); }, corrupt, "section header is too short"},
        {"the section ends within its byte order", [](B& b) { b.set32(0, 4, 12); }, corrupt, "cannot have 12"},
        {"a block of ours ends within its head", [](B& b) { b.resize(b.ours(name), 28); }, foreign, "somebody else"},
        {"a block has our magic under another number", [](B& b) { b.set32(b.ours(name), 8, 1); }, corrupt,
         "source 1 where that of 0"},
        {"a block is longer than what it holds", [](B& b) { b.set32(1, 0x18, 20); }, corrupt, "cannot hold 20"},
        {"a name may not be copied", [](B& b) { b.set32(b.ours(name), 0, 0x4000'0bad); }, corrupt, "copied"},
        {"the end can be left out", [](B& b) { b.set8(b.ours(end), 0x17, 0); }, corrupt, "flags 0x0"},
        {"the identity is too short", [](B& b) { b.resize_data(1, 20); }, corrupt, "identity is too short"},
        {"the identity is in pieces", [](B& b) { b.set8(1, 0x17, 0x81); }, corrupt, "or in pieces"},
        {"the configuration is too long", [](B& b) { auto piece = b.blocks[2];
            b.resize_data(2, 128 << 10); b.set8(2, 0x17, 0x81); b.insert(2, b.blocks[2], 127);
            b.insert(2 + 128, piece); }, excessive, "a configuration of more than"},
        {"a name has no number", [](B& b) { b.resize_data(b.ours(name), 3); }, corrupt, "a name of a source"},
        {"a name comes late", [](B& b) { b.insert(b.blocks.size() - 1, b.blocks[b.ours(name)]); }, corrupt, "too late"},
        {"there are too many interfaces", [](B& b) { const auto i = b.of_type(1);
            b.insert(i, b.blocks[i], most_interfaces); }, corrupt, "too many interfaces"},
        {"an interface is too short", [](B& b) { b.resize(b.of_type(1), 16); }, corrupt, "interface is too short"},
        {"an interface's options end within one", [](B& b) { const auto i = b.of_type(1);
            b.set8(i, b.size(i) - 6, 4); }, corrupt, "an interface without"},
        {"an interface's options go on behind their end", [](B& b) { const auto i = b.of_type(1);
            b.grow(i, b.size(i) - 8, 4); }, corrupt, "an interface without"},
        {"an interface has no name", [](B& b) { b.set8(b.of_type(1), 16, 9); }, corrupt, "an interface without"},
        {"an interface counts nanoseconds", [](B& b) { const auto i = b.of_type(1);
            b.set8(i, b.size(i) - 12, 9); }, corrupt, "not picoseconds"},
        {"an interface counts in two bytes", [](B& b) { const auto i = b.of_type(1);
            b.set8(i, b.size(i) - 14, 2); }, corrupt, "not picoseconds"},
        {"an entry is empty", [](B& b) { b.resize_data(b.ours(entry), 16); }, corrupt, "without bytes"},
        {"an entry is too long", [](B& b) { b.resize_data(b.ours(entry), 16 + most_entry_bytes + 1); }, excessive,
         "an entry of the dictionary has 65537 bytes"},
        {"an entry is larger than the dictionary", [](B& b) { b.set32(1, data + 0x10, 100);
            b.insert(b.ours(sync), b.blocks[b.ours(entry)]); }, corrupt, "larger than the dictionary"},
        {"a sync block is too short", [](B& b) { b.resize_data(b.ours(sync), 44); }, corrupt,
         "sync block is too short"},
        {"a sync block's reserved bytes are used", [](B& b) { b.set8(b.ours(sync), data + 0x2c, 1); }, corrupt,
         "another number of interfaces"},
        {"a sync block has other interfaces", [](B& b) { b.set8(b.ours(sync), data + 0x28, 5); }, corrupt,
         "another number of interfaces"},
        {"a sync block has fewer counts", [](B& b) { b.resize_data(b.ours(sync), 48 + 3 * 8); }, corrupt,
         "another number of interfaces"},
        {"a sync block is another one", [](B& b) { b.set8(b.ours(sync), data + 8, 99); }, corrupt, "it is block 99"},
        {"a sync block is elsewhere", [](B& b) { b.set8(b.ours(sync), data + 0x10, 1); }, corrupt, "a sync block says"},
        {"a sync block counts otherwise", [](B& b) { b.set8(b.ours(sync), data + 0x30, 1); }, corrupt,
         "a sync block says"},
        {"a record comes early", [](B& b) { b.insert(b.ours(sync), b.blocks[record_block(b, 1)]); }, corrupt,
         "before the head"},
    };
    return all;
}

const std::vector<Case>& records_of_the_trace() {
    using B = Blocks;
    using enum FaultKind;
    static const std::vector<Case> all{
        {"a record is too short", [](B& b) { b.resize(record_block(b, 1), 28); }, corrupt, "packet block is too short"},
        {"a record is too long", [](B& b) { const auto i = record_block(b, 3); b.grow(i, body + 32, 16384);
            b.set32(i, 20, 32 + 16384); b.set32(i, 24, 32 + 16384); }, corrupt, "in a block that holds"},
        {"a record is longer than its block, and was", [](B& b) { const auto i = record_block(b, 3);
            b.set32(i, 20, 4000); b.set32(i, 24, 4000); }, corrupt, "4000 bytes, 4000 of them here"},
        {"a record's kind is none", [](B& b) { b.set8(record_block(b, 3), body + 1, 0); }, corrupt, "kind 0, "},
        {"a record's kind is unknown", [](B& b) { b.set8(record_block(b, 3), body + 1, 9); }, corrupt, "kind 9, "},
        {"a record has no direction", [](B& b) { b.set8(record_block(b, 3), body + 2, 3); }, corrupt, "direction 3"},
        {"a record's flag is unknown", [](B& b) { b.set8(record_block(b, 3), body + 3, 0x80); }, corrupt, "flags 0x80"},
        {"a record ends within its mark", [](B& b) { b.set32(record_block(b, 3), 20, 12); }, corrupt,
         "without its mark"},
        {"an event is not whole", [](B& b) { b.set32(record_block(b, 4), 24, 60); }, corrupt, "a part is missing"},
        {"a TLP was longer", [](B& b) { b.set32(record_block(b, 5), 24, 44); }, corrupt, "announces 8 bytes"},
        {"a TLP announces more, and was as long", [](B& b) { const auto i = record_block(b, 5); b.set32(i, 24, 44);
            b.set8(i, body + 16 + 3, 3); }, corrupt, "announces 12 bytes of data has 8"},
        {"a reference is too short", [](B& b) { const auto i = record_block(b, 5); b.set8(i, body + 3, 1);
            b.set32(i, 20, 36); }, corrupt, "reference to a payload is too short"},
        {"a reference is to as much as it has itself", [](B& b) { b.set8(record_block(b, 6), body + 32 + 20, 24); },
         corrupt, "refers to 24 bytes"},
        {"a payload stands here and elsewhere", [](B& b) { const auto i = record_block(b, 6); b.grow(i, body + 32, 4);
            b.set32(i, 20, 60); }, corrupt, "stands in it and elsewhere"},
        {"an InfiniBand record is too short", [](B& b) { b.set32(record_block(b, 2), 20, 12); }, corrupt,
         "InfiniBand record is too short"},
        {"an InfiniBand packet was longer", [](B& b) { b.set32(record_block(b, 2), 24, 77); }, corrupt,
         "another length than its header"},
        {"a frame's flags are too short", [](B& b) { b.set8(record_block(b, 1), body + 64 + 2, 2); }, corrupt,
         "mark and flags differ"},
        {"a frame's mark is somebody else's", [](B& b) { b.set8(record_block(b, 1), body + 64 + 12, 1); }, corrupt,
         "without its mark"},
        {"a frame's options end within one", [](B& b) { const auto i = record_block(b, 1);
            b.set8(i, b.size(i) - 6, 4); }, corrupt, "or with options that are none"},
    };
    return all;
}
// clang-format on

} // namespace

TEST_CASE("a block of a trace that is too short, too long or out of place is refused by that", "[unit][traces]") {
    check_refusals(blocks_of_the_trace());
}

TEST_CASE("a record of a trace that is too short, too long or not whole is refused by that", "[unit][traces]") {
    check_refusals(records_of_the_trace());
}

TEST_CASE("a trace has at most 65535 names", "[unit][traces]") {
    Blocks blocks(small_trace());
    const auto first = blocks.ours(BlockKind::name);
    auto name = blocks.blocks[first];
    blocks.insert(first + 2, name, most_names - 1);
    for (std::uint32_t source = 2; source <= most_names; ++source)
        blocks.set32(first + source, data, source);

    CHECK_THAT(read_all(blocks.joined()).why(), ContainsSubstring("too many"));
}

TEST_CASE("a record has a number of 32 bits", "[unit][traces]") {
    Blocks blocks(small_trace());
    const auto& block = blocks.blocks[record_block(blocks, 3)];
    const auto content = std::span(block).first(block.size() - pcapng::trailer_bytes);
    const auto head = small_head();
    std::vector<std::byte> frame;
    const auto read = [&](std::uint64_t number) {
        Record record;
        record.number = number;
        return read_packet(content, head.interfaces, Dictionary(0), record, frame);
    };

    CHECK(read(most_records));
    CHECK_FALSE(read(most_records + 1));
}

TEST_CASE("a block of ours that may be left out is passed over, whether it may be copied or not", "[unit][traces]") {
    for (const std::uint32_t type : {0xbadu, 0x4000'0badu}) {
        Blocks blocks(small_trace());
        auto unknown = blocks.blocks[blocks.ours(BlockKind::name)];
        abi::store<std::uint32_t, abi::Endian::little>(unknown.data(), type);
        unknown[0x16] = std::byte{77}; // its kind
        blocks.insert(record_block(blocks, 1), unknown);

        const auto story = read_all(blocks.joined());

        CHECK(story.records.size() == 6);
        CHECK_THAT(story.why(), ContainsSubstring("bytes up to here have another digest"));
    }
}

TEST_CASE("a block of somebody else may be as long as any, and no longer", "[unit][traces]") {
    for (const std::size_t more : {0u, 4u}) {
        Blocks blocks(small_trace());
        const auto at = record_block(blocks, 1);
        blocks.insert(at, blocks.blocks[at]);
        blocks.set32(at, 0, 0x8000'0001);
        blocks.resize(at, most_block_bytes + more);

        CHECK(read_all(blocks.joined()).records.size() == (more == 0 ? 6 : 0));
    }
}

TEST_CASE("entries that fill the dictionary to its last byte are all in it", "[unit][traces]") {
    Dictionary dictionary(2 * (100 + Dictionary::entry_overhead));
    const Bytes one(100, std::byte{1}), other(100, std::byte{2}), third(1, std::byte{3});

    CHECK(dictionary.add(digest_of(one), one));
    CHECK(dictionary.add(digest_of(other), other));
    CHECK(dictionary.find(digest_of(one)));
    CHECK(dictionary.add(digest_of(third), third));
    CHECK_FALSE(dictionary.find(digest_of(one)));
    CHECK(dictionary.find(digest_of(other)));
}
