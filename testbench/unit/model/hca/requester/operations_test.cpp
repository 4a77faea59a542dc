// Every operation of the transport, at every MTU, with lengths around its multiples.
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::WqeOpcode;

namespace {

constexpr std::uint32_t max_length = 3 * 4096 + 64;

struct Bench : HcaPair {
    explicit Bench(std::uint8_t mtu_code = 3, std::uint32_t psn = 0xfffffd) {
        remake([&](auto& attributes) { attributes.mtu = mtu_code; });
        connect(psn); // the sequence numbers wrap on the way
    }
    Region local = a.make_region(max_length, 3), remote = b.make_region(max_length, 5);
    std::vector<std::byte> local_before = a.bytes(local), remote_before = b.bytes(remote);

    std::vector<Post::Sge> sge(std::uint32_t length) const {
        return length == 0 ? std::vector<Post::Sge>{} : std::vector{local.sge(0, length)};
    }
    /// `length` bytes went from one side to the other, and nothing else changed.
    void check_moved(std::uint32_t length, bool to_remote) {
        auto expected = to_remote ? remote_before : local_before;
        const auto& source = to_remote ? local_before : remote_before;
        std::copy_n(source.begin(), length, expected.begin());
        CHECK((to_remote ? b.bytes(remote) : a.bytes(local)) == expected);
        CHECK((to_remote ? a.bytes(local) : b.bytes(remote)) == source);
        CHECK(a.has_guards(local));
        CHECK(b.has_guards(remote));
    }
    /// One good completion of `opcode` at the requester, and no more.
    void check_requester(WqeOpcode opcode, std::uint32_t bytes) {
        const auto done = a.drain(a_cq);
        REQUIRE(done.size() == 1);
        CHECK(done[0].opcode == CqeOpcode::req);
        CHECK(done[0].send_opcode == static_cast<std::uint8_t>(opcode));
        CHECK(done[0].qpn == a_qp.number.value);
        CHECK(done[0].bytes == bytes);
    }
    void check_responder(std::optional<CqeOpcode> opcode, std::uint32_t bytes = 0, std::uint32_t immediate = 0) {
        const auto done = b.drain(b_cq);
        REQUIRE(done.size() == (opcode ? 1 : 0));
        if (!opcode)
            return;
        CHECK(done[0].opcode == *opcode);
        CHECK(done[0].qpn == b_qp.number.value);
        CHECK(done[0].index == 0);
        CHECK(done[0].bytes == bytes);
        CHECK(done[0].immediate == immediate);
    }
    void check_quiet() {
        CHECK(a.drain_events().empty());
        CHECK(b.drain_events().empty());
        CHECK(a.hca.counters().retries + a.hca.counters().timeouts + b.hca.counters().naks_sent == 0);
    }
};

std::vector<std::uint32_t> lengths(std::uint32_t mtu) {
    return {0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu - 1, 3 * mtu, 3 * mtu + 1};
}
std::uint32_t packets(std::uint32_t length, std::uint32_t mtu) { return length == 0 ? 1 : (length + mtu - 1) / mtu; }

} // namespace

TEST_CASE("a SEND of any length at any MTU fills the receiver's buffer", "[unit][transport][send]") {
    const auto mtu_code = GENERATE(as<std::uint8_t>{}, 1, 2, 3, 4, 5);
    const auto mtu = 128u << mtu_code;
    for (const auto length : lengths(mtu))
        for (const bool has_immediate : {false, true}) {
            INFO("MTU " << mtu << ", length " << length << ", immediate " << has_immediate);
            Bench bench(mtu_code);
            const auto opcode = has_immediate ? WqeOpcode::send_imm : WqeOpcode::send;
            bench.b.post_receive(bench.b_qp, {bench.remote.sge()});

            bench.send({.opcode = opcode, .sges = bench.sge(length), .immediate = 0x12345678});

            bench.check_moved(length, true);
            bench.check_requester(opcode, 0);
            bench.check_responder(has_immediate ? CqeOpcode::resp_send_imm : CqeOpcode::resp_send, length,
                                  has_immediate ? 0x12345678 : 0);
            CHECK(bench.link.counters(0).packets == packets(length, mtu));
            CHECK(bench.link.counters(1).packets == 1);
            bench.check_quiet();
        }
}

TEST_CASE("a WRITE of any length at any MTU fills the named memory, and completes at the receiver with immediate only",
          "[unit][transport][write]") {
    const auto mtu_code = GENERATE(as<std::uint8_t>{}, 1, 2, 3, 4, 5);
    const auto mtu = 128u << mtu_code;
    for (const auto length : lengths(mtu))
        for (const bool has_immediate : {false, true}) {
            INFO("MTU " << mtu << ", length " << length << ", immediate " << has_immediate);
            Bench bench(mtu_code);
            const auto opcode = has_immediate ? WqeOpcode::rdma_write_imm : WqeOpcode::rdma_write;
            if (has_immediate)
                bench.b.post_receive(bench.b_qp, {});

            bench.send({.opcode = opcode,
                        .sges = bench.sge(length),
                        .remote = bench.remote.address,
                        .rkey = bench.remote.key,
                        .immediate = 0x9abcdef0});

            bench.check_moved(length, true);
            bench.check_requester(opcode, 0);
            bench.check_responder(has_immediate ? std::optional(CqeOpcode::resp_wr_imm) : std::nullopt, length,
                                  has_immediate ? 0x9abcdef0 : 0);
            CHECK(bench.link.counters(0).packets == packets(length, mtu));
            CHECK(bench.link.counters(1).packets == 1);
            bench.check_quiet();
        }
}

TEST_CASE("a READ of any length at any MTU brings the named memory", "[unit][transport][read]") {
    const auto mtu_code = GENERATE(as<std::uint8_t>{}, 1, 2, 3, 4, 5);
    const auto mtu = 128u << mtu_code;
    for (const auto length : lengths(mtu)) {
        INFO("MTU " << mtu << ", length " << length);
        Bench bench(mtu_code);

        bench.send({.opcode = WqeOpcode::rdma_read,
                    .sges = bench.sge(length),
                    .remote = bench.remote.address,
                    .rkey = bench.remote.key});

        bench.check_moved(length, false);
        bench.check_requester(WqeOpcode::rdma_read, length);
        bench.check_responder(std::nullopt);
        CHECK(bench.link.counters(0).packets == 1);
        CHECK(bench.link.counters(1).packets == packets(length, mtu));
        bench.check_quiet();
    }
}

TEST_CASE("compare-and-swap writes when equal, and returns what it found either way", "[unit][transport][atomic]") {
    const bool equal = GENERATE(true, false);
    Bench bench;
    bench.b.write_be64(bench.remote.address + 8, 0x1111222233334444);
    const auto compare = equal ? 0x1111222233334444u : 0x1111222233334445u;

    bench.send({.opcode = WqeOpcode::atomic_cs,
                .sges = {bench.local.sge(16, 8)},
                .remote = bench.remote.address + 8,
                .rkey = bench.remote.key,
                .swap_or_add = 0xaaaabbbbccccdddd,
                .compare = compare});

    CHECK(bench.b.read_be64(bench.remote.address + 8) == (equal ? 0xaaaabbbbccccdddd : 0x1111222233334444));
    CHECK(bench.a.read_be64(bench.local.address + 16) == 0x1111222233334444);
    CHECK(bench.a.bytes(bench.local, 0, 16) ==
          std::vector(bench.local_before.begin(), bench.local_before.begin() + 16));
    CHECK(bench.a.bytes(bench.local, 24, 16) ==
          std::vector(bench.local_before.begin() + 24, bench.local_before.begin() + 40));
    CHECK(bench.b.bytes(bench.remote, 0, 8) ==
          std::vector(bench.remote_before.begin(), bench.remote_before.begin() + 8));
    CHECK(bench.b.bytes(bench.remote, 16, 8) ==
          std::vector(bench.remote_before.begin() + 16, bench.remote_before.begin() + 24));
    bench.check_requester(WqeOpcode::atomic_cs, 8);
    bench.check_responder(std::nullopt);
    bench.check_quiet();
}

TEST_CASE("fetch-and-add adds modulo 2^64 and returns the sum before", "[unit][transport][atomic]") {
    Bench bench;
    bench.b.write_be64(bench.remote.address, ~0ull - 1);

    for (const std::uint64_t add : {1ull, 2ull, 0ull})
        bench.a.post(bench.a_qp, {.opcode = WqeOpcode::atomic_fa,
                                  .sges = {bench.local.sge(static_cast<std::uint32_t>(add) * 8, 8)},
                                  .remote = bench.remote.address,
                                  .rkey = bench.remote.key,
                                  .swap_or_add = add});
    bench.ring();

    CHECK(bench.a.read_be64(bench.local.address + 8) == ~0ull - 1);
    CHECK(bench.a.read_be64(bench.local.address + 16) == ~0ull);
    CHECK(bench.a.read_be64(bench.local.address) == 1);
    CHECK(bench.b.read_be64(bench.remote.address) == 1);
    CHECK(bench.a.drain(bench.a_cq).size() == 3);
    bench.check_quiet();
}

TEST_CASE("atomics act on host-order values when software chose so", "[unit][transport][atomic]") {
    Bench bench;
    bench.a.hca.set_atomic_host_order(true);
    bench.b.hca.set_atomic_host_order(true);
    std::array<std::byte, 8> bytes;
    abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), 41);
    bench.b.dma.poke(bench.remote.address, bytes);

    bench.send({.opcode = WqeOpcode::atomic_fa,
                .sges = {bench.local.sge(0, 8)},
                .remote = bench.remote.address,
                .rkey = bench.remote.key,
                .swap_or_add = 1});

    bench.b.dma.peek(bench.remote.address, bytes);
    CHECK(abi::load<std::uint64_t, abi::Endian::little>(bytes.data()) == 42);
    bench.a.dma.peek(bench.local.address, bytes);
    CHECK(abi::load<std::uint64_t, abi::Endian::little>(bytes.data()) == 41);
}

TEST_CASE("an atomic's answer may be scattered", "[unit][transport][atomic]") {
    Bench bench;
    bench.b.write_be64(bench.remote.address, 0x0102030405060708);

    bench.send({.opcode = WqeOpcode::atomic_fa,
                .sges = {bench.local.sge(0, 3), bench.local.sge(100, 5)},
                .remote = bench.remote.address,
                .rkey = bench.remote.key});

    const auto found = bench.b.bytes(bench.remote, 0, 8);
    CHECK(bench.a.bytes(bench.local, 0, 3) == std::vector(found.begin(), found.begin() + 3));
    CHECK(bench.a.bytes(bench.local, 100, 5) == std::vector(found.begin() + 3, found.end()));
    bench.check_requester(WqeOpcode::atomic_fa, 8);
}

TEST_CASE("empty messages need no key and touch no memory", "[unit][transport]") {
    for (const auto opcode : {WqeOpcode::rdma_write, WqeOpcode::rdma_read, WqeOpcode::rdma_write_imm}) {
        Bench bench;
        bench.b.post_receive(bench.b_qp, {});
        INFO(name(opcode));

        bench.send({.opcode = opcode, .remote = 0xdeadbeef, .rkey = abi::Key{0xffffffff}});

        bench.check_moved(0, true);
        bench.check_requester(opcode, 0);
        bench.check_quiet();
    }
}

TEST_CASE("a SEND is scattered over a receive WQE's segments, of any sizes", "[unit][transport][send]") {
    for (const std::uint32_t length : {0u, 1u, 99u, 100u, 101u, 1024u, 3000u, 5000u}) {
        INFO("length " << length);
        Bench bench;
        const auto& r = bench.remote;
        bench.b.post_receive(bench.b_qp, {r.sge(8000, 1), r.sge(0, 99), r.sge(200, 2900), r.sge(4000, 2000)});

        bench.send({.opcode = WqeOpcode::send, .sges = bench.sge(length)});

        auto expected = bench.remote_before;
        std::uint32_t at = 0;
        for (const auto& [offset, size] :
             std::vector<std::pair<std::uint32_t, std::uint32_t>>{{8000, 1}, {0, 99}, {200, 2900}, {4000, 2000}})
            for (std::uint32_t i = 0; i < size && at < length; ++i)
                expected[offset + i] = bench.local_before[at++];
        CHECK(bench.b.bytes(r) == expected);
        bench.check_responder(CqeOpcode::resp_send, length);
    }
}

TEST_CASE("receive WQEs are used in order, one a message, around the ring", "[unit][transport][send]") {
    Bench bench;
    std::uint16_t index = 0;
    for (int round = 0; round < 40; ++round) {
        for (std::uint32_t n = 0; n < 5; ++n)
            bench.b.post_receive(bench.b_qp, {bench.remote.sge(n * 100, 100)});
        for (std::uint32_t n = 0; n < 5; ++n)
            bench.a.post(bench.a_qp, {.opcode = WqeOpcode::send, .sges = {bench.local.sge(n * 10, n + 1)}});
        bench.ring();
        const auto done = bench.b.drain(bench.b_cq);
        REQUIRE(done.size() == 5);
        for (std::uint32_t n = 0; n < 5; ++n) {
            CHECK(done[n].index == index++);
            CHECK(done[n].bytes == n + 1);
            CHECK(bench.b.bytes(bench.remote, n * 100, n + 1) == bench.a.bytes(bench.local, n * 10, n + 1));
        }
        CHECK(bench.a.drain(bench.a_cq).size() == 5);
    }
    bench.check_quiet();
}
