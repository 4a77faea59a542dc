// The worked example of traces/FORMAT.md is what the encoder writes and what the decoder reads.
#include "platform/record/accesses.h"
#include "testbench/harness/source_tree.h"
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <iomanip>
#include <sstream>

using namespace trace_bench;

namespace {

/// The bytes of the document's dumps. A line is an offset, two spaces, bytes with one space between them, and perhaps
/// more spaces and a remark.
Bytes example() {
    std::ifstream file(testbench::source_tree() + "/traces/FORMAT.md");
    Bytes bytes;
    bool is_dump = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("```")) {
            is_dump = line.starts_with("```hex");
            continue;
        }
        if (!is_dump || line.empty())
            continue;
        CAPTURE(line);
        REQUIRE(std::stoul(line.substr(0, 4), nullptr, 16) == bytes.size());
        auto digits = line.substr(6);
        digits.resize(std::min(digits.find("  "), digits.size()));
        std::istringstream words(digits);
        for (std::string word; words >> word;)
            bytes.push_back(static_cast<std::byte>(std::stoul(word, nullptr, 16)));
    }
    return bytes;
}

/// As recorders write them: three dwords below 4 GiB, no requester.
Bytes recorded_write(std::uint64_t address, std::uint32_t length) {
    const auto header = platform::record::memory_request(true, {address, length}, 0, 0);
    return {header.bytes().begin(), header.bytes().end()};
}

/// What the document says it is: a doorbell arrives, and the device writes 64 bytes because of it.
Bytes encoded() {
    MemoryDestination destination;
    Writer writer(destination,
                  {.identity = {.revision = "0.1", .seed = 42},
                   .configuration = "mtu = 4096\n",
                   .names = {"host0.hca0"},
                   .interfaces = {{InterfaceKind::pcie, "host0.hca0"}}},
                  {.level = FrameWriter::plain});
    const auto doorbell =
        writer.write(0, 1'000'000, {.direction = Direction::inbound, .gate = 1}, recorded_write(0x10'0000'0800, 8),
                     bytes_of(std::string_view("\0\0\1\12\0\0\20\2", 8)));
    Bytes message(64);
    for (std::size_t i = 0; i < message.size(); ++i)
        message[i] = static_cast<std::byte>(i);
    const auto reference = writer.refer(message);
    writer.write(0, 2'500'000,
                 {.direction = Direction::outbound, .gate = 1, .cause = static_cast<std::uint32_t>(doorbell)},
                 recorded_write(0x8000'0000, 64), *reference);
    REQUIRE(writer.close());
    return destination.bytes;
}

std::string dump(std::span<const std::byte> bytes) {
    std::ostringstream out;
    out << std::hex << std::setfill('0');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i % 16 == 0)
            out << '\n' << std::setw(4) << i << ' ';
        out << ' ' << std::setw(2) << std::to_integer<unsigned>(bytes[i]);
    }
    return out.str();
}

} // namespace

TEST_CASE("the example of FORMAT.md is what is written", "[unit][traces]") {
    const auto written = encoded(), documented = example();

    INFO("written:" << dump(written));
    CHECK(documented == written);
}

TEST_CASE("the example of FORMAT.md is read as it says", "[unit][traces]") {
    const auto story = read_all(example());

    REQUIRE(story.why() == "");
    CHECK(story.head.identity.revision == "0.1");
    CHECK(story.head.identity.seed == 42);
    CHECK(story.head.configuration == "mtu = 4096\n");
    REQUIRE(story.records.size() == 2);
    CHECK(story.records[0].mark.direction == Direction::inbound);
    CHECK(story.records[1].mark.cause == 1);
    CHECK(story.records[1].time_ps == 2'500'000);
    REQUIRE(story.records[1].payload.size() == 64);
    CHECK(story.records[1].payload[63] == std::byte{63});
}

TEST_CASE("the TLPs of FORMAT.md's example are accesses that PCIe allows", "[unit][traces]") {
    const auto story = read_all(example());

    REQUIRE(story.records.size() == 2);
    for (const auto& [record, address, length] :
         {std::tuple(story.records[0], 0x10'0000'0800ull, 8u), std::tuple(story.records[1], 0x8000'0000ull, 64u)}) {
        const auto request = platform::record::read_memory_request(record.head);
        REQUIRE(request.has_value());
        CHECK(request->is_write);
        CHECK(request->piece == platform::record::Piece{address, length});
        // PCIe 6.0 2.2.4.1: an address below 4 GiB has the short header.
        CHECK(record.head.size() ==
              (address >> 32 != 0 ? abi::pcie::MemoryRequest64::size : abi::pcie::MemoryRequest32::size));
    }
}
