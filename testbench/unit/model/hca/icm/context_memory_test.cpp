// Misses of contexts: what they read, how many at a time, and who waits for whom.
#include "model/hca/icm/context_memory.h"
#include "model/hca/memory/paged_buffer.h"
#include "testbench/unit/model/hca/icm/slow_memory.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <set>

using namespace model::hca;
using namespace std::chrono_literals;
using abi::Qpn;
using icm::Table;
using model::port::Time;

namespace {
struct Bench {
    explicit Bench(const HcaConfig& c = {}) : config(c), contexts(config, memory, counters) {
        contexts.set_pages(&pages);
    }
    HcaConfig config;
    Counters counters;
    icm_test::SlowMemory memory;
    std::vector<std::uint64_t> pages{0x10000, 0x7000, 0x3000};
    icm::ContextMemory contexts;
};

HcaConfig with(std::uint32_t engines, std::uint32_t entries = 1024) {
    HcaConfig config;
    config.miss_engines = engines;
    config.qp_cache_entries = entries;
    return config;
}
} // namespace

TEST_CASE("a context that is not on the chip is read from a page that software has lent", "[unit][icm]") {
    Bench bench;
    CHECK(bench.contexts.queue_pair(Qpn{5}, 100ns) == 600ns);
    CHECK(bench.contexts.queue_pair(Qpn{5}, 700ns) == 700ns);
    CHECK(bench.counters.qpc_misses == 1);
    CHECK(bench.counters.qpc_hits == 1);
    for (std::uint64_t line = 0; line < 1000; ++line)
        for (const auto table : {Table::queue_pairs, Table::memory_keys, Table::translations})
            bench.contexts.fetch(table, line, 0ns, 0ns);
    std::set<std::uint64_t> seen;
    for (const auto& [address, bytes] : bench.memory.reads) {
        CHECK(bytes == 64);
        CHECK(address % 64 == 0);
        seen.insert(address & ~std::uint64_t{4095});
    }
    CHECK(seen == std::set<std::uint64_t>(bench.pages.begin(), bench.pages.end()));
}

TEST_CASE("when an engine could begin with the next miss is known before it is asked", "[unit][icm]") {
    Bench bench(with(2));
    CHECK(bench.contexts.next_miss(100ns) == 100ns);
    for (std::uint32_t number = 0; number < 4; ++number)
        bench.contexts.queue_pair(Qpn{number}, 0ns);
    CHECK(bench.contexts.next_miss(0ns) == 1us); // two engines, 500 ns each
    CHECK(bench.contexts.next_miss(2us) == 2us);

    auto untimed = with(1);
    untimed.timed = false;
    Bench at_once(untimed);
    at_once.contexts.queue_pair(Qpn{1}, 0ns);
    CHECK(at_once.contexts.next_miss(0ns) == 0ns);
}

TEST_CASE("contexts of completion queues and of shared receive queues are brought, kept and forgotten, too",
          "[unit][icm]") {
    Bench bench;
    CHECK(bench.contexts.completion_queue(abi::Cqn{5}, 100ns) == 600ns);
    CHECK(bench.contexts.completion_queue(abi::Cqn{5}, 700ns) == 700ns);
    CHECK(bench.contexts.receive_queue(5, 100ns) == 600ns); // a queue of another kind
    CHECK(bench.contexts.receive_queue(5, 700ns) == 700ns);
    CHECK(bench.counters.cqc_misses == 1);
    CHECK(bench.counters.cqc_hits == 1);
    CHECK(bench.counters.srqc_misses == 1);
    CHECK(bench.counters.srqc_hits == 1);
    CHECK(bench.memory.reads[0].first != bench.memory.reads[1].first);

    bench.contexts.created(abi::Cqn{6});
    bench.contexts.created_receive_queue(6);
    CHECK(bench.contexts.completion_queue(abi::Cqn{6}, 700ns) == 700ns);
    CHECK(bench.contexts.receive_queue(6, 700ns) == 700ns);
    bench.contexts.forget(abi::Cqn{6});
    bench.contexts.forget_receive_queue(6);
    CHECK(bench.contexts.completion_queue(abi::Cqn{6}, 700ns) == 1200ns);
    CHECK(bench.contexts.receive_queue(6, 700ns) == 1200ns);
    bench.contexts.forget_all();
    CHECK(bench.contexts.completion_queue(abi::Cqn{5}, 9us) == 9500ns);
    CHECK(bench.contexts.receive_queue(5, 9us) == 9500ns);
}

TEST_CASE("a page that software has taken back is not read any more", "[unit][icm]") {
    Bench bench;
    bench.pages = {0x3000};
    bench.contexts.queue_pair(Qpn{1000}, 0ns);
    CHECK(bench.memory.reads.back().first / 4096 == 3);
    bench.pages.clear();
    CHECK(bench.contexts.queue_pair(Qpn{1001}, 0ns) == 0ns);
    CHECK(bench.memory.reads.size() == 1);
}

TEST_CASE("who comes while a context is brought in waits for it and brings it in no second time", "[unit][icm]") {
    Bench bench;
    CHECK(bench.contexts.queue_pair(Qpn{5}, 100ns) == 600ns);
    CHECK(bench.contexts.queue_pair(Qpn{5}, 200ns) == 600ns);
    CHECK(bench.memory.reads.size() == 1);
}

TEST_CASE("as many misses are under way as there are engines", "[unit][icm]") {
    Bench bench(with(2));
    CHECK(bench.contexts.queue_pair(Qpn{1}, 0ns) == 500ns);
    CHECK(bench.contexts.fetch(Table::memory_keys, 1, 0ns, 100ns) == 600ns); // what it takes beside holds its engine
    CHECK(bench.contexts.fetch(Table::translations, 1, 0ns, 0ns) == 1000ns);
    CHECK(bench.contexts.queue_pair(Qpn{2}, 0ns) == 1100ns);
    CHECK(bench.contexts.account().units == 2);
    CHECK(bench.contexts.account().usage.busy == 500ns + 600ns + 500ns + 500ns);
}

TEST_CASE("more queue pairs than the chip holds contexts of, in turns, miss each time", "[unit][icm]") {
    const auto misses = [](std::uint32_t queue_pairs) {
        Bench bench(with(4, 64));
        for (int round = 0; round < 10; ++round)
            for (std::uint32_t i = 0; i < queue_pairs; ++i)
                bench.contexts.queue_pair(Qpn{i}, 0ns);
        return bench.counters.qpc_misses;
    };
    CHECK(misses(64) == 64);
    CHECK(misses(128) == 1280);
}

TEST_CASE("misses of messages one behind the other, booked message by message, leave no engine idle", "[unit][icm]") {
    // Each message misses its key, and then the key's translation; all come at once.
    constexpr unsigned messages = 100, engines = 4;
    Bench bench(with(engines));
    Time last{};
    for (std::uint32_t i = 0; i < messages; ++i) {
        const auto key = bench.contexts.fetch(Table::memory_keys, i, 0ns, 250ns);
        last = std::max(last, bench.contexts.fetch(Table::translations, i, key, 0ns));
    }
    const auto least = Time{messages * (750ns + 500ns)} / engines;
    CHECK(last >= least);
    CHECK(last <= least * 11 / 10);
    CHECK(bench.contexts.account().kind == model::time::Kind::window);
    CHECK(bench.contexts.account().load(last) <= 1);
}

TEST_CASE("without timing a miss is still a read, and takes no time", "[unit][icm]") {
    HcaConfig config;
    config.timed = false;
    Bench bench(config);
    bench.memory.latency = {};
    CHECK(bench.contexts.queue_pair(Qpn{5}, 0ns) == 0ns);
    CHECK(bench.memory.reads.size() == 1);
    CHECK(bench.contexts.account().usage.uses == 0);
}

TEST_CASE("a new queue pair's context is on the chip", "[unit][icm]") {
    Bench bench(with(4, 1));
    bench.contexts.queue_pair(Qpn{5}, 1us); // another one of that number, which was brought in late, to the same place
    bench.contexts.forget(Qpn{5});
    bench.contexts.created(Qpn{5});
    CHECK(bench.contexts.queue_pair(Qpn{5}, 100ns) == 100ns);
    CHECK(bench.memory.reads.size() == 1);
}

TEST_CASE("a queue pair that has gone leaves its context to nobody who gets its number", "[unit][icm]") {
    Bench bench;
    bench.contexts.queue_pair(Qpn{5}, 0ns);
    bench.contexts.queue_pair(Qpn{6}, 0ns);
    bench.contexts.forget(Qpn{5});
    bench.contexts.queue_pair(Qpn{5}, 1us);
    bench.contexts.queue_pair(Qpn{6}, 1us);
    CHECK(bench.counters.qpc_misses == 3);
}

TEST_CASE("when every object has gone no context is on the chip", "[unit][icm]") {
    Bench bench;
    bench.contexts.queue_pair(Qpn{5}, 0ns);
    bench.contexts.forget_all();
    bench.contexts.queue_pair(Qpn{5}, 1us);
    CHECK(bench.counters.qpc_misses == 2);
}

TEST_CASE("what lies in two pages of a queue's buffer is there when both pieces are", "[unit][icm]") {
    struct TwoPages final : model::port::Dma {
        using DmaResult = model::port::DmaResult;
        DmaResult read(abi::BusAddress address, std::span<std::byte>, Time at, model::port::Purpose) override {
            using enum model::port::DmaStatus;
            return {address.value == refused ? unsupported_request : ok,
                    at + Time{address.value == 0x1fe0 ? slow_first : slow_second}};
        }
        DmaResult write(abi::BusAddress, std::span<const std::byte>, Time at, model::port::Purpose) override {
            return {model::port::DmaStatus::ok, at};
        }
        model::port::Loan lend(abi::BusAddress, std::size_t, Time at, model::port::Purpose) override {
            return {nullptr, {model::port::DmaStatus::ok, at}};
        }
        std::uint64_t refused = 0;
        int slow_first = 1, slow_second = 1;
    };
    const model::hca::memory::PagedBuffer buffer({abi::BusAddress{0x1000}, abi::BusAddress{0x5000}}, 12, 0);
    std::array<std::byte, 64> bytes{};
    TwoPages memory;

    memory.slow_first = 900;
    CHECK(buffer.read(memory, 0xfe0, bytes, {}).done == model::port::Time{900});
    memory.slow_second = 1000;
    CHECK(buffer.read(memory, 0xfe0, bytes, {}).done == model::port::Time{1000});
    for (const std::uint64_t refused : {0x1fe0, 0x5000}) {
        memory.refused = refused;
        CHECK_FALSE(buffer.read(memory, 0xfe0, bytes, {}).is_ok());
    }
}
