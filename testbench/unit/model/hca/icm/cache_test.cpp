// What the translation caches count, what they evict, and what they forget.
#include "testbench/unit/model/hca/tpt/bench.h"

#include "model/hca/icm/cache.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <random>

using namespace tpt_test;
using model::hca::icm::Cache;
using namespace std::chrono_literals;

TEST_CASE("a cache without entries misses always", "[unit][tpt][cache]") {
    Cache cache(0, 8);
    for (int i = 0; i < 3; ++i)
        CHECK_FALSE(cache.touch(7));
}

TEST_CASE("what was brought in is there, until its set is full of newer ones", "[unit][tpt][cache]") {
    Cache cache(8, 8); // one set
    for (std::uint64_t tag = 0; tag < 8; ++tag)
        CHECK_FALSE(cache.touch(tag));
    for (std::uint64_t tag = 0; tag < 8; ++tag)
        CHECK(cache.touch(tag));

    CHECK_FALSE(cache.touch(8)); // in the place of 0, the oldest
    CHECK(cache.touch(1));
    CHECK(cache.touch(8));
    CHECK_FALSE(cache.touch(0)); // in the place of 1
    CHECK_FALSE(cache.touch(1));
    CHECK(cache.touch(7));
}

TEST_CASE("an entry that made room is a miss, also when it was the last one looked at", "[unit][tpt][cache]") {
    Cache cache(1, 8);
    CHECK_FALSE(cache.touch(1));
    CHECK(cache.touch(1));
    CHECK_FALSE(cache.touch(2));
    CHECK_FALSE(cache.touch(1));
}

TEST_CASE("a working set as large as the cache stays in it", "[unit][tpt][cache]") {
    for (const std::uint32_t entries : {8u, 64u, 4096u}) {
        Cache cache(entries, 8);
        for (std::uint64_t tag = 0; tag < entries; ++tag)
            CHECK_FALSE(cache.touch(tag));
        std::uint32_t hits = 0;
        for (std::uint64_t tag = 0; tag < entries; ++tag)
            hits += cache.touch(tag);
        CHECK(hits == entries);
    }
}

TEST_CASE("the first entries of many keys do not all meet in one set", "[unit][tpt][cache]") {
    const auto stride = GENERATE(std::uint64_t{1}, std::uint64_t{256}, std::uint64_t{4096});
    Cache cache(16384, 8, 40);
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t key = 0; key < 1024; ++key) {
            CAPTURE(stride, key);
            CHECK(cache.touch(key * stride << 40) == (round == 1));
        }
}

TEST_CASE("sizes that are no powers of two work as the next smaller ones", "[unit][tpt][cache]") {
    for (const std::uint32_t entries : {1u, 3u, 7u, 9u, 100u, 1000u})
        for (const std::uint32_t ways : {1u, 2u, 3u, 8u}) {
            Cache cache(entries, ways);
            std::uint32_t kept = 0;
            for (std::uint64_t tag = 0; tag < 2000; ++tag)
                cache.touch(tag);
            for (std::uint64_t tag = 2000; tag-- > 0 && cache.touch(tag);)
                ++kept;
            INFO(entries << " entries, " << ways << " ways");
            CHECK(kept >= 1);
            CHECK(kept <= entries);
        }
}

TEST_CASE("entries of a group leave together, at the cost of as many as are there", "[unit][tpt][cache]") {
    constexpr unsigned log_group = 4;
    Cache cache(4096, 8, log_group);
    for (std::uint64_t group = 0; group < 100; ++group)
        for (std::uint64_t line = 0; line < 10; ++line)
            cache.touch(group << log_group | line);

    CHECK(cache.drop_group(7, [](std::uint64_t tag) { return tag % 2 == 1; }) == 10);
    CHECK(cache.drop_group(7, [](std::uint64_t) { return true; }) == 5);
    CHECK(cache.drop_group(7, [](std::uint64_t) { return true; }) == 0);
    CHECK(cache.drop_group(100, [](std::uint64_t) { return true; }) == 0);
    for (std::uint64_t line = 0; line < 10; ++line) {
        CHECK(cache.touch(6 << log_group | line));
        CHECK(cache.touch(8 << log_group | line));
        CHECK_FALSE(cache.touch(7 << log_group | line));
    }
    cache.clear();
    CHECK_FALSE(cache.touch(6 << log_group));
    CHECK(cache.drop_group(6, [](std::uint64_t) { return true; }) == 1);
}

TEST_CASE("a cache with groups holds what one without holds, whatever leaves meanwhile", "[unit][tpt][cache]") {
    constexpr unsigned log_group = 4;
    const auto seed = GENERATE(1u, 2u, 3u);
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    Cache chained(64, 4, log_group), plain(64, 4);
    for (int i = 0; i < 20'000; ++i) {
        const auto tag = random() % 512;
        if (random() % 16 == 0) {
            const auto group = tag >> log_group;
            chained.drop_group(group, [](std::uint64_t) { return true; });
            for (std::uint64_t line = 0; line < 1u << log_group; ++line)
                plain.drop(group << log_group | line);
        } else if (random() % 16 == 0) {
            chained.drop(tag);
            plain.drop(tag);
        } else {
            REQUIRE(chained.touch(tag) == plain.touch(tag));
        }
    }
}

TEST_CASE("a key that goes costs what it has in the cache, not what the cache has", "[unit][tpt][cache]") {
    Bench bench;
    bench.create(Bench::attributes(0, 1024 << 12), std::vector<std::uint64_t>(1024, 0x1000));
    for (std::uint64_t page = 0; page < 1024; page += 8)
        CHECK(bench.translate(page << 12, 1));
    auto other = Bench::attributes(0, 0x1000);
    other.variant = 0;
    bench.table.create(0xee, other, {0x2000});
    auto asked = bench.request(0, 1);
    asked.key = abi::Key{0xee, 0};
    CHECK_FALSE(bench.refusal(asked));

    CHECK(bench.translator.forget(0xee) == 1);
    CHECK(bench.translator.forget(0xee) == 0);
    CHECK(bench.translator.forget(Bench::index) == 128);
}

TEST_CASE("key and entry look-ups are counted as hits and misses", "[unit][tpt][cache]") {
    Bench bench;
    std::vector<std::uint64_t> mtt(64);
    for (std::uint64_t i = 0; i < mtt.size(); ++i)
        mtt[i] = (i * 2 + 1) << 12;
    bench.create(Bench::attributes(0, 64 << 12), mtt);

    CHECK(bench.translate(0, 1)); // the first of eight entries of a line
    CHECK(bench.counters.mkey_misses == 1);
    CHECK(bench.counters.mtt_misses == 1);
    CHECK(bench.translate(0x7000, 1));
    CHECK(bench.translate(0x7fff, 1));
    CHECK(bench.counters.mkey_hits == 2);
    CHECK(bench.counters.mtt_hits == 2);
    CHECK(bench.translate(0x7fff, 2)); // two lines
    CHECK(bench.counters.mtt_hits == 3);
    CHECK(bench.counters.mtt_misses == 2);
    CHECK(bench.translate(0, 64 << 12));
    CHECK(bench.counters.mtt_misses == 8);
    CHECK(bench.counters.mtt_hits == 5);
    CHECK(bench.counters.translations == 5);
    CHECK(bench.counters.refusals == 0);
}

TEST_CASE("a refusal is counted", "[unit][tpt][cache]") {
    Bench bench;
    bench.create(Bench::attributes(0, 0x1000), {0x1000});

    CHECK(bench.refusal(0, 0x1001));
    CHECK(bench.refusal(0x1000, 1));

    CHECK(bench.counters.refusals == 2);
    CHECK(bench.counters.translations == 2);
    CHECK(bench.counters.mtt_misses == 0);
}

TEST_CASE("a miss costs its time, a hit none", "[unit][tpt][cache]") {
    HcaConfig config;
    config.mkey_miss = 100ns;
    config.mtt_miss = 7ns;
    Bench bench(config);
    bench.create(Bench::attributes(0, 0x10000), std::vector<std::uint64_t>(16, 0x1000));
    const auto after = [&](std::uint64_t address, std::uint64_t length, model::port::Time asked) {
        return bench.translator.translate(bench.request(address, length), asked)->ready - asked;
    };

    CHECK(after(0, 1, 1us) == 107ns);
    CHECK(after(0, 1, 1050ns) == 57ns); // who comes while it is brought in waits for it
    CHECK(after(0, 1, 2us) == 0ns);
    CHECK(after(0x7fff, 2, 3us) == 7ns);
    CHECK(after(0, 0x10000, 4us) == 0ns);
}

TEST_CASE("a new key is on the chip, as firmware has written it by way of the caches", "[unit][tpt][cache]") {
    Bench bench;
    bench.create(Bench::attributes(0, 0x10000), std::vector<std::uint64_t>(16, 0x1000));
    bench.translator.created(Bench::index, 16);
    CHECK(bench.translate(0, 0x10000));
    CHECK(bench.counters.mkey_misses == 0);
    CHECK(bench.counters.mtt_misses == 0);
    bench.translator.created(Bench::index + 1, 1'000'000); // a long list does not push all others out
    CHECK(bench.translate(0, 0x10000));
    CHECK(bench.counters.mtt_misses == 0);
}

TEST_CASE("a smaller entry cache evicts and counts", "[unit][tpt][cache]") {
    auto config = Bench::untimed();
    config.mtt_cache_entries = 2;
    Bench bench(config);
    bench.create(Bench::attributes(0, 24 << 12), std::vector<std::uint64_t>(24, 0x1000));

    for (int round = 0; round < 3; ++round)
        for (std::uint64_t line = 0; line < 3; ++line)
            CHECK(bench.translate(line * 8 << 12, 1));

    CHECK(bench.counters.mtt_misses == 9);
}

TEST_CASE("a key that is forgotten misses again; others stay", "[unit][tpt][cache]") {
    Bench bench;
    bench.create(Bench::attributes(0, 0x1000), {0x1000});
    bench.table.create(Bench::index + 1, Bench::attributes(0, 0x1000), {0x1000});
    auto other = bench.request(0, 1);
    other.key = abi::Key{Bench::index + 1, Bench::variant};
    CHECK(bench.translate(0, 1));
    CHECK_FALSE(bench.refusal(other));
    const auto before = bench.counters;

    bench.translator.forget(Bench::index);

    CHECK_FALSE(bench.refusal(other));
    CHECK(bench.counters.mkey_misses == before.mkey_misses);
    CHECK(bench.counters.mtt_misses == before.mtt_misses);
    CHECK(bench.translate(0, 1));
    CHECK(bench.counters.mkey_misses == before.mkey_misses + 1);
    CHECK(bench.counters.mtt_misses == before.mtt_misses + 1);
}

TEST_CASE("after all keys are forgotten everything misses", "[unit][tpt][cache]") {
    Bench bench;
    bench.create(Bench::attributes(0, 0x1000), {0x1000});
    CHECK(bench.translate(0, 1));

    bench.translator.forget_all();

    CHECK(bench.translate(0, 1));
    CHECK(bench.counters.mkey_misses == 2);
    CHECK(bench.counters.mtt_misses == 2);
}

TEST_CASE("a changed key is used at once: the caches hold tags, not contents", "[unit][tpt][cache]") {
    Bench bench;
    bench.create(Bench::attributes(0, 0x1000), {0x1000});
    CHECK(Bench::pieces(*bench.translate(0, 8)).front().first == 0x1000);

    bench.create(Bench::attributes(0, 0x1000), {0x2000});

    CHECK(Bench::pieces(*bench.translate(0, 8)).front().first == 0x2000);
}
