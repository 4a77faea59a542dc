// Hosts that send as much as their cable takes, at switches, under a time of the test. No cards: a host counts what
// comes, from whom and how late, and looks at its order.
#pragma once

#include "model/net/ethernet_switch.h"
#include "model/net/infiniband_switch.h"
#include "model/net/link.h"
#include "model/wire/builder.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace harness {

using namespace std::chrono_literals;
using model::net::EthernetSwitch;
using model::net::InfinibandSwitch;
using model::net::Link;
using model::net::LinkConfig;
using model::port::Packet;
using model::port::Time;

class FabricBench {
public:
    struct Alarm final : model::port::Clock {
        explicit Alarm(const Time& clock) : time(clock) {}
        Time now() const override { return time; }
        void wake_at(Time at) override { next = std::min(next, at); }
        const Time& time;
        Time next = model::port::never;
    };

    struct Flow {
        std::uint32_t sent = 0, received = 0, next = 0; ///< packets; number of the next to come
        std::uint64_t bytes = 0;
        bool is_in_order = true;
        Time longest{}; ///< under way
    };

    struct Host final : model::port::Receiver {
        model::port::Encapsulation encapsulation = model::port::Encapsulation::infiniband;
        std::uint8_t priority = 0, ecn = 0; ///< of an Ethernet host's packets
        std::uint16_t udp_source_port = 0xc000;
        std::uint32_t marked = 0; ///< packets that came in
        std::uint16_t lid = 0;    ///< and what its MAC ends with
        std::uint16_t to = 0;     ///< 0: sends nothing
        std::size_t payload = 4096;
        Time lead{};     ///< the bytes of a packet come so much later than it is booked
        Time stop = 1ms; ///< sends nothing from then on
        std::uint32_t most = ~0u;
        bool is_stalled = false;
        model::port::Wire* wire = nullptr;
        std::map<std::uint16_t, Flow> from; ///< by LID
        std::uint32_t sent = 0;

        void send(Time now) {
            while (to != 0 && now < stop && sent < most && wire->can_send(now)) {
                auto& packet = wire->next();
                packet.path.encapsulation = encapsulation;
                packet.path.source_mac = mac_of(lid);
                packet.path.destination_mac = mac_of(to);
                packet.path.traffic_class = static_cast<std::uint8_t>(priority << 5 | ecn);
                packet.path.udp_source_port = udp_source_port;
                packet.path.source_lid = lid;
                packet.path.destination_lid = to;
                packet.rdma().operation = abi::wire::Operation::write_only;
                packet.rdma().destination = abi::Qpn{0x55};
                packet.rdma().psn = abi::Psn{sent++};
                packet.rdma().reth.address = static_cast<std::uint64_t>(now.count());
                packet.payload.extend(payload);
                wire->send(now + lead);
            }
        }
        void receive(Packet& packet, Time at) override {
            auto& flow = from[packet.path.source_lid];
            flow.is_in_order &= packet.rdma().psn.value == flow.next;
            flow.next = packet.rdma().psn.value + 1;
            ++flow.received;
            marked += (packet.path.traffic_class & 3) == 3;
            flow.bytes += model::wire::frame_length(packet);
            flow.longest = std::max(flow.longest, at - Time{static_cast<std::int64_t>(packet.rdma().reth.address)});
        }
        void received_all(Time) override {}
        bool can_receive(Time) override { return !is_stalled; }
        void ready(Time at) override { send(at); }
    };

    static model::port::MacAddress mac_of(std::uint16_t lid) {
        return {std::byte{2}, {}, {}, {}, static_cast<std::byte>(lid >> 8), static_cast<std::byte>(lid)};
    }

    static LinkConfig ethernet() { return {}; }
    static LinkConfig infiniband() {
        LinkConfig config;
        config.encapsulation = model::port::Encapsulation::infiniband;
        return config;
    }

    explicit FabricBench(LinkConfig config = infiniband()) : config_(config) {}

    /// By itself no packet of such a switch is too old.
    InfinibandSwitch& add_switch(unsigned ports, model::net::LifetimeConfig lifetime = {.hoq_life = 20}) {
        auto& alarm = alarms.emplace_back(now);
        auto& made = switches.emplace_back(
            model::net::SwitchConfig{.agent = {.ports = ports, .guid = switches.size() + 1, .lifetime = lifetime},
                                     .latency = 100ns},
            traces::Events{}, &alarm);
        wakes.push_back([&made](Time at) { made.wake(at); });
        made.on_forwarded = switches_on_forwarded();
        return made;
    }
    EthernetSwitch& add_switch(model::net::EthernetSwitchConfig config) {
        auto& alarm = alarms.emplace_back(now);
        auto& made = ethernet_switches.emplace_back(config, alarm, traces::Events{});
        wakes.push_back([&made](Time at) { made.wake(at); });
        made.on_forwarded = switches_on_forwarded();
        return made;
    }
    /// A host with the next LID (from 1), at a port of a switch which gets a route to it.
    template <class Switch> Host& add_host(Switch& at, unsigned port) {
        auto& host = hosts.emplace_back();
        host.lid = static_cast<std::uint16_t>(hosts.size());
        host.encapsulation = config_.encapsulation;
        auto& link = add_cable();
        link.attach(0, host);
        host.wire = &link.end(0);
        plug(at, port, link, 1);
        set_route(at, host.lid, port);
        return host;
    }
    static void set_route(InfinibandSwitch& at, std::uint16_t lid, unsigned port) {
        at.agent().set_route(lid, static_cast<std::uint8_t>(port));
    }
    static void set_route(EthernetSwitch& at, std::uint16_t lid, unsigned port) {
        at.set_ways(mac_of(lid), {static_cast<std::uint8_t>(port)});
    }
    /// A cable between two switches.
    template <class Switch> Link& add_trunk(Switch& a, unsigned port_a, Switch& b, unsigned port_b) {
        auto& link = add_cable();
        plug(a, port_a, link, 0);
        plug(b, port_b, link, 1);
        return link;
    }
    Link& add_cable() { return cables.emplace_back(now, config_).link(); }

    /// Has everybody send, and lets time pass until nothing is due.
    void run() {
        for (auto& host : hosts)
            host.send(now);
        while (step()) {
        }
    }
    bool step() {
        const auto next = std::ranges::min_element(cables, {}, [](const Cable& cable) { return cable.alarm().next; });
        const auto due = next != cables.end() ? next->alarm().next : model::port::never;
        for (std::size_t i = 0; i < alarms.size(); ++i)
            if (alarms[i].next <= due && alarms[i].next != model::port::never) {
                now = std::max(now, std::exchange(alarms[i].next, model::port::never));
                wakes[i](now);
                return true;
            }
        if (due == model::port::never)
            return false;
        now = std::max(now, std::exchange(next->alarm().next, model::port::never));
        next->link().wake(now);
        return true;
    }
    /// Without timing: until nothing moves.
    void settle() {
        for (auto& cable : cables)
            cable.link().pump(now);
    }

    std::uint64_t dropped() const {
        std::uint64_t sum = 0;
        for (const auto& one : switches)
            sum += one.dropped();
        for (std::size_t i = 0; i < ethernet_switches.size(); ++i)
            for (unsigned port = 1; port <= ethernet_switches[i].ports(); ++port)
                sum += ethernet_switches[i].counters(port).dropped;
        return sum;
    }
    /// Every packet that was sent is received, lost, or somewhere.
    void check_balance() {
        std::uint64_t sent = 0, received = 0, elsewhere = dropped();
        for (const auto& host : hosts) {
            sent += host.sent;
            for (const auto& [lid, flow] : host.from)
                received += flow.received;
        }
        for (const auto& one : switches)
            elsewhere += one.waiting();
        for (const auto& one : ethernet_switches)
            elsewhere += one.waiting();
        for (auto& cable : cables)
            for (const unsigned direction : {0u, 1u}) {
                const auto& c = cable.link().counters(direction);
                elsewhere += c.lost + c.refused + c.discarded + cable.link().under_way(direction);
            }
        CHECK(sent == received + elsewhere);
    }

    struct Cable {
        Cable(const Time& clock, const LinkConfig& config) : alarm_(clock), link_(config, alarm_, traces::Events{}) {}
        Alarm& alarm() { return alarm_; }
        const Alarm& alarm() const { return alarm_; }
        Link& link() { return link_; }

    private:
        Alarm alarm_;
        Link link_;
    };

    Time now{};
    std::deque<Cable> cables;
    std::deque<InfinibandSwitch> switches;
    std::deque<Alarm> alarms; ///< of the switches
    std::deque<EthernetSwitch> ethernet_switches;
    std::vector<std::function<void(Time)>> wakes;
    std::deque<Host> hosts;

private:
    std::function<void()> switches_on_forwarded() {
        return [this] {
            for (auto& cable : cables)
                if (!cable.link().config().timed)
                    cable.link().pump(now);
        };
    }
    static void plug(EthernetSwitch& at, unsigned port, Link& link, unsigned end) {
        at.connect(port, link.end(end));
        link.attach(end, at.receiver(port));
    }
    void plug(InfinibandSwitch& at, unsigned port, Link& link, unsigned end) {
        const auto blocks = config_.credit_blocks;
        at.connect(port, link.end(end), blocks != 0 ? blocks : model::net::Credits::most, &link.counters(end));
        link.attach(end, at.receiver(port));
    }

    LinkConfig config_;
};

} // namespace harness
