// Requests that come again: SENDs and WRITEs are acknowledged but not repeated, READs are executed again, atomics
// answered from memory of their result.
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::EventType;
using abi::wire::NakCode;
using abi::wire::Operation;
using model::hca::queue::QpState;

namespace {

constexpr std::uint32_t first = OneHca::peer_psn;
constexpr std::uint8_t good = abi::wire::ack_syndrome();

struct Bench : OneHca {
    using OneHca::OneHca;
    Region target = a.make_region(8192, 1);

    void write(std::uint32_t number, std::uint32_t length, bool ack_request = true) {
        hand_over(Operation::write_only, number, length, [&](auto& packet) {
            packet.rdma().reth = {.address = target.address, .rkey = target.key, .length = length};
            packet.rdma().ack_request = ack_request;
        });
    }
    void read(std::uint32_t number, std::uint32_t offset, std::uint32_t length, abi::Key key = {}) {
        hand_over(Operation::read_request, number, 0, [&](auto& packet) {
            packet.rdma().reth = {
                .address = target.address + offset, .rkey = key == abi::Key{} ? target.key : key, .length = length};
        });
    }
    void add(std::uint32_t number, std::uint32_t offset = 0) {
        hand_over(Operation::fetch_add, number, 0, [&](auto& packet) {
            packet.rdma().atomic = {.address = target.address + offset, .rkey = target.key, .swap_or_add = 1};
        });
    }
    std::vector<Seen> answers() {
        settle();
        return peer.take();
    }
    std::uint64_t value(std::uint32_t offset = 0) { return a.read_be64(target.address + offset); }
};

} // namespace

TEST_CASE("a duplicate WRITE is acknowledged when it asks, and changes nothing", "[unit][transport][duplicate]") {
    Bench bench;
    bench.write(first, 16);
    bench.write(first + 1, 16);
    bench.answers();
    bench.a.fill(bench.target.address, 16, 77); // the application has gone on
    const auto now = bench.a.bytes(bench.target);

    bench.write(first, 16);
    const auto seen = bench.answers();
    bench.write(first + 1, 16, false);

    REQUIRE(seen.size() == 1);
    CHECK(seen[0].syndrome() == good);
    CHECK(seen[0].psn() == first + 1); // the newest
    CHECK(seen[0].header.rdma().aeth.msn == 2);
    CHECK(bench.answers().empty());
    CHECK(bench.a.bytes(bench.target) == now);
    CHECK(bench.a.q_counters().duplicate_request == 2);
    CHECK(bench.a.hca.counters().duplicates == 2);
}

TEST_CASE("a duplicate SEND takes no second receive", "[unit][transport][duplicate]") {
    Bench bench;
    for (std::uint32_t i = 0; i < 2; ++i)
        bench.a.post_receive(bench.qp, {bench.target.sge(i * 64, 64)});
    for (int i = 0; i < 3; ++i)
        bench.receive(Operation::send_only, first, 64, [](auto& packet) { packet.rdma().ack_request = true; });

    CHECK(bench.a.drain(bench.cq).size() == 1);
    CHECK(bench.peer.take().size() == 3);
    CHECK(bench.core().responder.receives.consumer == 1);
}

TEST_CASE("duplicates of a message's packets are not placed again while it goes on", "[unit][transport][duplicate]") {
    Bench bench;
    bench.a.post_receive(bench.qp, {bench.target.sge()});
    const std::vector<std::pair<Operation, std::size_t>> packets{
        {Operation::send_first, 1024}, {Operation::send_middle, 1024}, {Operation::send_last, 100}};
    for (std::uint32_t i = 0; i < 3; ++i)
        for (std::uint32_t j = 0; j <= i; ++j)
            bench.receive(packets[j].first, first + j, packets[j].second);
    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].bytes == 2148);

    bench.receive(Operation::send_last, first + 2, 100);
    CHECK(bench.a.drain(bench.cq).empty());
    CHECK(bench.a.hca.counters().duplicates == 4);
}

TEST_CASE("a duplicate READ is executed again, on what memory holds now", "[unit][transport][duplicate]") {
    Bench bench;
    bench.read(first, 0, 2500);
    CHECK(bench.answers().size() == 3);
    bench.a.fill(bench.target.address, 2500, 9);

    bench.read(first, 0, 2500);

    const auto seen = bench.answers();
    REQUIRE(seen.size() == 3);
    std::vector<std::byte> bytes;
    for (std::uint32_t i = 0; i < 3; ++i) {
        CHECK(seen[i].psn() == first + i);
        bytes.insert(bytes.end(), seen[i].payload.begin(), seen[i].payload.end());
    }
    CHECK(bytes == bench.a.bytes(bench.target, 0, 2500));
    CHECK(bench.core().responder.order.expected == abi::Psn{first + 3});
}

TEST_CASE("the rest of a READ may be asked for again", "[unit][transport][duplicate]") {
    Bench bench;
    bench.read(first, 100, 5000);
    bench.answers();

    bench.read(first + 3, 100 + 3072, 5000 - 3072);

    const auto seen = bench.answers();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].operation() == Operation::read_response_first);
    CHECK(seen[0].psn() == first + 3);
    CHECK(seen[0].payload == bench.a.bytes(bench.target, 100 + 3072, 1024));
    CHECK(seen[1].operation() == Operation::read_response_last);
    CHECK(seen[1].payload == bench.a.bytes(bench.target, 100 + 4096, 904));
}

TEST_CASE("a duplicate READ that asks for something else is dropped", "[unit][transport][duplicate]") {
    Bench bench;
    bench.read(first, 0, 3000);
    bench.answers();

    bench.read(first, 8, 3000);
    bench.read(first, 0, 3001);
    bench.read(first, 0, 2999);
    bench.read(first + 1, 0, 3000);
    bench.read(first + 1, 1024, 3000);
    bench.read(first, 0, 3000, abi::Key{0x7f0000, 0});

    CHECK(bench.answers().empty());
    CHECK(bench.core().state == QpState::rts);
}

TEST_CASE("a duplicate READ of memory that is no longer allowed is refused with its own sequence number",
          "[unit][transport][duplicate]") {
    Bench bench;
    bench.read(first, 0, 100);
    bench.write(first + 1, 8);
    bench.answers();
    bench.a.hca.mkeys().find(bench.target.key.index())->attributes.rights.remote_read = false;

    bench.read(first, 0, 100);

    const auto seen = bench.answers();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].syndrome() == abi::wire::nak_syndrome(NakCode::remote_access_error));
    CHECK(seen[0].psn() == first);
    CHECK(bench.core().state == QpState::err);
    CHECK(bench.a.drain_events() == std::vector{std::pair{EventType::wq_access_error, bench.qp.number.value}});
}

TEST_CASE("an atomic is executed once, however often it comes", "[unit][transport][duplicate][atomic]") {
    Bench bench;
    bench.a.write_be64(bench.target.address, 40);
    bench.add(first);
    CHECK(bench.answers().size() == 1);

    for (int i = 0; i < 5; ++i) {
        bench.add(first);
        const auto seen = bench.answers();
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].operation() == Operation::atomic_acknowledge);
        CHECK(seen[0].psn() == first);
        CHECK(seen[0].header.rdma().atomic_original == 40);
    }
    CHECK(bench.value() == 41);
    CHECK(bench.a.q_counters().rx_atomic_requests == 1);
}

TEST_CASE("as many results are remembered as requests may be outstanding, the oldest are forgotten",
          "[unit][transport][duplicate][atomic]") {
    for (std::uint8_t log = 0; log < 8; ++log) {
        Bench bench([&](auto& attributes) { attributes.log_reads_responder = log; });
        const auto depth = 1u << log;
        INFO("depth " << depth);
        for (std::uint32_t i = 0; i < depth + 1; ++i) {
            bench.a.write_be64(bench.target.address, 1000 + i);
            bench.add(first + i);
            CHECK(bench.answers().size() == 1);
        }
        bench.a.write_be64(bench.target.address, 5);

        bench.add(first); // forgotten: dropped, and not executed
        CHECK(bench.answers().empty());
        for (std::uint32_t i = 1; i < depth + 1; ++i) {
            bench.add(first + i);
            const auto seen = bench.answers();
            REQUIRE(seen.size() == 1);
            CHECK(seen[0].header.rdma().atomic_original == 1000 + i);
        }
        CHECK(bench.value() == 5);
    }
}

TEST_CASE("READs and atomics share the memory of results", "[unit][transport][duplicate]") {
    Bench bench([](auto& attributes) { attributes.log_reads_responder = 1; });
    bench.add(first);
    bench.answers();
    bench.read(first + 1, 0, 8);
    bench.read(first + 2, 0, 8);
    bench.answers();

    bench.add(first);
    CHECK(bench.answers().empty());
    bench.read(first + 1, 0, 8);
    CHECK(bench.answers().size() == 1);
}

TEST_CASE("a duplicate of another kind than the request was is dropped", "[unit][transport][duplicate]") {
    Bench bench;
    bench.add(first);
    bench.read(first + 1, 0, 8);
    bench.answers();
    const auto before = bench.value();

    bench.read(first, 0, 8);
    bench.add(first + 1);
    bench.add(first - 1);
    bench.read(first - 1, 0, 8);

    CHECK(bench.answers().empty());
    CHECK(bench.value() == before);
    CHECK(bench.core().state == QpState::rts);
}

TEST_CASE("a duplicate READ does not swallow the ACK of what came after it", "[unit][transport][duplicate]") {
    Bench bench;
    bench.read(first, 0, 8);
    bench.answers();
    SECTION("when the ACK is held back") {
        bench.write(first + 1, 8);
        bench.read(first, 0, 8);
    }
    SECTION("when the ACK waits behind a READ") {
        bench.read(first + 1, 0, 8);
        bench.write(first + 2, 8);
        bench.read(first + 1, 0, 8);
    }
    const auto seen = bench.answers();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].operation() == Operation::read_response_only);
    CHECK(seen[1].operation() == Operation::acknowledge);
    CHECK(seen[1].psn() + 1 == bench.core().responder.order.expected.value);
}

TEST_CASE("a duplicate READ does not swallow the refusal of a gap behind it", "[unit][transport][duplicate]") {
    Bench bench;
    bench.read(first, 0, 8);
    bench.write(first + 2, 8); // the one before it was lost
    bench.read(first, 0, 8);
    bench.write(first + 3, 8);

    const auto seen = bench.answers();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].operation() == Operation::read_response_only);
    CHECK(seen[1].syndrome() == abi::wire::nak_syndrome(NakCode::psn_sequence_error));
    CHECK(seen[1].psn() == first + 1);
}

TEST_CASE("duplicates of READs do not pile up answers", "[unit][transport][duplicate]") {
    Bench bench([](auto& attributes) { attributes.mtu = 1; });
    model::hca::tpt::MkeyAttributes a;
    a.rights = Node::all_rights;
    a.pd = Node::pd;
    a.length = 1u << 30;
    const auto key = bench.a.make_key(a, std::vector<std::uint64_t>(1u << 18, 0x40000));
    model::port::Packet packet;
    packet.path = reversed(bench.core().path);
    packet.rdma().operation = Operation::read_request;
    packet.rdma().destination = bench.qp.number;

    // The peer asks for the rest, packet by packet, and nothing can be sent meanwhile.
    for (std::uint32_t i = 0; i < 20000; ++i) {
        packet.rdma().psn = abi::Psn{first + i};
        packet.rdma().reth = {.address = i * 256, .rkey = key, .length = (1u << 30) - i * 256};
        bench.a.hca.receive(packet, bench.clock.now());
    }

    CHECK(bench.core().responder.answers.responses.size() <= 17);
    CHECK(bench.core().state == QpState::rts);
}

TEST_CASE("a READ that comes again late is no reason to refuse the next one", "[unit][transport][duplicate]") {
    Bench bench([](auto& attributes) { attributes.log_reads_responder = 0; }); // one at a time
    bench.read(first, 0, 10);
    REQUIRE(bench.answers().size() == 1);

    bench.read(first, 0,
               10); // a copy that the network held back, while the answer is there and the next READ under way
    bench.read(first + 1, 10, 10);
    bench.add(first + 2); // this one is too many

    const auto seen = bench.answers();
    REQUIRE(seen.size() == 3);
    CHECK(seen[0].psn() == first);
    CHECK(seen[1].psn() == first + 1);
    CHECK(seen[1].payload == bench.a.bytes(bench.target, 10, 10));
    CHECK(seen[2].psn() == first + 2);
    CHECK(seen[2].syndrome() == abi::wire::nak_syndrome(NakCode::invalid_request));
}
