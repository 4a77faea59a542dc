#include "testbench/calibrate/silence.h"

#include "model/tlm/kernel_clock.h"
#include "testbench/calibrate/side.h"
#include "testbench/harness/isolate.h"
#include "testbench/harness/must.h"
#include "testbench/scenario/programs.h"

#include <fmt/format.h>
#include <systemc>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

namespace calibrate {

using harness::must;
using model::tlm::kernel_now;

namespace {

constexpr Traffic one_message{.depth = 1};

double milliseconds(model::port::Time time) { return static_cast<double>(time.count()) * 1e-9; }

const model::hca::Counters& counters_of(platform::topology::Platform& platform) {
    const auto& cards = platform.machine("A").cards;
    const auto card =
        std::ranges::find(cards, platform::topology::PartKind::hca, &platform::topology::PlacedCard::kind);
    return card->hca().counters();
}

/// Polls the completion and the counters, as the publication did.
Patience post_one(platform::topology::Platform& platform, Side& a, const Side& b) {
    constexpr double every_us = 50;
    auto& core = a.cores().front();
    const auto& counters = counters_of(platform);
    const auto begin = kernel_now();
    const sw::mlx::Sge sge{.address = a.region().iova().value, .length = one_message.bytes, .lkey = a.region().lkey()};
    must(core.qps.front()->post_send({.sge = &sge,
                                      .sge_count = 1,
                                      .operation = sw::mlx::SendOperation::write,
                                      .flags = sw::mlx::send_flag::signaled,
                                      .rkey = b.region().rkey(),
                                      .remote_address = b.region().iova().value}));
    std::array<sw::mlx::Completion, 1> completions;
    Patience patience;
    model::port::Time first{};
    while (core.sent->poll(completions) == 0) {
        sc_core::wait(every_us, sc_core::SC_US);
        if (counters.adaptive_timeouts == patience.adaptive)
            continue;
        if (patience.adaptive == 0)
            first = kernel_now();
        patience.adaptive = static_cast<unsigned>(counters.adaptive_timeouts);
        patience.adaptive_ms = milliseconds(kernel_now() - first);
    }
    patience.total_ms = milliseconds(kernel_now() - begin);
    patience.syndrome = completions.front().vendor_syndrome;
    patience.timeouts = static_cast<unsigned>(counters.timeouts);
    patience.interval_ms = patience.total_ms / std::max(1u, patience.timeouts);
    return patience;
}

/// To be called once in a process, which ends without taking down what the drivers hold.
Patience run(const platform::topology::Config& config, const Silence& silence) {
    platform::observe::Sources sources;
    auto& platform = *new platform::topology::Platform(config, nullptr, sources);
    Patience patience;
    scenario::Programs programs;
    programs.add("requester", [&] {
        auto traffic = one_message;
        traffic.ack_timeout = silence.ack_timeout;
        traffic.retry_count = silence.retry_count;
        auto& a = *new Side(platform.machine("A"), traffic, 0);
        auto& b = *new Side(platform.machine("B"), traffic, 1);
        a.connect(b, traffic);
        b.connect(a, traffic);
        patience = post_one(platform, a, b);
    });
    if (const auto ended = programs.run(); !ended)
        throw std::runtime_error(ended.error());
    return patience;
}

} // namespace

std::optional<Patience> measure(const platform::topology::Config& config, const Silence& silence) {
    return harness::in_process_of_its_own([&]() -> Patience {
        try {
            return run(config, silence);
        } catch (const std::exception& trouble) {
            fmt::print(stderr, "hcasim: a measurement has failed: {}\n", trouble.what());
            std::_Exit(1);
        }
    });
}

} // namespace calibrate
