// Scatter to CQE (PRM "QP context", cs_req and cs_res): a small message's bytes come in its completion, in the CQE64
// itself or in front of it, and nobody writes them to the buffer.
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace harness;
using abi::prm::CqeFormat;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;

namespace {

struct Found {
    abi::Block<abi::prm::Cqe64> cqe;
    std::vector<std::byte> front; ///< of a 128-byte entry
    CqeFormat format() const { return cqe.view().get<"cqe_format">(); }
    std::uint32_t byte_count() const { return cqe.view().get<"byte_cnt">(); }
    /// Where a driver that goes by the format finds the message.
    std::vector<std::byte> data() const {
        const auto bytes =
            format() == CqeFormat::inline_32 ? std::span(cqe.bytes).first(32) : std::span<const std::byte>(front);
        REQUIRE(byte_count() <= bytes.size());
        // What the message leaves free in front of the CQE64 is nobody's: neither an old entry's nor this program's.
        if (format() == CqeFormat::inline_64)
            CHECK(std::ranges::all_of(std::span(front).subspan(byte_count()), [](auto b) { return b == std::byte{}; }));
        return {bytes.begin(), bytes.begin() + byte_count()};
    }
};

struct Bench : HcaPair {
    /// Bytes that the queue pairs ask for, and log2 of the size of an entry.
    Bench(std::uint8_t asked, unsigned log_entry, abi::prm::QpType type = abi::prm::QpType::rc) {
        a_cq = a.make_cq({.log_entry = log_entry});
        b_cq = b.make_cq({.log_entry = log_entry});
        remake([&](auto& attributes) {
            attributes.type = type;
            attributes.answer_in_cqe = attributes.receive_in_cqe = asked;
        });
        connect();
    }
    Region local = a.make_region(4096, 3), remote = b.make_region(4096, 5);
    std::vector<std::byte> local_before = a.bytes(local), remote_before = b.bytes(remote);

    static Found take(Node& node, TestCq& cq) {
        Found found;
        const auto entry = cq.buffer + (std::uint64_t{cq.consumer} << cq.log_entry);
        if (cq.log_entry == 7)
            found.front = node.dma.peek(entry, 64);
        const auto cqe = node.poll(cq);
        REQUIRE(cqe);
        found.cqe = *cqe;
        std::byte sum{};
        for (const auto byte : found.cqe.bytes)
            sum ^= byte;
        CHECK(sum == std::byte{0xff});
        return found;
    }
};

std::vector<std::byte> head(const std::vector<std::byte>& bytes, std::size_t count) {
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// What is due for a message of `length`: the entry's size bounds what was asked for.
CqeFormat due(std::uint32_t length, std::uint32_t asked, unsigned log_entry) {
    if (length == 0 || length > asked || length > (log_entry == 7 ? 64u : 32u))
        return CqeFormat::no_data;
    return length <= 32 ? CqeFormat::inline_32 : CqeFormat::inline_64;
}

constexpr std::uint32_t lengths[] = {0, 1, 8, 31, 32, 33, 63, 64, 65, 1024, 1056};

} // namespace

TEST_CASE("a small SEND comes in its completion and the receive buffer is left alone", "[unit][cqe][scatter]") {
    const auto asked = GENERATE(as<std::uint8_t>{}, 0, 32, 64);
    const auto log_entry = GENERATE(6u, 7u);
    const auto type = GENERATE(abi::prm::QpType::rc, abi::prm::QpType::uc);
    for (const auto length : lengths) {
        INFO("asked " << +asked << ", entry 2^" << log_entry << ", length " << length);
        Bench bench(asked, log_entry, type);
        bench.b.post_receive(bench.b_qp, {bench.remote.sge(0, 5), bench.remote.sge(100, 3000)});

        bench.send({.opcode = WqeOpcode::send_imm,
                    .sges = length == 0 ? std::vector<Post::Sge>{} : std::vector{bench.local.sge(0, length)},
                    .immediate = 0xcafe});

        const auto found = Bench::take(bench.b, bench.b_cq);
        CHECK(found.cqe.view().get<"opcode">() == CqeOpcode::resp_send_imm);
        CHECK(found.cqe.view().get<"imm_inval_pkey">() == 0xcafe);
        CHECK(found.byte_count() == length);
        const auto format = due(length, asked, log_entry);
        CHECK(found.format() == format);
        if (format == CqeFormat::no_data) {
            CHECK(bench.b.bytes(bench.remote, 0, std::min(5u, length)) ==
                  head(bench.local_before, std::min(5u, length)));
        } else {
            CHECK(found.data() == head(bench.local_before, length));
            CHECK(bench.b.bytes(bench.remote) == bench.remote_before);
        }
        CHECK(bench.a.drain(bench.a_cq).size() == 1);
    }
}

TEST_CASE("a small READ's answer comes in its completion", "[unit][cqe][scatter]") {
    const auto asked = GENERATE(as<std::uint8_t>{}, 0, 32, 64);
    const auto log_entry = GENERATE(6u, 7u);
    for (const auto length : lengths) {
        INFO("asked " << +asked << ", entry 2^" << log_entry << ", length " << length);
        Bench bench(asked, log_entry);

        bench.send({.opcode = WqeOpcode::rdma_read,
                    .sges = length == 0 ? std::vector<Post::Sge>{} : std::vector{bench.local.sge(7, length)},
                    .remote = bench.remote.address,
                    .rkey = bench.remote.key});

        const auto found = Bench::take(bench.a, bench.a_cq);
        CHECK(found.cqe.view().get<"opcode">() == CqeOpcode::req);
        CHECK(found.byte_count() == length);
        const auto format = due(length, asked, log_entry);
        CHECK(found.format() == format);
        if (format == CqeFormat::no_data) {
            CHECK(bench.a.bytes(bench.local, 7, length) == head(bench.remote_before, length));
        } else {
            CHECK(found.data() == head(bench.remote_before, length));
            CHECK(bench.a.bytes(bench.local) == bench.local_before);
        }
        CHECK_FALSE(bench.a.poll(bench.a_cq));
    }
}

TEST_CASE("an atomic's answer in a completion is big endian, also where memory has the host's order",
          "[unit][cqe][scatter][atomic]") {
    const bool host_order = GENERATE(false, true);
    const auto opcode = GENERATE(WqeOpcode::atomic_fa, WqeOpcode::atomic_cs);
    Bench bench(64, 7);
    bench.a.hca.set_atomic_host_order(host_order);
    bench.b.hca.set_atomic_host_order(host_order);
    auto before = bench.b.bytes(bench.remote, 0, 8);
    if (host_order)
        std::ranges::reverse(before);

    bench.send({.opcode = opcode,
                .sges = {bench.local.sge(0, 8)},
                .remote = bench.remote.address,
                .rkey = bench.remote.key,
                .swap_or_add = 1});

    const auto found = Bench::take(bench.a, bench.a_cq);
    CHECK(found.format() == CqeFormat::inline_32);
    CHECK(found.byte_count() == 8);
    CHECK(found.data() == before);
    CHECK(bench.a.bytes(bench.local) == bench.local_before);
}

TEST_CASE("an answer without a completion goes to memory", "[unit][cqe][scatter]") {
    Bench bench(64, 7);

    bench.a.post(bench.a_qp, {.opcode = WqeOpcode::rdma_read,
                              .sges = {bench.local.sge(0, 16)},
                              .remote = bench.remote.address,
                              .rkey = bench.remote.key,
                              .signalled = false});
    bench.send({.opcode = WqeOpcode::rdma_read,
                .sges = {bench.local.sge(64, 16)},
                .remote = bench.remote.address + 64,
                .rkey = bench.remote.key});

    CHECK(bench.a.bytes(bench.local, 0, 16) == bench.b.bytes(bench.remote, 0, 16));
    const auto found = Bench::take(bench.a, bench.a_cq);
    CHECK(found.data() == bench.b.bytes(bench.remote, 64, 16));
    CHECK(bench.a.bytes(bench.local, 64, 16) ==
          std::vector(bench.local_before.begin() + 64, bench.local_before.begin() + 80));
    CHECK_FALSE(bench.a.poll(bench.a_cq));
}

TEST_CASE("only the message that is answered carries its bytes, not what completes behind it", "[unit][cqe][scatter]") {
    Bench bench(32, 6);

    bench.a.post(bench.a_qp, {.opcode = WqeOpcode::rdma_read,
                              .sges = {bench.local.sge(0, 16)},
                              .remote = bench.remote.address,
                              .rkey = bench.remote.key});
    bench.a.post(bench.a_qp, {.opcode = WqeOpcode::nop});
    bench.send({.opcode = WqeOpcode::rdma_write,
                .sges = {bench.local.sge(0, 16)},
                .remote = bench.remote.address,
                .rkey = bench.remote.key});

    CHECK(Bench::take(bench.a, bench.a_cq).format() == CqeFormat::inline_32);
    CHECK(Bench::take(bench.a, bench.a_cq).format() == CqeFormat::no_data);
    CHECK(Bench::take(bench.a, bench.a_cq).format() == CqeFormat::no_data);
}

TEST_CASE("a SEND larger than its receive buffer is refused also where its completion has room",
          "[unit][cqe][scatter]") {
    Bench bench(64, 7);
    bench.b.post_receive(bench.b_qp, {bench.remote.sge(0, 10), bench.remote.sge(20, 10)});

    bench.send({.opcode = WqeOpcode::send, .sges = {bench.local.sge(0, 21)}});

    const auto done = bench.b.drain(bench.b_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].opcode == CqeOpcode::resp_err);
    CHECK(done[0].syndrome == CqeSyndrome::local_length_err);
    const auto sent = bench.a.drain(bench.a_cq);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].syndrome == CqeSyndrome::remote_inval_req_err);
    CHECK(bench.b.bytes(bench.remote) == bench.remote_before);
}

TEST_CASE("a WRITE with immediate is no small message of its receive", "[unit][cqe][scatter]") {
    Bench bench(64, 7);
    bench.b.post_receive(bench.b_qp, {bench.remote.sge(100, 64)});

    bench.send({.opcode = WqeOpcode::rdma_write_imm,
                .sges = {bench.local.sge(0, 16)},
                .remote = bench.remote.address,
                .rkey = bench.remote.key,
                .immediate = 3});

    const auto found = Bench::take(bench.b, bench.b_cq);
    CHECK(found.format() == CqeFormat::no_data);
    CHECK(found.byte_count() == 16);
    CHECK(bench.b.bytes(bench.remote, 0, 16) == head(bench.local_before, 16));
}

TEST_CASE("a receive of a shared queue comes in its completion, too", "[unit][cqe][scatter]") {
    Bench bench(32, 6);
    auto srq = bench.b.make_srq();
    bench.remake([&](auto& attributes) { attributes.receive_in_cqe = 32; });
    auto attributes = bench.b.attributes(bench.b_cq);
    attributes.receive = model::hca::queue::ReceiveKind::shared;
    attributes.srqn = srq.number;
    attributes.receive_in_cqe = 32;
    bench.b_qp = bench.b.make_qp(attributes);
    bench.connect();
    bench.b.post_receive(srq, 0, {bench.remote.sge()});

    bench.send({.opcode = WqeOpcode::send, .sges = {bench.local.sge(0, 32)}});

    const auto found = Bench::take(bench.b, bench.b_cq);
    CHECK(found.data() == head(bench.local_before, 32));
    CHECK(bench.b.bytes(bench.remote) == bench.remote_before);
}

TEST_CASE("keys count for a message in a completion, too", "[unit][cqe][scatter]") {
    Bench bench(64, 7);
    const auto unknown = abi::Key{0xabcd00};
    SECTION("of a READ") {
        bench.send({.opcode = WqeOpcode::rdma_read,
                    .sges = {bench.local.sge(0, 4), {bench.local.address, 4, unknown}},
                    .remote = bench.remote.address,
                    .rkey = bench.remote.key});

        const auto done = bench.a.drain(bench.a_cq);
        REQUIRE(done.size() == 1);
        CHECK(done[0].syndrome == CqeSyndrome::local_prot_err);
    }
    SECTION("of an atomic") {
        bench.send({.opcode = WqeOpcode::atomic_fa,
                    .sges = {{bench.local.address, 8, unknown}},
                    .remote = bench.remote.address,
                    .rkey = bench.remote.key});

        const auto done = bench.a.drain(bench.a_cq);
        REQUIRE(done.size() == 1);
        CHECK(done[0].syndrome == CqeSyndrome::local_prot_err);
    }
    SECTION("of a receive, as far as the message goes") {
        bench.b.post_receive(bench.b_qp, {bench.remote.sge(0, 4), {bench.remote.address, 4, unknown}});
        bench.b.post_receive(bench.b_qp, {bench.remote.sge(0, 4), {bench.remote.address, 4, unknown}});

        bench.send({.opcode = WqeOpcode::send, .sges = {bench.local.sge(0, 4)}});
        bench.send({.opcode = WqeOpcode::send, .sges = {bench.local.sge(0, 5)}});

        const auto done = bench.b.drain(bench.b_cq);
        REQUIRE(done.size() == 2);
        CHECK(done[0].is_ok());
        CHECK(done[1].syndrome == CqeSyndrome::local_prot_err);
    }
}
