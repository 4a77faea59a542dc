#include "sw/memory/pageable.h"

#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <utility>
#include <vector>

using sw::memory::PageableMemory;
using testbench::FakeTransport;

namespace {

constexpr std::uint64_t page = PageableMemory::page_bytes;

std::vector<std::byte> bytes(std::size_t count, unsigned seed) {
    std::vector<std::byte> all(count);
    for (std::size_t i = 0; i < count; ++i)
        all[i] = static_cast<std::byte>(i * 7 + i / 256 + seed);
    return all;
}

} // namespace

TEST_CASE("a program finds in its pages what it put there, wherever they were meanwhile", "[unit][memory][pageable]") {
    FakeTransport transport;
    PageableMemory memory(transport, 3 * page - 1);
    CHECK(memory.size() == 3 * page);
    std::vector<std::byte> found(2 * page, std::byte{1});
    REQUIRE(memory.read(100, found));
    CHECK(found == std::vector<std::byte>(2 * page));

    const auto contents = bytes(2 * page, 3);
    REQUIRE(memory.write(100, contents));
    CHECK(transport.allocated_bytes == 3 * page);
    REQUIRE(memory.evict(0, 3));
    CHECK(transport.allocated_bytes == 0);
    CHECK_FALSE(memory.is_present(1));
    REQUIRE(memory.read(100, found));
    CHECK(found == contents);
}

TEST_CASE("who listens hears of pages before their frames go, and can keep them", "[unit][memory][pageable]") {
    FakeTransport transport;
    PageableMemory memory(transport, 4 * page);
    REQUIRE(memory.bring(1));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> heard;
    bool refuses = false;
    const auto ticket = memory.listen([&](std::uint64_t first, std::uint64_t count) -> sw::Result<void> {
        heard.emplace_back(first, count);
        CHECK(memory.is_present(1));
        CHECK(memory.is_leaving(1));
        CHECK(memory.bring(1).error().code == EAGAIN);
        return refuses ? sw::Result<void>(sw::failure(EIO, "still in use")) : sw::Result<void>{};
    });

    refuses = true;
    const auto kept = memory.evict(0, 2);
    REQUIRE_FALSE(kept);
    CHECK(kept.error().code == EIO);
    CHECK(memory.is_present(1));
    CHECK_FALSE(memory.is_leaving(1));
    refuses = false;
    REQUIRE(memory.evict(1, 1));
    CHECK_FALSE(memory.is_present(1));
    CHECK(heard == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 2}, {1, 1}});
    memory.stop_listening(ticket);
    REQUIRE(memory.evict(0, 4));
    CHECK(heard.size() == 2);
}

TEST_CASE("nothing lies beyond the end of pageable memory", "[unit][memory][pageable]") {
    FakeTransport transport;
    PageableMemory memory(transport, 2 * page);
    std::vector<std::byte> two(2);
    CHECK(memory.read(2 * page - 1, two).error().code == EINVAL);
    CHECK(memory.write(~std::uint64_t{0}, two).error().code == EINVAL);
    CHECK(memory.bring(2).error().code == EINVAL);
    CHECK(memory.evict(1, 2).error().code == EINVAL);
    CHECK(memory.evict(~std::uint64_t{0}, 2).error().code == EINVAL);
    transport.memory_limit = 0;
    CHECK_FALSE(memory.bring(0));
    CHECK_FALSE(memory.is_present(0));
}
