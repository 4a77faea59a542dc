#include "testbench/unit/model/net/link_bench.h"

using namespace harness;
using Bench = LinkBench;

namespace {
LinkConfig untimed() { return {.timed = false}; }

} // namespace

TEST_CASE("an untimed link delivers in order, both ways, until quiet", "[unit][link]") {
    Bench b(untimed());
    b.ports[1].on_packet = [&](Packet& p, Time at) {
        b.send(1, p.rdma().psn.value + 100, at);
    }; // each request is answered

    for (std::uint32_t i = 0; i < 5; ++i)
        b.send(0, i, nanoseconds{i});
    b.link.pump(nanoseconds{9});

    CHECK(b.ports[1].psns() == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
    CHECK(b.ports[0].psns() == std::vector<std::uint32_t>{100, 101, 102, 103, 104});
    CHECK(b.ports[1].arrivals[3].at == nanoseconds{3}); // arrival is departure
    CHECK(b.ports[1].batches == 1);
    CHECK(b.ports[0].batches == 1);
    CHECK(b.clock.next == never);
    b.check_balance();
}

TEST_CASE("a pump inside a delivery returns at once and loses nothing", "[unit][link]") {
    Bench b(untimed());
    int depth = 0, deepest = 0;
    b.ports[1].on_packet = [&](Packet& p, Time at) {
        deepest = std::max(deepest, ++depth);
        if (p.rdma().psn.value < 3)
            b.send(0, p.rdma().psn.value + 1, at); // loops back into the direction being delivered
        b.link.pump(at);
        --depth;
    };

    b.send(0, 0);
    b.link.pump({});

    CHECK(deepest == 1);
    CHECK(b.ports[1].psns() == std::vector<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("an untimed port refuses the 257th packet under way and says when there is room", "[unit][link]") {
    Bench b(untimed());
    std::uint32_t sent = 0;
    while (b.link.end(0).can_send({}))
        b.send(0, sent++);
    CHECK(sent == 256);
    b.ports[0].on_ready = [&](Time) {
        while (sent < 1000 && b.link.end(0).can_send({}))
            b.send(0, sent++);
    };

    b.link.pump({});

    CHECK(sent == 1000);
    CHECK(b.ports[0].readies == 3);
    CHECK(b.ports[1].arrivals.size() == 1000);
    b.check_balance();
}

TEST_CASE("a timed packet arrives after its bits and the latency", "[unit][link]") {
    Bench b({.latency = nanoseconds{500}, .rate_gbps = 100});

    const auto out = b.send(0, 1, nanoseconds{1000}, 4096);
    const auto second = b.send(0, 2, nanoseconds{1000}, 4096); // waits for the first
    b.clock.run(b.link);

    // 14 + 20 + 8 + 12 + 16 + 4096 + 4 bytes of frame, 24 of preamble, FCS and gap; 80 ps a byte
    const auto serialisation = Time{(4170 + 24) * 80};
    CHECK(out == nanoseconds{1000} + serialisation);
    CHECK(second == nanoseconds{1000} + 2 * serialisation);
    REQUIRE(b.ports[1].arrivals.size() == 2);
    CHECK(b.ports[1].arrivals[0] == Arrival{1, out + nanoseconds{500}});
    CHECK(b.ports[1].arrivals[1] == Arrival{2, second + nanoseconds{500}});
    CHECK(b.link.counters(0).bytes == 2 * 4170);
}

TEST_CASE("an InfiniBand link charges the frame alone", "[unit][link]") {
    Bench b({.encapsulation = Encapsulation::infiniband, .rate_gbps = 200});
    auto& packet = b.link.end(1).next();
    packet.path.encapsulation = Encapsulation::infiniband;
    packet.rdma().operation = Operation::acknowledge;

    CHECK(b.link.end(1).send({}) == Time{(8 + 12 + 4 + 4 + 2) * 40});
}

TEST_CASE("a direction delivers when its first packet has arrived, whatever the other one does", "[unit][link]") {
    Bench b({.latency = nanoseconds{500}, .rate_gbps = 100, .quantum = nanoseconds{1'000'000}});
    std::vector<std::uint32_t> order;
    for (auto& port : b.ports)
        port.on_packet = [&](Packet& p, Time) { order.push_back(p.rdma().psn.value); };
    b.send(0, 1, nanoseconds{0});
    b.send(0, 3, nanoseconds{200});
    b.send(1, 2, nanoseconds{100});
    b.send(1, 4, nanoseconds{300});

    CHECK(b.clock.run(b.link) == 2); // one wake for each: the quantum covers all of a direction

    CHECK(order == std::vector<std::uint32_t>{1, 3, 2, 4});
    CHECK(b.ports[0].batches == 1);
    CHECK(b.ports[1].batches == 1);
}

TEST_CASE("a packet beyond the quantum waits for its own wake", "[unit][link]") {
    Bench b({.latency = nanoseconds{500}, .rate_gbps = 0, .quantum = nanoseconds{100}});
    b.send(0, 1, nanoseconds{0});
    b.send(0, 2, nanoseconds{100});
    b.send(0, 3, nanoseconds{101});

    b.clock.run(b.link, nanoseconds{500});
    CHECK(b.ports[1].psns() == std::vector<std::uint32_t>{1, 2});
    CHECK(b.clock.next == nanoseconds{601});

    b.clock.run(b.link);
    CHECK(b.ports[1].psns() == std::vector<std::uint32_t>{1, 2, 3});
    CHECK(b.clock.next == never);
}

TEST_CASE("a timed port refuses while its transmitter is booked beyond the horizon", "[unit][link]") {
    Bench b({.rate_gbps = 100, .horizon = nanoseconds{2000}});
    std::uint32_t sent = 0;
    while (b.link.end(0).can_send({}))
        b.send(0, sent++, {}, 4096);
    CHECK(sent == 6); // 335.52 ns each
    Time ready{};
    b.ports[0].on_ready = [&](Time at) { ready = at; };

    b.clock.run(b.link, nanoseconds{100});

    CHECK(b.ports[0].readies == 1);
    CHECK(ready == Time{6 * 335'520 - 2'000'000 + 1});
    CHECK(b.link.end(0).can_send(ready));
}

TEST_CASE("a full timed lane has room when its first packet arrives", "[unit][link]") {
    Bench b({.latency = nanoseconds{500}, .rate_gbps = 0, .quantum = {}, .max_under_way = 4});
    for (std::uint32_t i = 0; i < 4; ++i)
        b.send(0, i, nanoseconds{i * 10});
    REQUIRE_FALSE(b.link.end(0).can_send(nanoseconds{30}));

    b.clock.run(b.link, nanoseconds{500});

    CHECK(b.ports[0].readies == 1);
    CHECK(b.ports[1].arrivals.size() == 1);
}

TEST_CASE("a sender that never asks is cut off instead of filling memory", "[unit][link]") {
    Bench b({.timed = false, .max_under_way = 8});
    for (std::uint32_t i = 0; i < 100; ++i)
        b.send(0, i);

    CHECK(b.link.under_way(0) == 32);
    CHECK(b.link.counters(0).refused == 68);
    b.link.pump({});
    CHECK(b.ports[1].arrivals.size() == 32);
    b.check_balance();
}

TEST_CASE("whatever became of a packet on a cable, its lender finds it until it has arrived", "[unit][link][loan]") {
    auto config = untimed();
    SECTION("in order") {}
    SECTION("doubled") { config.duplicate = 1; }
    SECTION("held back") { config.reorder = 1; }
    Bench b(config);
    std::vector<std::byte> memory(64, std::byte{1});
    port::Loans loans;
    std::vector<int> seen;
    b.ports[1].on_packet = [&](Packet& p, Time) {
        seen.push_back(std::to_integer<int>(p.payload.pieces()[0][0]));
        CHECK(p.payload.is_lent() == (seen.back() == 2));
    };
    const auto send = [&] {
        b.link.end(0).next().payload.lend(memory, loans);
        b.link.end(0).send({});
    };

    send();
    loans.drain();
    std::ranges::fill(memory, std::byte{2});
    send();
    b.link.pump({});

    std::ranges::sort(seen);
    CHECK(seen == (config.duplicate > 0 ? std::vector{1, 1, 2, 2} : std::vector{1, 2}));
    CHECK(loans.is_empty());
}

TEST_CASE("a packet that is lost on a cable gives back what it was lent at once", "[unit][link][loan]") {
    auto config = untimed();
    config.loss = 1;
    Bench b(config);
    const std::vector<std::byte> memory(64, std::byte{1});
    port::Loans loans;
    b.link.end(0).next().payload.lend(memory, loans);
    CHECK_FALSE(loans.is_empty());

    b.link.end(0).send({});

    CHECK(loans.is_empty());
}

TEST_CASE("exact bytes: the receiver gets the frame, and it holds the packet", "[unit][link]") {
    auto config = untimed();
    config.exact_bytes = true;
    Bench b(config);
    Packet parsed;
    b.ports[1].on_packet = [&](Packet& p, Time) {
        REQUIRE(wire::parse(p.image, Encapsulation::roce_v2_ipv4, parsed));
        CHECK(p.image.size() == wire::frame_length(p));
    };

    b.send(0, 42, {}, 100);
    b.link.pump({});

    CHECK(parsed.rdma().psn == abi::Psn{42});
    CHECK(parsed.payload.size() == 100);
}

TEST_CASE("a tap sees every frame that leaves a port, lost ones too", "[unit][link]") {
    struct Recorder final : net::Tap {
        std::vector<std::pair<unsigned, Time>> frames;
        void on_frame(std::span<const std::byte> frame, unsigned direction, Time at) override {
            CHECK(frame.size() == 74);
            frames.emplace_back(direction, at);
        }
    } tap;
    auto config = untimed();
    config.loss = 1;
    Bench b(config);
    b.link.set_tap(&tap);

    b.send(0, 1, nanoseconds{5});
    b.send(1, 2, nanoseconds{6});
    b.link.set_tap(nullptr);
    b.send(1, 3, nanoseconds{7});
    b.link.pump({});

    CHECK(tap.frames == std::vector<std::pair<unsigned, Time>>{{0, nanoseconds{5}}, {1, nanoseconds{6}}});
    CHECK(b.ports[1].arrivals.empty());
    CHECK(b.link.counters(0).lost == 1);
    CHECK(b.log.lines == std::vector<std::string>{"0:0 lost", "1:0 lost", "1:1 lost"});
}

TEST_CASE("a corrupted packet arrives as a frame with one bit wrong", "[unit][link]") {
    auto config = untimed();
    config.corrupt = 1;
    Bench b(config);
    std::vector<std::byte> got, right;
    b.ports[1].on_packet = [&](Packet& p, Time) {
        got = p.image;
        wire::build(p, right);
    };

    b.send(0, 1, {}, 8);
    b.link.pump({});

    REQUIRE(got.size() == right.size());
    int bits = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
        bits += std::popcount(std::to_integer<unsigned>(got[i] ^ right[i]));
    CHECK(bits == 1);
    CHECK(b.link.counters(0).corrupted == 1);
}

TEST_CASE("a duplicate is a packet of its own", "[unit][link]") {
    auto config = untimed();
    config.duplicate = 1;
    Bench b(config);
    std::vector<std::byte> memory(16, std::byte{7});
    std::vector<const std::byte*> where;
    b.ports[1].on_packet = [&](Packet& p, Time) {
        REQUIRE(p.payload.size() == 16);
        where.push_back(p.payload.pieces()[0].data());
        CHECK(*where.back() == std::byte{7});
    };
    auto& packet = b.link.end(0).next();
    packet.rdma().operation = Operation::write_only;
    packet.payload.append_copy(memory);
    b.link.end(0).send({});

    b.link.pump({});

    REQUIRE(where.size() == 2);
    CHECK(where[0] != where[1]);
    b.check_balance();
}

TEST_CASE("held packets let some pass and come by their deadline at the latest", "[unit][link]") {
    Bench b({.latency = nanoseconds{500},
             .rate_gbps = 0,
             .reorder = 1,
             .reorder_depth = 1,
             .reorder_delay = nanoseconds{10'000}});
    b.send(0, 1, nanoseconds{0});
    b.send(0, 2, nanoseconds{10}); // held as well, but lets the first one go

    b.clock.run(b.link);

    REQUIRE(b.ports[1].arrivals.size() == 2);
    CHECK(b.ports[1].arrivals[0] == Arrival{1, nanoseconds{510}});
    CHECK(b.ports[1].arrivals[1] == Arrival{2, nanoseconds{10'510}});
    b.check_balance();
}

TEST_CASE("the script repeats with its seed, differs with another, and loses nothing uncounted", "[unit][link]") {
    const auto run = [](bool timed, std::uint64_t seed) {
        LinkConfig config{
            .timed = timed, .loss = 0.05, .duplicate = 0.05, .reorder = 0.1, .corrupt = 0.05, .seed = seed};
        Bench b(config);
        for (std::uint32_t i = 0; i < 2000; ++i) {
            b.send(i % 3 == 0, i, nanoseconds{i * 10}, i % 50);
            if (i % 100 == 0) {
                timed ? void(b.clock.run(b.link, nanoseconds{i * 10})) : b.link.pump(nanoseconds{i * 10});
                b.check_balance();
            }
        }
        timed ? void(b.clock.run(b.link)) : b.link.pump({});
        CHECK(b.link.under_way(0) == 0);
        CHECK(b.link.under_way(1) == 0);
        b.check_balance();
        const auto& c = b.link.counters(0);
        CHECK(c.lost > 0);
        CHECK(c.duplicated > 0);
        CHECK(c.reordered > 0);
        CHECK(c.corrupted > 0);
        CHECK(b.log.lines.size() == c.lost + c.duplicated + c.reordered + c.corrupted + b.link.counters(1).lost +
                                        b.link.counters(1).duplicated + b.link.counters(1).reordered +
                                        b.link.counters(1).corrupted);
        CHECK_FALSE(std::ranges::is_sorted(b.ports[1].psns()));
        CHECK(std::ranges::is_sorted(b.ports[1].arrivals, {}, &Arrival::at));
        return std::pair(b.ports[1].arrivals, b.log.lines);
    };

    for (const bool timed : {false, true}) {
        CHECK(run(timed, 1) == run(timed, 1));
        CHECK(run(timed, 1) != run(timed, 2));
    }
}

TEST_CASE("an idle timed link asks for no wake", "[unit][link]") {
    Bench b({});
    b.link.pump({});
    CHECK(b.clock.next == never);

    b.send(0, 1);
    b.clock.run(b.link);
    CHECK(b.clock.next == never);
}
