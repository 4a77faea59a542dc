// On-demand paging through both drivers (PRM "Page fault"; Linux drivers/infiniband/hw/mlx5/odp.c): a buffer of a GPU
// is registered without a pin, its exporter moves it as it likes, and what comes then finds the bytes where they are
// now.
#include "testbench/harness/cluster.h"

#include "sw/mlx/memory/pager.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>

using namespace harness;
using sw::gpu::Placement;
using sw::mlx::CompletionStatus;
using sw::mlx::DmaBufMode;
using sw::mlx::SendOperation;
using sw::mlx::SendRequest;

namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t offset = 0x1dc8, length = 30000;

Bytes pattern(unsigned seed) {
    Bytes bytes(length);
    for (std::size_t i = 0; i < length; ++i)
        bytes[i] = static_cast<std::byte>((i * 13 + i / 4096 + 31 * seed) & 0xff);
    return bytes;
}

/// A buffer in fragments, registered on demand.
struct Moving {
    explicit Moving(Side& owner)
        : side(owner), buffer(must(owner.gpu->allocate(length + 2 * offset))),
          region(must(owner.context->reg_dmabuf_mr(owner.pd, must(owner.gpu->export_buffer(buffer)), offset, length,
                                                   {.access = sw::mlx::all_access, .mode = DmaBufMode::on_demand}))) {}
    void fill(unsigned seed) { must(side.gpu->upload(buffer, offset, pattern(seed))); }
    bool holds(unsigned seed) {
        Bytes found(length);
        must(side.gpu->download(buffer, offset, found));
        return found == pattern(seed);
    }
    sw::mlx::Sge sge() const { return {region.iova().value, length, region.lkey()}; }
    SendRequest request(SendOperation operation) const {
        return {.wr_id = 1,
                .operation = operation,
                .flags = sw::mlx::send_flag::signaled,
                .rkey = region.rkey(),
                .remote_address = region.iova().value};
    }
    void move(Placement placement) { must(side.gpu->migrate(buffer, placement)); }

    Side& side;
    sw::gpu::VramBuffer buffer;
    sw::mlx::MemoryRegion region;
};

struct PagingCluster : Cluster {
    static platform::topology::Config small() {
        auto config = untimed();
        config.gpu.vram_bytes = 16 << 20;
        return config;
    }
    PagingCluster() : Cluster(small()) { device_options.page_faults = true; }
    void fragment() {
        for (auto* side : {&a, &b})
            side->gpu =
                must(sw::gpu::Gpu::open(*side->gpu_function, {}, {.block_bytes = 4096, .fragment_bytes = 8192}));
    }
};

void check_done(Side& side, CompletionStatus status) {
    const auto done = side.sent();
    CHECK(done.wr_id == 1);
    CHECK(done.status == status);
}

} // namespace

TEST_CASE("a buffer that is not pinned is written, read and sent where it is when the bytes come",
          "[scenario][paging]") {
    PagingCluster cluster;
    cluster.run([&](Side& a, Side& b) {
        cluster.fragment();
        Moving from(a), to(b);
        const auto connection = cluster.connect();
        const auto faults = [&](Side& side) { return side.hca_card.hca().counters().page_faults; };

        from.fill(1);
        post(*connection.a, to.request(SendOperation::write), {from.sge()});
        check_done(a, CompletionStatus::success);
        CHECK(to.holds(1));
        CHECK(faults(a) + faults(b) == 0); // as registered

        to.move(Placement::system);
        from.fill(2);
        post(*connection.a, to.request(SendOperation::write), {from.sge()});
        check_done(a, CompletionStatus::success);
        CHECK(to.holds(2));
        CHECK(faults(b) == 1);

        from.move(Placement::system);
        to.move(Placement::vram);
        from.fill(3);
        post_receive(*connection.b, 2, {to.sge()});
        post(*connection.a, to.request(SendOperation::send), {from.sge()});
        check_done(a, CompletionStatus::success);
        CHECK(b.received().byte_count == length);
        CHECK(to.holds(3));
        CHECK(faults(a) == 1);
        CHECK(faults(b) == 2);

        from.move(Placement::vram);
        to.move(Placement::system);
        to.fill(4);
        post(*connection.a, to.request(SendOperation::read), {from.sge()});
        check_done(a, CompletionStatus::success);
        CHECK(from.holds(4));
        CHECK(faults(a) == 2);
        CHECK(faults(b) == 3);
        CHECK(a.context->device().pager()->brought() == 2);
        CHECK(a.context->device().pager()->refused() + b.context->device().pager()->refused() == 0);
    });
}

TEST_CASE("what was prefetched does not fault", "[scenario][paging]") {
    PagingCluster cluster;
    cluster.run([&](Side& a, Side& b) {
        Moving from(a), to(b);
        const auto connection = cluster.connect();
        from.fill(1);
        to.move(Placement::system);
        must(to.region.prefetch());
        post(*connection.a, to.request(SendOperation::write), {from.sge()});
        check_done(a, CompletionStatus::success);
        CHECK(to.holds(1));
        CHECK(b.hca_card.hca().counters().page_faults == 0);
    });
}

TEST_CASE("a buffer that its exporter took back cannot be brought, and both ends hear it", "[scenario][paging]") {
    PagingCluster cluster;
    cluster.run([&](Side& a, Side& b) {
        Moving from(a), to(b);
        const auto connection = cluster.connect();
        from.fill(1);
        must(b.gpu->revoke(to.buffer));
        post(*connection.a, to.request(SendOperation::write), {from.sge()});
        check_done(a, CompletionStatus::remote_access_error);
        CHECK(b.event().type == abi::prm::EventType::wq_access_error);
        CHECK(b.context->device().pager()->refused() == 1);
    });
}

TEST_CASE("regions on demand need a device that was opened for them", "[scenario][paging]") {
    Cluster cluster(PagingCluster::small());
    cluster.run([&](Side&, Side& b) {
        const auto buffer = must(b.gpu->allocate(length));
        const auto refused = b.context->reg_dmabuf_mr(b.pd, must(b.gpu->export_buffer(buffer)), 0, length,
                                                      {.access = sw::mlx::all_access, .mode = DmaBufMode::on_demand});
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == EOPNOTSUPP);
    });
}

TEST_CASE("memory of a program is brought page by page, and its pages may go at any time", "[scenario][paging]") {
    PagingCluster cluster;
    cluster.run([&](Side& a, Side& b) {
        sw::memory::PageableMemory from(*a.hca_function, 40000), to(*b.hca_function, 40000);
        const auto source = must(a.context->reg_mr(a.pd, from, offset, length, {.access = sw::mlx::all_access})),
                   target = must(b.context->reg_mr(b.pd, to, offset, length, {.access = sw::mlx::all_access}));
        const auto connection = cluster.connect();
        const sw::mlx::Sge sge{source.iova().value, length, source.lkey()};
        const auto transfer = [&](SendOperation operation) {
            post(*connection.a,
                 {.wr_id = 1,
                  .operation = operation,
                  .flags = sw::mlx::send_flag::signaled,
                  .rkey = target.rkey(),
                  .remote_address = target.iova().value},
                 {sge});
            check_done(a, CompletionStatus::success);
        };
        const auto holds = [](sw::memory::PageableMemory& memory, unsigned seed) {
            Bytes found(length);
            must(memory.read(offset, found));
            return found == pattern(seed);
        };

        must(from.write(offset, pattern(1)));
        CHECK_FALSE(to.is_present(offset / 4096));
        transfer(SendOperation::write);
        CHECK(holds(to, 1));
        must(from.evict(0, 10));
        must(to.evict(2, 3)); // in the middle
        CHECK(holds(to, 1));  // as the program sees it
        must(to.evict(0, 10));
        must(from.write(offset, pattern(2)));
        transfer(SendOperation::write);
        CHECK(holds(to, 2));
        must(from.evict(0, 10));
        must(to.write(offset, pattern(3)));
        must(to.evict(0, 10));
        transfer(SendOperation::read);
        CHECK(holds(from, 3));
        CHECK(a.hca_card.hca().counters().page_faults == 3);
        CHECK(a.context->device().pager()->refused() + b.context->device().pager()->refused() == 0);
    });
}
