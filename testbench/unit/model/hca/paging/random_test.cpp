// Transfers while pages come and go at random, and software answers now and then that one will not come.
#include "testbench/unit/model/hca/paging/bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <random>

using namespace paging_test;

TEST_CASE("transfers of every kind arrive whole while pages come and go", "[unit][paging][random]") {
    const auto seed = static_cast<unsigned>(GENERATE(1, 2, 3, 4, 5, 6));
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    Bench bench;
    for (unsigned round = 0; round < 60; ++round) {
        const auto bytes = 1 + below(20000);
        const auto opcode = std::array{WqeOpcode::rdma_write, WqeOpcode::rdma_read, WqeOpcode::send}[below(3)];
        const auto local = bench.absent(bench.a, bytes, opcode == WqeOpcode::rdma_read ? 0 : round + 1),
                   remote = bench.absent(bench.b, bytes, opcode == WqeOpcode::rdma_read ? round + 1 : 0);
        if (opcode == WqeOpcode::send)
            bench.b.post_receive(bench.b_qp, {remote.sge()});
        bench.send(transfer(opcode, local, remote));
        std::vector<Done> done;
        for (unsigned step = 0; step < 2000 && done.empty(); ++step) {
            // Software brings a few pages, takes others away, and says that it is done - not always having done what
            // was asked.
            for (auto [node, region] : {std::pair{&bench.a, &local}, {&bench.b, &remote}}) {
                const auto pages = static_cast<std::uint32_t>(Bench::mkey(*node, region->key).mtt.size());
                if (below(4) == 0)
                    Bench::set_pages(*node, *region, 0, below(pages), 1 + below(2));
                Bench::set_pages(*node, *region, 3, below(pages), 1 + below(3));
                for (const auto& fault : bench.faults(*node))
                    bench.resume(*node, fault);
            }
            bench.run(bench.clock.now() + 1ms);
            done = bench.a.drain(bench.a_cq);
        }
        REQUIRE(done.size() == 1);
        REQUIRE(done[0].is_ok());
        REQUIRE(bench.a.bytes(local) == bench.b.bytes(remote));
        REQUIRE(bench.a.has_guards(local));
        REQUIRE(bench.b.has_guards(remote));
        bench.b.drain(bench.b_cq);
    }
    CHECK(bench.a.hca.counters().page_faults > 20);
    CHECK(bench.b.hca.counters().page_faults > 20);
}

TEST_CASE("many messages and a bad cable: what is answered with a page arrives, whatever else is refused",
          "[unit][paging][random]") {
    const auto seed = static_cast<unsigned>(GENERATE(11, 12, 13, 14));
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    auto faulty = HcaPair::clean();
    faulty.timed = true;
    faulty.loss = faulty.duplicate = faulty.reorder = 0.01;
    faulty.seed = seed;
    Bench bench(HcaPair::untimed(), faulty);
    for (unsigned round = 0; round < 12; ++round) {
        const bool has_errors = round % 3 == 2;
        struct Message {
            WqeOpcode opcode{};
            Region local, remote;
        };
        std::vector<Message> messages(1 + below(8));
        for (auto& m : messages) {
            const auto bytes = 1 + below(12000);
            m.opcode = std::array{WqeOpcode::rdma_write, WqeOpcode::rdma_read, WqeOpcode::send}[below(3)];
            m.local = bench.absent(bench.a, bytes, m.opcode == WqeOpcode::rdma_read ? 0 : random() % 1000 + 1);
            m.remote = bench.absent(bench.b, bytes, m.opcode == WqeOpcode::rdma_read ? random() % 1000 + 1 : 0);
            if (m.opcode == WqeOpcode::send)
                bench.b.post_receive(bench.b_qp, {m.remote.sge()});
            bench.a.post(bench.a_qp, transfer(m.opcode, m.local, m.remote));
        }
        bench.ring();
        std::vector<Done> done;
        for (unsigned step = 0; step < 1000 && done.size() != messages.size(); ++step) {
            for (auto* node : {&bench.a, &bench.b}) {
                for (auto& m : messages) {
                    const auto& region = node == &bench.a ? m.local : m.remote;
                    const auto pages = static_cast<std::uint32_t>(Bench::mkey(*node, region.key).mtt.size());
                    if (below(8) == 0)
                        Bench::set_pages(*node, region, 0, below(pages), 1);
                    Bench::set_pages(*node, region, 3, below(pages), 1 + below(3));
                }
                for (const auto& fault : bench.faults(*node))
                    bench.resume(*node, fault, has_errors && below(6) == 0);
            }
            bench.run(bench.clock.now() + (step % 4 == 3 ? 200ms : 1ms)); // past a time-out now and then
            for (const auto& one : bench.a.drain(bench.a_cq))
                done.push_back(one);
        }
        REQUIRE(done.size() == messages.size());
        for (std::size_t i = 0; i < messages.size(); ++i) {
            REQUIRE((done[i].is_ok() || has_errors));
            if (done[i].is_ok())
                REQUIRE(bench.a.bytes(messages[i].local) == bench.b.bytes(messages[i].remote));
            REQUIRE(bench.a.has_guards(messages[i].local));
            REQUIRE(bench.b.has_guards(messages[i].remote));
        }
        if (bench.a.core(bench.a_qp).state == model::hca::queue::QpState::err ||
            bench.b.core(bench.b_qp).state == model::hca::queue::QpState::err) {
            bench.run(bench.clock.now() + 10s);
            for (auto& [node, qp] : {std::pair{&bench.a, &bench.a_qp}, {&bench.b, &bench.b_qp}}) {
                node->modify(*qp, model::hca::queue::QpState::rst, bench.clock.now());
                bench.faults(*node);
            }
            bench.a_qp = bench.a.make_qp(bench.a.attributes(bench.a_cq));
            bench.b_qp = bench.b.make_qp(bench.b.attributes(bench.b_cq));
            bench.connect();
        }
        bench.a.drain(bench.a_cq);
        bench.b.drain(bench.b_cq);
    }
}
