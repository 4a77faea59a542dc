// Turns are given while what they read can leave soon (PCIe 6.0 §2.2.6.2, tags), and what they miss is there soon.
#include "testbench/harness/hca_node.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace harness;
using model::hca::queue::QpState;

namespace {

constexpr Time horizon = 2us; ///< so far ahead a turn books its reads

/// A memory whose reads leave no earlier than the test says.
class LateReads final : public model::port::Dma {
public:
    explicit LateReads(model::port::Dma& memory) : memory_(memory) {}
    model::port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at,
                                model::port::Purpose purpose) override {
        return memory_.read(address, into, at, purpose);
    }
    model::port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, Time at,
                                 model::port::Purpose purpose) override {
        return memory_.write(address, from, at, purpose);
    }
    model::port::Loan lend(abi::BusAddress address, std::size_t length, Time at,
                           model::port::Purpose purpose) override {
        return memory_.lend(address, length, at, purpose);
    }
    Time next_read(Time now) override { return std::max(now, leave); }
    Time leave{};

private:
    model::port::Dma& memory_;
};

/// Has room, and counts.
class CountingWire final : public model::port::Wire {
public:
    bool can_send(Time) override { return true; }
    model::port::Packet& next() override {
        packet_.clear();
        return packet_;
    }
    Time send(Time at) override {
        ++sent;
        return at;
    }
    std::uint32_t sent = 0;

private:
    model::port::Packet packet_;
};

/// A card beside that of a node: it has the node's memory, by way of late reads, and a queue pair like the node's.
struct Bench {
    static model::hca::HcaConfig untimed() {
        model::hca::HcaConfig config;
        config.timed = false;
        return config;
    }
    explicit Bench(const model::hca::HcaConfig& c = untimed()) : config(c) {
        node.make_eq();
        const auto cq = node.make_cq();
        qp = node.make_qp(node.attributes(cq));
        hca.create_cq(cq.number, node.core(cq).attributes);
        set_addresses(hca.identity(), 1);
        auto& own = hca.create_qp(qp.number, node.core(qp).attributes);
        auto attributes = own.attributes;
        lead_to(attributes.path, node.peer);
        for (const auto state : {QpState::init, QpState::rtr, QpState::rts})
            hca.modify_qp(own, attributes, state, {}, state == QpState::rtr);
    }
    /// Rings for a WRITE; how many packets have left then.
    std::uint32_t write() {
        node.post(qp, {.remote = 0x1000, .rkey = abi::Key{1}});
        std::vector<std::byte> doorbell(8);
        abi::store<std::uint32_t, abi::Endian::big>(doorbell.data() + 4, qp.number.value << 8);
        hca.write_uar(Node::uar, 0x800, doorbell, {});
        return wire.sent;
    }
    model::hca::HcaConfig config;
    TestClock clock;
    CountingWire unused, wire;
    Node node{untimed(), clock, unused, 1};
    LateReads dma{node.dma};
    InterruptLog interrupts;
    model::hca::Hca hca{config, {dma, clock, wire, interrupts}, {}};
    TestQp qp;
};

} // namespace

TEST_CASE("a turn is given when what it reads can leave within two microseconds", "[unit][scheduler]") {
    Bench bench;
    bench.dma.leave = horizon;

    CHECK(bench.write() == 1);
}

TEST_CASE("a turn whose reads could not leave for longer waits until they can soon", "[unit][scheduler]") {
    Bench bench;
    bench.dma.leave = horizon + 1us;
    CHECK(bench.write() == 0);
    CHECK(bench.clock.next() == 1us);

    bench.hca.wake(1us - 1ns);
    CHECK(bench.wire.sent == 0);
    bench.hca.wake(1us);

    CHECK(bench.wire.sent == 1);
}

TEST_CASE("a turn comes when an engine can soon bring what it misses", "[unit][scheduler]") {
    auto config = Bench::untimed();
    config.timed = true;
    config.miss_engines = 1;
    Bench bench(config);
    bench.hca.contexts().fetch(model::hca::icm::Table::translations, 0, {}, 10us); // others' misses, until then
    CHECK(bench.write() == 0);

    bench.hca.wake(10us - horizon - 1ns);
    CHECK(bench.wire.sent == 0);
    bench.hca.wake(10us - horizon);

    CHECK(bench.wire.sent == 1);
}
