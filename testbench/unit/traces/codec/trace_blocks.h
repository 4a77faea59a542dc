// A trace taken apart into its blocks, so that a test changes one rule in one of them.
#pragma once

#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <functional>

namespace trace_bench {

/// Blocks of a trace without compression, to be changed one by one. Digests are not written again, so that a change
/// must be refused where it stands, and not at the next sync block.
struct Blocks {
    std::vector<Bytes> blocks;
    explicit Blocks(std::span<const std::byte> bytes) {
        for (std::size_t at = 0; at < bytes.size();) {
            const auto length = abi::load<std::uint32_t, abi::Endian::little>(bytes.data() + at + 4);
            const auto block = bytes.subspan(at, length);
            blocks.emplace_back(block.begin(), block.end());
            at += length;
        }
    }
    Bytes joined() const {
        Bytes out;
        for (const auto& block : blocks)
            out.insert(out.end(), block.begin(), block.end());
        return out;
    }
    /// The first block of that kind of ours.
    std::size_t ours(BlockKind kind) const {
        for (std::size_t i = 0; i < blocks.size(); ++i)
            if ((type(i) & 0xfff) == 0xbad && view(i).get<"kind">() == static_cast<std::uint8_t>(kind))
                return i;
        return blocks.size();
    }
    std::size_t of_type(std::uint32_t wanted) const {
        for (std::size_t i = 0; i < blocks.size(); ++i)
            if (type(i) == wanted)
                return i;
        return blocks.size();
    }
    std::uint32_t type(std::size_t i) const { return abi::load<std::uint32_t, abi::Endian::little>(blocks[i].data()); }
    abi::ConstView<TraceBlock> view(std::size_t i) const { return abi::ConstView<TraceBlock>(blocks[i]); }
    void set32(std::size_t block, std::size_t at, std::uint32_t value) {
        abi::store<std::uint32_t, abi::Endian::little>(blocks[block].data() + at, value);
    }
    void set8(std::size_t block, std::size_t at, unsigned value) { blocks[block][at] = static_cast<std::byte>(value); }
    std::size_t size(std::size_t block) const { return blocks[block].size(); }
    /// With more zeros at `at`, or fewer bytes from there on; its lengths are right.
    void grow(std::size_t block, std::size_t at, std::ptrdiff_t by) {
        auto& bytes = blocks[block];
        const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        if (by > 0)
            bytes.insert(place, static_cast<std::size_t>(by), std::byte{});
        else
            bytes.erase(place, place - by);
        set32(block, 4, static_cast<std::uint32_t>(bytes.size()));
        set32(block, bytes.size() - pcapng::trailer_bytes, static_cast<std::uint32_t>(bytes.size()));
    }
    /// The block has `bytes`, its trailer included.
    void resize(std::size_t block, std::size_t bytes) {
        const auto now = size(block);
        if (bytes > now)
            grow(block, now - pcapng::trailer_bytes, static_cast<std::ptrdiff_t>(bytes - now));
        else
            grow(block, bytes - pcapng::trailer_bytes, -static_cast<std::ptrdiff_t>(now - bytes));
    }
    /// A block of ours with so many bytes of data.
    void resize_data(std::size_t block, std::uint32_t bytes) {
        set32(block, 0x18, bytes);
        resize(block, TraceBlock::size + pcapng::padded(bytes) + pcapng::trailer_bytes);
    }
    void insert(std::size_t before, const Bytes& block, std::size_t times = 1) {
        blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(before), times, block);
    }
};

/// A trace of a frame, an InfiniBand packet, a signal, an event, a write with its payload in the record and one by
/// reference, in this order.
inline Bytes small_trace() {
    MemoryDestination destination;
    Writer writer(destination, small_head(), {.level = FrameWriter::plain});
    std::mt19937_64 random(1);
    writer.write(1, 10, {.kind = RecordKind::frame, .direction = Direction::inbound}, random_bytes(61, random));
    writer.write(2, 20, {.kind = RecordKind::frame, .direction = Direction::outbound}, random_bytes(60, random));
    writer.write(0, 30, {.kind = RecordKind::signal}, random_bytes(SignalRecord::size, random));
    writer.write(3, 40, {.kind = RecordKind::event, .cause = 1}, random_bytes(40, random));
    writer.write(0, 50, {.direction = Direction::inbound}, write_header(0x1000, 8), random_bytes(8, random));
    const auto reference = writer.refer(random_bytes(256, random));
    writer.write(0, 60, {.direction = Direction::outbound}, write_header(0x2000, 128), reference->part(64, 128));
    REQUIRE(writer.close());
    return destination.bytes;
}

inline constexpr std::size_t body = pcapng::EnhancedPacket::size; ///< of a packet block
inline constexpr std::size_t data = TraceBlock::size;             ///< of a custom block

struct Case {
    std::string what;
    std::function<void(Blocks&)> change;
    FaultKind kind;
    std::string reason;
};

inline std::size_t record_block(const Blocks& blocks, std::size_t number) {
    for (std::size_t i = 0; i < blocks.blocks.size(); ++i)
        if (blocks.type(i) == pcapng::enhanced_packet_type && --number == 0)
            return i;
    return 0;
}

/// Each change is refused by its own rule, and not by a later one.
inline void check_refusals(std::span<const Case> cases) {
    REQUIRE(read_all(small_trace()).why() == "");
    for (const auto& one : cases) {
        INFO(one.what);
        Blocks blocks(small_trace());
        one.change(blocks);

        const auto story = read_all(blocks.joined());

        REQUIRE(story.fault);
        INFO(story.why());
        CHECK(name(story.fault->kind) == name(one.kind));
        CHECK_THAT(story.fault->reason, Catch::Matchers::ContainsSubstring(one.reason));
        CHECK(story.fault->block != 0);
    }
}

} // namespace trace_bench
