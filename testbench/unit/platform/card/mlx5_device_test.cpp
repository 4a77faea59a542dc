// The device as one piece: what it tells the bus, its BAR, and what its port sends to itself.
#include "platform/card/mlx5_device.h"

#include "sw/mlx/verbs.h"
#include "testbench/harness/command_bench.h"
#include "testbench/harness/direct_host.h"
#include "testbench/harness/must.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

using namespace harness;
using platform::card::Mlx5Device;

namespace {

/// The other end of the cable, which nothing is meant to reach.
struct Nobody final : model::port::Receiver {
    void receive(model::port::Packet&, Time) override { FAIL("a packet left by the cable"); }
    void received_all(Time) override {}
    void ready(Time) override {}
};

/// A program whose queue pair is connected to itself. It writes the first half of its buffer into the second.
struct Alone {
    static constexpr std::size_t half = 1000;
    TestClock clock;
    model::net::Link link{HcaPair::clean(), clock, {}};
    Nobody nobody;
    DirectHost host;
    std::unique_ptr<sw::mlx::Context> context;
    abi::Pd pd{};
    std::unique_ptr<sw::mlx::CompletionQueue> cq;
    sw::memory::Buffer buffer;
    std::optional<sw::mlx::MemoryRegion> region;
    std::unique_ptr<sw::mlx::QueuePair> qp;

    explicit Alone(bool is_timed) : host(config(is_timed), clock, link, 0, 32 << 20, {}) {
        link.attach(1, nobody);
        host.step = [this](Time until) {
            while (clock.next() <= until)
                wake_at(std::max(clock.next(), clock.now()));
            wake_at(until);
        };
        context = must(sw::mlx::Context::open(host));
        pd = must(context->alloc_pd());
        cq = must(context->create_cq({.entries = 64}));
        buffer = must(context->allocate(4096));
        region.emplace(must(context->reg_mr(pd, buffer, sw::mlx::all_access)));
        qp = must(context->create_qp({.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get()}));
        const auto gid = sw::mlx::gid_of_ipv4(0x0a000001);
        const auto mac = must(context->query_port()).mac;
        must(context->set_roce_address(0, {.gid = gid, .mac = mac}));
        must(context->connect(
            *qp, {.path = {.remote_gid = gid, .remote_mac = mac}, .qpn = qp->number(), .psn = abi::Psn{77}},
            abi::Psn{77}));
        std::ranges::fill(source(), std::byte{0x5a});
    }
    static model::hca::HcaConfig config(bool is_timed) {
        model::hca::HcaConfig config;
        config.timed = is_timed;
        return config;
    }
    void wake_at(Time at) {
        clock.set(at);
        host.wake();
    }
    void post() {
        const sw::mlx::Sge sge{region->iova().value, half, region->lkey()};
        must(qp->post_send({.sge = &sge,
                            .sge_count = 1,
                            .operation = sw::mlx::SendOperation::write,
                            .flags = sw::mlx::send_flag::signaled,
                            .rkey = region->rkey(),
                            .remote_address = region->iova().value + half}));
    }
    std::span<std::byte> source() { return buffer.bytes().first(half); }
    bool has_arrived() {
        const auto target = buffer.bytes().subspan(half, half);
        return std::ranges::equal(source(), target);
    }
    bool is_complete() {
        sw::mlx::Completion completion;
        return cq->poll({&completion, 1}) == 1 && completion.status == sw::mlx::CompletionStatus::success;
    }
};

} // namespace

TEST_CASE("an HCA is a network controller of its kind with one BAR for everything", "[unit][card]") {
    auto config = untimed();
    const auto ethernet = Mlx5Device::function_config(config);
    config.is_ethernet = false;
    const auto infiniband = Mlx5Device::function_config(config);

    CHECK(ethernet.identity.vendor_id == 0x15b3);
    CHECK(ethernet.identity.device_id == 0x101b);
    CHECK(ethernet.identity.class_code == 0x020000);
    CHECK(infiniband.identity.class_code == 0x020700);
    CHECK(ethernet.bars[0].size == 1024 * 4096);
    CHECK(ethernet.bars[0].is_64bit);
    CHECK(model::pcie::find_fault(ethernet) == nullptr);
}

TEST_CASE("the pending bits lie behind the vector table, however long it is", "[unit][card]") {
    for (const std::uint16_t vectors : {1, 2, 256, 257, 512, 2048}) {
        auto config = untimed();
        config.msix_vectors = vectors;
        const auto function = Mlx5Device::function_config(config);

        CHECK(function.msix_table_offset == 0x2000);
        CHECK(function.msix_pending_offset >= 0x2000 + vectors * 16u);
        CHECK(function.msix_pending_offset + vectors / 8 < config.first_uar * 4096u);
        CHECK(model::pcie::find_fault(function) == nullptr);
    }
}

TEST_CASE("the BAR begins with the initialization segment, and its UAR pages read zero", "[unit][card]") {
    CommandBench bench;
    CHECK(bench.read32(0x004) >> 16 == 5);
    CHECK((bench.read32(0x014) & 0xff) == 0x56);

    for (const std::uint64_t offset : {16 * 4096 - 4, 16 * 4096 + 0x800, 1023 * 4096}) {
        std::array<std::byte, 8> bytes;
        bytes.fill(std::byte{0xee});
        CHECK(bench.card.bar_read(0, offset, bytes, {}).is_ok());
        CHECK(bytes == std::array<std::byte, 8>{});
    }
}

TEST_CASE("a store that runs over the end of a UAR page rings that page's register and no other", "[unit][card]") {
    CommandBench bench;
    const std::array<std::byte, 0x200> burst{}; // 0x100 bytes in UAR 16, as many in UAR 17

    bench.card.bar_write(0, 16 * 4096 + 0xf00, burst, {});

    const auto ignored = bench.log.all<traces::DoorbellIgnored>();
    REQUIRE(ignored.size() == 1);
    CHECK(ignored[0].uar == 16);
    CHECK(ignored[0].reason.text() == "no such queue pair");
}

TEST_CASE("what a port sends to itself comes back without a cable", "[unit][card]") {
    Alone alone(false);
    CHECK_FALSE(alone.host.device.settle());

    alone.post();

    CHECK(alone.has_arrived());
    CHECK(alone.is_complete());
    CHECK(alone.host.device.is_quiet());
    CHECK(alone.link.counters(0).packets == 0);
}

TEST_CASE("what a port sends to itself takes its time, and no other wake of the device shortens it", "[unit][card]") {
    Alone alone(true);
    auto& clock = alone.clock;
    alone.post();
    const auto arrival = clock.next();
    REQUIRE(arrival >= clock.now() + 100ns);

    alone.wake_at(arrival - 50ns);
    CHECK_FALSE(alone.has_arrived());
    CHECK_FALSE(alone.host.device.is_quiet());
    CHECK(clock.next() == arrival);

    alone.wake_at(arrival);
    CHECK(alone.has_arrived());
    CHECK_FALSE(alone.is_complete()); // the acknowledgement is on its way

    alone.host.step(arrival + 10us);
    CHECK(alone.is_complete());
    CHECK(alone.host.device.is_quiet());
}
