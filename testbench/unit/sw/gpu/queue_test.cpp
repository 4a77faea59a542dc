#include "sw/gpu/queue.h"
#include "sw/gpu/host_memory.h"

#include "testbench/unit/sw/gpu/small_drive.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace sw::gpu;
using namespace testbench;

namespace {

constexpr std::uint32_t untouched = 0xffff'ffff;

/// A queue of the host, with a drive that looks at its doorbells when it is told to.
struct Host {
    explicit Host(std::uint32_t entries)
        : submissions(entries * 64ull), completions(entries * 16ull), drive(submissions, completions, entries),
          queue(HostMemory(), {.submissions = address(submissions.data()),
                               .completions = address(completions.data()),
                               .submission_doorbell = address(&tail),
                               .completion_doorbell = address(&head),
                               .entries = entries}) {}
    static std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }
    void look() {
        if (std::exchange(tail, untouched) != untouched)
            drive.ring_tail(last_tail);
        if (head != untouched)
            drive.ring_head(std::exchange(head, untouched));
    }
    void submit(std::uint16_t cid, std::uint32_t number) {
        queue.push(numbered(cid, number)).get();
        queue.ring().get();
        last_tail = tail;
        look();
    }

    alignas(16) std::vector<std::byte> submissions, completions;
    std::uint32_t tail = untouched, head = untouched, last_tail = 0;
    SmallDrive drive;
    NvmeQueue<HostMemory> queue;
};

} // namespace

TEST_CASE("a command of the host goes in, and its completion comes out once", "[unit][sw][gpu]") {
    Host host(4);
    NvmeResult result;
    host.submit(7, 1234);
    CHECK(host.queue.under_way() == 1);
    CHECK_FALSE(host.queue.poll(result).get());

    host.drive.complete();

    CHECK(host.queue.poll(result).get());
    CHECK(result.cid == 7);
    CHECK(result.dw0 == 1234);
    CHECK(result.is_ok());
    CHECK(host.queue.under_way() == 0);
    CHECK_FALSE(host.queue.poll(result).get());
}

TEST_CASE("entries of earlier laps are not taken for new ones", "[unit][sw][gpu]") {
    const auto entries = GENERATE(2u, 3u, 4u, 7u);
    CAPTURE(entries);
    Host host(entries);
    NvmeResult result;

    for (std::uint32_t i = 0; i < 5 * entries; ++i) {
        host.submit(static_cast<std::uint16_t>(i), 1000 + i);
        REQUIRE_FALSE(host.queue.poll(result).get());
        REQUIRE(host.drive.has_work());
        host.drive.complete();
        REQUIRE(host.queue.poll(result).get());
        REQUIRE(result.cid == i);
        REQUIRE(result.dw0 == 1000 + i);
        REQUIRE_FALSE(host.queue.poll(result).get());
        host.look();
    }
    CHECK(host.drive.mistakes == 0);
    CHECK(host.drive.head_rings < 5 * entries + 1);
}

TEST_CASE("a queue is full with one entry free, and has room again as the device says how far it is",
          "[unit][sw][gpu]") {
    Host host(4);
    NvmeResult result;
    for (std::uint16_t i = 0; i < 3; ++i) {
        CHECK_FALSE(host.queue.is_full());
        host.submit(i, i);
    }
    CHECK(host.queue.is_full());

    host.drive.complete();
    CHECK(host.queue.is_full()); // nobody has read the completion yet
    CHECK(host.queue.poll(result).get());

    CHECK_FALSE(host.queue.is_full());
}

TEST_CASE("one doorbell tells of all commands before it", "[unit][sw][gpu]") {
    Host host(8);
    for (std::uint16_t i = 0; i < 4; ++i)
        host.queue.push(numbered(i, i + 10u)).get();
    CHECK(host.tail == untouched);

    host.queue.ring().get();
    host.last_tail = host.tail;
    host.look();

    CHECK(host.drive.rings == 1);
    CHECK(host.drive.fetched == std::vector<std::uint32_t>{10, 11, 12, 13});
}

TEST_CASE("a command that fails says so, with its status", "[unit][sw][gpu]") {
    Host host(4);
    NvmeResult result;
    host.submit(1, 0);

    host.drive.complete(abi::nvme::Status::invalid_field);

    CHECK(host.queue.poll(result).get());
    CHECK_FALSE(result.is_ok());
    CHECK(result.is_final);
    CHECK(result.status == abi::nvme::Status::invalid_field);
}

TEST_CASE("completion entries go back half a lap at a time", "[unit][sw][gpu]") {
    Host host(8);
    NvmeResult result;
    for (std::uint16_t i = 0; i < 7; ++i)
        host.submit(i, i);
    while (host.drive.has_work())
        host.drive.complete();

    for (unsigned i = 0; i < 3; ++i)
        CHECK(host.queue.poll(result).get());
    CHECK(host.head == untouched);
    CHECK(host.queue.poll(result).get());
    CHECK(host.head == 4);
    CHECK(host.queue.poll(result).get());
    host.queue.return_entries().get();
    CHECK(host.head == 5);
}
