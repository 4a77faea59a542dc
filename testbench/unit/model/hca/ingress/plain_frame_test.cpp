// Plain frames at the port of an HCA that has no Ethernet port: counted, said, and of no consequence; RoCEv2 among them
// is what it is.
#include "model/wire/builder.h"
#include "testbench/harness/plain_frames.h"
#include "testbench/harness/scripted_peer.h"

#include "abi/wire/infiniband.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::wire::Operation;
using model::port::Packet;

namespace {

model::hca::HcaConfig config(bool is_ethernet) {
    model::hca::HcaConfig config;
    config.timed = false;
    config.is_ethernet = is_ethernet;
    return config;
}

struct Bench : OneHca {
    explicit Bench(bool is_ethernet = true)
        : OneHca([](auto& attributes) { attributes.path.rlid = 2; }, config(is_ethernet)) {}
    Region to = a.make_region(64);

    /// The HCA gets these bytes off its cable.
    void arrive(const testbench::Bytes& frame) {
        Packet packet;
        packet.become_plain_frame();
        packet.payload.append_copy(frame);
        a.hca.receive(packet, clock.now());
        a.hca.received_all(clock.now());
        settle();
    }
    /// The frame of a WRITE that the queue pair takes.
    testbench::Bytes write() {
        Packet packet;
        packet.path = peer.path;
        auto& headers = packet.rdma();
        headers.operation = Operation::write_only;
        headers.destination = qp.number;
        headers.psn = abi::Psn{peer_psn};
        headers.ack_request = true;
        headers.reth = {.address = to.address, .rkey = to.key, .length = 16};
        packet.payload.append_copy(std::vector<std::byte>(16, std::byte{0x77}));
        testbench::Bytes frame;
        model::wire::build(packet, frame);
        return frame;
    }
};

} // namespace

TEST_CASE("an HCA counts plain frames, says what they were, and does nothing else", "[unit][ingress][plain frame]") {
    Bench bench;
    const auto all = testbench::plain_frames();

    for (const auto& [name, frame] : all)
        bench.arrive(frame);

    const auto& counters = bench.a.hca.counters();
    CHECK(counters.frames_without_receiver == all.size());
    CHECK(counters.packets_received == 0);
    CHECK(counters.packets_dropped == 0);
    CHECK(counters.packets_damaged == 0);
    CHECK(bench.peer.seen.empty());
    const auto said = bench.a.events.all<traces::FrameDropped>();
    REQUIRE(said.size() == all.size());
    CHECK(said.front().length == 60);
    CHECK(said.front().ethertype == 0x0806);
    CHECK(said.back().length == 0);
    CHECK(said.back().ethertype == 0);
    for (const auto& event : said)
        CHECK(event.reason == traces::Reason("no receiver for plain frames"));
}

TEST_CASE("a WRITE that came as the bytes of a frame is done and acknowledged", "[unit][ingress][plain frame]") {
    Bench bench;

    bench.arrive(bench.write());

    CHECK(bench.a.hca.counters().frames_without_receiver == 0);
    CHECK(bench.a.hca.counters().payload_received == 16);
    REQUIRE(bench.peer.seen.size() == 1);
    CHECK(bench.peer.seen[0].operation() == Operation::acknowledge);
}

TEST_CASE("a broken RoCEv2 frame is a damaged packet, not a plain frame", "[unit][ingress][plain frame]") {
    Bench bench;
    auto frame = bench.write();
    frame.back() ^= std::byte{1}; // the ICRC

    bench.arrive(frame);

    CHECK(bench.a.hca.counters().packets_damaged == 1);
    CHECK(bench.a.hca.counters().packets_dropped == 1);
    CHECK(bench.a.hca.counters().frames_without_receiver == 0);
    const auto dropped = bench.a.events.all<traces::PacketDropped>();
    REQUIRE(dropped.size() == 1);
    CHECK(dropped[0].reason == traces::Reason("bad ICRC"));
    CHECK(dropped[0].destination_qpn == 0);
}

TEST_CASE("an InfiniBand port takes bytes for a packet of its link or drops them as damaged",
          "[unit][ingress][plain frame]") {
    Bench bench(false);
    const auto all = testbench::plain_frames();
    for (const auto& [name, frame] : all)
        bench.arrive(frame);
    CHECK(bench.a.hca.counters().packets_damaged == all.size());
    CHECK(bench.a.hca.counters().frames_without_receiver == 0);

    bench.arrive(bench.write());

    CHECK(bench.a.hca.counters().payload_received == 16);
}
