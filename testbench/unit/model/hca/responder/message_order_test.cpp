// First, middle and last packets: every packet that may not follow another, and gaps in the sequence.
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::EventType;
using abi::wire::NakCode;
using abi::wire::Operation;
using abi::wire::OperationTraits;
using model::hca::queue::QpState;

namespace {

struct Bench : OneHca {
    Bench() { a.post_receive(qp, {own.sge()}); }
    Region own = a.make_region(8192), target = a.make_region(8192);
    std::uint32_t next = peer_psn;

    void packet(Operation operation, std::size_t length) {
        receive(operation, next++, length, [&](model::port::Packet& p) {
            p.rdma().reth = {.address = target.address,
                             .rkey = target.key,
                             .length = abi::wire::traits(operation).is_first && !abi::wire::traits(operation).is_last
                                           ? 4096u
                                           : static_cast<std::uint32_t>(length)};
            p.rdma().atomic = {.address = target.address, .rkey = target.key};
            p.rdma().ack_request = abi::wire::traits(operation).is_last;
        });
    }
};

std::vector<Operation> all_requests() {
    std::vector<Operation> all;
    for (unsigned code = 0; code < 32; ++code)
        if (abi::wire::operations[code].is_request() && !abi::wire::operations[code].has_invalidate)
            all.push_back(static_cast<Operation>(code));
    return all;
}
std::size_t natural_length(Operation operation) {
    const auto& traits = abi::wire::traits(operation);
    return !traits.has_payload ? 0 : traits.is_last ? 100 : 1024;
}

} // namespace

TEST_CASE("inside a message only its own kind may follow", "[unit][transport][nak]") {
    for (const auto first : {Operation::send_first, Operation::write_first})
        for (const auto second : all_requests()) {
            const auto& traits = abi::wire::traits(second);
            const bool fits = !traits.is_first && traits.kind == abi::wire::traits(first).kind;
            if (fits && traits.kind == OperationTraits::Kind::write && traits.is_last)
                continue; // a last one of another length than announced; tested elsewhere
            Bench bench;
            bench.packet(first, 1024);
            bench.packet(second, natural_length(second));

            INFO(abi::wire::traits(first).name << ", then " << traits.name);
            CHECK((bench.core().state == QpState::rts) == fits);
            const auto seen = bench.peer.take();
            if (fits) {
                CHECK(seen.size() == (traits.is_last ? 1 : 0));
                continue;
            }
            REQUIRE(seen.size() == 1);
            CHECK(seen[0].syndrome() == abi::wire::nak_syndrome(NakCode::invalid_request));
            CHECK(seen[0].psn() == OneHca::peer_psn + 1);
            CHECK(bench.a.drain_events() ==
                  std::vector{std::pair{EventType::wq_invalid_request, bench.qp.number.value}});
            const auto done = bench.a.drain(bench.cq);
            REQUIRE(done.size() == 1); // the receive, whether or not the message was using it
            CHECK(done[0].opcode == CqeOpcode::resp_err);
            CHECK(done[0].syndrome == CqeSyndrome::wr_flush_err);
        }
}

TEST_CASE("a last packet without bytes is an invalid request", "[unit][transport][nak]") {
    for (const auto first : {Operation::send_first, Operation::write_first}) {
        Bench bench;
        bench.packet(first, 1024);
        bench.packet(first == Operation::send_first ? Operation::send_last : Operation::write_last, 0);
        CHECK(bench.core().state == QpState::err);
        const auto seen = bench.peer.take();
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].syndrome() == abi::wire::nak_syndrome(NakCode::invalid_request));
    }
}

TEST_CASE("a WRITE's packets beyond its announced length are an invalid request, and stay out of memory",
          "[unit][transport][nak]") {
    Bench bench;
    for (int i = 0; i < 4; ++i)
        bench.packet(i == 0 ? Operation::write_first : Operation::write_middle, 1024);
    // 4096 bytes were announced; the fourth was not the last.
    CHECK(bench.core().state == QpState::err);
    CHECK(bench.a.bytes(bench.target, 3072, 1024) == std::vector<std::byte>(1024));
    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].psn() == OneHca::peer_psn + 3);
}

TEST_CASE("a gap is told of once, with the packet that is missing", "[unit][transport][nak]") {
    Bench bench;
    const auto send = [&](std::uint32_t psn) {
        bench.receive(Operation::write_only, psn, 8, [&](auto& p) {
            p.rdma().reth = {.address = bench.target.address, .rkey = bench.target.key, .length = 8};
        });
    };
    send(5100);
    bench.peer.take();
    for (const std::uint32_t psn : {5102u, 5103u, 5110u})
        send(psn);

    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].syndrome() == abi::wire::nak_syndrome(NakCode::psn_sequence_error));
    CHECK(seen[0].psn() == 5101);
    CHECK(seen[0].header.rdma().aeth.msn == 1);
    CHECK(bench.a.q_counters().out_of_sequence == 3);
    CHECK(bench.core().state == QpState::rts);
    // The missing one comes; the next gap is told of again.
    send(5101);
    send(5104);
    const auto again = bench.peer.take();
    REQUIRE(again.size() == 1);
    CHECK(again[0].psn() == 5102);
}

TEST_CASE("the sequence wraps at 2^24 on both sides", "[unit][transport]") {
    OneHca bench;
    auto other = bench.a.make_qp(bench.a.attributes(bench.cq));
    bench.a.connect(other, OneHca::peer_qpn, 0xffffff, 0xfffffe, bench.clock.now());
    bench.peer.target = other.number;
    const auto target = bench.a.make_region(64);
    const auto send = [&](std::uint32_t psn) {
        bench.receive(Operation::write_only, psn, 8, [&](auto& p) {
            p.rdma().reth = {.address = target.address, .rkey = target.key, .length = 8}, p.rdma().ack_request = true;
        });
        const auto seen = bench.peer.take();
        return seen.size() == 1 ? seen[0].header.rdma().aeth.syndrome << 24 | seen[0].psn() : 0;
    };
    CHECK(send(0xfffffe) == 0x1ffffffeu);
    CHECK(send(0xffffff) == 0x1fffffffu);
    CHECK(send(0x000000) == 0x1f000000u);
    CHECK(send(0xffffff) == 0x1f000000u); // a duplicate: acknowledged again, up to the newest
    CHECK(send(0x000002) == 0x60000001u); // a gap
    CHECK(send(0x000001) == 0x1f000001u);
}

TEST_CASE("the number of messages done counts messages, not packets, and wraps at 2^24", "[unit][transport]") {
    Bench bench;
    bench.core().responder.order.msn = 0xffffff;
    bench.packet(Operation::send_first, 1024);
    bench.packet(Operation::send_last, 10);
    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].header.rdma().aeth.msn == 0);
}

TEST_CASE("the first packet in RTR says that communication is established, once", "[unit][transport][event]") {
    OneHca bench;
    auto other = bench.a.make_qp(bench.a.attributes(bench.cq));
    auto& core = bench.a.core(other);
    auto attributes = core.attributes;
    harness::lead_to(attributes.path, bench.a.peer);
    for (const auto state : {QpState::init, QpState::rtr})
        bench.a.hca.modify_qp(core, attributes, state, bench.clock.now(), state == QpState::rtr);
    bench.peer.target = other.number;

    for (std::uint32_t psn = 0; psn < 3; ++psn)
        bench.receive(Operation::write_only, psn, 0);

    CHECK(bench.a.drain_events() == std::vector{std::pair{EventType::communication_established, other.number.value}});
    CHECK(core.responder.order.msn == 3);
}

TEST_CASE("before RTR packets are dropped", "[unit][transport]") {
    OneHca bench;
    auto other = bench.a.make_qp(bench.a.attributes(bench.cq));
    bench.peer.target = other.number;
    for (int i = 0; i < 2; ++i) {
        bench.receive(Operation::write_only, 0, 0, [](auto& packet) { packet.rdma().ack_request = true; });
        bench.answer(0, 0x1f);
        bench.a.modify(other, QpState::init, bench.clock.now());
    }
    CHECK(bench.peer.take().empty());
    CHECK(bench.a.core(other).responder.order.msn == 0);
}

TEST_CASE("what is written behind a READ does not change its answer, which is still under way",
          "[unit][transport][loan]") {
    const auto operation = GENERATE(Operation::write_only, Operation::send_only, Operation::fetch_add);
    INFO(abi::wire::traits(operation).name);
    Bench bench;
    const auto before = bench.a.bytes(bench.own, 0, 256);
    const auto arrives = [&](Operation what, std::uint32_t length, std::span<const std::byte> payload) {
        model::port::Packet packet;
        packet.path = bench.peer.path;
        packet.rdma().operation = what;
        packet.rdma().destination = bench.qp.number;
        packet.rdma().psn = abi::Psn{bench.next++};
        packet.rdma().pkey = 0xffff;
        packet.rdma().reth = {.address = bench.own.address, .rkey = bench.own.key, .length = length};
        packet.rdma().atomic = {.address = bench.own.address, .rkey = bench.own.key, .swap_or_add = 1};
        packet.payload.append_copy(payload);
        bench.a.hca.receive(packet, bench.clock.now());
        bench.a.hca.received_all(bench.clock.now());
    };
    const std::vector<std::byte> other(operation == Operation::fetch_add ? 0 : 64, std::byte{0xa5});

    arrives(Operation::read_request, 256, {}); // its answer stays on the cable
    arrives(operation, 64, other);
    REQUIRE(bench.a.bytes(bench.own, 0, 256) != before);
    bench.settle();

    const auto seen = bench.peer.take();
    REQUIRE_FALSE(seen.empty());
    CHECK(seen[0].operation() == Operation::read_response_only);
    CHECK(seen[0].payload == before);
}
