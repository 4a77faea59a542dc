#include "sw/mlx/verbs.h"
#include "testbench/unit/sw/mlx/fake_hca.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>

using namespace sw::mlx;
using abi::Iova;
using testbench::be32;
using testbench::be64;
using testbench::FakeHca;

namespace {

struct Rig {
    FakeHca hca;
    std::unique_ptr<Context> context;
    abi::Pd pd{};
    Rig() {
        context = *Context::open(hca.transport);
        pd = *context->alloc_pd();
    }
    const FakeHca::Command& create() { return *hca.last(0x200); }
    std::span<const std::byte> mkc() { return std::span(create().in).subspan(0x10, 0x40); }
};

sw::memory::DmaBufHandle exported(std::vector<sw::memory::BusRange> ranges) {
    return sw::memory::export_fixed(std::move(ranges));
}

} // namespace

TEST_CASE("the published registration becomes the published context and page list", "[unit][mlx][mr]") {
    Rig rig;
    const auto handle = exported({{0x3e07a92000, 0x1000}, {0x3e106a6000, 0x1000}});

    const auto region = rig.context->reg_vram_mr(
        rig.pd, handle, 0, 0x2000,
        {.access = Access::local_write | Access::remote_write | Access::remote_read, .iova = Iova{0xdb1000}});

    REQUIRE(region);
    CHECK(region->key().index() == 0xdd);
    CHECK(be32(rig.mkc(), 0x00) == 0x3d00); // MTT; local read and write, remote read and write
    CHECK(be32(rig.mkc(), 0x04) == (0xffffff00u | region->key().variant()));
    CHECK(be32(rig.mkc(), 0x0c) == 0x123); // protection domain
    CHECK(be64(rig.mkc(), 0x10) == 0xdb1000);
    CHECK(be64(rig.mkc(), 0x18) == 0x2000);
    CHECK(be32(rig.mkc(), 0x34) == 1); // one octoword
    CHECK(be32(rig.mkc(), 0x38) == 12);
    CHECK(be32(rig.create().in, 0x60) == 1);
    REQUIRE(rig.create().in.size() == 0x110 + 16);
    CHECK(be64(rig.create().in, 0x110) == 0x3e07a92000);
    CHECK(be64(rig.create().in, 0x118) == 0x3e106a6000);
}

TEST_CASE("an odd page list is filled up to whole octowords", "[unit][mlx][mr]") {
    Rig rig;
    const auto handle = exported({{0x1000'0000, 0x1000}, {0x2000'0000, 0x1000}, {0x3000'0000, 0x1000}});

    const auto region = rig.context->reg_vram_mr(rig.pd, handle, 0, 0x3000, {.iova = Iova{0}});

    REQUIRE(region);
    CHECK(region->page_count() == 3);
    CHECK(be32(rig.mkc(), 0x34) == 2);
    REQUIRE(rig.create().in.size() == 0x110 + 32);
    CHECK(be64(rig.create().in, 0x128) == 0);
}

TEST_CASE("host memory is registered at its bus address with the best page that allows", "[unit][mlx][mr]") {
    Rig rig;
    const auto buffer = rig.context->allocate(1 << 20, 1 << 21);
    REQUIRE(buffer);

    const auto region = rig.context->reg_mr(rig.pd, *buffer, all_access);

    REQUIRE(region);
    CHECK(region->iova() == Iova{buffer->bus()});
    CHECK(region->log_page_size() == 20);
    CHECK(region->page_count() == 1);
    CHECK(be32(rig.mkc(), 0x00) == 0x7d00); // atomics too
}

TEST_CASE("exported memory without an address of its own gets one that allows large pages", "[unit][mlx][mr]") {
    Rig rig;
    const auto handle = exported({{0x38'0123'0000, 0x1'0000}, {0x38'4000'0000, 0x10'0000}});
    const auto allocations = rig.context->device().iova_space().used_ranges();
    {
        const auto a = rig.context->reg_vram_mr(rig.pd, handle, 0, 0x11'0000, {});
        const auto b = rig.context->reg_vram_mr(rig.pd, handle, 0x8000, 0x1000, {});

        REQUIRE((a && b));
        // The first range ends on a multiple of 256 KiB, so one page of that size holds it and four the second.
        CHECK(a->log_page_size() == 18);
        CHECK(a->page_count() == 5);
        CHECK(a->iova() != b->iova());
        CHECK((b->iova().value & 0xfff) == 0);
        CHECK(rig.hca.transport.mapped_peers.size() == 2);
    }
    CHECK(rig.context->device().iova_space().used_ranges() == allocations);
    CHECK(rig.hca.transport.mapped_peers.empty());
    CHECK(rig.hca.last(0x202));
}

TEST_CASE("a zero-based region starts at 0, and one that cannot is refused", "[unit][mlx][mr]") {
    Rig rig;
    const auto buffer = rig.context->allocate(0x4000);
    REQUIRE(buffer);

    const auto region = rig.context->reg_mr(rig.pd, buffer->memory(), 0x1000, 0x2000, {.zero_based = true});
    const auto unaligned = rig.context->reg_mr(rig.pd, buffer->memory(), 0x1010, 0x2000, {.zero_based = true});

    REQUIRE(region);
    CHECK(region->iova() == Iova{0});
    CHECK(be64(rig.mkc(), 0x10) == 0);
    CHECK(be64(rig.create().in, 0x110) == buffer->bus() + 0x1000);
    REQUIRE_FALSE(unaligned);
    CHECK(unaligned.error().code == EINVAL);
}

TEST_CASE("a page size may be imposed, but not below the device's smallest", "[unit][mlx][mr]") {
    Rig rig;
    const auto buffer = rig.context->allocate(1 << 16, 1 << 16);
    REQUIRE(buffer);

    const auto small = rig.context->reg_mr(rig.pd, buffer->memory(), 0, 1 << 16, {.log_page_size = 12});
    REQUIRE(small);
    CHECK(small->page_count() == 16);
    CHECK_FALSE(rig.context->reg_mr(rig.pd, buffer->memory(), 0, 1 << 16, {.log_page_size = 11}));
}

TEST_CASE("a physical key covers the whole bus", "[unit][mlx][mr]") {
    Rig rig;

    const auto region = MemoryRegion::physical(rig.context->device(), rig.pd, Access::local_write);

    REQUIRE(region);
    CHECK(be32(rig.mkc(), 0x00) == 0x0c00);
    CHECK(be32(rig.mkc(), 0x0c) == (1u << 31 | 0x123));
    CHECK(be64(rig.mkc(), 0x18) == 0);
    CHECK(rig.create().in.size() == 0x110);
}

TEST_CASE("rights that make no sense, or that the device lacks, are refused", "[unit][mlx][mr]") {
    Rig rig;
    const auto buffer = rig.context->allocate(0x1000);
    REQUIRE(buffer);
    const auto creations = std::ranges::count(rig.hca.opcodes(), 0x200);

    const auto refused = rig.context->reg_mr(rig.pd, *buffer, Access::remote_write);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == EINVAL);
    CHECK_FALSE(rig.context->reg_mr(rig.pd, *buffer, Access::remote_atomic));
    CHECK(std::ranges::count(rig.hca.opcodes(), 0x200) == creations);
}

TEST_CASE("keys made one after the other differ in their variant even where the index returns", "[unit][mlx][mr]") {
    Rig rig;
    rig.hca.answers[0x200] = [](auto, auto out) { testbench::put32(out, 8, 0xdd); };
    const auto buffer = rig.context->allocate(0x1000);
    REQUIRE(buffer);

    const auto a = rig.context->reg_mr(rig.pd, *buffer, Access::none);
    const auto first = a->rkey();
    auto b = rig.context->reg_mr(rig.pd, *buffer, Access::none);

    CHECK(first >> 8 == b->rkey() >> 8);
    CHECK(first != b->rkey());
}

TEST_CASE("a key the device refuses leaves nothing mapped and no address taken", "[unit][mlx][mr]") {
    Rig rig;
    rig.hca.refusals[0x200] = {0x8, 0x55};

    const auto refused = rig.context->reg_vram_mr(rig.pd, exported({{0x1000'0000, 0x1'0000}}), 0, 0x1'0000, {});

    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ENOMEM);
    CHECK(rig.hca.transport.mapped_peers.empty());
    CHECK(rig.context->device().iova_space().used_ranges() == 0);
}
