#include "platform/observe/files/capture.h"

#include "abi/layout.h"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace std::chrono_literals;
using model::port::Encapsulation;
using platform::observe::files::Capture;
using platform::observe::files::Output;

namespace {

struct TemporaryFile {
    std::filesystem::path path = std::filesystem::temp_directory_path() / ("capture_test." + std::to_string(getpid()));
    ~TemporaryFile() { std::filesystem::remove(path); }
    std::vector<std::byte> bytes() const {
        std::ifstream in(path, std::ios::binary);
        std::vector<char> content{std::istreambuf_iterator<char>(in), {}};
        const auto view = std::as_bytes(std::span(content));
        return {view.begin(), view.end()};
    }
};

std::uint32_t u32(std::span<const std::byte> bytes, std::size_t at) {
    return abi::load<std::uint32_t, abi::Endian::little>(bytes.subspan(at, 4).data());
}

} // namespace

TEST_CASE("a capture is a chain of blocks whose lengths agree at both ends", "[unit][capture]") {
    TemporaryFile file;
    Capture capture(Output::create(file.path).value());
    auto& ethernet = capture.add_interface("a--b", Encapsulation::roce_v2_ipv4);
    auto& infiniband = capture.add_interface("ib", Encapsulation::infiniband);
    const std::vector<std::byte> frame(61, std::byte{0xab});
    ethernet.on_frame(frame, 0, 1500ns);
    infiniband.on_frame(frame, 1, 5s);
    REQUIRE(capture.close());

    const auto bytes = file.bytes();
    std::vector<std::size_t> blocks;
    std::size_t at = 0;
    for (; at < bytes.size(); at += u32(bytes, at + 4)) {
        blocks.push_back(at);
        REQUIRE(u32(bytes, at + 4) % 4 == 0);
        REQUIRE(u32(bytes, at + u32(bytes, at + 4) - 4) == u32(bytes, at + 4));
    }

    REQUIRE(at == bytes.size());
    REQUIRE(blocks.size() == 5);
    CHECK(u32(bytes, blocks[1] + 8) == 1);   // LINKTYPE_ETHERNET
    CHECK(u32(bytes, blocks[2] + 8) == 197); // LINKTYPE_ERF
    CHECK(u32(bytes, blocks[3] + 8) == 0);   // interface
    CHECK(u32(bytes, blocks[4] + 8) == 1);
    CHECK(u32(bytes, blocks[3] + 16) == 1500);
    CHECK((std::uint64_t{u32(bytes, blocks[4] + 12)} << 32 | u32(bytes, blocks[4] + 16)) == 5'000'000'000);
    CHECK(u32(bytes, blocks[3] + 20) == 61);
    CHECK(u32(bytes, blocks[4] + 20) == 16 + 61);
    CHECK(u32(bytes, blocks[4] + 24) == 16 + 61);
    CHECK(u32(bytes, blocks[3] + 28 + 64 + 4) == 2);      // flags: outbound
    CHECK(u32(bytes, blocks[4] + 28 + 16 + 64 + 4) == 1); // flags: inbound
    CHECK(u32(bytes, blocks[4] + 28 + 4) == 5);           // ERF: seconds
    CHECK(u32(bytes, blocks[4] + 28 + 8) == 0x4d000415);  // type 21, varying length, 77 bytes of record
    CHECK(u32(bytes, blocks[4] + 28 + 12) == 0x3d000000); // none lost, 61 bytes on the wire
    CHECK(bytes[blocks[4] + 28 + 16] == std::byte{0xab});
    CHECK(capture.frames() == 2);
}

TEST_CASE("a capture larger than its buffer is complete", "[unit][capture]") {
    TemporaryFile file;
    Capture capture(Output::create(file.path).value());
    auto& tap = capture.add_interface("x", Encapsulation::roce_v2_ipv4);
    const std::vector<std::byte> frame(4170);

    for (int i = 0; i < 1000; ++i)
        tap.on_frame(frame, 0, 1ns * i);
    REQUIRE(capture.close());
    tap.on_frame(frame, 0, 0ns); // after the end: dropped

    CHECK(capture.frames() == 1000);
    CHECK(file.bytes().size() > 1000 * 4170);
}

TEST_CASE("a capture that cannot be written is an error that names it", "[unit][capture]") {
    Capture full(Output::create("/dev/full").value());
    full.add_interface("x", Encapsulation::infiniband);
    const auto closed = full.close();
    REQUIRE_FALSE(closed);
    CHECK(closed.error() == "/dev/full: cannot be written: No space left on device");
}

TEST_CASE("frames of a port that is ahead come in the order of their time", "[unit][capture]") {
    TemporaryFile file;
    Capture capture(Output::create(file.path).value());
    auto& tap = capture.add_interface("x", Encapsulation::roce_v2_ipv4);
    std::vector<std::byte> frame(64);
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 0; i < 3000; ++i) { // direction 0 is up to 11 us ahead, 50 frames at a time
        const auto at = i % 100 < 50 ? i * 200 + 11'000 : i * 200;
        expected.push_back(at);
        tap.on_frame(frame, i % 100 < 50 ? 0 : 1, std::chrono::nanoseconds{at});
    }
    REQUIRE(capture.close());
    std::ranges::sort(expected);

    const auto bytes = file.bytes();
    std::vector<std::int64_t> found;
    for (std::size_t at = 0; at < bytes.size(); at += u32(bytes, at + 4))
        if (u32(bytes, at) == 6)
            found.push_back(u32(bytes, at + 16));
    CHECK(found == expected);
}

TEST_CASE("frames of one time stay in the order they came, however many", "[unit][capture]") {
    TemporaryFile file;
    Capture capture(Output::create(file.path).value());
    auto& tap = capture.add_interface("x", Encapsulation::roce_v2_ipv4);
    std::vector<std::byte> frame(4096);
    for (std::uint32_t i = 0; i < 3000; ++i) {
        abi::store<std::uint32_t, abi::Endian::little>(frame.data(), i);
        tap.on_frame(frame, 0, 0ns);
    }
    REQUIRE(capture.close());

    const auto bytes = file.bytes();
    std::uint32_t next = 0;
    for (std::size_t at = 0; at < bytes.size(); at += u32(bytes, at + 4))
        if (u32(bytes, at) == 6)
            REQUIRE(u32(bytes, at + 28) == next++);
    CHECK(next == 3000);
}
