// Shared receive queues (IBA 10.2.9) and the XRC service, which names one in each request (annex A14).
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <utility>
#include <vector>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::EventType;
using abi::prm::WqeOpcode;
using model::hca::queue::QpState;
using model::hca::queue::QpType;
using model::hca::queue::ReceiveKind;

namespace {

struct Bench : HcaPair {
    explicit Bench(std::uint16_t limit = 0, std::uint16_t step = 1, const model::hca::HcaConfig& config = untimed())
        : HcaPair(clean(), config) {
        model::hca::queue::SharedReceiveQueueAttributes srq_attributes;
        srq_attributes.limit = limit;
        srq = b.make_srq(std::move(srq_attributes), step);
        a_qp = a.make_qp(a.attributes(a_cq));
        auto shared = b.attributes(b_cq);
        shared.receive = ReceiveKind::shared;
        shared.srqn = srq.number;
        b_qp = b.make_qp(shared);
        connect();
    }
    Post message(std::uint32_t bytes) const { return {.opcode = WqeOpcode::send, .sges = {from.sge(0, bytes)}}; }

    TestSrq srq;
    Region from = a.make_region(4096, 1);
    Region to = b.make_region(4096);
};

struct XrcBench : HcaPair {
    static constexpr std::uint32_t domain = 5, user_index = 0x4711;

    XrcBench() {
        srq_cq = b.make_cq();
        srq = shared_queue(srq_cq);
        auto initiator = a.attributes(a_cq);
        initiator.type = QpType::xrc;
        a_qp = a.make_qp(initiator);
        auto target = b.attributes(b_cq);
        target.type = QpType::xrc;
        target.has_sq = false;
        target.receive = ReceiveKind::shared;
        target.srqn = srq.number;
        target.xrcd = domain;
        target.pd = abi::Pd{99}; // not the one that counts
        b_qp = b.make_qp(target);
        connect();
    }
    TestSrq shared_queue(const TestCq& cq, std::uint32_t of_domain = domain) {
        model::hca::queue::SharedReceiveQueueAttributes x;
        x.is_xrc = true;
        x.xrcd = of_domain;
        x.cqn = cq.number;
        x.user_index = user_index;
        return b.make_srq(std::move(x));
    }
    Post message(std::uint32_t bytes) const { return message(bytes, srq); }
    Post message(std::uint32_t bytes, const TestSrq& to_queue) const {
        return {.opcode = WqeOpcode::send, .sges = {from.sge(0, bytes)}, .xrc_srq = to_queue.number};
    }

    TestCq srq_cq;
    TestSrq srq;
    Region from = a.make_region(4096, 1);
    Region to = b.make_region(4096);
};

} // namespace

TEST_CASE("receives of a shared queue are taken along its list", "[unit][srq]") {
    Bench bench(0, 3); // 0, 3, 6, 1, 4, 7, 2, 5
    for (const std::uint16_t index : {0, 3, 6})
        bench.b.post_receive(bench.srq, index, {bench.to.sge()});
    for (int i = 0; i < 3; ++i)
        bench.send(bench.message(100));

    const auto done = bench.b.drain(bench.b_cq);
    REQUIRE(done.size() == 3);
    CHECK(done[0].index == 0);
    CHECK(done[1].index == 3);
    CHECK(done[2].index == 6);
    CHECK(bench.b.bytes(bench.to, 0, 100) == bench.a.bytes(bench.from, 0, 100));
    CHECK(bench.b.hca.counters().srqc_hits == 3); // its context was looked at, and on the chip since it was made
    CHECK(bench.b.hca.counters().srqc_misses == 0);
}

TEST_CASE("an empty shared queue is an RNR NAK, and the message arrives when one is posted", "[unit][srq]") {
    Bench bench;
    bench.send(bench.message(8));
    CHECK(bench.b.hca.counters().naks_sent == 1);

    bench.b.post_receive(bench.srq, 0, {bench.to.sge()});
    bench.run();
    CHECK(bench.b.drain(bench.b_cq).size() == 1);
    CHECK(bench.a.drain(bench.a_cq).size() == 1);
}

TEST_CASE("the limit of a shared queue is told once", "[unit][srq]") {
    Bench bench(2);
    for (std::uint16_t i = 0; i < 4; ++i)
        bench.b.post_receive(bench.srq, i, {bench.to.sge()});
    for (int i = 0; i < 4; ++i)
        bench.send(bench.message(8));

    std::size_t told = 0;
    for (const auto& [type, number] : bench.b.drain_events())
        if (type == EventType::srq_limit) {
            ++told;
            CHECK(number == bench.srq.number);
        }
    CHECK(told == 1);
}

TEST_CASE("the limit looks at what is posted by now, not at what the device last heard of", "[unit][srq]") {
    Bench bench(3);
    const auto told = [&] {
        std::size_t count = 0;
        for (const auto& [type, number] : bench.b.drain_events())
            count += type == EventType::srq_limit;
        return count;
    };
    for (std::uint16_t i = 0; i < 4; ++i)
        bench.b.post_receive(bench.srq, i, {bench.to.sge()});
    bench.send(bench.message(8)); // the device has read the record: four
    for (std::uint16_t i = 4; i < 8; ++i)
        bench.b.post_receive(bench.srq, i, {bench.to.sge()});

    bench.send(bench.message(8)); // two of those it knows are left, but six are posted
    CHECK(told() == 0);
    for (int left = 5; left >= 3; --left)
        bench.send(bench.message(8));
    CHECK(told() == 0);
    bench.send(bench.message(8)); // two are left
    CHECK(told() == 1);
    bench.send(bench.message(8));
    CHECK(told() == 0);
}

TEST_CASE("an armed limit that is far away costs no reads of the record", "[unit][srq]") {
    Bench armed(2), plain(0);
    std::array<std::uint64_t, 2> reads{};
    for (auto* bench : {&armed, &plain}) {
        for (std::uint16_t i = 0; i < 8; ++i)
            bench->b.post_receive(bench->srq, i, {bench->to.sge()});
        for (int i = 0; i < 6; ++i)
            bench->send(bench->message(8));
        reads[bench == &plain] =
            static_cast<std::uint64_t>(std::ranges::count_if(bench->b.dma.log(), [&](const auto& access) {
                return access.kind == model::port::MemoryDma::Kind::read && access.address == bench->srq.record;
            }));
    }
    CHECK(reads[1] == 1);
    CHECK(reads[0] == reads[1]);
}

TEST_CASE("a list that leaves its queue is a catastrophic error of the queue", "[unit][srq]") {
    Bench bench;
    bench.b.post_receive(bench.srq, 0, {bench.to.sge()});
    std::array<std::byte, 16> head{};
    abi::View<abi::prm::WqeSrqNext>(std::span(head)).set<"next_wqe_index">(std::uint16_t{8});
    bench.b.dma.poke(bench.srq.buffer, head);
    bench.send(bench.message(8));

    bool told = false;
    for (const auto& event : bench.b.drain_events())
        told |= event == std::pair{EventType::srq_catastrophic_error, bench.srq.number};
    CHECK(told);
    CHECK(bench.b.core(bench.b_qp).state == QpState::err);
    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].syndrome == CqeSyndrome::remote_op_err);
}

TEST_CASE("a queue pair in error says that it takes no more from its shared queue", "[unit][srq]") {
    Bench bench;
    bench.b.modify(bench.b_qp, QpState::err, bench.clock.now());

    bool told = false;
    for (const auto& event : bench.b.drain_events())
        told |= event == std::pair{EventType::srq_last_wqe, bench.b_qp.number.value};
    CHECK(told);
}

TEST_CASE("that a queue pair takes no more from its shared queue is told behind its last completion", "[unit][srq]") {
    auto config = HcaPair::untimed();
    config.timed = true; // an entry takes its time
    Bench bench(0, 1, config);
    auto nowhere = bench.to.sge();
    nowhere.key = abi::Key{0xdead00};
    bench.b.post_receive(bench.srq, 0, {nowhere});
    bench.send(bench.message(8));
    bench.run(Time{1ms});

    Time completed{}, told{};
    const auto entries = bench.b_cq.buffer, events = bench.b.eq_buffer;
    for (const auto& access : bench.b.dma.log()) {
        if (access.kind != model::port::MemoryDma::Kind::write)
            continue;
        if (access.address - entries < 64u << bench.b_cq.log_size)
            completed = access.at;
        if (access.address - events < 64u << Node::log_eq)
            told = access.at;
    }
    REQUIRE(bench.b.drain(bench.b_cq).size() == 1);
    REQUIRE(told > Time{});
    CHECK(told >= completed);
}

TEST_CASE("a receive that fails is told of behind what was written of its queue pair", "[unit][srq]") {
    Bench bench;
    // Of two segments, the first may have been translated late, and the second leads nowhere.
    const auto late = bench.b.core(bench.b_qp).responder.order.writes.issue(bench.clock.now() + Time{17us});
    auto nowhere = bench.to.sge();
    nowhere.key = abi::Key{0xdead00};
    bench.b.post_receive(bench.srq, 0, {nowhere});
    bench.b.dma.clear_log();
    bench.send(bench.message(8));

    std::size_t completions = 0;
    const auto entries = bench.b_cq.buffer, size = std::uint64_t{64} << bench.b_cq.log_size;
    for (const auto& access : bench.b.dma.log())
        if (access.kind == model::port::MemoryDma::Kind::write && access.address - entries < size) {
            CHECK(access.at >= late);
            ++completions;
        }
    CHECK(completions == 1);
}

TEST_CASE("an XRC message goes to the queue it names, with that queue's keys and completions", "[unit][srq][xrc]") {
    XrcBench bench;
    bench.b.post_receive(bench.srq, 0, {bench.to.sge()});
    bench.send(bench.message(2000));

    const auto cqe = bench.b.poll(bench.srq_cq);
    REQUIRE(cqe);
    CHECK(cqe->view().get<"opcode">() == CqeOpcode::resp_send);
    CHECK(cqe->view().get<"srqn_uidx">() == XrcBench::user_index);
    CHECK(bench.b.drain(bench.b_cq).empty());
    CHECK(bench.b.bytes(bench.to, 0, 2000) == bench.a.bytes(bench.from, 0, 2000));
    CHECK(bench.a.drain(bench.a_cq).size() == 1);

    auto other_cq = bench.b.make_cq();
    auto other = bench.shared_queue(other_cq); // of the same domain
    bench.b.post_receive(other, 0, {bench.to.sge()});
    bench.send(bench.message(8, other));
    CHECK(bench.b.drain(other_cq).size() == 1);
    CHECK(bench.b.drain(bench.srq_cq).empty());
}

TEST_CASE("the sending side of an XRC connection completes with an index of its own, whatever shared queue it names",
          "[unit][srq][xrc]") {
    XrcBench bench;
    auto attributes = bench.a.attributes(bench.a_cq);
    attributes.type = QpType::xrc;
    attributes.user_index = 0x1234;
    attributes.receive = ReceiveKind::shared; // as Linux makes it
    model::hca::queue::SharedReceiveQueueAttributes x;
    x.is_xrc = true;
    x.cqn = bench.a_cq.number;
    x.user_index = 0;
    attributes.srqn = bench.a.make_srq(std::move(x)).number;
    bench.a_qp = bench.a.make_qp(attributes);
    bench.connect();
    bench.b.post_receive(bench.srq, 0, {bench.to.sge()});
    bench.send(bench.message(8));
    const auto cqe = bench.a.poll(bench.a_cq);
    REQUIRE(cqe);
    CHECK(cqe->view().get<"srqn_uidx">() == 0x1234);
}

TEST_CASE("XRC READ and WRITE use the protection domain of the queue they name", "[unit][srq][xrc]") {
    XrcBench bench;
    bench.send({.opcode = WqeOpcode::rdma_write,
                .sges = {bench.from.sge(0, 3000)},
                .remote = bench.to.address,
                .rkey = bench.to.key,
                .xrc_srq = bench.srq.number});
    CHECK(bench.b.bytes(bench.to, 0, 3000) == bench.a.bytes(bench.from, 0, 3000));

    const auto back = bench.a.make_region(3000);
    bench.send({.opcode = WqeOpcode::rdma_read,
                .sges = {back.sge()},
                .remote = bench.to.address,
                .rkey = bench.to.key,
                .xrc_srq = bench.srq.number});
    CHECK(bench.a.bytes(back) == bench.a.bytes(bench.from, 0, 3000));
    for (const auto& done : bench.a.drain(bench.a_cq))
        CHECK(done.is_ok());
}

TEST_CASE("an XRC message for a queue of another domain is an invalid request", "[unit][srq][xrc]") {
    XrcBench bench;
    auto other = bench.shared_queue(bench.srq_cq, XrcBench::domain + 1);
    bench.b.post_receive(other, 0, {bench.to.sge()});
    bench.send(bench.message(8, other));

    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].syndrome == CqeSyndrome::remote_inval_req_err);
    CHECK(bench.b.drain(bench.srq_cq).empty());
}

TEST_CASE("an XRC message for a queue that is not there, or is an ordinary one, is an invalid request",
          "[unit][srq][xrc]") {
    for (const bool is_there : {false, true}) {
        XrcBench bench;
        auto named = bench.srq;
        if (is_there) {
            model::hca::queue::SharedReceiveQueueAttributes ordinary;
            ordinary.xrcd = XrcBench::domain;
            named = bench.b.make_srq(std::move(ordinary));
        } else {
            ++named.number;
        }
        bench.send(bench.message(8, named));

        const auto done = bench.a.drain(bench.a_cq);
        REQUIRE(done.size() == 1);
        CHECK(done[0].syndrome == CqeSyndrome::remote_inval_req_err);
    }
}

TEST_CASE("a shared queue that goes leaves no queue pair that refers to it", "[unit][srq][xrc]") {
    XrcBench bench;
    bench.b.post_receive(bench.srq, 0, {bench.to.sge()});
    bench.send(bench.message(8));
    bench.b.hca.destroy_qp(bench.b_qp.number);

    CHECK(bench.b.hca.shared_receive_queues().find(bench.srq.number)->users() == 0);
    bench.b.hca.destroy_srq(bench.srq.number, bench.clock.now());
    CHECK(bench.b.core(bench.srq_cq).users() == 0);
}

TEST_CASE("a shared queue knows who takes from it, and one that goes asks nobody else", "[unit][srq][xrc]") {
    XrcBench bench;
    auto& srq = *bench.b.hca.shared_receive_queues().find(bench.srq.number);
    const auto takers = [&] {
        std::vector<std::uint32_t> all;
        srq.takers.for_each([&](auto& qp) { all.push_back(qp.number.value); });
        return all;
    };
    for (int i = 0; i < 20; ++i)
        bench.b.make_qp(bench.b.attributes(bench.b_cq)); // with receive queues of their own
    CHECK(takers() == std::vector{bench.b_qp.number.value});

    const auto other = bench.shared_queue(bench.srq_cq); // the peer names another queue of the domain
    bench.send(bench.message(8, other));
    CHECK(takers().empty());
    CHECK(bench.b.core(bench.b_qp).srq->number == other.number);

    bench.b.hca.destroy_srq(other.number, bench.clock.now());
    CHECK(bench.b.core(bench.b_qp).srq == nullptr);
}

TEST_CASE("receives of a cyclic shared queue follow each other, behind a next segment that names nobody",
          "[unit][srq]") {
    HcaPair pair;
    model::hca::queue::SharedReceiveQueueAttributes cyclic;
    cyclic.is_linked = false;
    auto srq = pair.b.make_srq(std::move(cyclic), 3); // what the segment says has no meaning
    auto attributes = pair.b.attributes(pair.b_cq);
    attributes.receive = ReceiveKind::shared;
    attributes.srqn = srq.number;
    pair.b_qp = pair.b.make_qp(attributes);
    pair.connect();
    const auto from = pair.a.make_region(4096, 1), to = pair.b.make_region(4096);
    for (std::uint32_t n = 0; n < 10; ++n) {
        INFO("message " << n);
        pair.b.post_receive(srq, n % 8, {to.sge(100 * n, 100)});

        pair.send({.opcode = WqeOpcode::send, .sges = {from.sge(10 * n, 10)}});

        const auto done = pair.b.drain(pair.b_cq);
        REQUIRE(done.size() == 1);
        CHECK(done[0].index == n % 8);
        CHECK(done[0].bytes == 10);
        CHECK(pair.b.bytes(to, 100 * n, 10) == pair.a.bytes(from, 10 * n, 10));
    }
}

TEST_CASE("receives of a basic cyclic shared queue are pieces of memory and nothing else", "[unit][srq]") {
    HcaPair pair;
    model::hca::queue::SharedReceiveQueueAttributes basic;
    basic.is_linked = basic.has_next_segment = false;
    auto srq = pair.b.make_srq(std::move(basic));
    auto attributes = pair.b.attributes(pair.b_cq);
    attributes.receive = ReceiveKind::shared;
    attributes.srqn = srq.number;
    pair.b_qp = pair.b.make_qp(attributes);
    pair.connect();
    const auto from = pair.a.make_region(4096, 1), to = pair.b.make_region(4096);
    std::array<std::byte, 64> wqe{};
    abi::View<abi::prm::WqeData>(std::span(wqe))
        .set<"byte_count">(100u)
        .set<"lkey">(to.key.value)
        .set<"addr">(to.address);
    abi::View<abi::prm::WqeData>(std::span(wqe).subspan(16)).set<"lkey">(0x100u);
    pair.b.dma.poke(srq.buffer, wqe);
    pair.b.write_be32(srq.record, ++srq.producer);

    pair.send({.opcode = WqeOpcode::send, .sges = {from.sge(0, 100)}});

    CHECK(pair.b.drain(pair.b_cq).size() == 1);
    CHECK(pair.b.bytes(to, 0, 100) == pair.a.bytes(from, 0, 100));
}
