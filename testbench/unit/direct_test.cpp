#include "testbench/harness/direct_host.h"
#include "sw/mlx/verbs.h"
#include <catch2/catch_test_macros.hpp>
using namespace harness;
#define MUST(x) ([&]{ auto r = (x); if (!r) { FAIL(r.error().what); } return std::move(*r); }())
#define OK(x) do { auto ok_ = (x); if (!ok_) FAIL(ok_.error().what); } while (0)
TEST_CASE("driver, firmware and core: a WRITE", "[unit][direct]") {
    TestClock clock; auto lc = HcaPair::clean(); model::net::Link link(lc, clock, {});
    auto hc = HcaPair::untimed();
    EventLog log;
    DirectHost a(hc, clock, link, 0, 128 << 20, {&log, 1}), b(hc, clock, link, 1, 128 << 20, {&log, 2});
    auto step = [&](Time until) { clock.set(until); link.wake(until); for (auto* h : {&a, &b}) { h->hca.wake(until); h->firmware.wake(until); } link.pump(until); };
    a.step = b.step = step;
    auto report = [&] { for (auto& e : log.all<traces::CommandExecuted>()) if (e.status) printf("%s: %x %x %s\n", std::string(e.command).c_str(), e.status, e.syndrome, std::string(e.why).c_str()); };
    auto ca = sw::mlx::Context::open(a), cb = sw::mlx::Context::open(b);
    report();
    if (!ca) FAIL(ca.error().what);
    if (!cb) FAIL(cb.error().what);
    auto make = [&](sw::mlx::Context& c, std::uint32_t ip) {
        auto pd = MUST(c.alloc_pd()); auto cq = MUST(c.create_cq({.entries = 64}));
        auto qp = MUST(c.create_qp({.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get()}));
        auto buf = MUST(c.allocate(1 << 20)); auto mr = MUST(c.reg_mr(pd, buf, sw::mlx::all_access));
        auto port = MUST(c.query_port());
        OK(c.set_roce_address(0, {.gid = sw::mlx::gid_of_ipv4(ip), .mac = port.mac}));
        sw::mlx::Peer peer{.path = {.remote_gid = sw::mlx::gid_of_ipv4(ip), .remote_mac = port.mac}, .qpn = qp->number(), .psn = abi::Psn{77}};
        return std::tuple{pd, std::move(cq), std::move(qp), std::move(buf), std::move(mr), peer};
    };
    auto [apd, acq, aqp, abuf, amr, apeer] = make(**ca, 0x0a000001);
    auto [bpd, bcq, bqp, bbuf, bmr, bpeer] = make(**cb, 0x0a000002);
    OK((*ca)->connect(*aqp, bpeer, abi::Psn{77})); OK((*cb)->connect(*bqp, apeer, abi::Psn{77}));
    for (int i = 0; i < 1000; ++i) abuf.bytes()[i] = std::byte(i * 7);
    acq->request_notification();
    sw::mlx::Sge sge{amr.iova().value, 1000, amr.lkey()};
    OK(aqp->post_send({.wr_id = 5, .sge = &sge, .sge_count = 1, .operation = sw::mlx::SendOperation::write, .flags = sw::mlx::send_flag::signaled, .rkey = bmr.rkey(), .remote_address = bmr.iova().value}));
    CHECK((*ca)->get_cq_event(std::chrono::milliseconds(10)) == acq.get());
    std::array<sw::mlx::Completion, 4> wc;
    REQUIRE(acq->poll(wc) == 1);
    CHECK(wc[0].wr_id == 5); CHECK(wc[0].status == sw::mlx::CompletionStatus::success);
    CHECK(std::equal(abuf.bytes().begin(), abuf.bytes().begin() + 1000, bbuf.bytes().begin()));
    OK(aqp->destroy()); OK(bqp->destroy()); OK(acq->destroy()); OK(bcq->destroy()); OK(amr.destroy()); OK(bmr.destroy());
    OK((*ca)->dealloc_pd(apd)); OK((*cb)->dealloc_pd(bpd));
    auto r = (*ca)->close(); report(); OK(r); OK((*cb)->close());
}
