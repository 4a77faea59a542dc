// Transaction ordering (IBA 9.5): requests of one queue pair overlap on their way to memory, and yet nothing of a later
// one is placed, completed or acknowledged before what came ahead of it.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace harness;
using abi::prm::WqeOpcode;
using abi::wire::NakCode;
using abi::wire::Operation;
using model::hca::queue::QpType;
using model::port::MemoryDma;
using model::port::Purpose;

namespace {

constexpr auto memory_latency = 700ns;

/// When payload was sent to memory, or completions, in the order of the requests.
std::vector<Time> placements(const Node& node, Purpose purpose = Purpose::payload) {
    std::vector<Time> all;
    for (const auto& access : node.dma.log())
        if (access.kind == MemoryDma::Kind::write && access.purpose == purpose)
            all.push_back(access.at);
    return all;
}
std::vector<Time> completions(const Node& node) {
    std::vector<Time> all;
    for (const auto& [stamp, event] : node.events.entries)
        if (std::holds_alternative<traces::CompletionWritten>(event))
            all.push_back(Time{stamp.time_ps});
    return all;
}
std::vector<Time> departures(const Node& node) {
    std::vector<Time> all;
    for (const auto& [stamp, event] : node.events.entries)
        if (std::holds_alternative<traces::PacketSent>(event))
            all.push_back(Time{stamp.time_ps});
    return all;
}

/// A queue pair whose first SEND has to fetch its receive WQE, so that what follows could overtake it.
struct Bench : OneHca {
    Bench() : OneHca([](auto&) {}, {}) {
        a.dma.set_latency(memory_latency);
        a.post_receive(qp, {own.sge()});
    }
    void packet(Operation operation, std::size_t length, bool ack_request = true) {
        hand_over(operation, next++, abi::wire::traits(operation).has_payload ? length : 0, [&](auto& packet) {
            packet.rdma().reth = {
                .address = target.address, .rkey = target.key, .length = static_cast<std::uint32_t>(length)};
            packet.rdma().atomic = {.address = target.address, .rkey = target.key, .swap_or_add = 1};
            packet.rdma().ack_request = ack_request;
        });
    }
    Region own = a.make_region(4096, 1), target = a.make_region(4096, 1);
    std::uint32_t next = peer_psn;
};

} // namespace

TEST_CASE("a WRITE behind a SEND is placed behind it, and takes no ACK ahead of it", "[unit][transport][order]") {
    for (const bool is_one_batch : {true, false}) {
        Bench bench;
        bench.packet(Operation::send_only, 1000);
        if (!is_one_batch)
            bench.settle();
        bench.packet(Operation::write_only, 200);
        bench.settle();

        INFO((is_one_batch ? "in one batch" : "one by one"));
        const auto placed = placements(bench.a);
        REQUIRE(placed.size() == 2);
        CHECK(placed[1] >= placed[0]);
        const auto done = placed[0] + memory_latency;
        CHECK(completions(bench.a).at(0) >= done);
        const auto sent = departures(bench.a);
        REQUIRE(sent.size() == (is_one_batch ? 1 : 2));
        for (const auto at : sent)
            CHECK(at >= done);
        CHECK(std::ranges::is_sorted(sent));
    }
}

TEST_CASE("no answer of any kind leaves before the SEND ahead of it was carried out", "[unit][transport][order]") {
    const auto behind = [](Bench& bench, int what) {
        switch (what) {
        case 0: return bench.packet(Operation::read_request, 0);
        case 1: return bench.packet(Operation::fetch_add, 0);
        case 2: ++bench.next; return bench.packet(Operation::write_only, 100);    // a gap: NAK
        case 3: bench.next -= 1; return bench.packet(Operation::send_only, 1000); // a duplicate: ACK
        case 4: return bench.packet(Operation::send_only, 100);                   // no receive is posted: RNR NAK
        case 5: return bench.packet(Operation::write_middle, 1024); // out of order: NAK, and the error state
        default: return bench.packet(Operation::write_only, 0);
        }
    };
    for (int what = 0; what <= 6; ++what) {
        Bench bench;
        bench.packet(Operation::send_only, 1000, false);
        bench.settle();
        if (what == 5)
            bench.a.post_receive(bench.qp, {bench.own.sge()}); // is flushed
        behind(bench, what);
        bench.settle();

        INFO("case " << what);
        const auto executed = placements(bench.a).at(0) + memory_latency;
        const auto sent = departures(bench.a);
        REQUIRE(sent.size() == 1);
        CHECK(sent[0] >= executed);
        const auto done = completions(bench.a);
        CHECK(done.size() == (what == 5 ? 2 : 1));
        CHECK(std::ranges::is_sorted(done));
    }
}

TEST_CASE("an ACK does not wait for a request of its batch that takes longer", "[unit][transport][order]") {
    Bench bench;
    bench.packet(Operation::write_only, 100);
    bench.packet(Operation::send_only, 1000); // whose receive WQE has to be read
    bench.settle();

    const auto sent = departures(bench.a);
    REQUIRE(sent.size() == 2);
    CHECK(sent[0] < sent[1]);
    CHECK(sent[0] < placements(bench.a).at(1) + memory_latency);
}

TEST_CASE("each ACK leaves when its request was carried out, and none takes in a later one",
          "[unit][transport][order]") {
    Bench bench;
    bench.packet(Operation::read_request, 100); // its answer is ahead of the ACKs
    bench.packet(Operation::write_only, 100);
    bench.packet(Operation::send_only, 1000);
    bench.settle();

    const auto sent = departures(bench.a);
    REQUIRE(sent.size() == 3);
    CHECK(sent[1] >= placements(bench.a).at(0) + memory_latency);
    CHECK(sent[2] >= placements(bench.a).at(1) + memory_latency);
    CHECK(sent[1] < sent[2]);
}

TEST_CASE("an atomic is carried out on memory behind the SEND ahead of it", "[unit][transport][order]") {
    Bench bench;
    bench.packet(Operation::send_only, 1000);
    bench.packet(Operation::fetch_add, 0);
    bench.settle();

    const auto sent = placements(bench.a).at(0);
    for (const auto& access : bench.a.dma.log())
        if (access.address == bench.target.address)
            CHECK(access.at >= sent);
    CHECK(std::ranges::is_sorted(placements(bench.a)));
}

TEST_CASE("a message takes longer the longer it is", "[unit][transport][order]") {
    // Of both sides: when software is told. MTU 1024, so that the lengths have one packet and more.
    for (const auto opcode : {WqeOpcode::send, WqeOpcode::rdma_read}) {
        Time before{};
        for (const std::uint32_t length : {1u, 512u, 1024u, 1025u, 1536u, 2048u, 3000u, 4096u, 9000u, 16384u}) {
            model::net::LinkConfig cable;
            HcaPair pair(cable, {});
            pair.connect();
            pair.a.dma.set_latency(memory_latency), pair.b.dma.set_latency(memory_latency);
            const auto from = pair.a.make_region(16384, 1), to = pair.b.make_region(16384, 2);
            pair.b.post_receive(pair.b_qp, {to.sge()});
            pair.send({.opcode = opcode, .sges = {from.sge(0, length)}, .remote = to.address, .rkey = to.key});
            pair.run();

            const auto& receiver = opcode == WqeOpcode::send ? pair.b : pair.a;
            const auto all = completions(receiver);
            REQUIRE(all.size() == 1);
            INFO((opcode == WqeOpcode::send ? "SEND of " : "READ of ") << length << " bytes");
            CHECK(all[0] >= before);
            CHECK(all[0] >= std::ranges::max(placements(receiver)) + memory_latency);
            if (opcode == WqeOpcode::send)
                CHECK(completions(pair.a).at(0) >= std::ranges::max(placements(receiver)) + memory_latency);
            before = all[0];
        }
    }
}

TEST_CASE("receives of an unreliable service complete in the order in which they were taken",
          "[unit][uc][datagram][order]") {
    for (const auto type : {QpType::uc, QpType::ud}) {
        HcaPair pair(HcaPair::clean(), {});
        pair.remake([type](auto& attributes) { attributes.type = type; });
        pair.connect();
        const auto to = pair.b.make_region(4096);
        // The first has its bytes spread over elements, each a write of its own.
        pair.b.post_receive(pair.b_qp, {to.sge(0, 10), to.sge(10, 10), to.sge(20, 2000)});
        pair.b.post_receive(pair.b_qp, {to.sge(2048, 2000)});
        pair.b.dma.set_latency(memory_latency);
        for (std::uint32_t i = 0; i < 2; ++i) {
            model::port::Packet packet;
            packet.path = reversed(pair.b.core(pair.b_qp).path);
            packet.rdma().service = type == QpType::uc ? abi::wire::Service::uc : abi::wire::Service::ud;
            packet.rdma().operation = Operation::send_only;
            packet.rdma().destination = pair.b_qp.number;
            packet.rdma().psn = abi::Psn{100 + i};
            packet.payload.append_copy(std::vector<std::byte>(1000));
            pair.b.hca.receive(packet, pair.clock.now());
            pair.b.dma.set_latency(memory_latency / 7); // the second goes to memory that is nearer
        }

        INFO((type == QpType::uc ? "UC" : "UD"));
        CHECK(std::ranges::is_sorted(placements(pair.b)));
        const auto done = placements(pair.b, Purpose::control);
        REQUIRE(done.size() == 2);
        CHECK(done[1] >= done[0]);
    }
}
