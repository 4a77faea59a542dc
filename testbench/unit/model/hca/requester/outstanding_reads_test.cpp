// How many READs and atomics are under way at once, and what waits for them.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::CqeSyndrome;
using abi::prm::FenceMode;
using abi::prm::WqeOpcode;
using abi::wire::Operation;

namespace {

constexpr std::uint8_t good = abi::wire::ack_syndrome();

struct Bench : OneHca {
    using OneHca::OneHca;
    Region local = a.make_region(8192, 1);

    void read() {
        send({.opcode = WqeOpcode::rdma_read, .sges = {local.sge(0, 10)}, .remote = 0x1000, .rkey = abi::Key{1}});
    }
    void atomic() {
        send({.opcode = WqeOpcode::atomic_fa, .sges = {local.sge(0, 8)}, .remote = 0x1000, .rkey = abi::Key{1}});
    }
    void write(FenceMode fence = FenceMode::none) {
        send({.sges = {local.sge(0, 10)}, .remote = 0x1000, .rkey = abi::Key{1}, .fence = fence});
    }
    std::vector<Operation> operations() {
        std::vector<Operation> all;
        for (const auto& packet : peer.take())
            all.push_back(packet.operation());
        return all;
    }
    void answer_read(std::uint32_t psn) { receive(Operation::read_response_only, psn, 10); }
    void answer_atomic(std::uint32_t psn) { receive(Operation::atomic_acknowledge, psn); }
};
using Operations = std::vector<Operation>;

} // namespace

TEST_CASE("a READ that has waited for an answer leaves when the answer has come, though its batch came early",
          "[unit][transport][read]") {
    Bench bench([](auto& attributes) { attributes.log_reads_requester = 0; });
    bench.read();
    bench.read();
    REQUIRE(bench.operations().size() == 1);
    model::port::Packet answer;
    answer.path = bench.peer.path;
    answer.rdma().pkey = 0xffff;
    answer.rdma().operation = Operation::read_response_only;
    answer.rdma().destination = bench.peer.target;
    answer.rdma().psn = abi::Psn{100};
    answer.rdma().aeth = {.syndrome = good, .msn = 1};
    answer.payload.append_copy(std::vector<std::byte>(10));

    bench.a.hca.receive(answer, bench.clock.now() + 200ns);
    bench.a.hca.received_all(bench.clock.now());
    bench.settle();

    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].at >= bench.clock.now() + 200ns);
}

TEST_CASE("no more READs and atomics are under way than the context allows", "[unit][transport][read]") {
    for (std::uint8_t log = 0; log < 4; ++log) {
        Bench bench([&](auto& attributes) { attributes.log_reads_requester = log; });
        const auto limit = 1u << log;
        INFO("limit " << limit);
        for (std::uint32_t i = 0; i < 3 * limit; ++i)
            i % 2 == 0 ? bench.read() : bench.atomic();
        CHECK(bench.operations().size() == limit);

        for (std::uint32_t i = 0; i < 2 * limit; ++i) {
            i % 2 == 0 ? bench.answer_read(100 + i) : bench.answer_atomic(100 + i);
            CHECK(bench.operations().size() == 1); // each answer lets one more go
        }
        for (std::uint32_t i = 2 * limit; i < 3 * limit; ++i)
            i % 2 == 0 ? bench.answer_read(100 + i) : bench.answer_atomic(100 + i);

        CHECK(bench.operations().empty());
        CHECK(bench.a.drain(bench.cq).size() == 3 * limit);
    }
}

TEST_CASE("the device's limit holds where the context allows more", "[unit][transport][read]") {
    model::hca::HcaConfig config;
    config.timed = false;
    config.log_max_read_requester = 1;
    Bench bench([](auto& attributes) { attributes.log_reads_requester = 7; }, config);
    for (int i = 0; i < 5; ++i)
        bench.read();
    CHECK(bench.operations().size() == 2);
}

TEST_CASE("a message behind a READ that has to wait waits too", "[unit][transport][read]") {
    Bench bench([](auto& attributes) { attributes.log_reads_requester = 0; });
    bench.read();
    bench.read();
    bench.write();
    CHECK(bench.operations() == Operations{Operation::read_request});

    bench.answer_read(100);

    CHECK(bench.operations() == Operations{Operation::read_request, Operation::write_only});
}

TEST_CASE("a WRITE behind a READ goes at once without a fence, and after the answer with any",
          "[unit][transport][fence]") {
    for (const auto fence : {FenceMode::none, FenceMode::initiator_small, FenceMode::fence, FenceMode::strong_ordering,
                             FenceMode::small_and_fence}) {
        Bench bench;
        bench.read();
        bench.atomic();
        CHECK(bench.operations().size() == 2);
        INFO("fence " << static_cast<int>(fence));

        bench.write(fence);
        CHECK(bench.operations().size() == (fence == FenceMode::none ? 1 : 0));
        bench.answer_read(100);
        CHECK(bench.operations().empty());
        bench.answer_atomic(101);

        CHECK(bench.operations().size() == (fence == FenceMode::none ? 0 : 1));
        bench.answer(102, good);
        CHECK(bench.a.drain(bench.cq).size() == 3);
    }
}

TEST_CASE("a fence does not wait for WRITEs", "[unit][transport][fence]") {
    Bench bench;
    bench.write();
    bench.write(FenceMode::fence);
    CHECK(bench.operations().size() == 2);
}

TEST_CASE("a fence orders a READ before the WRITE that changes what it reads", "[unit][transport][fence]") {
    HcaPair pair;
    pair.connect();
    const auto local = pair.a.make_region(5000, 1), copy = pair.a.make_region(5000),
               remote = pair.b.make_region(5000, 2);
    const auto before = pair.b.bytes(remote);
    pair.a.post(pair.a_qp,
                {.opcode = WqeOpcode::rdma_read, .sges = {copy.sge()}, .remote = remote.address, .rkey = remote.key});
    pair.a.post(pair.a_qp,
                {.sges = {local.sge()}, .remote = remote.address, .rkey = remote.key, .fence = FenceMode::fence});

    pair.ring();

    CHECK(pair.a.bytes(copy) == before);
    CHECK(pair.b.bytes(remote) == pair.a.bytes(local));
    CHECK(pair.a.drain(pair.a_cq).size() == 2);
}

TEST_CASE("answers complete in order, also READs among WRITEs", "[unit][transport][read]") {
    HcaPair pair;
    pair.connect(0xfffffa);
    const auto local = pair.a.make_region(0x8000, 1), remote = pair.b.make_region(0x8000, 2);
    std::vector<std::uint16_t> expected;
    for (std::uint32_t i = 0; i < 40; ++i) {
        const auto opcode =
            std::array{WqeOpcode::rdma_write, WqeOpcode::rdma_read, WqeOpcode::nop, WqeOpcode::atomic_fa}[i % 4];
        expected.push_back(pair.a.post(
            pair.a_qp, {.opcode = opcode,
                        .sges = opcode == WqeOpcode::nop
                                    ? std::vector<Post::Sge>{}
                                    : std::vector{local.sge(i * 512, opcode == WqeOpcode::atomic_fa ? 8 : 300 + i * 5)},
                        .remote = remote.address + i * 512,
                        .rkey = remote.key,
                        .swap_or_add = 1}));
    }

    pair.ring();

    std::vector<std::uint16_t> indices;
    for (const auto& done : pair.a.drain(pair.a_cq)) {
        CHECK(done.is_ok());
        indices.push_back(done.index);
    }
    CHECK(indices == expected);
    for (std::uint32_t i = 0; i < 40; ++i)
        if (i % 4 < 2)
            CHECK(pair.a.bytes(local, i * 512, 300 + i * 5) == pair.b.bytes(remote, i * 512, 300 + i * 5));
}

TEST_CASE("more READs and atomics at once than the responder's context allows are an invalid request",
          "[unit][transport][read][responder]") {
    Bench bench([](auto& attributes) { attributes.log_reads_responder = 1; });
    const auto target = bench.a.make_region(64, 1);
    const auto request = [&](std::uint32_t psn) {
        bench.hand_over(Operation::read_request, psn, 0, [&](auto& packet) {
            packet.rdma().reth = {.address = target.address, .rkey = target.key, .length = 8};
        });
    };
    for (std::uint32_t i = 0; i < 2; ++i)
        request(5100 + i);
    bench.settle();
    CHECK(bench.operations() == Operations{Operation::read_response_only, Operation::read_response_only});

    for (std::uint32_t i = 2; i < 5; ++i)
        request(5100 + i);
    bench.settle();

    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 3);
    CHECK(seen[0].operation() == Operation::read_response_only);
    CHECK(seen[1].operation() == Operation::read_response_only);
    CHECK(seen[2].operation() == Operation::acknowledge);
    CHECK(seen[2].syndrome() == abi::wire::nak_syndrome(abi::wire::NakCode::invalid_request));
    CHECK(seen[2].psn() == 5104);
    CHECK(bench.core().state == model::hca::queue::QpState::err);
}
