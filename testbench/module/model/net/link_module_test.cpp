#include "model/net/link_module.h"

#include <catch2/catch_test_macros.hpp>

using namespace model;
using namespace std::chrono_literals;

namespace {

struct Echo final : port::Receiver {
    port::Wire* wire = nullptr;
    int echoes = 0;
    std::vector<port::Time> arrivals;
    void receive(port::Packet&, port::Time at) override {
        arrivals.push_back(at);
        if (echoes-- > 0) {
            wire->next();
            wire->send(at);
        }
    }
    void received_all(port::Time) override {}
    void ready(port::Time) override {}
};

struct Pair {
    net::LinkModule module;
    Echo a, b;
    explicit Pair(const net::LinkConfig& config) : module("link", config, {}) {
        module.link().attach(0, a);
        module.link().attach(1, b);
        a.wire = &module.link().end(0);
        b.wire = &module.link().end(1);
    }
};

} // namespace

TEST_CASE("packets cross a timed link at kernel times, and an idle link lets the simulation end", "[module][link]") {
    Pair pair({.timed = true, .latency = 500ns, .rate_gbps = 0, .quantum = {}});
    pair.b.echoes = 2;
    pair.a.echoes = 2;
    sc_core::sc_start(sc_core::SC_ZERO_TIME);

    pair.a.wire->next();
    pair.a.wire->send(1us);
    pair.module.flush(); // timed: leaves it to the event
    CHECK(pair.b.arrivals.empty());
    sc_core::sc_start();

    CHECK(pair.b.arrivals == std::vector<port::Time>{1500ns, 2500ns, 3500ns});
    CHECK(pair.a.arrivals == std::vector<port::Time>{2000ns, 3000ns});
    CHECK(model::tlm::kernel_now() == port::Time{3500ns});
    CHECK_FALSE(sc_core::sc_pending_activity());
}

TEST_CASE("flushing an untimed link delivers inline and leaves no kernel event", "[module][link]") {
    Pair pair({.timed = false});
    pair.b.echoes = 1;
    sc_core::sc_start(sc_core::SC_ZERO_TIME);

    pair.a.wire->next();
    pair.a.wire->send(model::tlm::kernel_now());
    pair.module.flush();

    CHECK(pair.b.arrivals.size() == 1);
    CHECK(pair.a.arrivals.size() == 1);
    CHECK_FALSE(sc_core::sc_pending_activity());
}
