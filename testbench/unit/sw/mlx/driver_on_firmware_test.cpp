// The driver stack on the firmware and the core, without a bus in between: bring-up, one WRITE with its event, teardown.
#include "testbench/harness/direct_host.h"

#include "sw/mlx/verbs.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using sw::mlx::Context;

namespace {

/// The value of a Result, or the end of the test with its error.
template <class T> T must(sw::Result<T> result) {
    if (!result)
        FAIL(result.error().what);
    return std::move(*result);
}
void must(sw::Result<void> result) {
    if (!result)
        FAIL(result.error().what);
}

/// What one program has on one host.
struct Side {
    Side(DirectHost& host, std::uint32_t ipv4)
        : context(must(Context::open(host))), pd(must(context->alloc_pd())), cq(must(context->create_cq({.entries = 64}))),
          qp(must(context->create_qp({.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get()}))),
          buffer(must(context->allocate(1 << 20))), region(must(context->reg_mr(pd, buffer, sw::mlx::all_access))) {
        const auto gid = sw::mlx::gid_of_ipv4(ipv4);
        const auto mac = must(context->query_port()).mac;
        must(context->set_roce_address(0, {.gid = gid, .mac = mac}));
        peer = {.path = {.remote_gid = gid, .remote_mac = mac}, .qpn = qp->number(), .psn = abi::Psn{77}};
    }
    void close() {
        must(qp->destroy());
        must(cq->destroy());
        must(region.destroy());
        must(context->dealloc_pd(pd));
        must(context->close());
    }
    std::unique_ptr<Context> context;
    abi::Pd pd;
    std::unique_ptr<sw::mlx::CompletionQueue> cq;
    std::unique_ptr<sw::mlx::QueuePair> qp;
    sw::memory::Buffer buffer;
    sw::mlx::MemoryRegion region;
    sw::mlx::Peer peer{};
};

} // namespace

TEST_CASE("driver, firmware and core move a WRITE, report it by event and part without a refusal", "[unit][direct]") {
    TestClock clock;
    model::net::Link link(HcaPair::clean(), clock, {});
    EventLog log;
    constexpr std::size_t memory = 64 << 20;
    DirectHost a(HcaPair::untimed(), clock, link, 0, memory, {&log, 1}), b(HcaPair::untimed(), clock, link, 1, memory, {&log, 2});
    a.step = b.step = [&](Time until) {
        clock.set(until);
        link.wake(until);
        for (auto* host : {&a, &b}) {
            host->hca.wake(until);
            host->firmware.wake(until);
        }
        link.pump(until);
    };
    Side left(a, 0x0a000001), right(b, 0x0a000002);
    must(left.context->connect(*left.qp, right.peer, abi::Psn{77}));
    must(right.context->connect(*right.qp, left.peer, abi::Psn{77}));
    for (std::size_t i = 0; i < 1000; ++i)
        left.buffer.bytes()[i] = static_cast<std::byte>(i * 7);

    left.cq->request_notification();
    const sw::mlx::Sge sge{left.region.iova().value, 1000, left.region.lkey()};
    must(left.qp->post_send({.wr_id = 5,
                             .sge = &sge,
                             .sge_count = 1,
                             .operation = sw::mlx::SendOperation::write,
                             .flags = sw::mlx::send_flag::signaled,
                             .rkey = right.region.rkey(),
                             .remote_address = right.region.iova().value}));

    CHECK(left.context->get_cq_event(10ms) == left.cq.get());
    std::array<sw::mlx::Completion, 4> completions;
    REQUIRE(left.cq->poll(completions) == 1);
    CHECK(completions[0].wr_id == 5);
    CHECK(completions[0].status == sw::mlx::CompletionStatus::success);
    CHECK(std::equal(left.buffer.bytes().begin(), left.buffer.bytes().begin() + 1000, right.buffer.bytes().begin()));
    CHECK(right.buffer.bytes()[1000] == std::byte{});
    left.close();
    right.close();
    for (const auto& command : log.all<traces::CommandExecuted>())
        CHECK(command.status == 0);
}
