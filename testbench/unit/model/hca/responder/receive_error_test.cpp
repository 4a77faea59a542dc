// SENDs that cannot be placed: what the receiver's software, the sender's software and the wire see of it.
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using model::hca::queue::QpState;
using model::hca::tpt::Violation;
using model::port::DmaStatus;
namespace vendor = model::hca::responder::vendor;

namespace {

struct Bench : HcaPair {
    Bench() { connect(); }
    Region source = a.make_region(8192, 1), target = b.make_region(8192);
    abi::Key bad_key{0x7f0000, 0};

    void post_receive(const std::vector<Post::Sge>& sges) { b.post_receive(b_qp, sges); }
    /// A good SEND, one of `length` bytes that fails, and one more; receives: a good one, the faulty one, and one more.
    void provoke(std::uint32_t length, const std::vector<Post::Sge>& faulty) {
        post_receive({target.sge(8000, 100)});
        post_receive(faulty);
        post_receive({target.sge(8000, 100)});
        a.post(a_qp, {.opcode = WqeOpcode::send, .sges = {source.sge(0, 1)}});
        a.post(a_qp, {.opcode = WqeOpcode::send, .sges = {source.sge(0, length)}});
        a.post(a_qp, {.opcode = WqeOpcode::send, .sges = {source.sge(0, 1)}, .signalled = false});
        ring();
    }
    void check(CqeSyndrome receiver, unsigned vendor_code, CqeSyndrome sender) {
        const auto received = b.drain(b_cq);
        REQUIRE(received.size() == 3);
        CHECK(received[0].is_ok());
        CHECK(received[1].opcode == CqeOpcode::resp_err);
        CHECK(received[1].syndrome == receiver);
        CHECK(received[1].vendor == vendor_code);
        CHECK(received[1].index == 1);
        CHECK(received[2].opcode == CqeOpcode::resp_err);
        CHECK(received[2].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(received[2].index == 2);
        const auto sent = a.drain(a_cq);
        REQUIRE(sent.size() == 3);
        CHECK(sent[0].is_ok());
        CHECK(sent[1].opcode == CqeOpcode::req_err);
        CHECK(sent[1].syndrome == sender);
        CHECK(sent[1].index == 1);
        CHECK(sent[2].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(a.core(a_qp).state == QpState::err);
        CHECK(b.core(b_qp).state == QpState::err);
        // Both sides learn it from their completions.
        CHECK(a.drain_events().empty());
        CHECK(b.drain_events().empty());
        CHECK(b.q_counters().resp_cqe_error == 1);
        CHECK(b.q_counters().resp_cqe_flush_error == 1);
        CHECK(b.has_guards(target));
        CHECK(b.hca.counters().naks_sent == 1);
    }
};

} // namespace

TEST_CASE("a message longer than its receive is a local length error here and an invalid request there",
          "[unit][transport][receive]") {
    for (const std::uint32_t room : {0u, 1u, 99u, 1023u, 1024u, 1025u, 2999u}) {
        Bench bench;
        INFO("room " << room);
        bench.provoke(3000, room == 0 ? std::vector<Post::Sge>{} : std::vector{bench.target.sge(0, room)});

        bench.check(CqeSyndrome::local_length_err, vendor::too_long, CqeSyndrome::remote_inval_req_err);
        CHECK(bench.b.q_counters().resp_local_length_error == 1);
        CHECK(bench.a.q_counters().req_remote_invalid_request == 1);
        CHECK(bench.b.bytes(bench.target, room, 3000) == std::vector<std::byte>(3000));
    }
}

TEST_CASE("a receive of several segments is too short by its sum", "[unit][transport][receive]") {
    Bench bench;
    bench.provoke(300, {bench.target.sge(0, 100), bench.target.sge(200, 100), bench.target.sge(400, 99)});
    bench.check(CqeSyndrome::local_length_err, vendor::too_long, CqeSyndrome::remote_inval_req_err);
}

TEST_CASE("what stands behind a terminator is not used", "[unit][transport][receive]") {
    Bench bench;
    bench.provoke(300, {bench.target.sge(0, 100), {0, 0, abi::Key{0x100}}, bench.target.sge(200, 1000)});
    bench.check(CqeSyndrome::local_length_err, vendor::too_long, CqeSyndrome::remote_inval_req_err);
}

TEST_CASE("a receive with a key that is not allowed is a local protection error here and an operational error there",
          "[unit][transport][receive]") {
    Bench bench;
    SECTION("in its first segment") { bench.provoke(300, {{bench.target.address, 300, bench.bad_key}}); }
    SECTION("in its second segment") {
        bench.provoke(3000, {bench.target.sge(0, 1500), {bench.target.address, 3000, bench.bad_key}});
    }
    bench.check(CqeSyndrome::local_prot_err, vendor::translation + static_cast<unsigned>(Violation::no_such_key),
                CqeSyndrome::remote_op_err);
    CHECK(bench.b.q_counters().resp_local_protection == 1);
    CHECK(bench.a.q_counters().req_remote_operation_errors == 1);
}

TEST_CASE("a receive into memory without the right to write is a local protection error",
          "[unit][transport][receive]") {
    Bench bench;
    const auto locked = bench.b.make_region(300, 5, {true, false, true, true, true});
    const auto before = bench.b.bytes(locked);
    bench.provoke(300, {locked.sge()});
    bench.check(CqeSyndrome::local_prot_err, vendor::translation + static_cast<unsigned>(Violation::no_right),
                CqeSyndrome::remote_op_err);
    CHECK(bench.b.bytes(locked) == before);
}

TEST_CASE("a receive whose segment leaves its region is a local protection error when the message gets there",
          "[unit][transport][receive]") {
    Bench bench;
    bench.provoke(193, {{bench.target.address + 8000, 1000, bench.target.key}});
    bench.check(CqeSyndrome::local_prot_err, vendor::translation + static_cast<unsigned>(Violation::out_of_bounds),
                CqeSyndrome::remote_op_err);
    Bench fits;
    fits.post_receive({{fits.target.address + 8000, 1000, fits.target.key}});
    fits.send({.opcode = WqeOpcode::send, .sges = {fits.source.sge(0, 192)}});
    CHECK(fits.b.drain(fits.b_cq).size() == 1);
    CHECK(fits.b.core(fits.b_qp).state == QpState::rts);
}

TEST_CASE("memory that does not take the message is a local access error", "[unit][transport][receive]") {
    for (const auto status : {DmaStatus::unsupported_request, DmaStatus::completer_abort, DmaStatus::timeout}) {
        Bench bench;
        bench.b.dma.fail(bench.target.address + 50, bench.target.address + 51, status);
        bench.provoke(300, {bench.target.sge(0, 300)});
        bench.check(CqeSyndrome::local_access_err, vendor::bus + static_cast<unsigned>(status),
                    CqeSyndrome::remote_op_err);
        CHECK(bench.b.q_counters().resp_local_qp_error == 1);
    }
}

TEST_CASE("a receive WQE that memory does not give is a local operation error", "[unit][transport][receive]") {
    Bench bench;
    const auto wqe = bench.b_qp.buffer + 64;
    bench.b.dma.fail(wqe, wqe + 1, DmaStatus::unsupported_request);
    bench.provoke(300, {bench.target.sge(0, 300)});
    bench.check(CqeSyndrome::local_qp_op_err, vendor::wqe, CqeSyndrome::remote_op_err);
}

TEST_CASE("a WRITE with immediate that is refused leaves its receive flushed, in order", "[unit][transport][receive]") {
    Bench bench;
    bench.post_receive({});
    bench.post_receive({});
    bench.b.dma.fail(bench.target.address, bench.target.address + 8, DmaStatus::unsupported_request);
    bench.send({.opcode = WqeOpcode::rdma_write_imm,
                .sges = {bench.source.sge(0, 8)},
                .remote = bench.target.address,
                .rkey = bench.target.key});

    const auto received = bench.b.drain(bench.b_cq);
    REQUIRE(received.size() == 2);
    for (std::uint16_t i = 0; i < 2; ++i) {
        CHECK(received[i].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(received[i].index == i);
    }
    const auto sent = bench.a.drain(bench.a_cq);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].syndrome == CqeSyndrome::remote_op_err);
}

TEST_CASE("a remote error of every kind reaches the requester's completion and both states", "[unit][transport][nak]") {
    struct Row {
        Post wr;
        CqeSyndrome syndrome;
    };
    Bench probe;
    const auto key = probe.target.key;
    const auto address = probe.target.address;
    for (const auto& row : std::vector<Row>{
             {{.sges = {{0, 8, {}}}, .remote = address, .rkey = probe.bad_key}, CqeSyndrome::remote_access_err},
             {{.opcode = WqeOpcode::rdma_read, .sges = {{0, 8, {}}}, .remote = address + 8190, .rkey = key},
              CqeSyndrome::remote_access_err},
             {{.opcode = WqeOpcode::atomic_cs, .sges = {{0, 8, {}}}, .remote = address, .rkey = probe.bad_key},
              CqeSyndrome::remote_access_err},
             {{.opcode = WqeOpcode::atomic_fa, .sges = {{0, 8, {}}}, .remote = address + 4, .rkey = key},
              CqeSyndrome::remote_inval_req_err}}) {
        Bench bench;
        auto wr = row.wr;
        wr.sges = {bench.source.sge(0, 8)};
        bench.a.post(bench.a_qp, wr);
        bench.a.post(bench.a_qp,
                     {.sges = {bench.source.sge(0, 8)}, .remote = bench.target.address, .rkey = bench.target.key});
        bench.ring();

        const auto done = bench.a.drain(bench.a_cq);
        REQUIRE(done.size() == 2);
        CHECK(done[0].syndrome == row.syndrome);
        CHECK(done[1].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(bench.a.core(bench.a_qp).state == QpState::err);
        CHECK(bench.b.core(bench.b_qp).state == QpState::err);
        CHECK(bench.a.drain_events().empty());
        CHECK(bench.b.drain_events().size() == 1);
        CHECK(bench.b.bytes(bench.target) == std::vector<std::byte>(8192));
    }
}
