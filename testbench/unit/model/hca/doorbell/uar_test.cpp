// Which stores into a UAR page are doorbells.
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;

namespace {

struct Bench : OneHca {
    Region source = a.make_region(64, 1);

    std::vector<std::byte> doorbell(std::uint32_t qpn) const {
        std::vector<std::byte> bytes(8);
        abi::store<std::uint32_t, abi::Endian::big>(bytes.data() + 4, qpn << 8);
        return bytes;
    }
    std::vector<std::byte> doorbell() const { return doorbell(qp.number.value); }
    void store(std::uint32_t offset, std::span<const std::byte> bytes, std::uint32_t page = Node::uar) {
        a.hca.write_uar(page, offset, bytes, clock.now());
        settle();
    }
    std::uint16_t post() { return a.post(qp, {.sges = {source.sge()}, .remote = 0x1000, .rkey = abi::Key{1}}); }
    std::size_t packets() { return peer.take().size(); }
    auto ignored() const { return a.events.all<traces::DoorbellIgnored>(); }
};

} // namespace

TEST_CASE("an 8-byte store to either half of every BlueFlame register rings", "[unit][doorbell]") {
    for (std::uint32_t offset = 0x800; offset < 0x1000; offset += 0x100) {
        Bench bench;
        bench.post();

        bench.store(offset, bench.doorbell());

        INFO("offset " << offset);
        CHECK(bench.packets() == 1);
        CHECK(bench.a.hca.counters().doorbells == 1);
    }
}

TEST_CASE("two 4-byte stores ring once, at the second one", "[unit][doorbell]") {
    Bench bench;
    bench.post();
    const auto bytes = bench.doorbell();

    bench.store(0x800, std::span(bytes).first(4));
    CHECK(bench.packets() == 0);
    bench.store(0x804, std::span(bytes).last(4));

    CHECK(bench.packets() == 1);
    CHECK(bench.a.hca.counters().doorbells == 1);
}

TEST_CASE("4-byte stores of two writers to two registers of a page do not disturb each other", "[unit][doorbell]") {
    Bench bench;
    auto other = bench.a.make_qp(bench.a.attributes(bench.cq));
    bench.a.connect(other, OneHca::peer_qpn, 1, 1, bench.clock.now());
    bench.post();
    bench.a.post(other, {.sges = {bench.source.sge()}, .remote = 0x1000, .rkey = abi::Key{1}});
    const auto first = bench.doorbell(), second = bench.doorbell(other.number.value);

    bench.store(0x800, std::span(first).first(4));
    bench.store(0xa00, std::span(second).first(4));
    bench.store(0x804, std::span(first).last(4));
    bench.store(0xa04, std::span(second).last(4));

    CHECK(bench.a.hca.counters().doorbells == 2);
    CHECK(bench.packets() == 2);
}

TEST_CASE("the second half of a 4-byte pair alone does not ring", "[unit][doorbell]") {
    Bench bench;
    bench.post();
    const auto bytes = bench.doorbell();

    bench.store(0x804, std::span(bytes).last(4));
    bench.store(0x800, std::span(bytes).first(4));
    bench.store(0x904, std::span(bytes).last(4));

    CHECK(bench.packets() == 0);
    CHECK(bench.a.hca.counters().doorbells == 0);
}

TEST_CASE("a pair is used up by its ring", "[unit][doorbell]") {
    Bench bench;
    bench.post();
    const auto bytes = bench.doorbell();
    bench.store(0x800, std::span(bytes).first(4));
    bench.store(0x804, std::span(bytes).last(4));

    bench.store(0x804, std::span(bytes).last(4));

    CHECK(bench.a.hca.counters().doorbells == 1);
}

TEST_CASE("a BlueFlame burst rings once, as one store or as stores of 8 bytes", "[unit][doorbell]") {
    for (const std::uint32_t offset : {0x800u, 0x900u, 0xa00u, 0xf00u}) {
        for (const std::size_t piece : {64u, 32u, 16u, 8u}) {
            Bench bench;
            const auto index = bench.post();
            const auto wqe = bench.a.dma.peek(bench.a.sq_address(bench.qp, index), 64);

            for (std::size_t at = 0; at < wqe.size(); at += piece)
                bench.store(offset + static_cast<std::uint32_t>(at), std::span(wqe).subspan(at, piece));

            INFO("offset " << offset << ", stores of " << piece);
            CHECK(bench.a.hca.counters().doorbells == 1);
            const auto seen = bench.peer.take();
            REQUIRE(seen.size() == 1);
            CHECK(seen[0].payload == bench.a.bytes(bench.source));
        }
    }
}

TEST_CASE("a BlueFlame burst of several basic blocks rings once", "[unit][doorbell]") {
    Bench bench;
    Post wr{.remote = 0x1000, .rkey = abi::Key{1}, .inline_data = std::vector(100, std::byte{7})};
    const auto index = bench.a.post(bench.qp, wr);
    const auto wqe = bench.a.dma.peek(bench.a.sq_address(bench.qp, index), 192);

    for (std::uint32_t at = 0; at < wqe.size(); at += 8)
        bench.store(0xc00 + at, std::span(wqe).subspan(at, 8));

    CHECK(bench.a.hca.counters().doorbells == 1);
    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].payload == wr.inline_data);
}

TEST_CASE("stores of any size to any other place of the page are ignored", "[unit][doorbell]") {
    Bench bench;
    bench.post();
    const auto bytes = bench.doorbell();
    std::vector<std::byte> big(64);
    std::ranges::copy(bytes, big.begin());

    for (std::uint32_t offset = 0; offset < 0x1000; offset += 4)
        if (offset != 0x20 && offset != 0x24 && offset % 0x100 != 0)
            for (const std::size_t length : {8u, 16u})
                bench.store(offset, std::span(big).first(length));
    for (const std::uint32_t offset : {0x0u, 0x100u, 0x200u, 0x700u})
        bench.store(offset, bytes);
    for (std::uint32_t offset = 0x800; offset < 0x1000; ++offset)
        for (const std::size_t length : {0u, 1u, 2u, 3u, 5u, 7u})
            bench.store(offset, std::span(big).first(length));
    bench.store(0xffffffff, bytes);
    // Two halves of a doorbell, neither of which begins at a dword.
    bench.store(0x801, std::span(bytes).first(4));
    bench.store(0x806, std::span(bytes).last(4));

    CHECK(bench.packets() == 0);
    CHECK(bench.a.hca.counters().doorbells == 0);
}

TEST_CASE("a page beyond the UAR area is ignored", "[unit][doorbell]") {
    Bench bench;
    bench.post();

    bench.store(0x800, bench.doorbell(), bench.a.hca.config().uar_pages);
    bench.store(0x800, bench.doorbell(), 0xffffffff);

    CHECK(bench.packets() == 0);
}

TEST_CASE("a doorbell through another process's UAR page is ignored, and said so", "[unit][doorbell]") {
    Bench bench;
    bench.post();

    bench.store(0x800, bench.doorbell(), Node::uar + 1);

    CHECK(bench.packets() == 0);
    REQUIRE(bench.ignored().size() == 1);
    CHECK(bench.ignored()[0].number == bench.qp.number.value);
    CHECK(bench.ignored()[0].uar == Node::uar + 1);
    CHECK(bench.a.hca.counters().doorbells_ignored == 1);
    bench.store(0x800, bench.doorbell());
    CHECK(bench.packets() == 1);
}

TEST_CASE("a doorbell for a queue pair that does not exist is ignored", "[unit][doorbell]") {
    Bench bench;

    for (const std::uint32_t qpn : {0u, 1u, 0x3fu, 0xffffffu})
        bench.store(0x800, bench.doorbell(qpn));

    CHECK(bench.ignored().size() == 4);
    CHECK(bench.packets() == 0);
    CHECK(bench.a.drain_events().empty());
}

TEST_CASE("nothing rings behind the end of a page", "[unit][doorbell]") {
    Bench bench;
    bench.post();

    for (std::uint32_t offset = abi::prm::uar_bfreg_end; offset < 0x2000; offset += 0x100)
        bench.store(offset, bench.doorbell());

    CHECK(bench.packets() == 0);
    CHECK(bench.a.hca.counters().doorbells == 0);
}

TEST_CASE("a doorbell for a completion queue that does not exist is ignored, and said so", "[unit][doorbell]") {
    Bench bench;
    std::array<std::byte, 8> doorbell{};
    abi::store<std::uint32_t, std::endian::big>(doorbell.data() + 4, 0xfffff0);

    bench.store(abi::prm::uar_cq_doorbell, doorbell);

    REQUIRE(bench.ignored().size() == 1);
    CHECK(bench.ignored()[0].number == 0xfffff0);
    CHECK(bench.a.hca.counters().doorbells_ignored == 1);
}

TEST_CASE("a 4-byte store that is not aligned is no half of a doorbell", "[unit][doorbell]") {
    Bench bench;
    bench.post();
    const auto bytes = bench.doorbell();
    bench.store(0x800, std::span(bytes).first(4));

    bench.store(0x802, std::span(bytes).last(4));
    CHECK(bench.a.hca.counters().doorbells == 0);
    bench.store(0x804, std::span(bytes).last(4));

    CHECK(bench.a.hca.counters().doorbells == 1);
    CHECK(bench.packets() == 1);
}

TEST_CASE("a completion queue that is armed once more for an event that is out says so", "[unit][doorbell]") {
    Bench bench;
    bench.a.arm(bench.cq, false, bench.clock.now());
    bench.post();
    bench.a.ring(bench.qp, bench.clock.now());
    bench.settle();
    bench.answer(OneHca::first_psn, abi::wire::ack_syndrome());
    REQUIRE(bench.a.drain_events().size() == 1);
    CHECK(bench.ignored().empty());

    bench.a.arm(bench.cq, false, bench.clock.now());

    CHECK(bench.ignored().size() == 1);
    CHECK(bench.a.hca.counters().doorbells_ignored == 1);
    CHECK(bench.a.drain_events().empty());
}
