// What goes wrong on the requester's own side: keys, bounds, memory, lengths. Each is told in the completion, after
// everything before it, and the queue is flushed behind it.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using abi::wire::Operation;
using model::hca::queue::QpState;
using model::hca::tpt::Violation;
using model::port::DmaStatus;
namespace vendor = model::hca::completion::vendor;

namespace {

struct Bench : HcaPair {
    Bench() { connect(); }
    Region local = a.make_region(8192, 1), remote = b.make_region(8192, 2);
    std::vector<std::byte> local_before = a.bytes(local), remote_before = b.bytes(remote);

    Post write(const Post::Sge& sge) const { return {.sges = {sge}, .remote = remote.address, .rkey = remote.key}; }
    Post read(const Post::Sge& sge) const {
        return {.opcode = WqeOpcode::rdma_read, .sges = {sge}, .remote = remote.address, .rkey = remote.key};
    }

    /// Posts a good WRITE, the faulty request and two more behind it.
    void provoke(const Post& faulty) {
        a.post_receive(a_qp, {local.sge()});
        a.post(a_qp, {.sges = {local.sge(0, 1)}, .remote = remote.address + 8000, .rkey = remote.key});
        a.post(a_qp, faulty);
        a.post(a_qp, {.opcode = WqeOpcode::nop, .signalled = false});
        a.post(a_qp, write(local.sge(0, 1)));
        ring();
    }
    void check(CqeSyndrome syndrome, unsigned vendor_code) {
        const auto done = a.drain(a_cq);
        REQUIRE(done.size() == 5);
        CHECK(done[0].is_ok());
        CHECK(done[1].opcode == CqeOpcode::req_err);
        CHECK(done[1].syndrome == syndrome);
        CHECK(done[1].vendor == vendor_code);
        CHECK(done[1].index == 1);
        for (std::uint16_t i = 2; i < 4; ++i) {
            CHECK(done[i].opcode == CqeOpcode::req_err);
            CHECK(done[i].syndrome == CqeSyndrome::wr_flush_err);
            CHECK(done[i].index == i);
        }
        CHECK(done[4].opcode == CqeOpcode::resp_err);
        CHECK(done[4].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(done[4].index == 0);
        CHECK(a.core(a_qp).state == QpState::err);
        CHECK(a.drain_events().empty());
        CHECK(a.q_counters().req_cqe_error == 1);
        CHECK(a.q_counters().req_cqe_flush_error == 2);
        CHECK(a.q_counters().resp_cqe_flush_error == 1);
        // The peer knows nothing of it.
        CHECK(b.core(b_qp).state == QpState::rts);
        CHECK(b.drain(b_cq).empty());
        CHECK(a.bytes(local) == local_before);
        CHECK(a.has_guards(local));
        CHECK(b.has_guards(remote));
    }
    void check_protection(Violation violation) {
        check(CqeSyndrome::local_prot_err, vendor::translation + static_cast<unsigned>(violation));
        CHECK(a.q_counters().req_local_protection == 1);
        CHECK(b.bytes(remote, 0, 8000) == std::vector(remote_before.begin(), remote_before.begin() + 8000));
    }
};

} // namespace

TEST_CASE("every violation of a local key is a local protection error", "[unit][transport][local]") {
    Bench bench;
    auto sge = bench.local.sge(0, 100);
    const auto index = sge.key.index();
    auto& mkey = *bench.a.hca.mkeys().find(index);
    SECTION("no such key") {
        sge.key = abi::Key{0x7f0000, 0};
        bench.provoke(bench.write(sge));
        bench.check_protection(Violation::no_such_key);
    }
    SECTION("wrong variant") {
        sge.key = abi::Key{index, 0x11};
        bench.provoke(bench.write(sge));
        bench.check_protection(Violation::wrong_variant);
    }
    SECTION("another protection domain") {
        const auto other = bench.a.make_region(100, 1);
        bench.a.hca.mkeys().find(other.key.index())->attributes.pd = abi::Pd{99};
        bench.provoke(bench.write(other.sge()));
        bench.check_protection(Violation::wrong_pd);
    }
    SECTION("free key") {
        const auto other = bench.a.make_region(100, 1);
        bench.a.hca.mkeys().find(other.key.index())->attributes.is_free = true;
        bench.provoke(bench.write(other.sge()));
        bench.check_protection(Violation::key_is_free);
    }
    SECTION("bound to another queue pair") {
        const auto other = bench.a.make_region(100, 1);
        bench.a.hca.mkeys().find(other.key.index())->attributes.qpn = bench.a_qp.number.value + 1;
        bench.provoke(bench.write(other.sge()));
        bench.check_protection(Violation::wrong_queue_pair);
    }
    SECTION("one byte beyond") {
        bench.provoke(bench.write({bench.local.address + 1, 8192, sge.key}));
        // The first seven packets were fine and are there; the one that leaves the region is not.
        const auto done = bench.a.drain(bench.a_cq);
        REQUIRE(done.size() == 5);
        CHECK(done[1].syndrome == CqeSyndrome::local_prot_err);
        CHECK(done[1].vendor == vendor::translation + static_cast<unsigned>(Violation::out_of_bounds));
        CHECK(bench.b.bytes(bench.remote, 7168, 832) ==
              std::vector(bench.remote_before.begin() + 7168, bench.remote_before.begin() + 8000));
    }
    SECTION("one byte before") {
        bench.provoke(bench.write({bench.local.address - 1, 2, sge.key}));
        bench.check_protection(Violation::out_of_bounds);
    }
    SECTION("page not there") {
        mkey.mtt.resize(1);
        bench.provoke(bench.write(bench.local.sge(0x1000, 100)));
        bench.check_protection(Violation::page_not_present);
    }
    SECTION("a READ into memory without the right to write") {
        const auto other = bench.a.make_region(100, 9, {true, false, true, true, true});
        const auto before = bench.a.bytes(other);
        bench.provoke(bench.read(other.sge())); // found out when the answer comes: the WRITE behind it has gone
        bench.check(CqeSyndrome::local_prot_err, vendor::translation + static_cast<unsigned>(Violation::no_right));
        CHECK(bench.a.bytes(other) == before);
        CHECK(bench.a.q_counters().req_local_protection == 1);
    }
    SECTION("a second segment that is wrong") {
        bench.provoke({.sges = {sge, {0x1234, 10, abi::Key{0x7f0000, 0}}},
                       .remote = bench.remote.address,
                       .rkey = bench.remote.key});
        bench.check_protection(Violation::no_such_key);
    }
}

TEST_CASE("memory that does not answer is a local operation error", "[unit][transport][local]") {
    for (const auto status : {DmaStatus::unsupported_request, DmaStatus::completer_abort, DmaStatus::timeout}) {
        Bench bench;
        bench.a.dma.fail(bench.local.address + 200, bench.local.address + 201, status);
        bench.provoke(bench.write(bench.local.sge(150, 100)));
        bench.check(CqeSyndrome::local_qp_op_err, vendor::bus + static_cast<unsigned>(status));
        CHECK(bench.a.q_counters().local_operation_error == 1);
    }
}

TEST_CASE("memory that does not take a READ's data is a local operation error", "[unit][transport][local]") {
    Bench bench;
    bench.a.dma.fail(bench.local.address + 200, bench.local.address + 201, DmaStatus::unsupported_request);
    bench.provoke(bench.read(bench.local.sge(150, 100)));
    bench.check(CqeSyndrome::local_qp_op_err, vendor::bus + static_cast<unsigned>(DmaStatus::unsupported_request));
    CHECK(bench.a.q_counters().local_operation_error == 1);
    CHECK(bench.a.q_counters().req_local_protection == 0);
}

TEST_CASE("a message longer than the device's limit is a local length error", "[unit][transport][local]") {
    Bench bench;
    bench.provoke(bench.write({bench.local.address, (1u << 30) + 1, bench.local.key}));
    bench.check(CqeSyndrome::local_length_err, vendor::length);
    CHECK(bench.a.q_counters().req_local_length_error == 1);
}

TEST_CASE("a message longer than the queue pair's limit is a local length error", "[unit][transport][local]") {
    Bench bench;
    auto attributes = bench.a.core(bench.a_qp).attributes;
    attributes.log_message_max = 6;
    bench.a.hca.modify_qp(bench.a.core(bench.a_qp), attributes, QpState::rts, bench.clock.now());
    bench.a.post(bench.a_qp, bench.write(bench.local.sge(0, 64)));
    bench.a.post(bench.a_qp, bench.write(bench.local.sge(0, 65)));

    bench.ring();

    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 2);
    CHECK(done[0].is_ok());
    CHECK(done[1].syndrome == CqeSyndrome::local_length_err);
}

TEST_CASE("an atomic whose buffer is not 8 bytes is a local length error", "[unit][transport][local]") {
    for (const std::uint32_t length : {0u, 1u, 7u, 9u, 16u}) {
        Bench bench;
        Post wr{.opcode = WqeOpcode::atomic_fa, .remote = bench.remote.address, .rkey = bench.remote.key};
        if (length != 0)
            wr.sges = {bench.local.sge(0, length)};
        bench.provoke(wr);
        INFO("length " << length);
        bench.check(CqeSyndrome::local_length_err, vendor::length);
    }
}

TEST_CASE("an unsignalled request that fails completes all the same", "[unit][transport][local]") {
    Bench bench;
    auto wr = bench.write({0, 10, abi::Key{0x7f0000, 0}});
    wr.signalled = false;
    bench.provoke(wr);
    bench.check_protection(Violation::no_such_key);
}

TEST_CASE("a WQE that changes before it is sent again fails instead of sending something else",
          "[unit][transport][local]") {
    OneHca bench;
    const auto source = bench.a.make_region(100, 1);
    bench.send({.sges = {source.sge(0, 50)}, .remote = 1, .rkey = abi::Key{1}});
    bench.send({.sges = {source.sge(0, 50)}, .remote = 1, .rkey = abi::Key{1}}); // so that the first is read again
    bench.peer.take();
    const auto changed =
        Node::encode({.sges = {source.sge(0, 60)}, .remote = 1, .rkey = abi::Key{1}}, bench.qp.number, 0);
    bench.a.dma.poke(bench.a.sq_address(bench.qp, 0), changed);

    bench.answer(100, abi::wire::nak_syndrome(abi::wire::NakCode::psn_sequence_error));

    CHECK(bench.peer.take().empty());
    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 2);
    CHECK(done[0].syndrome == CqeSyndrome::local_qp_op_err);
    CHECK(done[1].syndrome == CqeSyndrome::wr_flush_err);
}

TEST_CASE("a local error behind a message that is never answered waits for its end", "[unit][transport][local]") {
    OneHca bench([](auto& attributes) { attributes.retry_count = 0; });
    const auto source = bench.a.make_region(100, 1);
    bench.send({.sges = {source.sge(0, 50)}, .remote = 1, .rkey = abi::Key{1}});
    bench.send({.sges = {{0, 50, abi::Key{0x7f0000, 0}}}, .remote = 1, .rkey = abi::Key{1}});
    CHECK(bench.a.drain(bench.cq).empty());

    bench.run(1s);

    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 2);
    CHECK(done[0].syndrome == CqeSyndrome::transport_retry_exc_err);
    CHECK(done[1].syndrome == CqeSyndrome::wr_flush_err);
}
