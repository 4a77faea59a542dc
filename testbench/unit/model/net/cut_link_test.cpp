// A cable in two halves, each under a clock of its own, does what the whole cable does: what each end receives, when it
// does, and what it counts, are the same.
#include "testbench/unit/model/net/link_bench.h"

#include "model/net/random.h"
#include "model/wire/builder.h"

#include <catch2/catch_test_macros.hpp>

#include <deque>
#include <memory>
#include <random>

using namespace harness;
using model::net::FarEnd;
using std::chrono::microseconds;

namespace {

/// What a port has seen, and when it was told.
struct Seen {
    std::uint32_t psn;
    Time at, told;
    std::size_t bytes, pieces;
    bool operator==(const Seen&) const = default;
};

struct Sending {
    Time at;
    unsigned end;
    std::size_t bytes;
    std::uint32_t psn;
};

/// A port that sends when it may, and keeps what has come for a while.
struct End final : Receiver {
    Link& link;
    const Clock& clock;
    unsigned number;
    bool keeps;
    std::deque<Sending> waiting;
    std::vector<Seen> seen;
    End(Link& cable, const Clock& time, unsigned which, bool keeps_them)
        : link(cable), clock(time), number(which), keeps(keeps_them) {}
    bool keeps_packets() const override { return keeps; }
    void receive(Packet& packet, Time at) override {
        seen.push_back(
            {packet.rdma().psn.value, at, clock.now(), packet.payload.size(), packet.payload.pieces().size()});
        if (keeps)
            link.end(number).give_credit(wire::frames_length(packet), at + nanoseconds{300});
        // Each tenth packet has the other end pause for a while.
        if (packet.rdma().psn.value % 10 == 0) {
            link.end(number).pause(1, clock.now());
            link.end(number).pause(0, clock.now() + microseconds{2});
        }
    }
    void received_all(Time) override {}
    void ready(Time at) override { send_waiting(at); }
    void send_waiting(Time at) {
        // As a switch does, whose packets are ahead of now by its latency.
        const auto ahead = at + nanoseconds{400};
        while (!waiting.empty() && !link.end(number).is_paused(0, ahead) && link.end(number).can_send(ahead)) {
            const auto one = waiting.front();
            waiting.pop_front();
            auto& packet = link.end(number).next();
            packet.path.encapsulation = link.config().encapsulation;
            packet.rdma().operation = Operation::write_only;
            packet.rdma().psn = abi::Psn{one.psn};
            packet.rdma().destination = abi::Qpn{1 + one.psn % 3};
            packet.payload.extend(one.bytes);
            // A device is ahead of its clock, as it knows when its data are there.
            link.end(number).send(at + nanoseconds{one.psn % 7 * 100});
        }
    }
};

/// A cable with one of its ends, or both.
struct Half {
    Alarm clock;
    Link link;
    std::array<std::unique_ptr<End>, 2> ends;
    Half(const LinkConfig& config, bool keeps) : link(config, clock, {}) {
        for (unsigned i = 0; i < 2; ++i) {
            ends[i] = std::make_unique<End>(link, clock, i, keeps);
            link.attach(i, *ends[i]);
        }
    }
    /// Does what is due before `end`.
    void run(std::deque<Sending>& script, Time end) {
        for (;;) {
            const auto next_send = script.empty() ? never : script.front().at;
            const auto next = std::min(clock.next, next_send);
            if (next >= end)
                return;
            clock.time = std::max(clock.time, next);
            if (clock.next <= clock.time) {
                clock.next = never;
                link.wake(clock.time);
                continue;
            }
            auto& from = *ends[script.front().end];
            from.waiting.push_back(script.front());
            script.pop_front();
            from.send_waiting(clock.time);
        }
    }
};

/// Keeps what is for the other half until the end of a window.
struct Bag final : FarEnd {
    struct Item {
        std::unique_ptr<Packet> packet;
        std::uint64_t credit = 0;
        std::uint8_t pause = 0;
        Time at{};
    };
    std::vector<Item> items;
    void on_packet(const Packet& packet, Time arrival) override {
        items.push_back({std::make_unique<Packet>(packet), 0, 0, arrival});
    }
    void on_credit(std::uint64_t bytes, Time at) override { items.push_back({nullptr, bytes, 0, at}); }
    void on_pause(std::uint8_t priorities, Time at) override { items.push_back({nullptr, 0, priorities, at}); }
    void on_turned(bool) override { FAIL("nobody turns it"); }
    void empty_into(Half& half, Time now) {
        for (auto& item : std::exchange(items, {})) {
            REQUIRE(item.at > now); // in time
            if (item.packet)
                half.link.take_packet(*item.packet, item.at);
            else if (item.credit != 0)
                half.link.take_credit(item.credit, item.at);
            else
                half.link.take_pause(item.pause, item.at);
        }
    }
};

void compare(const LinkConfig& config, bool keeps, unsigned seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    std::deque<Sending> script;
    Time at{};
    for (std::uint32_t psn = 0; psn < 2000; ++psn) {
        at += nanoseconds{random() % 3 == 0 ? random() % 2000 : 0};
        script.push_back({at, static_cast<unsigned>(random() % 2), random() % 4096, psn});
    }
    const auto end = at + microseconds{2000};

    Half whole(config, keeps);
    auto all = script;
    whole.run(all, end);

    Half halves[]{Half(config, keeps), Half(config, keeps)};
    Bag bags[2];
    std::deque<Sending> scripts[2];
    for (const auto& one : script)
        scripts[one.end].push_back(one);
    for (unsigned i = 0; i < 2; ++i)
        halves[i].link.cut(i, bags[i]);
    const auto window = config.latency - config.early() - Time{1};
    for (Time now{}; now < end; now += window) {
        for (unsigned i = 0; i < 2; ++i)
            halves[i].run(scripts[i], std::min(end, now + window));
        for (unsigned i = 0; i < 2; ++i)
            bags[i].empty_into(halves[1 - i], now + window);
    }

    for (unsigned i = 0; i < 2; ++i) {
        CHECK(whole.ends[i]->seen.size() > 500);
        CHECK(halves[i].ends[i]->seen == whole.ends[i]->seen);
        CHECK(halves[i].ends[1 - i]->seen.empty()); // the other end's device is elsewhere
        CHECK(halves[i].link.counters(i) == whole.link.counters(i));
        CHECK(halves[i].link.under_way(i) == whole.link.under_way(i));
    }
}

} // namespace

TEST_CASE("two halves of an InfiniBand cable with few credits are one cable", "[unit][link][ranks]") {
    for (const auto seed : {1u, 2u, 3u})
        for (const bool keeps : {false, true})
            compare({.encapsulation = Encapsulation::infiniband, .credit_blocks = 150}, keeps, seed);
}

TEST_CASE("two halves of an Ethernet cable whose ends pause each other are one cable", "[unit][link][ranks]") {
    for (const auto seed : {1u, 2u, 3u})
        compare({.latency = nanoseconds{200}, .rate_gbps = 40}, false, seed);
}

TEST_CASE("two halves of a cable that loses, doubles and spoils packets are one cable", "[unit][link][ranks]") {
    for (const auto seed : {1u, 2u, 3u})
        compare({.loss = 0.05, .duplicate = 0.05, .corrupt = 0.05, .seed = seed}, false, seed);
}

TEST_CASE("an end that turns a cut cable off says so once", "[unit][link][ranks]") {
    struct Turned final : FarEnd {
        std::vector<bool> told;
        void on_packet(const Packet&, Time) override {}
        void on_credit(std::uint64_t, Time) override {}
        void on_pause(std::uint8_t, Time) override {}
        void on_turned(bool is_on) override { told.push_back(is_on); }
    } far;
    LinkBench b({});
    b.link.cut(0, far);

    b.link.end(0).set_on(true, nanoseconds{1}); // it is on
    b.link.end(0).set_on(false, nanoseconds{2});
    b.link.end(0).set_on(false, nanoseconds{3});

    CHECK(far.told == std::vector{false});
}
