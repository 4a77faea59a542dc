// Queue pairs that rest until a time wake in the order of their times.
#include "model/hca/dispatch/resting.h"

#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

using namespace harness;

TEST_CASE("who rests for the shortest time is the next, whenever it began", "[unit][scheduler]") {
    HcaPair pair;
    model::hca::dispatch::Resting resting;
    std::array<TestQp, 5> made;
    for (auto& qp : made)
        qp = pair.a.make_qp(pair.a.attributes(pair.a_cq));
    CHECK(resting.next() == model::port::never);

    for (std::size_t i = 0; i < made.size(); ++i) {
        const auto until = Time{static_cast<std::int64_t>(50 - 10 * i)};
        resting.add(pair.a.core(made[i]), until);
        CHECK(resting.next() == until);
    }
    resting.add(pair.a.core(made[0]), Time{1}); // rests already
    CHECK(resting.next() == Time{10});
}
