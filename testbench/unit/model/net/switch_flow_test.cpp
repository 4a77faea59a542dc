// Two HCA cores with a switch and two cables between them: more in flight than any queue on the way holds.
#include "model/net/infiniband_switch.h"
#include "model/net/link.h"
#include "testbench/harness/hca_node.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <vector>

using namespace harness;
using abi::prm::WqeOpcode;

namespace {

struct Fabric {
    static model::hca::HcaConfig hca(std::uint16_t lid) {
        model::hca::HcaConfig config;
        config.timed = false;
        config.is_ethernet = false;
        config.lid = lid;
        return config;
    }
    static model::net::LinkConfig cable() {
        model::net::LinkConfig config;
        config.timed = false;
        config.encapsulation = model::port::Encapsulation::infiniband;
        return config;
    }
    Fabric() {
        for (unsigned i = 0; i < 2; ++i) {
            cables[i]->attach(0, nodes[i]->hca);
            cables[i]->attach(1, device.receiver(i + 1));
            device.connect(i + 1, cables[i]->end(1));
            device.agent().set_route(static_cast<std::uint16_t>(i + 1), static_cast<std::uint8_t>(i + 1));
        }
        device.on_forwarded = [this] { settle(); };
        for (unsigned i = 0; i < 2; ++i) {
            nodes[i]->make_eq();
            cqs[i] = nodes[i]->make_cq();
            auto attributes = nodes[i]->attributes(cqs[i]);
            attributes.mtu = 1; // 256 bytes
            attributes.path.rlid = static_cast<std::uint16_t>(2 - i);
            qps[i] = nodes[i]->make_qp(attributes);
        }
        nodes[0]->connect(qps[0], qps[1].number, 100, 5000, {});
        nodes[1]->connect(qps[1], qps[0].number, 5000, 100, {});
    }
    void settle() {
        for (auto* link : cables)
            link->pump({});
    }

    TestClock clock;
    model::net::Link left{cable(), clock, {}}, right{cable(), clock, {}};
    std::array<model::net::Link*, 2> cables{&left, &right};
    Node a{hca(1), clock, left.end(0), 1}, b{hca(2), clock, right.end(0), 2};
    std::array<Node*, 2> nodes{&a, &b};
    std::array<TestCq, 2> cqs;
    std::array<TestQp, 2> qps;
    model::net::InfinibandSwitch device{{.agent = {.ports = 2, .guid = 1, .is_managed = false}, .latency = {}}, {}};
};

} // namespace

TEST_CASE("a READ of many thousand packets loses none of them at the switch", "[unit][switch]") {
    Fabric fabric;
    constexpr std::uint32_t bytes = 4 << 20; // 16384 packets
    const auto there = fabric.b.make_region(bytes, 3), here = fabric.a.make_region(bytes);
    fabric.a.post(fabric.qps[0],
                  {.opcode = WqeOpcode::rdma_read, .sges = {here.sge()}, .remote = there.address, .rkey = there.key});
    fabric.a.ring(fabric.qps[0], {});
    fabric.settle();

    const auto done = fabric.a.drain(fabric.cqs[0]);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_ok());
    CHECK(fabric.a.bytes(here) == fabric.b.bytes(there));
    for (auto* link : fabric.cables)
        for (const unsigned direction : {0u, 1u}) {
            CHECK(link->counters(direction).refused == 0);
            CHECK(link->under_way(direction) == 0);
        }
    CHECK(fabric.a.hca.counters().retries == 0);
}

TEST_CASE("WRITEs in both directions at once pass the switch", "[unit][switch]") {
    Fabric fabric;
    constexpr std::uint32_t bytes = 1 << 20;
    std::array<Region, 2> from, to;
    for (unsigned i = 0; i < 2; ++i) {
        from[i] = fabric.nodes[i]->make_region(bytes, i + 1);
        to[i] = fabric.nodes[i]->make_region(bytes);
    }
    for (unsigned i = 0; i < 2; ++i)
        fabric.nodes[i]->post(fabric.qps[i],
                              {.sges = {from[i].sge()}, .remote = to[1 - i].address, .rkey = to[1 - i].key});
    for (unsigned i = 0; i < 2; ++i)
        fabric.nodes[i]->ring(fabric.qps[i], {});
    fabric.settle();
    for (unsigned i = 0; i < 2; ++i) {
        CHECK(fabric.nodes[i]->drain(fabric.cqs[i]).size() == 1);
        CHECK(fabric.nodes[1 - i]->bytes(to[1 - i]) == fabric.nodes[i]->bytes(from[i]));
    }
}

TEST_CASE("packets on the cable behind a switch keep their bytes when the HCA that sent them is reset",
          "[unit][switch][loan]") {
    Fabric fabric;
    constexpr std::uint32_t bytes = 1024; // four packets
    const auto from = fabric.a.make_region(bytes, 1), to = fabric.b.make_region(bytes);
    const auto sent = fabric.a.bytes(from);
    fabric.a.post(fabric.qps[0], {.sges = {from.sge()}, .remote = to.address, .rkey = to.key});
    fabric.device.on_forwarded = [] {};
    fabric.a.ring(fabric.qps[0], {});
    fabric.left.pump({});
    REQUIRE(fabric.right.under_way(1) == 4);

    fabric.a.hca.reset();
    fabric.a.fill(from.address, bytes, 2); // the next owner's
    fabric.right.pump({});

    CHECK(fabric.b.bytes(to) == sent);
}

TEST_CASE("READ answers behind a switch bring what was there before the WRITE that followed", "[unit][switch][loan]") {
    Fabric fabric;
    constexpr std::uint32_t bytes = 1024;
    const auto there = fabric.b.make_region(bytes, 1), here = fabric.a.make_region(bytes);
    const auto before = fabric.b.bytes(there);
    fabric.a.post(fabric.qps[0],
                  {.opcode = WqeOpcode::rdma_read, .sges = {here.sge()}, .remote = there.address, .rkey = there.key});
    fabric.device.on_forwarded = [] {};
    fabric.a.ring(fabric.qps[0], {});
    fabric.left.pump({});
    fabric.right.pump({}); // the answers are on the left cable now
    REQUIRE(fabric.left.under_way(1) == 4);

    model::port::Packet write;
    write.path = harness::reversed(fabric.b.core(fabric.qps[1]).path);
    write.rdma().operation = abi::wire::Operation::write_only;
    write.rdma().destination = fabric.qps[1].number;
    write.rdma().psn = abi::Psn{104};
    write.rdma().pkey = 0xffff;
    write.rdma().reth = {there.address, there.key, 8};
    write.payload.append_copy(std::vector(8, std::byte{0xee}));
    fabric.b.hca.receive(write, {});
    REQUIRE(fabric.b.bytes(there, 0, 8) == std::vector(8, std::byte{0xee}));
    fabric.settle();

    CHECK(fabric.a.bytes(here) == before);
}
