// On-demand paging (PRM "Page fault"): who is told what, who waits, and how it goes on.
#include "model/hca/paging/page_faults.h"
#include "testbench/unit/model/hca/paging/bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace paging_test;

namespace {
constexpr std::uint32_t length = 10000; // three pages and a bit, ten packets
} // namespace

TEST_CASE("a WRITE whose source has no page waits where it stands, and goes on when software says so",
          "[unit][paging]") {
    Bench bench;
    const auto source = bench.absent(bench.a, length, 1), target = bench.b.make_region(length);
    Bench::set_pages(bench.a, source, 1, 0, 1);
    bench.send(transfer(WqeOpcode::rdma_write, source, target));

    const auto fault = bench.only_fault(bench.a);
    REQUIRE(fault);
    CHECK(fault->subtype == PageFaultSubtype::wqe);
    CHECK(fault->type == PageFaultType::send_or_write);
    CHECK(fault->queue == bench.a_qp.number.value);
    CHECK(fault->wqe_index == 0);
    CHECK(fault->committed == 0); // the region begins at 0xdc8 of its page: not one whole packet lies in it
    CHECK(fault->packet == 1024);
    CHECK(bench.a.drain(bench.a_cq).empty());

    Bench::set_pages(bench.a, source, 1);
    bench.resume(bench.a, *fault);
    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_ok());
    CHECK(bench.b.bytes(target) == bench.a.bytes(source));
    CHECK(bench.b.has_guards(target));
    CHECK(bench.faults(bench.a).empty());
}

TEST_CASE("software hears how much of a message has left before its page was missing", "[unit][paging]") {
    Bench bench;
    const auto source = bench.absent(bench.a, length, 1), target = bench.b.make_region(length);
    Bench::set_pages(bench.a, source, 1, 0, 2);
    bench.send(transfer(WqeOpcode::rdma_write, source, target));

    const auto fault = bench.only_fault(bench.a);
    REQUIRE(fault);
    CHECK(fault->committed == 4096); // 0x238 bytes of the first page and 4096 of the second hold four packets
}

TEST_CASE("what the peer writes into a page that is not there is asked for again later", "[unit][paging]") {
    Bench bench;
    const auto source = bench.a.make_region(length, 1), target = bench.absent(bench.b, length);
    const bool is_write = GENERATE(true, false);
    if (!is_write)
        bench.b.post_receive(bench.b_qp, {target.sge()});
    Bench::set_pages(bench.b, target, 3, 0, 2);
    bench.send(transfer(is_write ? WqeOpcode::rdma_write : WqeOpcode::send, source, target));

    const auto fault = bench.only_fault(bench.b);
    REQUIRE(fault);
    CHECK(fault->committed == 4096);
    CHECK(fault->packet == 1024);
    CHECK(fault->token == bench.b_qp.number.value);
    if (is_write) {
        CHECK(fault->subtype == PageFaultSubtype::rdma);
        CHECK(fault->type == PageFaultType::remote_write);
        CHECK(fault->r_key == target.key.value);
        CHECK(fault->address == target.address);
        CHECK(fault->length == length);
    } else {
        CHECK(fault->subtype == PageFaultSubtype::wqe);
        CHECK(fault->type == PageFaultType::receive);
        CHECK(fault->queue == bench.b_qp.number.value);
        CHECK(fault->wqe_index == 0);
    }
    CHECK(bench.a.q_counters().rnr_nak_retry_err == 1);
    bench.run(bench.clock.now() + 3ms); // the peer comes again in vain, and software is not told twice
    CHECK(bench.a.q_counters().rnr_nak_retry_err > 2);
    CHECK(bench.faults(bench.b).empty());

    bench.bring_and_finish(bench.b, target, *fault, source, target);
    const auto received = bench.b.drain(bench.b_cq);
    CHECK(received.size() == (is_write ? 0 : 1));
    for (const auto& one : received)
        CHECK(one.bytes == length);
}

TEST_CASE("a page that may only be read is brought again for writing", "[unit][paging]") {
    Bench bench;
    const auto source = bench.a.make_region(100, 1), target = bench.absent(bench.b, 100);
    Bench::set_pages(bench.b, target, 1);
    bench.send(transfer(WqeOpcode::rdma_write, source, target));

    const auto fault = bench.only_fault(bench.b);
    REQUIRE(fault);
    CHECK(fault->type == PageFaultType::remote_write);
}

TEST_CASE("a READ of a page that is not there is put off, and in its middle it pauses", "[unit][paging]") {
    Bench bench;
    const auto local = bench.a.make_region(length), remote = bench.absent(bench.b, length, 2);
    const std::size_t there = GENERATE(0, 2);
    Bench::set_pages(bench.b, remote, 1, 0, there);
    bench.send(transfer(WqeOpcode::rdma_read, local, remote));

    const auto fault = bench.only_fault(bench.b);
    REQUIRE(fault);
    CHECK(fault->subtype == PageFaultSubtype::rdma);
    CHECK(fault->type == PageFaultType::remote_read);
    CHECK(fault->address == remote.address + (there == 0 ? 0 : 4096));
    CHECK(fault->length == length - (there == 0 ? 0 : 4096));
    CHECK(bench.a.q_counters().rnr_nak_retry_err == (there == 0 ? 1 : 0));

    bench.bring_and_finish(bench.b, remote, *fault, local, remote);
}

TEST_CASE("an answer that finds no page is dropped and asked for again when the page is there", "[unit][paging]") {
    Bench bench;
    const auto local = bench.absent(bench.a, length), remote = bench.b.make_region(length, 2);
    Bench::set_pages(bench.a, local, 3, 0, 2);
    bench.send(transfer(WqeOpcode::rdma_read, local, remote));

    const auto fault = bench.only_fault(bench.a);
    REQUIRE(fault);
    CHECK(fault->subtype == PageFaultSubtype::wqe);
    CHECK(fault->type == PageFaultType::read_or_atomic);
    CHECK(fault->committed == 4096);
    bench.run(bench.clock.now() + 1s); // time-outs do not count meanwhile
    CHECK(bench.a.hca.counters().retries == 0);

    bench.bring_and_finish(bench.a, local, *fault, local, remote);
}

TEST_CASE("an atomic acts once, whichever of its two words has no page", "[unit][paging]") {
    Bench bench;
    const auto local = bench.absent(bench.a, 8), remote = bench.absent(bench.b, 8);
    bench.b.write_be64(remote.address, 40);
    bench.send({.opcode = WqeOpcode::atomic_fa,
                .sges = {local.sge()},
                .remote = remote.address,
                .rkey = remote.key,
                .swap_or_add = 2});

    const auto first = bench.only_fault(bench.b);
    REQUIRE(first);
    CHECK(first->type == PageFaultType::remote_write);
    CHECK(first->length == 8);
    Bench::set_pages(bench.b, remote, 3);
    bench.resume(bench.b, *first);
    bench.run(bench.clock.now() + 3ms);
    const auto second = bench.only_fault(bench.a);
    REQUIRE(second);
    CHECK(second->type == PageFaultType::read_or_atomic);
    Bench::set_pages(bench.a, local, 3);
    bench.resume(bench.a, *second);
    bench.run(bench.clock.now() + 1s);

    REQUIRE(bench.a.drain(bench.a_cq).size() == 1);
    CHECK(bench.a.read_be64(local.address) == 40);
    CHECK(bench.b.read_be64(remote.address) == 42);
}

TEST_CASE("software that has no page to bring ends the message as if the page could not be waited for",
          "[unit][paging]") {
    Bench bench;
    enum class Side { requester, responder };
    const auto opcode = GENERATE(WqeOpcode::rdma_write, WqeOpcode::rdma_read, WqeOpcode::send);
    const auto side = GENERATE(Side::requester, Side::responder);
    const bool is_here = side == Side::requester;
    const auto local = is_here ? bench.absent(bench.a, length) : bench.a.make_region(length),
               remote = is_here ? bench.b.make_region(length) : bench.absent(bench.b, length);
    if (opcode == WqeOpcode::send)
        bench.b.post_receive(bench.b_qp, {remote.sge()});
    auto& node = is_here ? bench.a : bench.b;
    bench.send(transfer(opcode, local, remote));

    const auto fault = bench.only_fault(node);
    REQUIRE(fault);
    bench.resume(node, *fault, true);
    bench.run(bench.clock.now() + 1s);

    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    if (is_here)
        CHECK(done[0].syndrome == CqeSyndrome::local_prot_err);
    else
        CHECK(done[0].syndrome ==
              (opcode == WqeOpcode::send ? CqeSyndrome::remote_op_err : CqeSyndrome::remote_access_err));
    CHECK(bench.a.core(bench.a_qp).state == model::hca::queue::QpState::err);
}

TEST_CASE("nobody waits for a page that nobody would bring", "[unit][paging]") {
    auto config = HcaPair::untimed();
    config.on_demand_paging = GENERATE(true, false);
    Bench bench(config);
    if (config.on_demand_paging)
        for (auto* node : {&bench.a, &bench.b})
            node->hca.event_queues().subscribe(node->core_eq(),
                                               ~(1ull << static_cast<unsigned>(abi::prm::EventType::page_fault)));
    const auto source = bench.absent(bench.a, length), target = bench.b.make_region(length);
    bench.send(transfer(WqeOpcode::rdma_write, source, target));

    CHECK(bench.faults(bench.a).empty());
    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].syndrome == CqeSyndrome::local_prot_err);
    CHECK(bench.a.hca.counters().refusals == 1);
}

TEST_CASE("an answer to a fault that is over has no effect", "[unit][paging]") {
    Bench bench;
    const auto source = bench.absent(bench.a, length, 1), target = bench.b.make_region(length);
    bench.send(transfer(WqeOpcode::rdma_write, source, target));
    const auto fault = bench.only_fault(bench.a);
    REQUIRE(fault);

    SECTION("after an error") {
        bench.a.modify(bench.a_qp, model::hca::queue::QpState::err, bench.clock.now());
        bench.a.drain(bench.a_cq);
        bench.resume(bench.a, *fault, true);
        CHECK(bench.a.drain(bench.a_cq).empty());
    }
    SECTION("the second of two") {
        Bench::set_pages(bench.a, source, 1);
        bench.resume(bench.a, *fault);
        bench.resume(bench.a, *fault, true);
        CHECK(bench.a.drain(bench.a_cq).size() == 1);
        CHECK(bench.a.core(bench.a_qp).state == model::hca::queue::QpState::rts);
    }
}

TEST_CASE("a sender whose page came before software said so goes on when software does", "[unit][paging]") {
    Bench bench;
    const auto local = bench.absent(bench.a, 100), remote = bench.b.make_region(100, 2);
    bench.send(transfer(WqeOpcode::rdma_read, local, remote));
    const auto fault = bench.only_fault(bench.a);
    REQUIRE(fault);
    const bool is_error = GENERATE(true, false);

    // A late copy of the answer finds the page; the message is over, and the next one waits for software's word only.
    Bench::set_pages(bench.a, local, 3);
    model::port::Packet again;
    again.path = reversed(bench.a.core(bench.a_qp).path);
    again.rdma().service = abi::wire::Service::rc;
    again.rdma().operation = abi::wire::Operation::read_response_only;
    again.rdma().destination = bench.a_qp.number;
    again.rdma().psn = abi::Psn{100};
    again.rdma().pkey = 0xffff;
    again.rdma().aeth = {.syndrome = abi::wire::ack_syndrome(), .msn = 1};
    const auto bytes = bench.b.bytes(remote);
    again.payload.append_copy(bytes);
    bench.a.hca.receive(again, bench.clock.now());
    bench.a.hca.received_all(bench.clock.now());
    REQUIRE(bench.a.drain(bench.a_cq).size() == 1);

    const auto source = bench.a.make_region(200, 1), target = bench.b.make_region(200);
    bench.send(transfer(WqeOpcode::rdma_write, source, target));
    CHECK(bench.a.drain(bench.a_cq).empty());
    bench.resume(bench.a, *fault, is_error);
    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_ok());
    CHECK(bench.b.bytes(target) == bench.a.bytes(source));
}

TEST_CASE("a fault that no event queue has room for is refused, and not waited for", "[unit][paging]") {
    Bench bench;
    const auto source = bench.a.make_region(100, 1), target = bench.absent(bench.b, 100);
    bench.b.core_eq().producer += 1u << Node::log_eq; // as if software had not looked for long
    bench.send(transfer(WqeOpcode::rdma_write, source, target));

    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].syndrome == CqeSyndrome::remote_access_err);
    CHECK(bench.b.core(bench.b_qp).paging.waiting == 0);
}

TEST_CASE("when the last queue that heard of page faults goes, those that wait fail", "[unit][paging]") {
    Bench bench;
    const auto source = bench.absent(bench.a, 100, 1), target = bench.b.make_region(100);
    bench.send(transfer(WqeOpcode::rdma_write, source, target));
    REQUIRE(bench.only_fault(bench.a));

    bench.a.hca.stop_paging(bench.clock.now());
    CHECK(bench.a.drain(bench.a_cq).empty()); // somebody hears still
    bench.a.hca.event_queues().subscribe(bench.a.core_eq(),
                                         ~(1ull << static_cast<unsigned>(abi::prm::EventType::page_fault)));
    bench.a.hca.stop_paging(bench.clock.now());
    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].syndrome == CqeSyndrome::local_prot_err);
}

TEST_CASE("a READ that pauses does not cost the peer its retries", "[unit][paging]") {
    Bench bench;
    const auto local = bench.a.make_region(length), remote = bench.absent(bench.b, length, 2);
    Bench::set_pages(bench.b, remote, 1, 0, 2);
    bench.send(transfer(WqeOpcode::rdma_read, local, remote));
    const auto fault = bench.only_fault(bench.b);
    REQUIRE(fault);

    bench.run(bench.clock.now() + 5s); // many times the peer's patience
    CHECK(bench.a.drain(bench.a_cq).empty());
    CHECK(bench.faults(bench.b).empty());
    bench.bring_and_finish(bench.b, remote, *fault, local, remote);
}

TEST_CASE("a connection that ends behind a READ that pauses tells the peer", "[unit][paging]") {
    Bench bench;
    const auto local = bench.a.make_region(length), remote = bench.absent(bench.b, length, 2),
               source = bench.a.make_region(10, 1);
    Bench::set_pages(bench.b, remote, 1, 0, 2);
    bench.send(transfer(WqeOpcode::rdma_read, local, remote));
    REQUIRE(bench.only_fault(bench.b));
    bench.send({.sges = {source.sge()},
                .remote = remote.address,
                .rkey = abi::Key{remote.key.index() + 1000, 0}}); // no such key
    bench.run(bench.clock.now() + 1s);

    CHECK(bench.b.core(bench.b_qp).state == model::hca::queue::QpState::err);
    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 2);
    CHECK(done[0].syndrome == CqeSyndrome::remote_access_err);
    CHECK(done[1].syndrome == CqeSyndrome::wr_flush_err);
    CHECK(bench.b.core(bench.b_qp).paging.waiting == 0);
    CHECK(bench.faults(bench.b).empty());
}

TEST_CASE("a WRITE does not complete the receive that a SEND waits to fill", "[unit][paging]") {
    Bench bench;
    const auto source = bench.a.make_region(100, 1), buffer = bench.absent(bench.b, 100),
               target = bench.b.make_region(100);
    bench.b.post_receive(bench.b_qp, {buffer.sge()});
    auto& core = bench.b.core(bench.b_qp);
    model::port::Packet packet;
    const auto arrive = [&](abi::wire::Operation operation) {
        packet.clear();
        packet.path = reversed(core.path);
        packet.rdma().service = abi::wire::Service::rc;
        packet.rdma().operation = operation;
        packet.rdma().destination = bench.b_qp.number;
        packet.rdma().psn = core.responder.order.expected;
        packet.rdma().pkey = 0xffff;
        packet.rdma().reth = {.address = target.address, .rkey = target.key, .length = 100};
        const auto bytes = bench.a.bytes(source);
        packet.payload.append_copy(bytes);
        bench.b.hca.receive(packet, bench.clock.now());
        bench.b.hca.received_all(bench.clock.now());
    };
    arrive(abi::wire::Operation::send_only);
    const auto fault = bench.only_fault(bench.b);
    REQUIRE(fault);
    arrive(abi::wire::Operation::write_only); // a peer that changes its mind
    CHECK(bench.b.drain(bench.b_cq).empty());
    Bench::set_pages(bench.b, buffer, 3);
    bench.resume(bench.b, *fault);
    arrive(abi::wire::Operation::send_only);
    const auto done = bench.b.drain(bench.b_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].opcode == CqeOpcode::resp_send);
    CHECK(bench.b.bytes(buffer) == bench.a.bytes(source));
}

TEST_CASE("what software has refused is one access of one kind, once", "[unit][paging]") {
    using model::hca::paging::PageFaults;
    struct Refused {
        PageFaultType type;
        std::uint32_t psn;
    };
    const auto refused = GENERATE(Refused{PageFaultType::remote_write, 100}, Refused{PageFaultType::remote_read, 100},
                                  Refused{PageFaultType::remote_write, 99});
    const bool is_it = refused.type == PageFaultType::remote_write && refused.psn == 100;
    Bench bench;
    const auto source = bench.a.make_region(100, 1), target = bench.absent(bench.b, 100);
    auto& responder = bench.b.core(bench.b_qp);
    PageFaults::give_up(responder, refused.type, abi::Psn{refused.psn});

    bench.send(transfer(WqeOpcode::rdma_write, source, target));

    CHECK(bench.faults(bench.b).size() == (is_it ? 0 : 1));
    const auto done = bench.a.drain(bench.a_cq);
    CHECK(done.size() == (is_it ? 1 : 0));
    for (const auto& one : done)
        CHECK(one.syndrome == CqeSyndrome::remote_access_err);
    CHECK((responder.paging.refused == 0) == is_it);
}

TEST_CASE("a page fault of a queue pair's own receive queue is no shared one's", "[unit][paging]") {
    Bench bench;
    const auto source = bench.a.make_region(length, 1), target = bench.absent(bench.b, length);
    bench.b.post_receive(bench.b_qp, {target.sge()});
    bench.send(transfer(WqeOpcode::send, source, target));

    REQUIRE(bench.only_fault(bench.b));
    CHECK(bench.b.core(bench.b_qp).paging.shared_queue == 0);
}

TEST_CASE("a page fault of a shared receive queue says whose it is", "[unit][paging][srq]") {
    Bench bench;
    const auto srq = bench.b.make_srq();
    auto shared = bench.b.attributes(bench.b_cq);
    shared.receive = model::hca::queue::ReceiveKind::shared;
    shared.srqn = srq.number;
    bench.a_qp = bench.a.make_qp(bench.a.attributes(bench.a_cq));
    bench.b_qp = bench.b.make_qp(shared);
    bench.connect();
    auto queue = srq;
    const auto source = bench.a.make_region(100, 1), target = bench.absent(bench.b, 100);
    bench.b.post_receive(queue, 0, {target.sge()});

    bench.send(transfer(WqeOpcode::send, source, target));

    const auto fault = bench.only_fault(bench.b);
    REQUIRE(fault);
    CHECK(fault->type == PageFaultType::shared_receive);
    CHECK(fault->queue == srq.number);
    CHECK(bench.b.core(bench.b_qp).paging.shared_queue == srq.number);
}
