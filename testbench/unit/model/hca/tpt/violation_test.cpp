// The rules of a memory key, each alone and in pairs: the first one in the order of the specification is named.
#include "testbench/unit/model/hca/tpt/bench.h"

#include <catch2/catch_test_macros.hpp>

#include <functional>

using namespace tpt_test;

namespace {

/// Breaks one rule, in the key or in the request.
struct Break {
    Violation violation;
    std::function<void(MkeyAttributes&, std::vector<std::uint64_t>&, Request&)> apply;
};

const std::vector<Break> breaks{
    {Violation::no_such_key, [](auto&, auto&, auto& r) { r.key = abi::Key{Bench::index + 1, Bench::variant}; }},
    {Violation::key_is_free, [](auto& a, auto&, auto&) { a.is_free = true; }},
    {Violation::wrong_variant, [](auto& a, auto&, auto&) { a.variant = Bench::variant + 1; }},
    {Violation::wrong_pd, [](auto& a, auto&, auto&) { a.pd = abi::Pd{Bench::pd.value + 1}; }},
    {Violation::wrong_queue_pair, [](auto& a, auto&, auto&) { a.qpn = 6; }},
    {Violation::no_right, [](auto& a, auto&, auto&) { a.rights = {}; }},
    {Violation::out_of_bounds, [](auto&, auto&, auto& r) { r.address = 0x12fff; }},
    {Violation::page_not_present, [](auto&, auto& mtt, auto&) { mtt.pop_back(); }},
};

std::optional<Violation> outcome(std::span<const Break* const> broken, Access access) {
    Bench bench;
    auto attributes = Bench::attributes(0x10000, 0x3000);
    std::vector<std::uint64_t> mtt{0x7000, 0x3000, 0x9000};
    auto request = bench.request(0x12000, 0x1000, access);
    for (const auto* b : broken)
        b->apply(attributes, mtt, request);
    bench.create(attributes, mtt);
    return bench.refusal(request);
}

} // namespace

TEST_CASE("a range that breaks no rule is translated", "[unit][tpt]") {
    for (const auto access : all_accesses)
        CHECK(outcome({}, access) == std::nullopt);
}

TEST_CASE("every rule that is broken alone is named", "[unit][tpt]") {
    for (const auto access : all_accesses)
        for (const auto& b : breaks) {
            INFO(to_string(b.violation));
            CHECK(outcome(std::array{&b}, access) == b.violation);
        }
}

TEST_CASE("of two broken rules the first is named", "[unit][tpt]") {
    for (std::size_t i = 0; i < breaks.size(); ++i)
        for (std::size_t j = i + 1; j < breaks.size(); ++j) {
            INFO(to_string(breaks[i].violation) << " and " << to_string(breaks[j].violation));
            CHECK(outcome(std::array{&breaks[j], &breaks[i]}, Access::remote_write) == breaks[i].violation);
        }
}

TEST_CASE("of all rules broken the first is named", "[unit][tpt]") {
    std::vector<const Break*> all;
    for (const auto& b : breaks)
        all.push_back(&b);
    for (std::size_t i = 0; i < all.size(); ++i)
        CHECK(outcome(std::span(all).subspan(i), Access::local_write) == all[i]->violation);
}

TEST_CASE("each access needs its own right and no other", "[unit][tpt]") {
    for (unsigned granted = 0; granted < 32; ++granted) {
        Bench bench;
        auto a = Bench::attributes(0, 0x1000);
        a.rights = {(granted & 1) != 0, (granted & 2) != 0, (granted & 4) != 0, (granted & 8) != 0,
                    (granted & 16) != 0};
        bench.create(a, {0x1000});
        for (std::size_t n = 0; n < all_accesses.size(); ++n) {
            INFO("rights " << granted << ", access " << n);
            CHECK(bench.refusal(0, 8, all_accesses[n]).has_value() == ((granted >> n & 1) == 0));
        }
    }
}

TEST_CASE("a key bound to a queue pair serves that one only", "[unit][tpt]") {
    Bench bench;
    auto a = Bench::attributes(0, 0x1000);
    a.qpn = 5;
    bench.create(a, {0x1000});
    auto request = bench.request(0, 8);

    CHECK(bench.refusal(request) == std::nullopt);
    request.qpn = 4;
    CHECK(bench.refusal(request) == Violation::wrong_queue_pair);
    request.qpn = 0xffffff;
    CHECK(bench.refusal(request) == Violation::wrong_queue_pair);
}

TEST_CASE("an access of length 0 is held to the key and its rights, not to its bounds", "[unit][tpt]") {
    Bench bench;
    auto a = Bench::attributes(0x10000, 0x1000);
    bench.create(a, {});

    for (const std::uint64_t address : {0ull, 0x10000ull, 0x11000ull, ~0ull}) {
        const auto result = bench.translate(address, 0);
        REQUIRE(result);
        CHECK(result->count == 0);
        CHECK(result->covered == 0);
    }
    a.rights.remote_write = false;
    bench.create(a, {});
    CHECK(bench.refusal(0x10000, 0, Access::remote_write) == Violation::no_right);
    a.pd = abi::Pd{1};
    bench.create(a, {});
    CHECK(bench.refusal(0x10000, 0) == Violation::wrong_pd);
}

TEST_CASE("a check refuses what a translation refuses, up to the pages", "[unit][tpt]") {
    for (const auto& b : breaks) {
        Bench bench;
        auto attributes = Bench::attributes(0x10000, 0x3000);
        std::vector<std::uint64_t> mtt{0x7000, 0x3000, 0x9000};
        auto request = bench.request(0x12000, 0x1000, Access::remote_read);
        b.apply(attributes, mtt, request);
        bench.create(attributes, mtt);

        const auto result = bench.translator.check(request, {});

        INFO(to_string(b.violation));
        if (b.violation == Violation::page_not_present)
            CHECK(result);
        else {
            REQUIRE_FALSE(result);
            CHECK(result.error() == b.violation);
            CHECK(bench.counters.refusals == 1);
        }
    }
}

TEST_CASE("a key number beyond the table names no key", "[unit][tpt]") {
    Bench bench;
    for (const std::uint32_t value : {0u, 1u, 0xffffffffu, 0xffffff00u}) {
        auto request = bench.request(0, 1);
        request.key = abi::Key{value};
        CHECK(bench.refusal(request) == Violation::no_such_key);
    }
}
