#include "testbench/load/mix.h"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <set>

using namespace load;

namespace {

std::string refusal(const auto& read) { return read ? "" : read.error(); }

} // namespace

TEST_CASE("a list of sizes comes in turn, for each queue pair from its beginning", "[unit][load]") {
    const auto sizes = Sizes::read("64 B, 4 KiB,1 MiB").value();
    Random random(1);

    for (const std::uint64_t number : {0u, 3u, 6u}) {
        CHECK(sizes.draw(random, number) == 64);
        CHECK(sizes.draw(random, number + 1) == 4096);
        CHECK(sizes.draw(random, number + 2) == 1 << 20);
    }
    CHECK(sizes.least() == 64);
    CHECK(sizes.most() == 1 << 20);
}

TEST_CASE("weights say how often a size is drawn, and a range is drawn evenly", "[unit][load]") {
    const auto sizes = Sizes::read("10..13:90, 4 KiB:10").value();
    Random random(2);
    std::map<std::uint32_t, unsigned> found;
    constexpr unsigned draws = 100'000;

    for (unsigned i = 0; i < draws; ++i)
        ++found[sizes.draw(random, i)];

    CHECK(found.size() == 5);
    for (const std::uint32_t bytes : {10u, 11u, 12u, 13u}) // 22,500 of each, give or take five deviations
        CHECK((found[bytes] > 21'800 && found[bytes] < 23'200));
    CHECK((found[4096] > 9'500 && found[4096] < 10'500));
}

TEST_CASE("a mix has each verb as often as its weight says", "[unit][load]") {
    const auto verbs = Verbs::read("write:70, read:30").value();
    Random random(3);
    std::map<Verb, unsigned> found;

    for (unsigned i = 0; i < 100'000; ++i)
        ++found[verbs.draw(random)];

    CHECK(found.size() == 2);
    CHECK((found[Verb::write] > 69'200 && found[Verb::write] < 70'800));
    CHECK(verbs.has(Verb::read));
    CHECK_FALSE(verbs.has(Verb::send));
    CHECK_FALSE(verbs.has_atomics());
    CHECK(Verbs::read("compare_swap").value().has_atomics());
    CHECK_FALSE(Verbs::read("compare_swap").value().has_data());
}

TEST_CASE("verbs without weights are drawn as often as each other", "[unit][load]") {
    const auto verbs = Verbs::read("send, fetch_add").value();
    Random random(4);
    unsigned sends = 0;

    for (unsigned i = 0; i < 100'000; ++i)
        sends += verbs.draw(random) == Verb::send;

    CHECK((sends > 49'000 && sends < 51'000));
}

TEST_CASE("sizes and verbs that cannot be read are refused with what is wrong", "[unit][load]") {
    CHECK(refusal(Sizes::read("64 B,")) == "an entry of '64 B,' is empty");
    CHECK(refusal(Sizes::read("4 KB")) ==
          "'4 KB' has the unknown unit 'KB'; the units are B KiB MiB GiB TiB, did you mean 'KiB'?");
    CHECK(refusal(Sizes::read("0 B")) == "'0 B' is out of range, allowed is 1 B to 1 GiB");
    CHECK(refusal(Sizes::read("2 GiB")) == "'2 GiB' is out of range, allowed is 1 B to 1 GiB");
    CHECK(refusal(Sizes::read("64..8")) == "the range '64..8' ends before it begins");
    CHECK(refusal(Sizes::read("8:1, 64")) == "some entries of '8:1, 64' have a weight and some have none");
    CHECK(refusal(Sizes::read("8:0")) == "'0' is no weight: a whole number from 1 to 1000000");
    CHECK(refusal(Sizes::read("8:1000001")) == "'1000001' is no weight: a whole number from 1 to 1000000");
    CHECK(refusal(Verbs::read("reed")) ==
          "'reed' is no verb, did you mean 'read'?; there are: write read send fetch_add compare_swap");
    CHECK(refusal(Verbs::read("read, read")) == "'read' is there twice");
}
