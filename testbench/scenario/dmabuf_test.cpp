// Memory of a GPU registered as a dma-buf, pinned and revocable: transfers, revocation at either end and in the middle
// of a message, and what comes after (IBA 9.7.5.2, 10.6; Linux drivers/infiniband/core/umem_dmabuf.c). In all of it:
// once a revocation has returned, no byte of the old memory changes.
#include "testbench/harness/cluster.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>

using namespace harness;
using abi::prm::EventType;
using abi::prm::QpState;
using sw::gpu::Placement;
using sw::mlx::Access;
using sw::mlx::CompletionStatus;
using sw::mlx::DmaBufMode;
using sw::mlx::SendOperation;
using sw::mlx::SendRequest;

namespace {

constexpr unsigned remote_access = 0x62; // NAK syndrome, IBA 9.7.5.1, figure 57 and table 46

using Bytes = std::vector<std::byte>;

Bytes pattern(std::uint64_t size, unsigned seed) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>((i * 13 + i / 4096 + 31 * seed) & 0xff);
    return bytes;
}

/// Part of a buffer of the side's GPU, registered. The buffer is in fragments of two pages; the part begins and ends
/// inside pages.
struct Vram {
    static constexpr std::uint64_t offset = 0x1dc8;

    Vram(Side& owner, std::uint64_t length, DmaBufMode mode)
        : side(owner), size(length), buffer(must(owner.gpu->allocate(length + 2 * offset))),
          region(must(owner.context->reg_dmabuf_mr(owner.pd, must(owner.gpu->export_buffer(buffer)), offset, length,
                                                   {.access = sw::mlx::all_access, .mode = mode}))) {}
    void fill(unsigned seed) { must(side.gpu->upload(buffer, offset, pattern(size, seed))); }
    bool holds(unsigned seed) {
        Bytes found(size);
        must(side.gpu->download(buffer, offset, found));
        return found == pattern(size, seed);
    }
    std::uint64_t address(std::uint64_t at = 0) const { return region.iova().value + at; }
    sw::mlx::Sge sge() const { return {address(), static_cast<std::uint32_t>(size), region.lkey()}; }
    SendRequest request(SendOperation operation) const {
        return {.wr_id = 1,
                .operation = operation,
                .flags = sw::mlx::send_flag::signaled,
                .rkey = region.rkey(),
                .remote_address = address()};
    }

    Side& side;
    std::uint64_t size;
    sw::gpu::VramBuffer buffer;
    sw::mlx::MemoryRegion region;
};

void fragment(Side& side) {
    side.gpu = must(sw::gpu::Gpu::open(*side.gpu_function, {}, {.block_bytes = 4096, .fragment_bytes = 8192}));
}
/// All of a GPU's memory.
Bytes vram_of(Side& side) {
    const auto bytes = side.gpu_card.vram().bytes();
    return {bytes.begin(), bytes.end()};
}
platform::topology::Config small() {
    auto config = Cluster::untimed();
    config.gpu.vram_bytes = 16 << 20;
    return config;
}
QpState state_of(sw::mlx::QueuePair& qp) { return must(qp.query()).view().get<"state">(); }
void check_done(Side& side, CompletionStatus status) {
    const auto done = side.sent();
    CHECK(done.wr_id == 1);
    CHECK(done.status == status);
}
/// The way back from an error: both queue pairs to RESET and from there to RTS (IBA 10.3.1).
void recover(Cluster& cluster, Connection& connection) {
    CHECK(state_of(*connection.a) == QpState::err);
    must(connection.a->modify(QpState::rst));
    must(connection.b->modify(QpState::rst));
    cluster.connect(connection, quick, quick);
}
/// A's request on B's memory was refused: NAK, completion, event, both queue pairs in error.
void check_refused_at_b(Cluster& cluster, Connection& connection) {
    check_done(cluster.a, CompletionStatus::remote_access_error);
    const auto naks = cluster.events<traces::Naked>("B.hca");
    REQUIRE(!naks.empty());
    CHECK(naks.back().syndrome == remote_access);
    const auto event = cluster.b.event();
    CHECK(event.type == EventType::wq_access_error);
    CHECK(event.number == connection.b->number().value);
    CHECK(state_of(*connection.b) == QpState::err);
    CHECK((cluster.a.is_quiet() && cluster.b.is_quiet()));
}

} // namespace

TEST_CASE("a pinned part of a fragmented buffer is written, read and sent, and cannot be taken back",
          "[scenario][dmabuf]") {
    Cluster cluster(small());
    cluster.run([&](Side& a, Side& b) {
        fragment(a);
        fragment(b);
        Vram from(a, 30000, DmaBufMode::pinned), to(b, 30000, DmaBufMode::pinned), back(a, 30000, DmaBufMode::pinned);
        CHECK(from.buffer.ranges().size() > 3);
        from.fill(1);
        const auto around = vram_of(b);
        const auto connection = cluster.connect();

        post(*connection.a, to.request(SendOperation::write), {from.sge()});
        check_done(a, CompletionStatus::success);
        post(*connection.a, to.request(SendOperation::read), {back.sge()});
        check_done(a, CompletionStatus::success);

        CHECK(to.holds(1));
        CHECK(back.holds(1));
        auto now = vram_of(b);
        std::size_t changed = 0;
        for (std::size_t i = 0; i < now.size(); ++i)
            changed += now[i] != around[i];
        CHECK(changed <= to.size); // and all of these are the part's, whose bytes are right
        CHECK(changed > to.size - to.size / 100);
        const auto refused = b.gpu->revoke(to.buffer);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == EBUSY);
        CHECK_FALSE(b.gpu->evict(to.buffer));
        to.fill(2);
        post(*connection.a, to.request(SendOperation::read), {back.sge()});
        check_done(a, CompletionStatus::success);
        CHECK(back.holds(2));
    });
}

TEST_CASE(
    "a WRITE after the responder's memory was taken back is a remote access error, lands nowhere, and the connection "
    "comes back with a new registration",
    "[scenario][dmabuf]") {
    Cluster cluster(small());
    cluster.run([&](Side& a, Side& b) {
        fragment(b);
        Vram from(a, 20000, DmaBufMode::pinned), to(b, 20000, DmaBufMode::revocable);
        from.fill(1);
        auto connection = cluster.connect();
        post(*connection.a, to.request(SendOperation::write), {from.sge()});
        check_done(a, CompletionStatus::success);
        CHECK(to.holds(1));

        must(b.gpu->revoke(to.buffer));
        const auto after = vram_of(b);
        CHECK(to.region.is_revoked());
        from.fill(2);
        post(*connection.a, to.request(SendOperation::write), {from.sge()});

        check_refused_at_b(cluster, connection);
        CHECK(vram_of(b) == after);
        recover(cluster, connection);
        must(to.region.destroy());
        Vram anew(b, 20000, DmaBufMode::revocable);
        post(*connection.a, anew.request(SendOperation::write), {from.sge()});
        check_done(a, CompletionStatus::success);
        CHECK(anew.holds(2));
        CHECK(to.holds(1));
    });
}

TEST_CASE("a READ of memory that was taken back is a remote access error and brings nothing", "[scenario][dmabuf]") {
    Cluster cluster(small());
    cluster.run([&](Side& a, Side& b) {
        Vram into(a, 9000, DmaBufMode::pinned), of(b, 9000, DmaBufMode::revocable);
        of.fill(1);
        into.fill(7);
        auto connection = cluster.connect();
        must(b.gpu->revoke(of.buffer));

        post(*connection.a, of.request(SendOperation::read), {into.sge()});

        check_refused_at_b(cluster, connection);
        CHECK(into.holds(7));
    });
}

TEST_CASE("a WRITE from memory that was taken back is a local protection error, and the wire stays silent",
          "[scenario][dmabuf]") {
    Cluster cluster(small());
    cluster.run([&](Side& a, Side& b) {
        Vram from(a, 9000, DmaBufMode::revocable), to(b, 9000, DmaBufMode::pinned);
        from.fill(1);
        to.fill(5);
        auto connection = cluster.connect();
        must(a.gpu->revoke(from.buffer));
        const auto sent = cluster.events<traces::PacketSent>("A.hca").size();

        post(*connection.a, to.request(SendOperation::write), {from.sge()});

        check_done(a, CompletionStatus::local_protection_error);
        CHECK(cluster.events<traces::PacketSent>("A.hca").size() == sent);
        CHECK(to.holds(5));
        recover(cluster, connection);
        const auto again = must(a.context->reg_dmabuf_mr(a.pd, must(a.gpu->export_buffer(from.buffer)), Vram::offset,
                                                         from.size, {.mode = DmaBufMode::revocable}));
        post(*connection.a, to.request(SendOperation::write), {{again.iova().value, 9000, again.lkey()}});
        check_done(a, CompletionStatus::success);
        CHECK(to.holds(1));
    });
}

TEST_CASE("a READ into memory that was taken back is a local protection error", "[scenario][dmabuf]") {
    Cluster cluster(small());
    cluster.run([&](Side& a, Side& b) {
        Vram into(a, 9000, DmaBufMode::revocable), of(b, 9000, DmaBufMode::pinned);
        of.fill(1);
        into.fill(7);
        auto connection = cluster.connect();
        must(a.gpu->revoke(into.buffer));
        const auto after = vram_of(a);

        post(*connection.a, of.request(SendOperation::read), {into.sge()});

        check_done(a, CompletionStatus::local_protection_error);
        CHECK(vram_of(a) == after);
    });
}

TEST_CASE("a revocation in the middle of a message ends it at both ends, and no byte moves once it has returned",
          "[scenario][dmabuf]") {
    auto config = small();
    config.timed = true;
    Cluster cluster(config);
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint64_t length = 1 << 20;
        fragment(b);
        Vram from(a, length, DmaBufMode::pinned), to(b, length, DmaBufMode::revocable);
        from.fill(1);
        auto connection = cluster.connect();

        post(*connection.a, to.request(SendOperation::write), {from.sge()});
        cluster.let(std::chrono::microseconds{30});
        const auto begun = cluster.events<traces::Accepted>("B.hca").size();
        must(b.gpu->revoke(to.buffer));
        const auto after = vram_of(b);

        CHECK(begun > 0);
        check_refused_at_b(cluster, connection);
        cluster.let(std::chrono::milliseconds{1});
        CHECK(vram_of(b) == after);
        CHECK_FALSE(to.holds(1));
        recover(cluster, connection);
        Vram anew(b, length, DmaBufMode::revocable);
        post(*connection.a, anew.request(SendOperation::write), {from.sge()});
        check_done(a, CompletionStatus::success);
        CHECK(anew.holds(1));
    });
}

TEST_CASE("memory that goes to another buffer after its revocation is not touched by what comes for the old one",
          "[scenario][dmabuf]") {
    Cluster cluster(small());
    cluster.run([&](Side& a, Side& b) {
        Vram from(a, 9000, DmaBufMode::pinned);
        from.fill(1);
        auto connection = cluster.connect();
        Vram to(b, 9000, DmaBufMode::revocable);
        const auto place = to.buffer.ranges().front().offset;
        must(b.gpu->revoke(to.buffer));
        must(b.gpu->evict(to.buffer)); // the program has not deregistered, and need not
        Vram next(b, 9000, DmaBufMode::revocable);
        next.fill(8);
        CHECK(next.buffer.ranges().front().offset == place);

        post(*connection.a, to.request(SendOperation::write), {from.sge()});

        check_refused_at_b(cluster, connection);
        CHECK(next.holds(8));
    });
}

TEST_CASE("rights taken from a registered dma-buf are gone at once, and come back the same way", "[scenario][dmabuf]") {
    Cluster cluster(small());
    cluster.run([&](Side& a, Side& b) {
        Vram from(a, 9000, DmaBufMode::pinned), to(b, 9000, DmaBufMode::pinned);
        from.fill(1);
        to.fill(6);
        auto connection = cluster.connect();
        must(to.region.rereg_access(b.pd, Access::local_write | Access::remote_read));

        post(*connection.a, to.request(SendOperation::write), {from.sge()});
        check_refused_at_b(cluster, connection);
        CHECK(to.holds(6));
        recover(cluster, connection);
        must(to.region.rereg_access(b.pd, sw::mlx::all_access));
        post(*connection.a, to.request(SendOperation::write), {from.sge()});

        check_done(a, CompletionStatus::success);
        CHECK(to.holds(1));
    });
}

TEST_CASE("a buffer evicted to system memory comes back to VRAM for a registration, with its bytes",
          "[scenario][dmabuf]") {
    Cluster cluster(small());
    cluster.run([&](Side& a, Side& b) {
        Vram into(a, 100000, DmaBufMode::pinned);
        const auto buffer = must(b.gpu->allocate(100000));
        must(b.gpu->upload(buffer, 0, pattern(100000, 4)));
        must(b.gpu->evict(buffer));
        CHECK(buffer.placement() == Placement::system);
        auto region = must(b.context->reg_dmabuf_mr(b.pd, must(b.gpu->export_buffer(buffer)), 0, 100000,
                                                    {.access = sw::mlx::all_access, .mode = DmaBufMode::revocable}));
        CHECK(buffer.placement() == Placement::vram);
        const auto connection = cluster.connect();

        post(*connection.a,
             {.wr_id = 1,
              .operation = SendOperation::read,
              .flags = sw::mlx::send_flag::signaled,
              .rkey = region.rkey(),
              .remote_address = region.iova().value},
             {into.sge()});

        check_done(a, CompletionStatus::success);
        CHECK(into.holds(4));
    });
}

TEST_CASE("a GPU whose driver goes takes its memory from the HCA first", "[scenario][dmabuf]") {
    Cluster cluster(small());
    cluster.run([&](Side& a, Side& b) {
        Vram from(a, 9000, DmaBufMode::pinned);
        from.fill(1);
        auto connection = cluster.connect();
        {
            Vram to(b, 9000, DmaBufMode::revocable);
            const auto handle = must(b.gpu->export_buffer(to.buffer));
            must(b.gpu->close());
            const auto after = vram_of(b);

            post(*connection.a, to.request(SendOperation::write), {from.sge()});

            check_refused_at_b(cluster, connection);
            CHECK(vram_of(b) == after);
            const auto late = b.context->reg_dmabuf_mr(b.pd, handle, 0, 1, {});
            REQUIRE_FALSE(late);
            CHECK(late.error().code == ENODEV);
        }
        b.gpu = must(sw::gpu::Gpu::open(*b.gpu_function));
        recover(cluster, connection);
        Vram anew(b, 9000, DmaBufMode::revocable);
        post(*connection.a, anew.request(SendOperation::write), {from.sge()});
        check_done(a, CompletionStatus::success);
        CHECK(anew.holds(1));
    });
}
