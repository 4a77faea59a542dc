// Work in processes: what they find comes back, however long it is, and however they end.
#include "testbench/hcasim/replay_pool.h"

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <new>
#include <stdexcept>
#include <string>

using namespace hcasim;

TEST_CASE("what each process has found comes back whole", "[unit][replay]") {
    std::vector<PoolResult> results(5);
    std::uint64_t most = 0;

    ReplayPool(2).run(
        results.size(),
        [](std::size_t number, const ReplayPool::Progress& progress) {
            progress(100);
            progress(1000 * (number + 1));
            return PoolResult{.status = static_cast<int>(number),
                              .text = std::string(300'000 * number, 't') + "\nend\n",
                              .json = "{\"number\": " + std::to_string(number) + "}"};
        },
        [&](std::size_t number, PoolResult result) { results[number] = std::move(result); },
        [&](std::uint64_t bytes) { most = std::max(most, bytes); });

    for (std::size_t i = 0; i < results.size(); ++i) {
        CHECK(results[i].status == static_cast<int>(i));
        CHECK(results[i].text.size() == 300'000 * i + 5);
        CHECK(results[i].json == "{\"number\": " + std::to_string(i) + "}");
        CHECK(results[i].ended.empty());
    }
    CHECK(most == 15'000);
}

TEST_CASE("a process that ends before it has said all is told by its end", "[unit][replay]") {
    std::vector<PoolResult> results(3);

    ReplayPool(3).run(
        results.size(),
        [](std::size_t number, const ReplayPool::Progress& progress) {
            progress(1);
            if (number == 0)
                ::_exit(0);
            if (number == 1)
                ::kill(::getpid(), SIGKILL);
            return PoolResult{.status = 1, .text = "t", .json = "{}"};
        },
        [&](std::size_t number, PoolResult result) { results[number] = std::move(result); }, [](std::uint64_t) {});

    CHECK(results[0].ended == "has ended by itself, with status 0");
    CHECK(results[1].ended == "was ended by signal 9, Killed; a system that has no memory left does that");
    CHECK(results[2].ended.empty());
    CHECK(results[2].text == "t");
}

TEST_CASE("a process whose work throws is told by what was thrown, and goes no further", "[unit][replay]") {
    std::vector<PoolResult> results(2);

    ReplayPool(1).run(
        results.size(),
        [](std::size_t number, const ReplayPool::Progress&) -> PoolResult {
            if (number == 0)
                throw std::bad_alloc();
            throw std::runtime_error("the disk is gone");
        },
        [&](std::size_t number, PoolResult result) { results[number] = std::move(result); }, [](std::uint64_t) {});

    CHECK(results[0].ended == "has found no memory any more");
    CHECK(results[1].ended == "has failed: the disk is gone");
}
