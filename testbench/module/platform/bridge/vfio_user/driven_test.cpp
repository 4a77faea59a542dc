// The cards of two machines behind their sockets, driven by the driver stack in another thread; what the cards hold is
// looked at from inside.
#include "testbench/module/platform/bridge/vfio_user/driven.h"

#include "sw/gpu/gpu.h"

using namespace driven;

namespace {

/// Nothing is held, and the next two drivers find cards as new.
void check_clean(Bench& bench) {
    CHECK(bench.held(0) == 0);
    CHECK(bench.held(1) == 0);
    const auto again = bench.drive([&]() -> Result<void> {
        Pair next;
        TRY(next.open(bench));
        TRY(next.move());
        TRY(next.a.close());
        return next.b.close();
    });
    check(again);
    CHECK(bench.held(0) == 0);
    CHECK(bench.held(1) == 0);
}

} // namespace

TEST_CASE("a driver that takes its device down leaves nothing in the card", "[module][vfio_user]") {
    Bench bench;
    std::optional<Pair> pair(std::in_place);
    check(bench.run([&]() -> Result<void> {
        TRY(pair->open(bench));
        return pair->move();
    }));
    CHECK(bench.held(0) >= 6);
    check(bench.run([&] { return pair->a.close(); }));
    CHECK(bench.held(0) == 0);
    CHECK(bench.held(1) >= 6);
    check(bench.drive([&]() -> Result<void> {
        TRY(pair->b.close());
        pair.reset();
        return {};
    }));
    check_clean(bench);
}

TEST_CASE("a driver that is killed while it sends leaves nothing in the card", "[module][vfio_user]") {
    Bench bench;
    const auto outcome = bench.drive([&]() -> Result<void> {
        Pair pair;
        TRY(pair.open(bench));
        TRY(pair.a.post(pair.b, 64));
        pair.a.cable.cut();
        return pair.b.close();
    });
    check(outcome);
    check_clean(bench);
}

TEST_CASE("a driver that is killed while its peer writes to it is an error of transport at the peer",
          "[module][vfio_user]") {
    Bench bench;
    std::optional<mlx::Completion> last;
    const auto outcome = bench.drive([&]() -> Result<void> {
        Pair pair;
        TRY(pair.open(bench));
        TRY(pair.a.post(pair.b, 64));
        pair.b.cable.cut();
        const auto goes_on = [&] { return last && last->status == mlx::CompletionStatus::success; };
        for (unsigned i = 0; i < 64 && (i == 0 || goes_on()); ++i)
            last = pair.a.wait();
        for (unsigned i = 0; i < 1000 && goes_on(); ++i) { // all had been written before the server saw the end
            TRY(pair.a.post(pair.b, 1));
            last = pair.a.wait();
        }
        return pair.a.close();
    });
    check(outcome);
    REQUIRE(last.has_value());
    CHECK(last->status == mlx::CompletionStatus::transport_retry_exceeded);
    check_clean(bench);
}

TEST_CASE("a function that is reset while it sends has nothing left", "[module][vfio_user]") {
    Bench bench;
    std::optional<Pair> pair(std::in_place);
    check(bench.run([&]() -> Result<void> {
        TRY(pair->open(bench));
        TRY(pair->a.post(pair->b, 64));
        TRY(pair->a.transport->reset());
        return pair->b.close(); // takes longer than what a reset leaves to be done
    }));
    CHECK(bench.held(0) == 0);
    CHECK(bench.held(1) == 0);
    check(bench.drive([&]() -> Result<void> {
        pair->a.cable.cut();
        pair.reset();
        return {};
    }));
    check_clean(bench);
}

TEST_CASE("an HCA reaches VRAM of its machine through two sessions, and none of another's", "[module][vfio_user]") {
    Bench bench;
    std::array<std::byte, 8> by_server{};
    bool is_elsewhere = true;
    const auto outcome = bench.drive([&]() -> Result<void> {
        Pair pair;
        TRY(pair.open(bench));
        auto& a = pair.a;
        auto card = SocketTransport::connect(bench.path("hostA.gpu"), a.bus);
        TRY(card);
        auto gpu = sw::gpu::Gpu::open(**card);
        TRY(gpu);
        auto vram = gpu->allocate(Side::message).value();
        std::optional target =
            a.context
                ->reg_vram_mr(a.pd, gpu->export_buffer(vram).value(), 0, Side::message, {.access = mlx::all_access})
                .value();

        // B writes from its memory into A's VRAM; A's processor looks through its own mapping of the BAR.
        std::ranges::fill(pair.b.memory.bytes(), std::byte{0x5e});
        mlx::Sge sge{.address = pair.b.region->iova().value, .length = Side::message, .lkey = pair.b.region->lkey()};
        mlx::SendRequest request{.sge = &sge,
                                 .sge_count = 1,
                                 .operation = mlx::SendOperation::write,
                                 .flags = mlx::send_flag::signaled,
                                 .rkey = target->rkey(),
                                 .remote_address = target->iova().value};
        TRY(pair.b.qp->post_send(&request));
        if (const auto done = pair.b.wait(); !done || done->status != mlx::CompletionStatus::success)
            return sw::failure(EIO, "the WRITE into VRAM did not complete");
        std::vector<std::byte> seen(Side::message);
        TRY(gpu->download(vram, 0, seen));
        if (!std::ranges::all_of(seen, [](std::byte x) { return x == std::byte{0x5e}; }))
            return sw::failure(EIO, "VRAM holds something else");
        std::ranges::copy(bench.platform.card("A.gpu").vram().bytes().subspan(vram.ranges().front().offset + 100, 8),
                          by_server.begin());
        is_elsewhere = pair.b.transport->map_peer((*card)->bar_address(1), 4096).has_value();

        // The GPU's program goes: a posted write to where its BAR was is lost, and no device hears of that.
        card->reset();
        TRY(pair.b.qp->post_send(&request));
        const auto late = pair.b.wait();
        if (!late || late->status != mlx::CompletionStatus::success)
            return sw::failure(EIO, "a device heard that a posted write was lost");
        target.reset();
        TRY(a.close());
        return pair.b.close();
    });
    check(outcome);
    CHECK(by_server == std::array{std::byte{0x5e}, std::byte{0x5e}, std::byte{0x5e}, std::byte{0x5e}, std::byte{0x5e},
                                  std::byte{0x5e}, std::byte{0x5e}, std::byte{0x5e}});
    CHECK_FALSE(is_elsewhere);
    check_clean(bench);
}
