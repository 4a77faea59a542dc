// Packets that are too old (IBA 14.2.5.6 HOQLife and VLStallCount, 18.2.5.4): what is at the head of its queue for too
// long is discarded, a lane of which that is true too often stalls, and what would stand for ever goes on with loss.
#include "testbench/unit/model/net/fabric_bench.h"
#include "testbench/unit/model/net/switch_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <string_view>
#include <vector>

using namespace harness;
using namespace std::chrono_literals;
using model::net::LifetimeConfig;

namespace {

constexpr LifetimeConfig lifetime{.hoq_life = 3, .vl_stall_count = 3};
constexpr Time life = 8 * 4096ns;

/// From port 1 to LID 11 at port 2, which takes nothing until it is told to, under a time of the test.
struct Bench {
    explicit Bench(LifetimeConfig of_ports = lifetime, bool is_timed = true)
        : device({.agent = {.ports = 3, .guid = 1, .lifetime = of_ports}, .latency = {}, .is_timed = is_timed},
                 {&log, 1}, &alarm) {
        for (unsigned number = 1; number <= 3; ++number)
            device.connect(number, out[number]);
        device.agent().set_route(11, 2);
        out[2].takes_data = false;
    }
    void send(unsigned ingress = 1) { device.receiver(ingress).receive(*keep(SwitchBench::packet(11)), now); }
    /// Lets time pass, with what the switch has asked to be woken for.
    void pass(Time until) {
        while (alarm.next <= until) {
            now = std::max(now, std::exchange(alarm.next, model::port::never));
            device.wake(now);
        }
        now = until;
    }
    void open() {
        out[2].takes_data = true;
        device.receiver(2).ready(now);
    }
    std::vector<std::string_view> reasons() const {
        std::vector<std::string_view> all;
        for (const auto& dropped : log.all<traces::PacketDropped>())
            all.push_back(dropped.reason.text());
        return all;
    }

    Time now{};
    FabricBench::Alarm alarm{now};
    EventLog log;
    std::array<Kept, 5> out;
    model::net::InfinibandSwitch device;

private:
    Packet* keep(Packet packet) {
        sent_ = std::move(packet);
        return &sent_;
    }
    Packet sent_;
};

constexpr std::string_view too_old = "too long at the head of its queue", stalled = "a lane that has stalled";

} // namespace

TEST_CASE("a packet at the head of its queue for HOQLife is discarded, no earlier, and its room is granted anew",
          "[unit][switch][lifetime]") {
    Bench bench;
    bench.send();
    bench.pass(life - 1ns);
    CHECK(bench.device.waiting() == 1);
    CHECK(bench.out[1].credits.empty());

    bench.pass(life);

    CHECK(bench.device.waiting() == 0);
    CHECK(bench.device.discarded(2) == 1);
    CHECK(bench.device.outlived(2) == 1);
    CHECK(bench.out[1].credits.size() == 1);
    CHECK(bench.reasons() == std::vector{too_old});
    CHECK(bench.alarm.next == model::port::never); // nothing waits, nobody has to be woken
}

TEST_CASE("a packet is old from when it is the head of its queue, and not from when it came",
          "[unit][switch][lifetime]") {
    Bench bench;
    bench.send();
    bench.send();
    bench.pass(life);
    CHECK(bench.device.waiting() == 1);
    bench.pass(2 * life - 1ns);
    CHECK(bench.device.waiting() == 1);
    bench.pass(2 * life);
    CHECK(bench.device.waiting() == 0);

    SECTION("which it becomes when the one before it has left, too") {
        bench.send();
        bench.send();
        bench.pass(bench.now + life / 2);
        bench.out[2].takes_data = true;
        bench.out[2].most = 1;
        bench.device.receiver(2).ready(bench.now);
        REQUIRE(bench.device.waiting() == 1);
        bench.pass(bench.now + life - 1ns);
        CHECK(bench.device.waiting() == 1);
        bench.pass(bench.now + 1ns);
        CHECK(bench.device.waiting() == 0);
    }
}

TEST_CASE("a lane stalls after VLStallCount packets in a row that were too old, and goes on after eight times that",
          "[unit][switch][lifetime]") {
    Bench bench;
    for (int i = 0; i < 5; ++i)
        bench.send();
    bench.pass(3 * life - 1ns);
    CHECK(bench.device.waiting() == 3);

    bench.pass(3 * life);
    CHECK(bench.device.waiting() == 0);
    CHECK(bench.reasons() == std::vector{too_old, too_old, too_old, stalled, stalled});
    CHECK(bench.out[1].credits.size() == 5);
    // What comes now is discarded at once, though the port would take it.
    bench.out[2].takes_data = true;
    bench.send();
    CHECK(bench.out[2].packets.empty());
    CHECK(bench.out[1].credits.size() == 6);
    bench.pass(11 * life - 1ns);
    bench.send();
    CHECK(bench.out[2].packets.empty());
    bench.pass(11 * life);
    bench.send();
    CHECK(bench.out[2].packets.size() == 1);
    CHECK(bench.device.outlived(2) == 7);
}

TEST_CASE("a packet that leaves in time begins the count of old ones anew", "[unit][switch][lifetime]") {
    for (const bool has_waited : {true, false}) {
        INFO((has_waited ? "it has waited" : "it came to an empty queue"));
        Bench bench;
        for (int i = 0; i < (has_waited ? 3 : 2); ++i)
            bench.send();
        bench.pass(2 * life);
        REQUIRE(bench.device.outlived(2) == 2);
        bench.open();
        if (!has_waited)
            bench.send();
        REQUIRE(bench.out[2].packets.size() == 1);
        bench.out[2].takes_data = false;
        for (int i = 0; i < 4; ++i)
            bench.send();

        bench.pass(bench.now + 2 * life);

        CHECK(bench.device.waiting() == 2); // a lane that had gone on counting would have stalled
    }
}

TEST_CASE("a packet without end of life, at a switch without timing or of a count of zero, does not stall its lane",
          "[unit][switch][lifetime]") {
    SECTION("HOQLife of 20 and more is without end") {
        Bench bench({.hoq_life = 20, .vl_stall_count = 3});
        bench.send();
        bench.pass(1h);
        CHECK(bench.device.waiting() == 1);
        CHECK(bench.alarm.next == model::port::never);
    }
    SECTION("19 is the longest that there is") {
        Bench bench({.hoq_life = 19, .vl_stall_count = 3});
        bench.send();
        bench.pass(Time(4096ns) * (1 << 19) - 1ns);
        CHECK(bench.device.waiting() == 1);
        bench.pass(Time(4096ns) * (1 << 19));
        CHECK(bench.device.waiting() == 0);
    }
    SECTION("without timing nothing gets old") {
        Bench bench(lifetime, false);
        bench.send();
        bench.pass(1h);
        CHECK(bench.device.waiting() == 1);
    }
    SECTION("a count of zero") {
        Bench bench({.hoq_life = 3, .vl_stall_count = 0});
        for (int i = 0; i < 20; ++i)
            bench.send();
        bench.pass(19 * life);
        CHECK(bench.device.waiting() == 1);
    }
}

TEST_CASE("management does not wait, and a lane that has stalled carries it", "[unit][switch][lifetime]") {
    Bench bench;
    for (int i = 0; i < 3; ++i)
        bench.send();
    bench.pass(3 * life);
    REQUIRE(bench.device.outlived(2) == 3);
    auto packet = SwitchBench::packet(11);
    packet.rdma().destination = abi::Qpn{0};
    bench.device.receiver(1).receive(packet, bench.now);
    CHECK(bench.out[2].packets.size() == 1);
}

TEST_CASE("a subnet manager reads and sets the lives of each port, and what waits already goes by them",
          "[unit][switch][smp][lifetime]") {
    Bench bench({.hoq_life = 18, .vl_stall_count = 7});
    bench.send();
    const auto ask = [&](SwitchBench::Mad m) {
        auto packet = SwitchBench::management(m);
        bench.out[1].packets.clear();
        bench.device.receiver(1).receive(packet, bench.now);
        REQUIRE(bench.out[1].packets.size() == 1);
        SwitchBench::Mad answer{};
        bench.out[1].packets[0].payload.copy_to(answer);
        REQUIRE(SwitchBench::status(answer) == 0);
        return answer;
    };
    auto m = ask(SwitchBench::mad(SmAttribute::port_info, 2));
    CHECK(SwitchBench::data<PortInfo>(m).get<"hoq_life">() == 18);
    CHECK(SwitchBench::data<PortInfo>(m).get<"vl_stall_count">() == 7);
    bench.pass(1ms);

    m = SwitchBench::mad(SmAttribute::port_info, 2, MadMethod::set);
    SwitchBench::data<PortInfo>(m).set<"hoq_life">(3).set<"vl_stall_count">(1);
    m = ask(m);

    CHECK(SwitchBench::data<PortInfo>(m).get<"hoq_life">() == 3);
    CHECK(SwitchBench::data<PortInfo>(m).get<"vl_stall_count">() == 1);
    bench.pass(bench.now);
    CHECK(bench.device.waiting() == 0);
    bench.send(); // one is enough to stall this lane
    CHECK(bench.device.waiting() == 0);
    CHECK(bench.reasons() == std::vector{too_old, stalled});
    m = ask(SwitchBench::mad(SmAttribute::port_info, 3));
    CHECK(SwitchBench::data<PortInfo>(m).get<"hoq_life">() == 18);
    m = ask(SwitchBench::mad(SmAttribute::port_info, 0)); // it has no queue
    CHECK(SwitchBench::data<PortInfo>(m).get<"hoq_life">() == 0);
}

TEST_CASE("credits that wait for each other in a circle stand for ever, or go on with loss",
          "[unit][switch][credits][lifetime]") {
    const bool has_lives = GENERATE(false, true);
    LinkConfig config = FabricBench::infiniband();
    config.credit_blocks = 132; // two packets
    FabricBench bench(config);
    // Three switches in a circle, a host at each; each host sends to the next but one, always the same way round.
    const LifetimeConfig lives{.hoq_life = static_cast<std::uint8_t>(has_lives ? 3 : 20), .vl_stall_count = 7};
    std::array<InfinibandSwitch*, 3> ring{};
    for (auto& one : ring)
        one = &bench.add_switch(3, lives);
    for (unsigned i = 0; i < 3; ++i) {
        auto& host = bench.add_host(*ring[i], 3);
        host.to = static_cast<std::uint16_t>((i + 2) % 3 + 1);
        bench.add_trunk(*ring[i], 1, *ring[(i + 1) % 3], 2);
    }
    for (unsigned i = 0; i < 3; ++i)
        for (std::uint16_t lid = 1; lid <= 3; ++lid)
            if (lid != i + 1)
                FabricBench::set_route(*ring[i], lid, 1);

    bench.run();

    std::size_t waiting = 0;
    for (auto* one : ring)
        waiting += one->waiting();
    bench.check_balance();
    if (!has_lives) {
        CHECK(waiting > 0);
        CHECK(bench.dropped() == 0);
        return;
    }
    CHECK(waiting == 0);
    CHECK(bench.dropped() > 0);
    for (const auto& host : bench.hosts) {
        REQUIRE(host.from.size() == 1);
        CHECK(host.from.begin()->second.received > 0);
    }
}
