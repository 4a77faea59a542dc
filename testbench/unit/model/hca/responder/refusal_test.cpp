// Requests that break a rule: the NAK, the asynchronous event, the state, the counter; and nothing done.
#include "model/hca/tpt/mkey_context.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

#include <functional>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::EventType;
using abi::wire::NakCode;
using abi::wire::Operation;
using model::hca::queue::QpState;
using model::hca::tpt::Rights;
using Attributes = model::hca::queue::QueuePairAttributes;

namespace {

constexpr std::uint32_t expected = OneHca::peer_psn;

struct Bench : OneHca {
    template <class Change = void (*)(Attributes&)>
    explicit Bench(
        Change&& change = [](Attributes&) {}, Rights rights = Node::all_rights)
        : OneHca(change), target(a.make_region(8192, 1, rights)), before(a.bytes(target)) {
        a.post_receive(qp, {own.sge()});
        a.post_receive(qp, {own.sge()});
    }
    Region own = a.make_region(4096);
    Region target;
    std::vector<std::byte> before;

    template <class Change> void write(Operation operation, std::uint32_t length, Change&& change) {
        receive(operation, expected, length, [&](model::port::Packet& packet) {
            packet.rdma().reth = {.address = target.address, .rkey = target.key, .length = length};
            packet.rdma().ack_request = true;
            change(packet);
        });
    }
    template <class Change> void read(std::uint32_t length, Change&& change) {
        receive(Operation::read_request, expected, 0, [&](model::port::Packet& packet) {
            packet.rdma().reth = {.address = target.address, .rkey = target.key, .length = length};
            change(packet);
        });
    }
    template <class Change> void atomic(Change&& change) {
        receive(Operation::fetch_add, expected, 0, [&](model::port::Packet& packet) {
            packet.rdma().atomic = {.address = target.address, .rkey = target.key, .swap_or_add = 1};
            change(packet);
        });
    }
    /// One NAK for the expected packet, an event, the error state, both receives flushed, and no memory changed.
    void check(NakCode code, EventType event) {
        const auto seen = peer.take();
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].operation() == Operation::acknowledge);
        CHECK(seen[0].syndrome() == abi::wire::nak_syndrome(code));
        CHECK(seen[0].psn() == expected);
        CHECK(seen[0].header.rdma().aeth.msn == 0);
        CHECK(core().state == QpState::err);
        CHECK(a.drain_events() == std::vector{std::pair{event, qp.number.value}});
        const auto done = a.drain(cq);
        REQUIRE(done.size() == 2);
        for (std::uint16_t i = 0; i < 2; ++i) {
            CHECK(done[i].opcode == CqeOpcode::resp_err);
            CHECK(done[i].syndrome == CqeSyndrome::wr_flush_err);
            CHECK(done[i].index == i);
        }
        CHECK(a.bytes(target) == before);
        CHECK(a.bytes(own) == std::vector<std::byte>(4096));
        CHECK(a.hca.counters().naks_sent == 1);
    }
    void check_access() {
        check(NakCode::remote_access_error, EventType::wq_access_error);
        CHECK(a.q_counters().resp_remote_access_errors == 1);
    }
    void check_invalid() {
        check(NakCode::invalid_request, EventType::wq_invalid_request);
        CHECK(a.q_counters().resp_remote_invalid_request == 1);
    }
};

const auto unchanged = [](auto&) {};

} // namespace

TEST_CASE("a WRITE, READ or atomic that its key forbids is a remote access error", "[unit][transport][nak]") {
    struct Row {
        const char* what;
        std::function<void(Bench&, abi::Key&, std::uint64_t&)> apply;
    };
    const std::vector<Row> rows{
        {"no such key", [](Bench&, abi::Key& key, std::uint64_t&) { key = abi::Key{0x7f0000, 1}; }},
        {"variant", [](Bench&, abi::Key& key, std::uint64_t&) { key = abi::Key{key.index(), 0x11}; }},
        {"protection domain", [](Bench& b, abi::Key& key,
                                 std::uint64_t&) { b.a.hca.mkeys().find(key.index())->attributes.pd = abi::Pd{99}; }},
        {"rights",
         [](Bench& b, abi::Key& key, std::uint64_t&) {
             b.a.hca.mkeys().find(key.index())->attributes.rights = {true, true, false, false, false};
         }},
        {"before the region", [](Bench&, abi::Key&, std::uint64_t& address) { address -= 8; }},
        {"behind the region", [](Bench&, abi::Key&, std::uint64_t& address) { address += 8192; }},
        {"wrapping address", [](Bench&, abi::Key&, std::uint64_t& address) { address = ~0ull - 7; }},
        {"page not there",
         [](Bench& b, abi::Key& key, std::uint64_t&) { b.a.hca.mkeys().find(key.index())->mtt.clear(); }},
    };
    for (const auto& row : rows) {
        INFO(row.what);
        {
            Bench bench;
            bench.write(Operation::write_only, 16,
                        [&](auto& packet) { row.apply(bench, packet.rdma().reth.rkey, packet.rdma().reth.address); });
            bench.check_access();
            CHECK(bench.a.q_counters().rx_write_requests == 1);
        }
        {
            Bench bench;
            bench.write(Operation::write_only_with_immediate, 16,
                        [&](auto& packet) { row.apply(bench, packet.rdma().reth.rkey, packet.rdma().reth.address); });
            bench.check_access();
        }
        {
            Bench bench;
            bench.read(16,
                       [&](auto& packet) { row.apply(bench, packet.rdma().reth.rkey, packet.rdma().reth.address); });
            // A READ's pages are looked at when its response goes out.
            bench.check_access();
            CHECK(bench.a.q_counters().rx_read_requests == 1);
        }
        {
            Bench bench;
            bench.atomic(
                [&](auto& packet) { row.apply(bench, packet.rdma().atomic.rkey, packet.rdma().atomic.address); });
            bench.check_access();
            CHECK(bench.a.q_counters().rx_atomic_requests == 1);
        }
    }
}

TEST_CASE("a WRITE of several packets is refused with its first one when its end leaves the region",
          "[unit][transport][nak]") {
    Bench bench;
    bench.write(Operation::write_first, 1024, [](auto& packet) { packet.rdma().reth.length = 8193; });
    bench.check_access();
}

TEST_CASE("a WRITE whose one packet lies in pieces is refused before the first of them moves",
          "[unit][transport][nak]") {
    std::array<std::byte, 64> sent;
    sent.fill(std::byte{0xee});
    model::port::LoanBook book; // outlives the packet
    Bench bench;
    bench.receive(Operation::write_only, expected, 0, [&](model::port::Packet& packet) {
        packet.rdma().reth = {.address = bench.target.address + 8192 - 16, .rkey = bench.target.key, .length = 32};
        packet.payload.clear();
        packet.payload.lend(std::span(sent).first(16), book.requests);
        packet.payload.lend(std::span(sent).last(16), book.requests);
        REQUIRE(packet.payload.pieces().size() == 2);
    });
    bench.check_access();
}

TEST_CASE("a READ that ends one byte beyond the region is refused whole", "[unit][transport][nak]") {
    Bench bench;
    bench.read(8193, unchanged);
    bench.check_access();
}

TEST_CASE("a WRITE with immediate to a bad key is refused, also while no receive is posted", "[unit][transport][nak]") {
    OneHca bench;
    bench.receive(Operation::write_only_with_immediate, expected, 16, [](auto& packet) {
        packet.rdma().reth = {.address = 0, .rkey = abi::Key{0x7f0000, 0}, .length = 16};
    });
    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].syndrome() == abi::wire::nak_syndrome(NakCode::remote_access_error));
    CHECK(bench.core().state == QpState::err);
}

TEST_CASE("what the queue pair does not allow is an invalid request", "[unit][transport][nak]") {
    SECTION("WRITE") {
        Bench bench([](Attributes& attributes) { attributes.remote_write = false; });
        bench.write(Operation::write_only, 16, unchanged);
        bench.check_invalid();
    }
    SECTION("READ") {
        Bench bench([](Attributes& attributes) { attributes.remote_read = false; });
        bench.read(16, unchanged);
        bench.check_invalid();
    }
    SECTION("atomic") {
        Bench bench([](Attributes& attributes) { attributes.remote_atomic = false; });
        bench.atomic(unchanged);
        bench.check_invalid();
    }
}

TEST_CASE("an atomic on bytes that a list of ranges divides changes nothing, its neighbours least of all",
          "[unit][transport][nak]") {
    Bench bench;
    model::hca::tpt::MkeyAttributes list;
    list.mode = abi::prm::AccessMode::klms;
    list.variant = 0x5b;
    list.rights = Node::all_rights;
    list.pd = Node::pd;
    list.start = 0x1000;
    list.length = 0x28;
    const auto key = bench.a.make_key(list, {});
    std::array<std::byte, 2 * abi::prm::Klm::size> entries{};
    for (std::size_t i = 0; i < 2; ++i) // bytes 0x14 to 0x17 of the target belong to neither
        abi::View<abi::prm::Klm>(std::span(entries).subspan(i * abi::prm::Klm::size, abi::prm::Klm::size))
            .set<"bcount">(0x14)
            .set<"mkey">(bench.target.key.value)
            .set<"address">(bench.target.address + 0x100 * i);
    model::hca::tpt::write_ranges(*bench.a.hca.mkeys().find(key.index()), 0, entries);

    bench.atomic([&](auto& packet) { packet.rdma().atomic = {.address = 0x1010, .rkey = key, .swap_or_add = 1}; });
    bench.check_access();
}

TEST_CASE("an atomic that is not aligned to 8 bytes is an invalid request", "[unit][transport][nak]") {
    for (std::uint64_t off = 1; off < 8; ++off) {
        Bench bench;
        bench.atomic([&](auto& packet) { packet.rdma().atomic.address += off; });
        bench.check_invalid();
    }
}

TEST_CASE("a length beyond 2^31 is an invalid request", "[unit][transport][nak]") {
    SECTION("READ") {
        Bench bench;
        bench.read((1u << 31) + 1, unchanged);
        bench.check_invalid();
    }
    SECTION("WRITE") {
        Bench bench;
        bench.write(Operation::write_first, 1024, [](auto& packet) { packet.rdma().reth.length = (1u << 31) + 1; });
        bench.check_invalid();
    }
}

TEST_CASE("a WRITE whose packets do not bring what its RETH announced is an invalid request",
          "[unit][transport][nak]") {
    SECTION("less in an only packet") {
        Bench bench;
        bench.write(Operation::write_only, 16, [](auto& packet) { packet.rdma().reth.length = 17; });
        bench.check_invalid();
    }
    SECTION("more in an only packet") {
        Bench bench;
        bench.write(Operation::write_only, 16, [](auto& packet) { packet.rdma().reth.length = 15; });
        bench.check_invalid();
    }
    SECTION("bytes for an announced nothing") {
        Bench bench;
        bench.write(Operation::write_only, 1, [](auto& packet) { packet.rdma().reth.length = 0; });
        bench.check_invalid();
    }
    SECTION("all in the first packet of several") {
        Bench bench;
        bench.write(Operation::write_first, 1024, unchanged);
        bench.check_invalid();
    }
}

TEST_CASE("payload that does not fill the MTU, or exceeds it, is an invalid request", "[unit][transport][nak]") {
    for (const auto& [operation, length] :
         std::vector<std::pair<Operation, std::uint32_t>>{{Operation::write_first, 1023},
                                                          {Operation::write_first, 1025},
                                                          {Operation::write_only, 1025},
                                                          {Operation::send_first, 1000},
                                                          {Operation::send_only, 1025}}) {
        Bench bench;
        INFO(abi::wire::traits(operation).name << " with " << length);
        bench.write(operation, length, [](auto& packet) { packet.rdma().reth.length = 4096; });
        bench.check_invalid();
    }
}

TEST_CASE("a READ request or an atomic with payload is an invalid request", "[unit][transport][nak]") {
    for (const auto operation : {Operation::read_request, Operation::compare_swap}) {
        Bench bench;
        bench.write(operation, 4, [&](auto& packet) {
            packet.rdma().atomic = {.address = bench.target.address, .rkey = bench.target.key};
        });
        bench.check_invalid();
    }
}

TEST_CASE("a message that starts in its middle is an invalid request", "[unit][transport][nak]") {
    for (const auto operation :
         {Operation::send_middle, Operation::send_last, Operation::send_last_with_immediate, Operation::write_middle,
          Operation::write_last, Operation::write_last_with_immediate}) {
        Bench bench;
        INFO(abi::wire::traits(operation).name);
        bench.write(operation, 1024, unchanged);
        bench.check_invalid();
    }
}

TEST_CASE("memory that does not answer is a remote operational error", "[unit][transport][nak]") {
    const auto fail = [](Bench& bench) {
        bench.a.dma.fail(bench.target.address, bench.target.address + 16, model::port::DmaStatus::completer_abort);
    };
    SECTION("WRITE") {
        Bench bench;
        fail(bench);
        bench.write(Operation::write_only, 16, unchanged);
        bench.check(NakCode::remote_operational_error, EventType::wq_catastrophic_error);
    }
    SECTION("READ") {
        Bench bench;
        fail(bench);
        bench.read(16, unchanged);
        bench.check(NakCode::remote_operational_error, EventType::wq_catastrophic_error);
    }
    SECTION("atomic") {
        Bench bench;
        fail(bench);
        bench.atomic(unchanged);
        bench.check(NakCode::remote_operational_error, EventType::wq_catastrophic_error);
    }
    SECTION("atomic whose result cannot be written") {
        Bench bench;
        bench.a.dma.fail(bench.target.address, bench.target.address + 16, model::port::DmaStatus::completer_abort, 1);
        bench.atomic(unchanged);
        bench.check(NakCode::remote_operational_error, EventType::wq_catastrophic_error);
    }
}

TEST_CASE("in the error state nothing is answered", "[unit][transport][nak]") {
    Bench bench;
    bench.read(8193, unchanged);
    bench.peer.take();

    bench.write(Operation::write_only, 16, unchanged);
    bench.read(16, unchanged);
    bench.receive(Operation::send_only, expected, 16);
    bench.receive(Operation::send_only, expected + 5, 16);
    bench.receive(Operation::send_only, expected - 1, 16, [](auto& packet) { packet.rdma().ack_request = true; });

    CHECK(bench.peer.take().empty());
    CHECK(bench.a.bytes(bench.target) == bench.before);
}
