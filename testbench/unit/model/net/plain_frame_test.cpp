// Plain frames on a cable: their bytes, their time, the script of faults, and who refuses them.
#include "model/net/ethernet_switch.h"
#include "model/net/infiniband_switch.h"
#include "testbench/harness/plain_frames.h"
#include "testbench/unit/model/net/link_bench.h"
#include "testbench/unit/model/net/switch_bench.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

using namespace harness;
using testbench::Bytes;
using testbench::ethernet_frame;

namespace {

constexpr std::uint16_t experimental = 0x88b5;

/// Notes the bytes of what comes, which must be plain frames.
struct Station final : Receiver {
    std::vector<Bytes> frames;
    std::vector<Time> times;
    void receive(Packet& packet, Time at) override {
        REQUIRE(wire::unpack(packet, Encapsulation::roce_v2_ipv4));
        REQUIRE(packet.is_plain_frame());
        wire::build(packet, frames.emplace_back());
        times.push_back(at);
    }
    void received_all(Time) override {}
    void ready(Time) override {}
};

struct Camera final : net::Tap {
    std::vector<Bytes> frames;
    std::vector<Time> times;
    void on_frame(std::span<const std::byte> frame, unsigned, Time at) override {
        frames.emplace_back(frame.begin(), frame.end());
        times.push_back(at);
    }
};

struct Bench : LinkBench {
    explicit Bench(const LinkConfig& config) : LinkBench(config) { link.attach(1, station); }
    Time send(const Bytes& frame, Time at = {}) {
        auto& packet = link.end(0).next();
        packet.become_plain_frame();
        packet.payload.append_copy(frame);
        return link.end(0).send(at);
    }
    Station station;
};

LinkConfig untimed() { return {.timed = false}; }

} // namespace

TEST_CASE("plain frames of every kind cross a cable byte for byte, and a capture sees the same bytes",
          "[unit][link][plain frame]") {
    for (const bool exact : {false, true})
        for (const bool is_tapped : {false, true}) {
            auto config = untimed();
            config.exact_bytes = exact;
            Bench b(config);
            Camera camera;
            if (is_tapped)
                b.link.set_tap(&camera);
            std::vector<Bytes> sent;
            std::uint64_t bytes = 0;
            for (const auto& [name, frame] : testbench::plain_frames()) {
                b.send(frame);
                sent.push_back(frame);
                bytes += frame.size();
            }

            b.link.pump({});

            CHECK(b.station.frames == sent);
            CHECK(camera.frames == (is_tapped ? sent : std::vector<Bytes>{}));
            CHECK(b.link.counters(0).packets == sent.size());
            CHECK(b.link.counters(0).bytes == bytes);
            b.check_balance();
        }
}

TEST_CASE("a plain frame takes its time on the cable by its length, and others wait behind it",
          "[unit][link][plain frame]") {
    Bench b({.latency = nanoseconds{500}, .rate_gbps = 8, .quantum = {}}); // a nanosecond a byte
    Camera camera;
    b.link.set_tap(&camera);
    constexpr auto gap = abi::wire::ethernet_overhead;

    CHECK(b.send(ethernet_frame(experimental, 9014)) == nanoseconds{9014 + gap});
    CHECK(b.send(ethernet_frame(experimental, 60)) == nanoseconds{9074 + 2 * gap});
    b.clock.run(b.link);

    CHECK(b.station.times == std::vector<Time>{nanoseconds{9514 + gap}, nanoseconds{9574 + 2 * gap}});
    CHECK(camera.times == std::vector<Time>{nanoseconds{9014 + gap}, nanoseconds{9074 + 2 * gap}});
}

TEST_CASE("plain frames and RDMA packets share a cable in the order in which they were sent",
          "[unit][link][plain frame]") {
    LinkBench b(untimed());
    std::string order;
    struct Both final : Receiver {
        std::string& order;
        explicit Both(std::string& o) : order(o) {}
        void receive(Packet& packet, Time) override {
            order += packet.is_plain_frame() ? "f" : "p" + std::to_string(packet.rdma().psn.value);
        }
        void received_all(Time) override {}
        void ready(Time) override {}
    } both(order);
    b.link.attach(1, both);

    for (int turn = 0; turn < 2; ++turn) { // the second time in used slots
        b.send(0, 1);
        b.link.end(0).next().become_plain_frame();
        b.link.end(0).send({});
        b.send(0, 2);
        b.link.pump({});
    }

    CHECK(order == "p1fp2p1fp2");
}

TEST_CASE("a plain frame can be lost, duplicated, held back or damaged like any packet", "[unit][link][plain frame]") {
    const auto first = ethernet_frame(experimental, 64), second = ethernet_frame(experimental, 100);
    auto config = untimed();
    SECTION("lost") {
        config.loss = 1;
        Bench b(config);
        b.send(first);
        b.link.pump({});
        CHECK(b.station.frames.empty());
        CHECK(b.link.counters(0).lost == 1);
        CHECK(b.log.lines == std::vector<std::string>{"0:0 lost"});
    }
    SECTION("duplicated") {
        config.duplicate = 1;
        Bench b(config);
        b.send(first);
        b.link.pump({});
        CHECK(b.station.frames == std::vector<Bytes>{first, first});
        b.check_balance();
    }
    SECTION("held back") {
        Bench b({.latency = nanoseconds{500},
                 .rate_gbps = 0,
                 .reorder = 1,
                 .reorder_depth = 1,
                 .reorder_delay = nanoseconds{10'000}});
        b.send(first);
        b.send(second, nanoseconds{10});
        b.clock.run(b.link);
        CHECK(b.station.frames == std::vector<Bytes>{first, second});
        CHECK(b.station.times == std::vector<Time>{nanoseconds{510}, nanoseconds{10'510}});
        CHECK(b.link.counters(0).reordered == 2);
    }
    SECTION("damaged") {
        config.corrupt = 1;
        Bench b(config);
        b.send(first);
        b.link.pump({});
        REQUIRE(b.station.frames.size() == 1);
        const auto& got = b.station.frames.front();
        REQUIRE(got.size() == first.size());
        int bits = 0;
        for (std::size_t i = 0; i < got.size(); ++i)
            bits += std::popcount(std::to_integer<unsigned>(got[i] ^ first[i]));
        CHECK(bits == 1);
        CHECK(b.link.counters(0).corrupted == 1);
    }
    SECTION("damaged, though there is nothing of it") {
        config.corrupt = 1;
        Bench b(config);
        b.send({});
        b.link.pump({});
        CHECK(b.station.frames == std::vector<Bytes>(1));
    }
}

TEST_CASE("a plain frame refers to its sender's memory until that is given back", "[unit][link][plain frame]") {
    Bench b(untimed());
    const auto frame = ethernet_frame(experimental, 200);
    auto memory = std::make_unique<Bytes>(frame);
    LoanBook book;
    auto& packet = b.link.end(0).next();
    packet.become_plain_frame();
    packet.payload.lend(std::span(*memory).first(14), book.requests);
    packet.payload.lend(std::span(*memory).subspan(14), book.requests);
    b.link.end(0).send({});

    book.drain();
    memory.reset();
    b.link.pump({});

    CHECK(b.station.frames == std::vector<Bytes>{frame});
}

TEST_CASE("no plain frame enters an InfiniBand link, which counts it and says so", "[unit][link][plain frame]") {
    auto config = untimed();
    config.encapsulation = Encapsulation::infiniband;
    Bench b(config);

    CHECK(b.send(ethernet_frame(experimental, 64), nanoseconds{7}) == nanoseconds{7});
    b.link.pump({});

    CHECK(b.station.frames.empty());
    CHECK(b.link.counters(0).discarded == 1);
    CHECK(b.link.counters(0).packets == 0);
    CHECK(b.link.under_way(0) == 0);
    CHECK(b.log.lines == std::vector<std::string>{"0:0 discarded"});
}

TEST_CASE("an InfiniBand switch forwards no plain frame", "[unit][switch][plain frame]") {
    struct Drops final : traces::Sink {
        std::vector<std::string_view> reasons;
        void on(const traces::Stamp&, const traces::Event& event) override {
            reasons.push_back(std::get<traces::PacketDropped>(event).reason.text());
        }
    } drops;
    net::InfinibandSwitch fabric({.agent = {.ports = 2}}, traces::Events(&drops, 0));
    Packet packet;
    packet.become_plain_frame();
    packet.payload.append_copy(ethernet_frame(experimental, 64));

    fabric.receiver(1).receive(packet, {});

    CHECK(fabric.dropped() == 1);
    CHECK(drops.reasons == std::vector<std::string_view>{"bad VCRC"});
}

TEST_CASE("a frame to a group of neighbours goes no further than the first switch, others to everybody",
          "[unit][switch][plain frame]") {
    harness::TestClock clock;
    std::array<harness::Kept, 3> out;
    net::EthernetSwitchConfig config;
    config.ports = 2;
    net::EthernetSwitch fabric(config, clock, {});
    for (const unsigned port : {1u, 2u})
        fabric.connect(port, out[port]);
    // Spanning tree, pause, LLDP, the last one, and the first of other groups
    for (const auto last : {0x00, 0x01, 0x0e, 0x0f, 0x10}) {
        auto frame = ethernet_frame(experimental, 64);
        const std::array group{0x01, 0x80, 0xc2, 0x00, 0x00, last};
        std::ranges::transform(group, frame.begin(), [](int byte) { return static_cast<std::byte>(byte); });
        Packet packet;
        packet.become_plain_frame();
        packet.payload.append_copy(frame);

        fabric.receiver(1).receive(packet, {});

        CHECK(out[2].packets.size() == (last < 0x10 ? 0 : 1));
    }
    CHECK(fabric.counters(1).unroutable == 4);
    CHECK(fabric.counters(1).flooded == 1);
}
