#include "testbench/load/random.h"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <vector>

using namespace load;

namespace {

/// How often each of `count` ranks was drawn.
std::vector<unsigned> histogram(std::uint64_t count, double exponent, unsigned draws) {
    const Zipf zipf(count, exponent);
    Random random(7);
    std::vector<unsigned> found(count);
    for (unsigned i = 0; i < draws; ++i)
        ++found.at(zipf.draw(random));
    return found;
}

} // namespace

TEST_CASE("ranks of Zipf's law come as often as it says", "[unit][load]") {
    constexpr unsigned draws = 400'000;
    constexpr std::uint64_t count = 50;
    for (const double exponent : {0.5, 0.99, 1.0, 1.5}) {
        INFO("exponent " << exponent);
        double sum = 0;
        for (std::uint64_t k = 1; k <= count; ++k)
            sum += std::pow(static_cast<double>(k), -exponent);

        const auto found = histogram(count, exponent, draws);

        for (std::uint64_t k = 0; k < count; ++k) {
            const auto expected = draws * std::pow(static_cast<double>(k + 1), -exponent) / sum;
            CHECK(std::abs(found[k] - expected) < 5 * std::sqrt(expected) + 1);
        }
    }
}

TEST_CASE("Zipf's law over one rank draws that one, and over many none beyond", "[unit][load]") {
    CHECK(histogram(1, 0.99, 100)[0] == 100);
    const Zipf zipf(1ull << 40, 0.99);
    Random random(1);
    for (unsigned i = 0; i < 10'000; ++i)
        REQUIRE(zipf.draw(random) < 1ull << 40);
}

TEST_CASE("numbers below a count are all reached, and none beyond", "[unit][load]") {
    Random random(11);
    std::vector<unsigned> found(7);
    for (unsigned i = 0; i < 70'000; ++i)
        ++found.at(random.below(7));
    for (const auto one : found)
        CHECK((one > 9'500 && one < 10'500));
}

TEST_CASE("parts of a load draw different numbers from one seed, and the same ones again", "[unit][load]") {
    Random first(5, 0), second(5, 1), again(5, 0), other(6, 0);
    const auto drawn = first.next();
    CHECK(drawn != second.next());
    CHECK(drawn == again.next());
    CHECK(drawn != other.next());
}
