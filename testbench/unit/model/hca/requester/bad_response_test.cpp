// Answers that no working responder sends: each fails the message, or is dropped, and never does harm.
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

#include <tuple>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using abi::wire::NakCode;
using abi::wire::Operation;
using model::hca::queue::QpState;
namespace vendor = model::hca::completion::vendor;

namespace {

constexpr std::uint8_t good = abi::wire::ack_syndrome();

struct Bench : OneHca {
    Region local = a.make_region(8192, 1);
    std::vector<std::byte> before = a.bytes(local);

    void read(std::uint32_t length) {
        send({.opcode = WqeOpcode::rdma_read, .sges = {local.sge(0, length)}, .remote = 0x1000, .rkey = abi::Key{1}});
    }
    void atomic() {
        send({.opcode = WqeOpcode::atomic_fa, .sges = {local.sge(0, 8)}, .remote = 0x1000, .rkey = abi::Key{1}});
    }
    void write(std::uint32_t length) { send({.sges = {local.sge(0, length)}, .remote = 0x1000, .rkey = abi::Key{1}}); }

    /// The oldest message failed with `syndrome`, the others were flushed, and no memory behind `length` changed.
    void check_failed(CqeSyndrome syndrome, std::uint8_t vendor_code, std::uint32_t length = 0,
                      std::size_t flushed = 0) {
        const auto done = a.drain(cq);
        REQUIRE(done.size() == 1 + flushed);
        CHECK(done[0].opcode == CqeOpcode::req_err);
        CHECK(done[0].syndrome == syndrome);
        CHECK(done[0].vendor == vendor_code);
        for (std::size_t i = 1; i < done.size(); ++i)
            CHECK(done[i].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(core().state == QpState::err);
        CHECK(a.bytes(local, length, 8192 - length) == std::vector(before.begin() + length, before.end()));
        CHECK(a.has_guards(local));
        CHECK(a.drain_events().empty());
    }
    void check_dropped() {
        CHECK(a.drain(cq).empty());
        CHECK(core().state == QpState::rts);
        CHECK(a.bytes(local) == before);
    }
};

} // namespace

TEST_CASE("a READ response of the wrong length is a bad response", "[unit][transport][bad]") {
    struct Wrong {
        Operation operation;
        std::size_t payload;
    };
    for (const auto& [operation, payload] : {Wrong{Operation::read_response_first, 1023},
                                             {Operation::read_response_first, 1025},
                                             {Operation::read_response_first, 0},
                                             {Operation::read_response_first, 2048},
                                             {Operation::read_response_only, 1024},
                                             {Operation::read_response_only, 1500},
                                             {Operation::read_response_last, 1024},
                                             {Operation::read_response_middle, 476}}) {
        Bench bench;
        bench.read(1500);
        bench.write(1);
        INFO(abi::wire::traits(operation).name << " with " << payload);

        bench.receive(operation, 100, payload);

        bench.check_failed(CqeSyndrome::bad_resp_err, vendor::response, 0, 1);
        CHECK(bench.a.q_counters().req_bad_response == 1);
    }
}

TEST_CASE("a READ response that does not begin with its first packet is a bad response", "[unit][transport][bad]") {
    for (const auto& [operation, payload, length] :
         {std::tuple{Operation::read_response_middle, 1024u, 1500u}, {Operation::read_response_last, 100u, 100u}}) {
        Bench bench;
        bench.read(length);
        INFO(abi::wire::traits(operation).name);

        bench.receive(operation, 100, payload);

        bench.check_failed(CqeSyndrome::bad_resp_err, vendor::response);
    }
}

TEST_CASE("a READ's last response of the wrong length or kind is a bad response", "[unit][transport][bad]") {
    struct Wrong {
        Operation operation;
        std::size_t payload;
    };
    for (const auto& [operation, payload] : {Wrong{Operation::read_response_last, 475},
                                             {Operation::read_response_last, 477},
                                             {Operation::read_response_last, 1024},
                                             {Operation::read_response_middle, 476},
                                             {Operation::read_response_middle, 1024}}) {
        Bench bench;
        bench.read(1500);
        bench.receive(Operation::read_response_first, 100, 1024);

        bench.receive(operation, 101, payload);

        INFO(abi::wire::traits(operation).name << " with " << payload);
        bench.check_failed(CqeSyndrome::bad_resp_err, vendor::response, 1024);
    }
}

TEST_CASE("an answer of another kind than the request is a bad response", "[unit][transport][bad]") {
    SECTION("an atomic's answer to a READ") {
        Bench bench;
        bench.read(8);
        bench.receive(Operation::atomic_acknowledge, 100);
        bench.check_failed(CqeSyndrome::bad_resp_err, vendor::response);
    }
    SECTION("a READ response to an atomic") {
        Bench bench;
        bench.atomic();
        bench.receive(Operation::read_response_only, 100, 8);
        bench.check_failed(CqeSyndrome::bad_resp_err, vendor::response);
    }
}

TEST_CASE("data that come with a NAK are a bad response", "[unit][transport][bad]") {
    const auto refuse = [](std::uint8_t syndrome) {
        return [syndrome](model::port::Packet& packet) { packet.rdma().aeth.syndrome = syndrome; };
    };
    for (const auto syndrome :
         {abi::wire::nak_syndrome(NakCode::remote_access_error), abi::wire::nak_syndrome(NakCode::psn_sequence_error),
          abi::wire::rnr_syndrome(1), std::uint8_t{0x40}}) {
        INFO("syndrome " << unsigned{syndrome});
        for (const auto& [operation, length, payload] :
             {std::tuple{Operation::read_response_only, 100u, 100u}, {Operation::read_response_first, 1500u, 1024u}}) {
            Bench bench;
            bench.read(length);
            bench.write(1);
            INFO(abi::wire::traits(operation).name);

            bench.receive(operation, 100, payload, refuse(syndrome));

            bench.check_failed(CqeSyndrome::bad_resp_err, vendor::response, 0, 1);
            CHECK(bench.a.q_counters().req_bad_response == 1);
        }
        Bench last;
        last.read(1500);
        last.receive(Operation::read_response_first, 100, 1024);
        last.receive(Operation::read_response_last, 101, 476, refuse(syndrome));
        last.check_failed(CqeSyndrome::bad_resp_err, vendor::response, 1024);

        Bench atomic;
        atomic.atomic();
        atomic.receive(Operation::atomic_acknowledge, 100, 0, refuse(syndrome));
        atomic.check_failed(CqeSyndrome::bad_resp_err, vendor::response);
    }
}

TEST_CASE("a response in the middle of a READ has no AETH, and any credits come with an ACK", "[unit][transport]") {
    Bench bench;
    bench.read(2500);
    const auto with = [](std::uint8_t syndrome) {
        return [syndrome](model::port::Packet& packet) { packet.rdma().aeth.syndrome = syndrome; };
    };

    bench.receive(Operation::read_response_first, 100, 1024, with(abi::wire::ack_syndrome(5)));
    bench.receive(Operation::read_response_middle, 101, 1024, with(0x61)); // which is not on the wire
    bench.receive(Operation::read_response_last, 102, 452, with(abi::wire::ack_syndrome(0)));

    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].opcode == CqeOpcode::req);
}

TEST_CASE("data for a message that asked for none is dropped", "[unit][transport][bad]") {
    Bench bench;
    bench.write(3000);

    for (const auto operation : {Operation::read_response_only, Operation::read_response_first,
                                 Operation::read_response_middle, Operation::read_response_last})
        for (const std::uint32_t psn : {100u, 101u, 102u})
            bench.receive(operation, psn, 1024);
    bench.receive(Operation::atomic_acknowledge, 100);

    bench.check_dropped();
    bench.answer(102, good);
    CHECK(bench.a.drain(bench.cq).size() == 1);
}

TEST_CASE("an answer to no request at all is dropped", "[unit][transport][bad]") {
    Bench bench;
    bench.read(2000);

    for (const std::uint32_t psn : {99u, 102u, 103u, 0x800064u, 0xffffffu}) {
        bench.receive(Operation::read_response_only, psn, 1024);
        bench.receive(Operation::atomic_acknowledge, psn);
        bench.answer(psn, good);
        for (unsigned code = 0; code < 6; ++code)
            bench.answer(psn, static_cast<std::uint8_t>(0x60 | code));
        bench.answer(psn, 0x21);
    }

    bench.check_dropped();
    CHECK(bench.a.hca.counters().retries == 0);
}

TEST_CASE("a READ response that comes twice is taken once", "[unit][transport][bad]") {
    Bench bench;
    bench.read(2500);
    const auto respond = [&](Operation operation, std::uint32_t psn, std::size_t length) {
        bench.receive(operation, psn, length);
        const auto first = bench.a.bytes(bench.local);
        bench.receive(operation, psn, length, [](auto& packet) {
            packet.payload.clear(), packet.payload.append_copy(std::vector(1024, std::byte{0xff}));
        });
        CHECK(bench.a.bytes(bench.local) == first);
    };
    respond(Operation::read_response_first, 100, 1024);
    respond(Operation::read_response_middle, 101, 1024);
    bench.receive(Operation::read_response_last, 102, 452);
    bench.receive(Operation::read_response_last, 102, 452);

    CHECK(bench.a.drain(bench.cq).size() == 1);
    CHECK(bench.core().state == QpState::rts);
}

TEST_CASE("reserved NAK codes are a bad response, reserved syndromes are dropped", "[unit][transport][bad]") {
    for (unsigned code = 4; code < 32; ++code) {
        Bench bench;
        bench.write(10);
        bench.answer(100, static_cast<std::uint8_t>(0x60 | code));
        INFO("NAK code " << code);
        bench.check_failed(CqeSyndrome::bad_resp_err, static_cast<std::uint8_t>(vendor::nak + code));
        CHECK(bench.a.q_counters().req_bad_response == 1);
    }
    Bench bench;
    bench.write(10);
    for (unsigned value = 0; value < 32; ++value)
        bench.answer(100, static_cast<std::uint8_t>(0x40 | value));
    bench.check_dropped();
}

TEST_CASE("each NAK code fails the message it names, after those before it completed", "[unit][transport][nak]") {
    struct Row {
        NakCode code;
        CqeSyndrome syndrome;
        std::uint32_t model::hca::QCounters::* counter;
    };
    using Q = model::hca::QCounters;
    for (const auto& row :
         {Row{NakCode::invalid_request, CqeSyndrome::remote_inval_req_err, &Q::req_remote_invalid_request},
          {NakCode::remote_access_error, CqeSyndrome::remote_access_err, &Q::req_remote_access_errors},
          {NakCode::remote_operational_error, CqeSyndrome::remote_op_err, &Q::req_remote_operation_errors}}) {
        Bench bench;
        const auto target = bench.a.make_region(64);
        bench.a.post_receive(bench.qp, {target.sge()});
        bench.write(10);
        bench.write(3000);
        bench.write(10);

        bench.answer(102, abi::wire::nak_syndrome(row.code));

        const auto done = bench.a.drain(bench.cq);
        REQUIRE(done.size() == 4);
        CHECK(done[0].is_ok());
        CHECK(done[1].syndrome == row.syndrome);
        CHECK(done[1].vendor == vendor::nak + static_cast<unsigned>(row.code));
        CHECK(done[1].index == 1);
        CHECK(done[2].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(done[2].index == 2);
        CHECK(done[3].opcode == CqeOpcode::resp_err);
        CHECK(done[3].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(bench.core().state == QpState::err);
        CHECK(bench.a.q_counters().*row.counter == 1);
        CHECK(bench.a.drain_events().empty());
        CHECK(bench.a.hca.counters().retries == 0);
    }
}

TEST_CASE("a packet with another P_Key, service, destination or a reserved operation is dropped before it is looked at",
          "[unit][transport][bad]") {
    Bench bench;
    bench.read(10);
    const auto respond = [&](auto&& change) { bench.receive(Operation::read_response_only, 100, 10, change); };

    respond([](auto& packet) { packet.rdma().pkey = 0x1234; });
    respond([](auto& packet) { packet.rdma().pkey = 0x0000; });
    respond([](auto& packet) { packet.rdma().service = abi::wire::Service::uc; });
    respond([](auto& packet) { packet.rdma().service = abi::wire::Service::ud; });
    respond([](auto& packet) { packet.rdma().destination = abi::Qpn{1}; });
    respond([](auto& packet) { packet.rdma().destination = abi::Qpn{0xffffff}; });
    for (const unsigned reserved : {0x15u, 0x18u, 0x1fu})
        respond(
            [&](auto& packet) { packet.rdma().operation = static_cast<Operation>(reserved), packet.payload.clear(); });

    bench.check_dropped();
    CHECK(bench.a.hca.counters().packets_dropped == 9);
    respond([](auto& packet) { packet.rdma().pkey = 0x7fff; }); // a limited member of the same partition
    CHECK(bench.a.drain(bench.cq).size() == 1);
}
