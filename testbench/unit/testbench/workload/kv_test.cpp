#include "testbench/workload/kv_plan.h"
#include "testbench/workload/kv_request.h"
#include "testbench/workload/kv_value.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <map>
#include <vector>

using namespace workload;

namespace {

constexpr ValueHead first{.key = 5, .version = 1, .content = 77, .bytes = 100};

std::vector<std::byte> value(const ValueHead& head, std::size_t room = 256) {
    std::vector<std::byte> bytes(room);
    write_value(bytes, head);
    return bytes;
}

KvPlan plan(double puts, double zipf) {
    KvPlan plan;
    plan.how.puts = puts;
    plan.how.zipf = zipf;
    plan.how.keys = 50;
    plan.servers = 2;
    plan.clients = 3;
    plan.sizes = load::Sizes::read("64 B, 128 B").value();
    return plan;
}

} // namespace

TEST_CASE("a value is what was written, with its head", "[unit][workload]") {
    const auto bytes = value(first);
    CHECK(read_value(bytes) == first);
    CHECK_FALSE(find_foreign_value(bytes, first).has_value());
    const ValueHead empty{.key = 1, .version = 2, .content = 3, .bytes = 0};
    CHECK(read_value(value(empty, value_head_bytes)) == empty);
}

TEST_CASE("a value of two versions is none, wherever the border is", "[unit][workload]") {
    ValueHead second = first;
    second.version = 2, second.content = 78;
    const auto before = value(first), after = value(second);
    const auto end = value_head_bytes + first.bytes;
    for (std::size_t border = 1; border < end; ++border) {
        INFO("border at byte " << border);
        auto torn = before;
        std::copy_n(after.begin(), border, torn.begin());
        // The bytes before the border may be the same in both.
        if (torn != before && !std::equal(torn.begin(), torn.begin() + static_cast<std::ptrdiff_t>(end), after.begin()))
            CHECK_FALSE(read_value(torn).has_value());
    }
}

TEST_CASE("a head that claims more bytes than there are is no value", "[unit][workload]") {
    auto bytes = value(first, 140);
    CHECK(read_value(bytes) == first);
    CHECK_FALSE(read_value(std::span(bytes).first(139)).has_value());
    CHECK_FALSE(read_value(std::span(bytes).first(39)).has_value());
    CHECK_FALSE(read_value({}).has_value());
}

TEST_CASE("bytes that are not of the content which the head names are found", "[unit][workload]") {
    auto bytes = value(first);
    bytes[value_head_bytes + 99] ^= std::byte{1};
    CHECK(find_foreign_value(bytes, first) == 99u);
}

TEST_CASE("requests are what they were", "[unit][workload]") {
    std::array<std::byte, KvRequest::size> bytes{};
    const KvRequest put{
        .kind = KvKind::put, .slot = 70'000, .key = 1ull << 40, .content = 1ull << 60, .bytes = 1 << 20};
    put.write(bytes);
    const auto read = KvRequest::read(bytes);
    CHECK(read.kind == KvKind::put);
    CHECK(read.slot == 70'000);
    CHECK(read.key == 1ull << 40);
    CHECK(read.content == 1ull << 60);
    CHECK(read.bytes == 1 << 20);
    KvRequest{.kind = KvKind::get}.write(bytes);
    CHECK(KvRequest::read(bytes).kind == KvKind::get);
}

TEST_CASE("each key has a server and a place of its own there", "[unit][workload]") {
    const auto store = plan(0, 0);
    std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> places;
    for (std::uint64_t key = 0; key < store.keys(); ++key) {
        CHECK(store.server_of(key) < 2);
        CHECK(store.place_of(key) < 50);
        CHECK(places.try_emplace({store.server_of(key), store.place_of(key)}, key).second);
    }
    CHECK(places.size() == 100);
}

TEST_CASE("a flow goes from each client to each server and back, a connection is one queue pair", "[unit][workload]") {
    auto store = plan(0, 0);
    store.queue_pairs = 2;
    for (const std::string name : {"A", "B", "C", "S", "T"})
        store.load.nodes.push_back({.hca = {}, .gpu = {}, .name = name});
    plan_flows(store);
    CHECK(store.load.flows.size() == 12);
    REQUIRE(store.load.connections.size() == 12);
    for (const auto& connection : store.load.connections) {
        CHECK(connection.first < 3);
        CHECK(connection.second >= 3);
        REQUIRE(connection.back.has_value());
        CHECK(store.load.flows[connection.forth].from == connection.first);
        CHECK(store.load.flows[*connection.back].from == connection.second);
    }
}

TEST_CASE("clients draw PUTs by their share and keys by their popularity, each client others", "[unit][workload]") {
    const auto even = plan(0.25, 0), skewed = plan(1, 1.2);
    KvDraw a(even, 0), b(even, 1), c(skewed, 0);
    std::uint64_t puts = 0, same = 0, top = 0;
    std::map<std::uint64_t, int> keys;
    for (int i = 0; i < 10'000; ++i) {
        const auto one = a.next();
        puts += one.kind == KvKind::put ? 1 : 0;
        ++keys[one.key];
        same += one.key == b.next().key ? 1 : 0;
        const auto popular = c.next();
        CHECK(popular.kind == KvKind::put);
        CHECK(popular.bytes == (i % 2 == 0 ? 64u : 128u));
        top += popular.key == 0 ? 1 : 0;
    }
    CHECK(puts > 2300);
    CHECK(puts < 2700);
    CHECK(keys.size() == 100);
    CHECK(same < 200);
    CHECK(top > 2000);
}
