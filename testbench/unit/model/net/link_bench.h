// A cable between two ports that note what comes, under a clock of the test.
#pragma once

#include "model/wire/builder.h"
#include "model/wire/parser.h"
#include "model/net/link.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace harness {

using namespace model;
using namespace model::port;
using abi::wire::Operation;
using model::net::Link;
using model::net::LinkConfig;
using std::chrono::nanoseconds;

/// Simulated time under the test's control; runs what was asked for.
struct Alarm final : Clock {
    Time time{};
    Time next = never;
    Time now() const override { return time; }
    void wake_at(Time at) override { next = std::min(next, at); }
    /// Wakes `link` whenever it asked, up to `end`. Returns the number of wakes.
    int run(Link& link, Time end = never) {
        int wakes = 0;
        while (next <= end && next != never) {
            time = std::max(time, std::exchange(next, never));
            link.wake(time);
            ++wakes;
        }
        return wakes;
    }
};

struct Arrival {
    std::uint32_t psn;
    Time at;
    bool operator==(const Arrival&) const = default;
};

struct Port final : Receiver {
    std::vector<Arrival> arrivals;
    int batches = 0, readies = 0;
    std::function<void(Packet&, Time)> on_packet;
    std::function<void(Time)> on_ready;
    std::vector<std::pair<bool, Time>> changes; ///< of the link
    void link_changed(bool is_up, Time at) override { changes.emplace_back(is_up, at); }
    void receive(Packet& packet, Time at) override {
        arrivals.push_back({packet.rdma().psn.value, at});
        if (on_packet)
            on_packet(packet, at);
    }
    void received_all(Time) override { ++batches; }
    void ready(Time at) override {
        ++readies;
        if (on_ready)
            on_ready(at);
    }
    std::vector<std::uint32_t> psns() const {
        std::vector<std::uint32_t> result;
        for (const auto& a : arrivals)
            result.push_back(a.psn);
        return result;
    }
};

struct Log final : traces::Sink {
    std::vector<std::string> lines;
    void on(const traces::Stamp&, const traces::Event& event) override {
        const auto& fault = std::get<traces::LinkFault>(event);
        lines.push_back(std::to_string(fault.direction) + ":" + std::to_string(fault.packet) + " " +
                        std::string(fault.what.text()));
    }
};

struct LinkBench {
    Alarm clock;
    Log log;
    Link link;
    std::array<Port, 2> ports;
    explicit LinkBench(const LinkConfig& config) : link(config, clock, traces::Events(&log, 0)) {
        link.attach(0, ports[0]);
        link.attach(1, ports[1]);
    }
    Time send(unsigned end, std::uint32_t psn, Time at = {}, std::size_t payload = 0) {
        auto& packet = link.end(end).next();
        packet.rdma().operation = Operation::write_only;
        packet.rdma().psn = abi::Psn{psn};
        if (payload != 0)
            packet.payload.extend(payload);
        return link.end(end).send(at);
    }
    void check_balance() const {
        for (unsigned d = 0; d < 2; ++d) {
            const auto& c = link.counters(d);
            CHECK(c.packets + c.duplicated == c.delivered + c.lost + c.refused + link.under_way(d));
        }
    }
};

} // namespace harness
