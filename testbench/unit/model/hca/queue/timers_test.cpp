// Deadlines of queue pairs: whatever is set, moved and removed, each expires at its own, the earliest first.
#include "model/hca/queue/timers.h"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

using model::hca::queue::QueuePair;
using model::hca::queue::Timers;
using model::port::Time;

namespace {

struct TestClock final : model::port::Clock {
    Time now() const override { return {}; }
    void wake_at(Time at) override { next = std::min(next, at); }
    Time next = model::port::never;
};

} // namespace

TEST_CASE("deadlines that are set, moved and removed at random expire in their order", "[unit][timers]") {
    const auto seed = Catch::getSeed();
    INFO("seed " << seed);
    std::mt19937 random(seed);
    TestClock clock;
    Timers timers(clock);
    std::vector<std::unique_ptr<QueuePair>> all;
    for (std::uint32_t number = 0; number < 40; ++number)
        all.push_back(std::make_unique<QueuePair>(abi::Qpn{number}, model::hca::queue::QueuePairAttributes{}));
    Time now{};
    for (unsigned round = 0; round < 3000; ++round) {
        auto& qp = *all[random() % all.size()];
        switch (random() % 4) {
        case 0: timers.remove(qp), qp.timer.deadline = model::port::never; break;
        case 1: timers.set(qp, model::port::never); break;
        default: timers.set(qp, now + Time{1 + random() % 1000}); break;
        }
        if (random() % 8 != 0)
            continue;
        now += Time{random() % 400};
        clock.next = model::port::never;
        timers.expire(now, [&](QueuePair& due) { CHECK(due.timer.deadline == model::port::never); });
        for (const auto& one : all)
            REQUIRE(one->timer.deadline > now);
        Time least = model::port::never;
        for (const auto& one : all)
            least = std::min(least, one->timer.deadline);
        REQUIRE(clock.next <= least); // somebody wakes it in time
    }
}
