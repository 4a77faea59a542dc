#include "testbench/calibrate/traffic.h"

#include "model/tlm/time.h"
#include "testbench/calibrate/requester.h"
#include "testbench/calibrate/side.h"
#include "testbench/harness/isolate.h"
#include "testbench/scenario/programs.h"

#include <fmt/format.h>
#include <systemc>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

namespace calibrate {

using platform::topology::Platform;

namespace {

constexpr unsigned patience_seconds = 100; ///< of wall time, for one measurement

/// Both hosts, built by the first program; the others wait for it.
struct Both {
    std::unique_ptr<Side> a, b;
    sc_core::sc_event is_ready;

    void wait() const {
        if (!b)
            sc_core::wait(is_ready);
    }
};

/// To be called once in a process, which ends without taking down what the drivers hold.
Measured run(const platform::topology::Config& config, const Traffic& traffic) {
    ::alarm(patience_seconds);
    platform::observe::Sources sources;
    auto& platform = *new Platform(config, nullptr, sources);
    auto& both = *new Both;
    auto& meter = *new Meter(platform, traffic);
    scenario::Programs programs;
    for (std::uint32_t i = 0; i < traffic.cores; ++i)
        for (const bool is_first : {true, false})
            programs.add(fmt::format("core{}", i), [&, i, is_first] {
                if (is_first && i == 0) {
                    both.a = std::make_unique<Side>(platform.machine("A"), traffic, 0);
                    auto b = std::make_unique<Side>(platform.machine("B"), traffic, 1);
                    both.a->connect(*b, traffic);
                    b->connect(*both.a, traffic);
                    if (traffic.verb == Verb::send || traffic.is_ping_pong)
                        give_receives(*b, traffic);
                    if (traffic.is_ping_pong)
                        give_receives(*both.a, traffic);
                    both.b = std::move(b);
                    model::tlm::notify_now(both.is_ready);
                    sc_core::wait(sc_core::SC_ZERO_TIME);
                } else {
                    both.wait();
                }
                auto &own = is_first ? *both.a : *both.b, &other = is_first ? *both.b : *both.a;
                if (traffic.is_ping_pong)
                    play(own, other, traffic, is_first, meter);
                else if (is_first)
                    Requester(own, other, traffic, i, meter).run();
                else if (traffic.verb == Verb::send)
                    serve_receives(own, traffic, i, meter);
            });
    if (const auto ended = programs.run(); !ended)
        throw std::runtime_error(ended.error());
    return meter.measured();
}

} // namespace

std::optional<Measured> measure(const platform::topology::Config& config, const Traffic& traffic) {
    return harness::in_process_of_its_own([&]() -> Measured {
        try {
            return run(config, traffic);
        } catch (const std::exception& trouble) {
            fmt::print(stderr, "hcasim: a measurement has failed: {}\n", trouble.what());
            std::_Exit(1);
        }
    });
}

} // namespace calibrate
