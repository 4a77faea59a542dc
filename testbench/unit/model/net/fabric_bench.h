// Hosts that send as much as their cable takes, at switches, under a time of the test. No cards: a host counts what
// comes, from whom and how late, and looks at its order.
#pragma once

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
        std::uint16_t lid = 0;
        std::uint16_t to = 0; ///< 0: sends nothing
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
                packet.path.encapsulation = model::port::Encapsulation::infiniband;
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
            flow.bytes += model::wire::frame_length(packet);
            flow.longest = std::max(flow.longest, at - Time{static_cast<std::int64_t>(packet.rdma().reth.address)});
        }
        void received_all(Time) override {}
        bool can_receive(Time) override { return !is_stalled; }
        void ready(Time at) override { send(at); }
    };

    static LinkConfig infiniband() {
        LinkConfig config;
        config.encapsulation = model::port::Encapsulation::infiniband;
        return config;
    }

    explicit FabricBench(LinkConfig config = infiniband()) : config_(config) {}

    InfinibandSwitch& add_switch(unsigned ports) {
        auto& made = switches.emplace_back(
            model::net::SwitchConfig{.agent = {.ports = ports, .guid = switches.size() + 1}, .latency = 100ns},
            traces::Events{});
        made.on_forwarded = [this] {
            for (auto& cable : cables)
                if (!cable.link().config().timed)
                    cable.link().pump(now);
        };
        return made;
    }
    /// A host with the next LID (from 1), at a port of a switch which gets a route to it.
    Host& add_host(InfinibandSwitch& at, unsigned port) {
        auto& host = hosts.emplace_back();
        host.lid = static_cast<std::uint16_t>(hosts.size());
        auto& link = add_cable();
        link.attach(0, host);
        host.wire = &link.end(0);
        plug(at, port, link, 1);
        at.agent().set_route(host.lid, static_cast<std::uint8_t>(port));
        return host;
    }
    /// A cable between two switches.
    Link& add_trunk(InfinibandSwitch& a, unsigned port_a, InfinibandSwitch& b, unsigned port_b) {
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
        if (next == cables.end() || next->alarm().next == model::port::never)
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
    std::deque<Host> hosts;

private:
    void plug(InfinibandSwitch& at, unsigned port, Link& link, unsigned end) {
        const auto blocks = config_.credit_blocks;
        at.connect(port, link.end(end), blocks != 0 ? blocks : model::net::Credits::most, &link.counters(end));
        link.attach(end, at.receiver(port));
    }

    LinkConfig config_;
};

} // namespace harness
