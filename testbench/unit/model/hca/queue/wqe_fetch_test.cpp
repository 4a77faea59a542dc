// WQEs in their ring: wrap-around, buffers of several pages, memory that does not answer, and what such a WQE does to
// its queue.
#include "model/hca/queue/wqe_reader.h"
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using model::hca::queue::QpState;
using model::hca::queue::WqeFault;
namespace vendor = model::hca::completion::vendor;

namespace {

struct Bench : HcaPair {
    explicit Bench(unsigned log_sq = 6) {
        remake([&](auto& attributes) { attributes.log_sq_size = static_cast<std::uint8_t>(log_sq); });
        connect();
    }
    Region target = b.make_region(8192);

    /// NOPs, until the next WQE starts at basic block `start` of the ring.
    void advance_to(unsigned start) {
        while ((a_qp.sq_producer & ((1u << a_qp.log_sq) - 1)) != start) {
            send({.opcode = WqeOpcode::nop, .signalled = false});
        }
    }
};

std::vector<std::byte> pattern(std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + 3);
    return bytes;
}

/// The completion of a WQE that could not be executed.
void check_fault(Bench& bench, WqeFault fault, CqeSyndrome syndrome) {
    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].opcode == CqeOpcode::req_err);
    CHECK(done[0].syndrome == syndrome);
    CHECK(done[0].vendor == vendor::wqe + static_cast<unsigned>(fault));
    CHECK(bench.a.core(bench.a_qp).state == QpState::err);
    CHECK(bench.link.counters(0).packets == 0);
    CHECK(bench.a.drain_events().empty());
}

} // namespace

TEST_CASE("inline data of a WQE that wraps around the ring's end arrives whole", "[unit][wqe]") {
    for (unsigned start = 56; start < 64; ++start) {
        for (const std::size_t length : {1u, 28u, 29u, 92u, 93u, 200u, 476u, 900u}) {
            Bench bench;
            bench.advance_to(start);
            const auto data = pattern(length);

            bench.send({.remote = bench.target.address, .rkey = bench.target.key, .inline_data = data});

            INFO("from basic block " << start << ", " << length << " bytes");
            CHECK(bench.b.bytes(bench.target, 0, static_cast<std::uint32_t>(length)) == data);
            CHECK(bench.b.bytes(bench.target, static_cast<std::uint32_t>(length), 16) == std::vector<std::byte>(16));
            CHECK(bench.a.drain(bench.a_cq).size() == 1);
        }
    }
}

TEST_CASE("a WQE as large as its ring is executed, wherever it starts", "[unit][wqe]") {
    for (unsigned start = 0; start < 4; ++start) {
        Bench bench(2);
        bench.advance_to(start);
        const auto data = pattern(220); // 16 + 16 + 224 bytes: four basic blocks

        bench.send({.remote = bench.target.address, .rkey = bench.target.key, .inline_data = data});

        INFO("start " << start);
        CHECK(bench.b.bytes(bench.target, 0, 220) == data);
        const auto done = bench.a.drain(bench.a_cq);
        REQUIRE(done.size() == 1);
        CHECK(done[0].index == start);
    }
}

TEST_CASE("a message is gathered from as many pieces as a WQE can name", "[unit][wqe]") {
    Bench bench;
    bench.advance_to(61);
    const auto source = bench.a.make_region(8000, 3);
    Post wr{.remote = bench.target.address, .rkey = bench.target.key};
    std::vector<std::byte> expected;
    // Pieces of uneven sizes, back to front, so that none touches the one before it.
    for (std::uint32_t i = 0; i < 61; ++i) {
        const auto length = 1 + i * 2;
        wr.sges.push_back(source.sge(7900 - i * 128, length));
        const auto piece = bench.a.bytes(source, 7900 - i * 128, length);
        expected.insert(expected.end(), piece.begin(), piece.end());
    }
    wr.sges[0] = source.sge(7900, 1);

    bench.send(wr);

    CHECK(bench.a.drain(bench.a_cq).size() == 1);
    CHECK(bench.b.bytes(bench.target, 0, static_cast<std::uint32_t>(expected.size())) == expected);
    CHECK(bench.b.bytes(bench.target, static_cast<std::uint32_t>(expected.size()), 64) == std::vector<std::byte>(64));
}

TEST_CASE("a queue in scattered pages is read across their edges", "[unit][wqe]") {
    model::port::MemoryDma dma;
    // 256 bytes a page, the first WQEBB in the middle of one: pages of a queue need not follow each other.
    model::hca::queue::QueuePairAttributes attributes;
    attributes.log_sq_size = 3;
    attributes.buffer = {{abi::BusAddress{0x9000}, abi::BusAddress{0x5000}, abi::BusAddress{0x7000}}, 8, 96};
    model::hca::queue::QueuePair qp(abi::Qpn{5}, attributes);
    const bool is_next = GENERATE(false, true); // or read once more
    qp.requester.sends.fetched = is_next ? 0x107 : 0;
    qp.requester.sends.producer = 0x107 + 8;
    const auto wqe = Node::encode({.opcode = WqeOpcode::send, .inline_data = pattern(476)}, abi::Qpn{5}, 0x107);
    REQUIRE(wqe.size() == 512);
    for (std::uint64_t at = 0; at < 512; ++at) {
        const auto offset = (7 * 64 + at) % 512 + 96;
        const std::array<std::uint64_t, 3> pages{0x9000, 0x5000, 0x7000};
        dma.poke(pages[offset / 256] + offset % 256, std::span(wqe).subspan(at, 1));
    }
    model::hca::queue::WorkRequest wr;

    model::hca::queue::read_wqe(dma, qp, 0x107, {}, wr, {});

    CHECK(wr.fault == WqeFault::none);
    REQUIRE(wr.data().size() == 1);
    CHECK(std::ranges::equal(wr.bytes_of(wr.data()[0]), pattern(476)));
}

TEST_CASE("a WQE that memory does not give completes in error", "[unit][wqe]") {
    Bench bench;
    const auto index =
        bench.a.post(bench.a_qp, {.remote = bench.target.address, .rkey = bench.target.key, .inline_data = pattern(8)});
    bench.a.dma.fail(bench.a.sq_address(bench.a_qp, index), bench.a.sq_address(bench.a_qp, index) + 1,
                     model::port::DmaStatus::unsupported_request);

    bench.ring();

    check_fault(bench, WqeFault::bus_error, CqeSyndrome::local_qp_op_err);
}

TEST_CASE("a second basic block that memory does not give counts too, and the completion names no operation",
          "[unit][wqe]") {
    Bench bench;
    bench.send(
        {.remote = bench.target.address, .rkey = bench.target.key, .signalled = false, .inline_data = pattern(8)});
    const auto index = bench.a.post(
        bench.a_qp, {.remote = bench.target.address, .rkey = bench.target.key, .inline_data = pattern(80)});
    bench.a.dma.fail(bench.a.sq_address(bench.a_qp, index) + 64, bench.a.sq_address(bench.a_qp, index) + 128,
                     model::port::DmaStatus::completer_abort);

    bench.ring();

    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(!done.empty());
    CHECK(done[0].index == index);
    CHECK(done[0].syndrome == CqeSyndrome::local_qp_op_err);
    CHECK(done[0].vendor == vendor::wqe + static_cast<unsigned>(WqeFault::bus_error));
    CHECK(done[0].send_opcode == 0);
}

TEST_CASE("every fault of a WQE is its completion's syndrome", "[unit][wqe]") {
    Bench bench;
    const auto wqe = [&](const Post& wr) { return Node::encode(wr, bench.a_qp.number, bench.a_qp.sq_producer); };
    const auto post = [&](std::span<const std::byte> bytes) {
        bench.a.post_bytes(bench.a_qp, bytes);
        bench.ring();
    };
    SECTION("wrong queue pair") {
        post(Node::encode({.opcode = WqeOpcode::nop}, bench.b_qp.number, 0));
        check_fault(bench, WqeFault::wrong_queue_pair, CqeSyndrome::local_qp_op_err);
    }
    SECTION("wrong index") {
        post(Node::encode({.opcode = WqeOpcode::nop}, bench.a_qp.number, 1));
        check_fault(bench, WqeFault::wrong_index, CqeSyndrome::local_qp_op_err);
    }
    SECTION("no size") {
        auto bytes = wqe({.opcode = WqeOpcode::nop});
        bytes[7] = std::byte{0};
        post(bytes);
        check_fault(bench, WqeFault::bad_size, CqeSyndrome::local_qp_op_err);
    }
    SECTION("more basic blocks than were posted") {
        auto bytes = wqe({.opcode = WqeOpcode::send, .inline_data = pattern(100)});
        bytes.resize(64);
        post(bytes);
        check_fault(bench, WqeFault::bad_size, CqeSyndrome::local_qp_op_err);
    }
    SECTION("unknown operation") {
        auto bytes = wqe({.opcode = WqeOpcode::nop});
        bytes[3] = std::byte{0x24};
        post(bytes);
        check_fault(bench, WqeFault::bad_opcode, CqeSyndrome::local_qp_op_err);
    }
    SECTION("inline data beyond the WQE") {
        auto bytes = wqe({.opcode = WqeOpcode::send, .inline_data = pattern(28)});
        bytes[19] = std::byte{100};
        post(bytes);
        check_fault(bench, WqeFault::bad_segment, CqeSyndrome::local_length_err);
    }
    CHECK(bench.a.q_counters().req_cqe_error == 1);
    CHECK(bench.b.core(bench.b_qp).state == QpState::rts);
}

TEST_CASE("NOPs complete in their turn, signalled or not", "[unit][wqe]") {
    Bench bench;
    const auto source = bench.a.make_region(16, 1);
    for (int i = 0; i < 6; ++i)
        bench.a.post(bench.a_qp,
                     i % 3 == 1 ? Post{.sges = {source.sge()}, .remote = bench.target.address, .rkey = bench.target.key}
                                : Post{.opcode = WqeOpcode::nop, .signalled = i >= 3});

    bench.ring();

    std::vector<std::uint16_t> indices;
    for (const auto& done : bench.a.drain(bench.a_cq)) {
        CHECK(done.is_ok());
        indices.push_back(done.index);
    }
    CHECK(indices == std::vector<std::uint16_t>{1, 3, 4, 5});
    CHECK(bench.link.counters(0).packets == 2);
}
