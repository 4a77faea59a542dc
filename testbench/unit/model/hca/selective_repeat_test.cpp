// Selective repeat: what comes behind a gap is kept, and what is missing comes again, and nothing else.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::WqeOpcode;
using abi::wire::NakCode;
using abi::wire::Operation;

namespace {

constexpr std::uint8_t good = abi::wire::ack_syndrome();
constexpr std::uint8_t out_of_sequence = abi::wire::nak_syndrome(NakCode::psn_sequence_error);
constexpr std::uint32_t mtu = 1024;
using Psns = std::vector<std::uint32_t>;

model::hca::HcaConfig config(bool is_selective, std::uint32_t packets = 64) {
    auto config = HcaPair::untimed();
    config.selective_repeat = is_selective;
    config.reorder_packets = packets;
    return config;
}

/// A card whose peer the test plays.
struct Bench : OneHca {
    explicit Bench(bool is_selective = true, std::uint32_t packets = 64) : OneHca({}, config(is_selective, packets)) {}

    void write(std::uint32_t length) { send({.sges = {own.sge(0, length)}, .remote = 0x1000, .rkey = abi::Key{1}}); }
    void read(std::uint32_t length) {
        send({.opcode = WqeOpcode::rdma_read, .sges = {own.sge(0, length)}, .remote = 0x1000, .rkey = abi::Key{1}});
    }
    /// Packet `number` of a WRITE of `packets` into `target`, each of which has bytes of its own.
    void receive_write(std::uint32_t number, std::uint32_t packets) {
        const auto operation = number == 0            ? Operation::write_first
                               : number + 1 < packets ? Operation::write_middle
                                                      : Operation::write_last;
        receive(operation, peer_psn + number, mtu, [&](auto& packet) {
            packet.rdma().reth = {.address = target.address, .rkey = target.key, .length = packets * mtu};
            packet.rdma().ack_request = number + 1 == packets;
            packet.payload.clear();
            packet.payload.append_copy(std::vector(mtu, std::byte(number + 1)));
        });
    }
    void receive_read(std::uint32_t psn, std::uint32_t skipped, std::uint32_t length) {
        receive(Operation::read_request, psn, 0, [&](auto& packet) {
            packet.rdma().reth = {.address = target.address + skipped, .rkey = target.key, .length = length};
        });
    }
    Psns psns() {
        Psns all;
        for (const auto& packet : peer.take())
            all.push_back(packet.psn());
        return all;
    }
    Region own = a.make_region(8192, 1), target = a.make_region(8192, 2);
};

} // namespace

TEST_CASE("packets behind a gap are carried out when what is missing has come", "[unit][transport][selective]") {
    Bench bench;
    for (const auto number : {0u, 3u, 2u})
        bench.receive_write(number, 4);

    auto answers = bench.peer.take();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].syndrome() == out_of_sequence);
    CHECK(answers[0].psn() == Bench::peer_psn + 1);
    CHECK(bench.a.bytes(bench.target, 2 * mtu, 1)[0] != std::byte{3}); // nothing passes what is missing

    bench.receive_write(1, 4);

    answers = bench.peer.take();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].syndrome() == good);
    CHECK(answers[0].psn() == Bench::peer_psn + 3);
    for (std::uint32_t i = 0; i < 4; ++i)
        CHECK(bench.a.bytes(bench.target, i * mtu, mtu) == std::vector(mtu, std::byte(i + 1)));
}

TEST_CASE("a second gap is told as soon as the first is closed", "[unit][transport][selective]") {
    Bench bench;
    for (const auto number : {0u, 2u, 4u})
        bench.receive_write(number, 5);
    bench.peer.take();

    bench.receive_write(1, 5);

    const auto answers = bench.peer.take();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].syndrome() == out_of_sequence);
    CHECK(answers[0].psn() == Bench::peer_psn + 3);
    bench.receive_write(3, 5);
    CHECK(bench.psns() == Psns{Bench::peer_psn + 4});
}

TEST_CASE("no more packets are kept than there are places for", "[unit][transport][selective]") {
    Bench bench(true, 3);
    for (const auto number : {0u, 2u, 3u, 4u}) // 4 is one too far behind 1
        bench.receive_write(number, 5);
    bench.peer.take();

    bench.receive_write(1, 5);

    CHECK(bench.psns().empty()); // nothing says that 4 has been there
    bench.receive_write(4, 5);
    CHECK(bench.psns() == Psns{Bench::peer_psn + 4});
}

TEST_CASE("what was kept of a connection is forgotten with it", "[unit][transport][selective]") {
    Bench bench;
    bench.receive_write(2, 3);
    bench.peer.take();

    bench.a.modify(bench.qp, model::hca::queue::QpState::rst, bench.clock.now());

    CHECK(bench.core().responder.held == nullptr);
}

TEST_CASE("a packet that the peer misses is sent again alone", "[unit][transport][selective][retry]") {
    Bench bench;
    bench.write(4000);
    CHECK(bench.psns() == Psns{100, 101, 102, 103});

    bench.answer(101, out_of_sequence);

    const auto again = bench.peer.take();
    REQUIRE(again.size() == 1);
    CHECK(again[0].psn() == 101);
    CHECK(again[0].operation() == Operation::write_middle);
    CHECK(again[0].payload == bench.a.bytes(bench.own, mtu, mtu));
    bench.write(10);
    CHECK(bench.psns() == Psns{104}); // it goes on where it was
    bench.answer(102, out_of_sequence);
    CHECK(bench.psns() == Psns{102});
    bench.answer(104, good);
    CHECK(bench.a.drain(bench.cq).size() == 2);
    CHECK(bench.a.hca.counters().timeouts == 0);
}

TEST_CASE("with selective repeat, too, all is sent again when nothing comes", "[unit][transport][selective][retry]") {
    Bench bench;
    bench.write(4000);
    bench.peer.take();
    bench.answer(101, out_of_sequence);
    bench.peer.take();

    bench.run(4096ns * (1 << 14) + 1us);

    CHECK(bench.psns() == Psns{101, 102, 103});
}

TEST_CASE("what is acknowledged while it waits to be sent again alone is not sent again",
          "[unit][transport][selective][retry]") {
    Bench bench;
    bench.write(4000);
    bench.write(10);
    bench.peer.take();

    bench.hand_over(Operation::acknowledge, 101, 0,
                    [](auto& packet) { packet.rdma().aeth.syndrome = out_of_sequence; });
    SECTION("of its message more") {
        bench.hand_over(Operation::acknowledge, 102, 0, [](auto& packet) { packet.rdma().aeth.syndrome = good; });
    }
    SECTION("its whole message") {
        bench.hand_over(Operation::acknowledge, 103, 0, [](auto& packet) { packet.rdma().aeth.syndrome = good; });
    }
    bench.settle();

    CHECK(bench.psns().empty());
    bench.write(10);
    CHECK(bench.psns() == Psns{105});
}

TEST_CASE("of a READ the missing answers alone are asked for again", "[unit][transport][selective][read]") {
    Bench bench;
    bench.read(5000); // 100 to 104
    bench.peer.take();
    bench.receive(Operation::read_response_first, 100, mtu);

    bench.receive(Operation::read_response_middle, 103, mtu);
    bench.receive(Operation::read_response_last, 104, 5000 - 4 * mtu);

    const auto again = bench.peer.take();
    REQUIRE(again.size() == 1);
    CHECK(again[0].psn() == 101);
    CHECK(again[0].header.rdma().reth.address == 0x1000 + mtu);
    CHECK(again[0].header.rdma().reth.length == 2 * mtu);
    bench.receive(Operation::read_response_first, 101, mtu);
    CHECK(bench.a.drain(bench.cq).empty());
    bench.receive(Operation::read_response_last, 102, mtu); // the end of what was asked for again
    CHECK(bench.a.drain(bench.cq).size() == 1);
    CHECK(bench.psns().empty());
}

TEST_CASE("a second gap in the answers is asked for as soon as the first is closed",
          "[unit][transport][selective][read]") {
    Bench bench;
    bench.read(5000);
    bench.read(1000); // 105
    bench.peer.take();
    bench.receive(Operation::read_response_first, 100, mtu);
    bench.receive(Operation::read_response_middle, 102, mtu);
    bench.receive(Operation::read_response_only, 105, 1000);
    CHECK(bench.psns() == Psns{101});

    bench.receive(Operation::read_response_only, 101, mtu);

    const auto again = bench.peer.take();
    REQUIRE(again.size() == 1);
    CHECK(again[0].psn() == 103);
    CHECK(again[0].header.rdma().reth.length == 5000 - 3 * mtu);
    bench.receive(Operation::read_response_first, 103, mtu);
    bench.receive(Operation::read_response_last, 104, 5000 - 4 * mtu);
    CHECK(bench.a.drain(bench.cq).size() == 2);
}

TEST_CASE("an acknowledgement behind a missing answer counts when that has come",
          "[unit][transport][selective][read]") {
    Bench bench;
    bench.read(1000);
    bench.write(10);
    bench.peer.take();
    bench.answer(101, good);
    CHECK(bench.psns() == Psns{100}); // its answer was lost

    bench.receive(Operation::read_response_only, 100, 1000);

    CHECK(bench.a.drain(bench.cq).size() == 2);
    CHECK(bench.psns().empty());
}

TEST_CASE("a refusal behind a missing answer counts when that has come", "[unit][transport][selective][read]") {
    Bench bench;
    bench.read(1000);
    bench.write(10);
    bench.write(20);
    bench.peer.take();
    bench.answer(101, out_of_sequence); // and 102 is there
    CHECK(bench.psns() == Psns{100});

    bench.receive(Operation::read_response_only, 100, 1000);

    CHECK(bench.psns() == Psns{101});
    bench.answer(102, good);
    CHECK(bench.a.drain(bench.cq).size() == 3);
}

TEST_CASE("an acknowledgement behind a READ that is answered in part asks for nothing again",
          "[unit][transport][selective][read]") {
    Bench bench;
    bench.read(2 * mtu);
    bench.write(10); // 102
    bench.peer.take();
    bench.answer(102, good);
    CHECK(bench.psns() == Psns{100}); // both answers were lost

    bench.receive(Operation::read_response_first, 100, mtu);
    CHECK(bench.psns().empty());
    bench.receive(Operation::read_response_last, 101, mtu);

    CHECK(bench.a.drain(bench.cq).size() == 2); // the acknowledgement was kept until it counts
    CHECK(bench.psns().empty());
}

TEST_CASE("an answer that comes in its turn says nothing of the WRITE behind it",
          "[unit][transport][selective][read]") {
    Bench bench;
    bench.read(1000);
    bench.write(10);
    bench.peer.take();

    bench.receive(Operation::read_response_only, 100, 1000);

    CHECK(bench.a.drain(bench.cq).size() == 1);
    CHECK(bench.psns().empty());
    bench.answer(101, good);
    CHECK(bench.a.drain(bench.cq).size() == 1);
}

TEST_CASE("a second gap is asked for also when a WRITE without its ACK is in front of it",
          "[unit][transport][selective][read]") {
    Bench bench;
    bench.read(1000);
    bench.write(10);     // 101
    bench.read(3 * mtu); // 102 to 104
    bench.peer.take();
    bench.receive(Operation::read_response_last, 104, mtu);
    CHECK(bench.psns() == Psns{100});

    bench.receive(Operation::read_response_only, 100, 1000);

    const auto again = bench.peer.take();
    REQUIRE(again.size() == 1);
    CHECK(again[0].psn() == 102);
    CHECK(again[0].header.rdma().reth.length == 2 * mtu);
    CHECK(bench.a.drain(bench.cq).size() == 2); // what was held acknowledges the WRITE
    bench.receive(Operation::read_response_first, 102, mtu);
    bench.receive(Operation::read_response_last, 103, mtu);
    CHECK(bench.a.drain(bench.cq).size() == 1);
    CHECK(bench.psns().empty());
}

TEST_CASE("part of a READ is answered again, and answers that wait are not forgotten for it",
          "[unit][transport][selective][read]") {
    Bench bench;
    bench.receive_read(Bench::peer_psn, 0, 4 * mtu);
    CHECK(bench.psns().size() == 4);

    bench.receive_read(Bench::peer_psn + 1, mtu, 2 * mtu);
    CHECK(bench.psns() == Psns{Bench::peer_psn + 1, Bench::peer_psn + 2});
    bench.receive_read(Bench::peer_psn + 1, mtu, 4 * mtu); // more than there was
    bench.receive_read(Bench::peer_psn + 1, mtu, 0);
    CHECK(bench.psns().empty());

    Bench strict(false);
    strict.receive_read(Bench::peer_psn, 0, 4 * mtu);
    strict.peer.take();
    strict.receive_read(Bench::peer_psn + 1, mtu, 2 * mtu);
    CHECK(strict.psns().empty());
}

TEST_CASE("a READ of nothing is answered again", "[unit][transport][selective][read]") {
    Bench bench;
    bench.receive_read(Bench::peer_psn, 0, 0);
    CHECK(bench.psns() == Psns{Bench::peer_psn});

    bench.receive_read(Bench::peer_psn, 0, 0);

    CHECK(bench.psns() == Psns{Bench::peer_psn});
}

TEST_CASE("over a cable that loses packets far fewer come again than with going back", "[unit][transport][selective]") {
    struct Sent {
        std::uint64_t packets, retries, timeouts;
    };
    const auto send = [](bool is_selective, std::uint64_t seed) -> Sent {
        auto cable = HcaPair::clean();
        cable.timed = true;
        cable.loss = 0.01;
        cable.seed = seed;
        auto card = config(is_selective, 512);
        card.timed = true;
        HcaPair pair(cable, card, Quiet{});
        pair.connect();
        const auto from = pair.a.make_region(1 << 20, 1), to = pair.b.make_region(1 << 20, 2);
        pair.send({.sges = {from.sge(0, 1 << 20)}, .remote = to.address, .rkey = to.key});
        pair.run();
        CHECK(pair.a.drain(pair.a_cq).size() == 1);
        CHECK(pair.a.bytes(from) == pair.b.bytes(to));
        const auto& count = pair.a.hca.counters();
        return {count.packets_sent, count.retries, count.timeouts};
    };

    // What is lost twice waits for the time-out, and then all comes again either way.
    unsigned compared = 0;
    for (std::uint64_t seed = 1; seed <= 40 && compared < 3; ++seed) {
        const auto selective = send(true, seed), going_back = send(false, seed);
        if (selective.timeouts != 0 || going_back.timeouts != 0)
            continue;
        INFO("seed " << seed);
        ++compared;
        CHECK(selective.retries > 3);
        CHECK(selective.packets == 1024 + selective.retries);
        CHECK(going_back.packets > 1024 + 10 * going_back.retries);
    }
    CHECK(compared == 3);
}
