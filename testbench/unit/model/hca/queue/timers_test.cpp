// Deadlines of queue pairs come up earliest first, whatever was moved or taken out before.
#include "model/hca/queue/timers.h"
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstddef>
#include <vector>

using namespace harness;
using model::hca::queue::QueuePair;
using model::hca::queue::Timers;

namespace {

struct Bench : HcaPair {
    Timers timers{clock};
    std::vector<QueuePair*> all;
    explicit Bench(std::size_t count) {
        std::vector<TestQp> made;
        for (std::size_t i = 0; i < count; ++i)
            made.push_back(a.make_qp(a.attributes(a_cq)));
        for (const auto& qp : made)
            all.push_back(&a.core(qp));
    }
    ~Bench() {
        for (auto* qp : all)
            timers.remove(*qp);
    }
    /// Those that are due by `now`, in the order in which they come up.
    std::vector<QueuePair*> due(Time now) {
        std::vector<QueuePair*> found;
        timers.expire(now, [&](QueuePair& qp) { found.push_back(&qp); });
        return found;
    }
};
using Due = std::vector<QueuePair*>;

} // namespace

TEST_CASE("deadlines come up earliest first, each when it is due", "[unit][timers]") {
    Bench bench(7);
    std::array<std::size_t, 8> who{};
    for (std::size_t i = 0; i < 7; ++i) {
        const auto at = 5 * (i + 1) % 8; // 5, 2, 7, 4, 1, 6, 3
        who[at] = i;
        bench.timers.set(*bench.all[i], Time{static_cast<std::int64_t>(at)});
    }

    for (std::size_t at = 1; at < 8; ++at)
        CHECK(bench.due(Time{static_cast<std::int64_t>(at)}) == Due{bench.all[who[at]]});

    CHECK(bench.timers.size() == 0);
}

TEST_CASE("a queue pair that is taken out leaves the others in their order", "[unit][timers]") {
    for (std::size_t gone = 0; gone < 7; ++gone) {
        INFO("without number " << gone);
        Bench bench(7);
        for (std::size_t i = 0; i < 7; ++i)
            bench.timers.set(*bench.all[i], Time{static_cast<std::int64_t>(i + 1)});

        bench.timers.remove(*bench.all[gone]);

        for (std::size_t i = 0; i < 7; ++i)
            CHECK(bench.due(Time{static_cast<std::int64_t>(i + 1)}) == (i == gone ? Due{} : Due{bench.all[i]}));
    }
}
