#include "platform/observe/capture.h"

#include "abi/layout.h"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <unistd.h>

using namespace std::chrono_literals;
using model::port::Encapsulation;
using platform::observe::Capture;

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
    auto capture = Capture::create(file.path);
    REQUIRE(capture);
    auto& ethernet = (*capture)->add_interface("a--b", Encapsulation::roce_v2_ipv4);
    auto& infiniband = (*capture)->add_interface("ib", Encapsulation::infiniband);
    const std::vector<std::byte> frame(61, std::byte{0xab});
    ethernet.on_frame(frame, 0, 1500ns);
    infiniband.on_frame(frame, 1, 5s);
    REQUIRE((*capture)->close());

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
    CHECK(u32(bytes, blocks[2] + 8) == 247); // LINKTYPE_INFINIBAND
    CHECK(u32(bytes, blocks[3] + 8) == 0);   // interface
    CHECK(u32(bytes, blocks[4] + 8) == 1);
    CHECK(u32(bytes, blocks[3] + 16) == 1500);
    CHECK((std::uint64_t{u32(bytes, blocks[4] + 12)} << 32 | u32(bytes, blocks[4] + 16)) == 5'000'000'000);
    CHECK(u32(bytes, blocks[3] + 20) == 61);
    CHECK(u32(bytes, blocks[3] + 28 + 64 + 4) == 2); // flags: outbound
    CHECK(u32(bytes, blocks[4] + 28 + 64 + 4) == 1); // flags: inbound
    CHECK((*capture)->frames() == 2);
}

TEST_CASE("a capture larger than its buffer is complete", "[unit][capture]") {
    TemporaryFile file;
    auto capture = Capture::create(file.path);
    REQUIRE(capture);
    auto& tap = (*capture)->add_interface("x", Encapsulation::roce_v2_ipv4);
    const std::vector<std::byte> frame(4170);

    for (int i = 0; i < 1000; ++i)
        tap.on_frame(frame, 0, 1ns * i);
    REQUIRE((*capture)->close());
    tap.on_frame(frame, 0, 0ns); // after the end: dropped

    CHECK((*capture)->frames() == 1000);
    CHECK(file.bytes().size() > 1000 * 4170);
}

TEST_CASE("a file that cannot be made or written is an error that names it", "[unit][capture]") {
    const auto missing = Capture::create("/nonexistent/x.pcapng");
    REQUIRE_FALSE(missing);
    CHECK(missing.error() == "capture /nonexistent/x.pcapng: No such file or directory");

    auto full = Capture::create("/dev/full");
    REQUIRE(full);
    (*full)->add_interface("x", Encapsulation::infiniband);
    const auto closed = (*full)->close();
    REQUIRE_FALSE(closed);
    CHECK(closed.error() == "capture /dev/full: No space left on device");
}
