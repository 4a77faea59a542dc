#include "sw/nvme/data_pointer.h"

#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <vector>

using namespace sw::nvme;
using abi::nvme::DataPointerType;
using Command = abi::Block<abi::nvme::Command>;

namespace {

struct Bench {
    testbench::FakeTransport transport;
    sw::transport::DmaMemory lists;
    Command command;
    explicit Bench(std::size_t bytes = 4 * page_bytes) : lists(transport.allocate(bytes, page_bytes).value()) {}
    int point(std::vector<Segment> data, Scheme scheme = Scheme::prp) {
        const auto pointed = point_to(command.view(), scheme, data, lists);
        return pointed ? 0 : pointed.error().code;
    }
    std::uint64_t entry(std::size_t number) const {
        return abi::load<std::uint64_t, abi::Endian::little>(lists.data + 8 * number);
    }
    std::uint64_t prp1() { return command.view().get<"prp1">(); }
    std::uint64_t prp2() { return command.view().get<"prp2">(); }
};

} // namespace

TEST_CASE("data within one page need the first PRP entry alone", "[unit][nvme][driver]") {
    Bench bench;

    CHECK(bench.point({{0x10'0204, 0xdfc}}) == 0);

    CHECK(bench.prp1() == 0x10'0204);
    CHECK(bench.prp2() == 0);
    CHECK(bench.command.view().get<"psdt">() == DataPointerType::prp);
}

TEST_CASE("data in two pages need no list", "[unit][nvme][driver]") {
    Bench bench;

    CHECK(bench.point({{0x10'0204, 0xdfd}}) == 0);
    CHECK(bench.prp2() == 0x10'1000);
    CHECK(bench.point({{0x10'0000, 0x1000}, {0x70'0000, 0x1000}}) == 0);
    CHECK(bench.prp2() == 0x70'0000);
}

TEST_CASE("data in three pages have a list of those behind the first", "[unit][nvme][driver]") {
    Bench bench;

    CHECK(bench.point({{0x10'0800, 0x800}, {0x70'0000, 0x1001}}) == 0);

    CHECK(bench.prp1() == 0x10'0800);
    CHECK(bench.prp2() == bench.lists.bus);
    CHECK(bench.entry(0) == 0x70'0000);
    CHECK(bench.entry(1) == 0x70'1000);
    CHECK(bench.entry(2) == 0);
}

TEST_CASE("the last entry of a full list is data, and leads to the next list only where more follows",
          "[unit][nvme][driver]") {
    Bench bench;

    CHECK(bench.point({{0x100'0000, 513 * page_bytes}}) == 0); // 512 behind the first page
    CHECK(bench.entry(511) == 0x100'0000 + 512 * page_bytes);
    CHECK(bench.entry(512) == 0);

    CHECK(bench.point({{0x100'0000, 514 * page_bytes}}) == 0);
    CHECK(bench.entry(510) == 0x100'0000 + 511 * page_bytes);
    CHECK(bench.entry(511) == bench.lists.bus + page_bytes);
    CHECK(bench.entry(512) == 0x100'0000 + 512 * page_bytes);
    CHECK(bench.entry(513) == 0x100'0000 + 513 * page_bytes);
}

TEST_CASE("lists are large enough for the largest transfer, wherever in a page it begins", "[unit][nvme][driver]") {
    for (const std::uint64_t pages : {1, 2, 256, 511, 512, 513, 1023, 1024, 2048, 5000}) {
        CAPTURE(pages);
        Bench bench(list_bytes(pages * page_bytes));
        CHECK(bench.point({{0x100'0800, pages * page_bytes}}) == 0);
        CHECK(bench.point({{0x100'0000, pages * page_bytes}}) == 0);
        CHECK(bench.point({{0x100'0800, (pages + 1024) * page_bytes}}) == ENOBUFS);
    }
}

TEST_CASE("what PRP entries cannot say is refused", "[unit][nvme][driver]") {
    Bench bench;

    CHECK(bench.point({{0x10'0002, 0x100}}) == EINVAL);
    CHECK(bench.point({{0x10'0000, 0x800}, {0x20'0000, 0x1000}}) == EINVAL);
    CHECK(bench.point({{0x10'0000, 0x1000}, {0x20'0200, 0x200}}) == EINVAL);
    CHECK(bench.point({{0x10'0000, 0}}) == EINVAL);
    CHECK(bench.point({}) == 0);
}

TEST_CASE("an SGL takes any ranges: one in the command, several in a last segment", "[unit][nvme][driver]") {
    Bench bench;

    CHECK(bench.point({{0x10'0003, 0x777}}, Scheme::sgl) == 0);
    CHECK(bench.command.view().get<"psdt">() == DataPointerType::sgl_metadata_buffer);
    CHECK(bench.prp1() == 0x10'0003);
    CHECK(bench.prp2() == 0x777); // type 0 in the highest byte

    CHECK(bench.point({{0x10'0003, 0x777}, {0x9'0000'0000, 0x33}}, Scheme::sgl) == 0);
    CHECK(bench.prp1() == bench.lists.bus);
    CHECK(bench.prp2() == (0x30ull << 56 | 32));
    CHECK(bench.entry(0) == 0x10'0003);
    CHECK(bench.entry(1) == 0x777);
    CHECK(bench.entry(2) == 0x9'0000'0000);
    CHECK(bench.entry(3) == 0x33);
    CHECK(bench.point(std::vector<Segment>(1025, {0x1000, 16}), Scheme::sgl) == ENOBUFS);
}
