// Programs of collective operations, run without simulation: an interpreter does the moves that can be done in an order
// that is drawn, so that what a program relies on beyond what it says shows as a wrong sum.
#include "testbench/load/random.h"
#include "testbench/workload/schedule.h"
#include "testbench/workload/values.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <tuple>

using namespace workload;

namespace {

using Maker = Program (*)(const Shape&, Rank);

/// HCASIM_SEED, or what the test has.
std::uint64_t seed_of(std::uint64_t usual) {
    const auto* given = std::getenv("HCASIM_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 0) : usual;
}

/// All ranks of an operation. What is under way has left its place, and arrives when it is taken.
class Machine {
public:
    Machine(Maker make, const Shape& shape, std::uint64_t seed) : shape_(shape), random_(seed), values_(seed, 1) {
        for (Rank rank = 0; rank < shape.ranks; ++rank) {
            programs_.push_back(make(shape, rank));
            states_.emplace_back(programs_.back().lanes.size());
            data_.emplace_back(shape.bytes);
            result_.emplace_back(shape.bytes);
            if (programs_.back().contributes) {
                values_.fill(data_.back(), rank, 0);
                values_.add(sum_, rank);
            }
        }
    }

    /// Until nothing can be done any more. Returns whether everything was.
    bool run() {
        for (bool has_moved = true; has_moved;) {
            has_moved = false;
            for (std::uint32_t i = 0; i < 4 * shape_.ranks; ++i)
                has_moved |= try_one(static_cast<Rank>(random_.below(shape_.ranks)));
            for (Rank rank = 0; rank < shape_.ranks; ++rank)
                has_moved |= try_one(rank);
        }
        return std::ranges::all_of(wires_, [](const auto& wire) { return wire.second.empty(); }) && is_done();
    }

    const std::vector<std::byte>& data(Rank rank) const { return data_[rank]; }
    const std::vector<std::byte>& result(Rank rank) const { return result_[rank]; }
    const Program& program(Rank rank) const { return programs_[rank]; }
    const Values& values() const { return values_; }
    const Values::Sum& sum() const { return sum_; }
    std::uint64_t sent(Rank rank) const {
        std::uint64_t bytes = 0;
        for (const auto& lane : programs_[rank].lanes)
            for (const auto& move : lane.out)
                bytes += move.deed == Deed::fetch ? 0 : move.bytes;
        return bytes;
    }

private:
    struct LaneState {
        std::size_t out = 0, in = 0;
    };
    struct Message {
        Deed deed{};
        std::uint64_t far = 0;
        std::vector<std::byte> bytes;
    };
    using Wire = std::tuple<Rank, Rank, std::uint32_t>;

    bool try_one(Rank rank) {
        bool has_moved = false;
        for (std::size_t lane = 0; lane < states_[rank].size(); ++lane)
            has_moved |=
                random_.below(2) == 0 ? send(rank, lane) || take(rank, lane) : take(rank, lane) || send(rank, lane);
        return has_moved;
    }
    bool send(Rank rank, std::size_t number) {
        const auto& lane = programs_[rank].lanes[number];
        auto& state = states_[rank][number];
        if (state.out == lane.out.size())
            return false;
        const auto& move = lane.out[state.out];
        if (states_[rank][move.after.lane].in < move.after.count)
            return false;
        ++state.out;
        if (move.deed == Deed::fetch) {
            std::copy_n(data_[move.peer].begin() + static_cast<std::ptrdiff_t>(move.far), move.bytes,
                        data_[rank].begin() + static_cast<std::ptrdiff_t>(move.near));
            return true;
        }
        const auto from = data_[rank].begin() + static_cast<std::ptrdiff_t>(move.near);
        Message message{move.deed, move.far, {from, from + move.bytes}};
        if (move.deed == Deed::keep) { // nobody waits for it where it lands
            auto& there = lands_in_result() ? result_[move.peer] : data_[move.peer];
            std::ranges::copy(message.bytes, there.begin() + static_cast<std::ptrdiff_t>(move.far));
        }
        wires_[{rank, move.peer, lane.channel}].push_back(std::move(message));
        return true;
    }
    bool take(Rank rank, std::size_t number) {
        const auto& lane = programs_[rank].lanes[number];
        auto& state = states_[rank][number];
        if (state.in == lane.in.size())
            return false;
        const auto& move = lane.in[state.in];
        auto& wire = wires_[{move.peer, rank, lane.channel}];
        if (wire.empty())
            return false;
        const auto message = std::move(wire.front());
        wire.pop_front();
        ++state.in;
        CHECK(message.deed == move.deed);
        CHECK(message.bytes.size() == move.bytes);
        if (move.deed == Deed::add)
            add_words({&data_[rank][move.near], move.bytes}, message.bytes);
        if (move.deed != Deed::tell)
            CHECK(message.far == move.near);
        return true;
    }
    bool is_done() const {
        for (Rank rank = 0; rank < shape_.ranks; ++rank)
            for (std::size_t lane = 0; lane < states_[rank].size(); ++lane)
                if (states_[rank][lane].out != programs_[rank].lanes[lane].out.size() ||
                    states_[rank][lane].in != programs_[rank].lanes[lane].in.size())
                    return false;
        return true;
    }
    /// Of an alltoall: nothing is added anywhere.
    bool lands_in_result() const {
        return std::ranges::none_of(programs_, [](const Program& program) {
            return std::ranges::any_of(program.lanes, [](const Lane& lane) {
                return std::ranges::any_of(lane.in, [](const Move& move) { return move.deed == Deed::add; });
            });
        });
    }

    Shape shape_;
    load::Random random_;
    Values values_;
    Values::Sum sum_;
    std::vector<Program> programs_;
    std::vector<std::vector<LaneState>> states_;
    std::vector<std::vector<std::byte>> data_, result_;
    std::map<Wire, std::deque<Message>> wires_;
};

void check_sums(Maker make, const Shape& shape, std::uint64_t seed) {
    INFO("seed " << seed << ", " << shape.ranks << " ranks, " << shape.channels << " channels, " << shape.bytes
                 << " bytes in chunks of " << shape.chunk);
    Machine machine(make, shape, seed);
    CHECK(machine.run());
    for (Rank rank = 0; rank < shape.ranks; ++rank)
        CHECK_FALSE(machine.values().find_wrong(machine.data(rank), machine.sum(), 0).has_value());
}

} // namespace

TEST_CASE("pieces have all words once, and differ by no more than one", "[unit][workload]") {
    for (const std::uint64_t bytes : {0u, 4u, 8u, 40u, 44u, 4096u})
        for (const std::uint32_t count : {1u, 2u, 3u, 7u, 16u}) {
            std::uint64_t at = 100;
            for (std::uint32_t i = 0; i < count; ++i) {
                const auto one = piece({100, 100 + bytes}, count, i);
                CHECK(one.begin == at);
                CHECK(one.bytes() % 4 == 0);
                CHECK(one.bytes() >= bytes / 4 / count * 4);
                CHECK(one.bytes() <= bytes / 4 / count * 4 + 4);
                at = one.end;
            }
            CHECK(at == 100 + bytes);
        }
    CHECK(chunks({8, 20}, 8) == std::vector<Part>{{8, 16}, {16, 20}});
    CHECK(chunks({8, 8}, 8).empty());
}

TEST_CASE("whatever the order of events, all ranks have the sum of all", "[unit][workload]") {
    auto seed = seed_of(7);
    for (const auto make : {ring_allreduce, tree_allreduce, double_tree_allreduce})
        for (std::uint32_t ranks = 2; ranks <= 17; ++ranks)
            for (const std::uint32_t channels : {1u, 3u})
                for (const std::uint64_t bytes : {4u, 40u, 1200u})
                    check_sums(make, {.ranks = ranks, .channels = channels, .bytes = bytes, .chunk = 64}, seed++);
    check_sums(ring_allreduce, {.ranks = 64, .channels = 2, .bytes = 4096, .chunk = 16}, seed++);
    check_sums(double_tree_allreduce, {.ranks = 64, .channels = 2, .bytes = 4096, .chunk = 16}, seed++);
}

TEST_CASE("in a ring each rank sends 2 (n - 1) / n of its data, and to the next one only", "[unit][workload]") {
    for (const std::uint32_t ranks : {2u, 5u, 64u}) {
        const Shape shape{.ranks = ranks, .channels = 2, .bytes = std::uint64_t{ranks} * 320, .chunk = 64};
        for (Rank rank = 0; rank < ranks; ++rank) {
            Machine machine(ring_allreduce, shape, 1);
            CHECK(machine.sent(rank) == 2 * (ranks - 1) * shape.bytes / ranks);
            for (const auto& lane : machine.program(rank).lanes)
                CHECK(std::ranges::all_of(lane.out, [&](const Move& move) { return move.peer == (rank + 1) % ranks; }));
        }
    }
}

TEST_CASE("chunks of a ring do not wait for each other", "[unit][workload]") {
    // Two ranks, two chunks a segment: what is sent second in a step waits for what came second in the one before.
    const auto program = ring_allreduce({.ranks = 2, .channels = 1, .bytes = 32, .chunk = 8}, 0);
    const auto& lane = program.lanes.front();
    REQUIRE(lane.out.size() == 4);
    CHECK(lane.out[0] == Move{1, Deed::add, 0, 0, 8, {0, 0}});
    CHECK(lane.out[1] == Move{1, Deed::add, 8, 8, 8, {0, 0}});
    CHECK(lane.out[2] == Move{1, Deed::keep, 16, 16, 8, {0, 1}});
    CHECK(lane.out[3] == Move{1, Deed::keep, 24, 24, 8, {0, 2}});
}

TEST_CASE("a tree has each rank once, two children at most, and few steps to its root", "[unit][workload]") {
    for (std::uint32_t count = 2; count <= 70; ++count)
        for (const std::uint32_t tree : {0u, 1u}) {
            std::uint32_t roots = 0, children = 0;
            for (Rank rank = 0; rank < count; ++rank) {
                const auto place = tree_place(count, tree, rank);
                roots += place.is_root ? 1 : 0;
                children += static_cast<std::uint32_t>(place.children.size());
                CHECK(place.children.size() <= 2);
                for (const auto child : place.children)
                    CHECK(tree_place(count, tree, child).parent == rank);
                std::uint32_t steps = 0;
                for (auto at = rank; !tree_place(count, tree, at).is_root && steps < count; ++steps)
                    at = tree_place(count, tree, at).parent;
                CHECK((1u << steps) <= 2 * count);
            }
            CHECK(roots == 1);
            CHECK(children == count - 1);
        }
}

TEST_CASE("who adds up and passes on in one of two trees is a leaf of the other", "[unit][workload]") {
    for (std::uint32_t count = 2; count <= 70; ++count)
        for (Rank rank = 0; rank < count; ++rank) {
            std::uint32_t inner = 0;
            for (const std::uint32_t tree : {0u, 1u})
                inner += tree_place(count, tree, rank).children.size() == 2 ? 1 : 0;
            CHECK(inner <= 1);
        }
}

TEST_CASE("in an alltoall each has in the end what the others had for it", "[unit][workload]") {
    auto seed = seed_of(70);
    for (std::uint32_t ranks = 2; ranks <= 17; ++ranks)
        for (const std::uint32_t channels : {1u, 3u}) {
            const Shape shape{.ranks = ranks, .channels = channels, .bytes = std::uint64_t{ranks} * 40, .chunk = 16};
            INFO("seed " << seed << ", " << ranks << " ranks, " << channels << " channels");
            Machine machine(pairwise_alltoall, shape, seed++);
            CHECK(machine.run());
            for (Rank rank = 0; rank < ranks; ++rank)
                for (Rank from = 0; from < ranks; ++from) {
                    if (from == rank)
                        continue;
                    Values::Sum one;
                    machine.values().add(one, from);
                    CHECK_FALSE(machine.values()
                                    .find_wrong({&machine.result(rank)[from * 40], 40}, one, rank * 40)
                                    .has_value());
                }
        }
}

TEST_CASE("in each step of an alltoall a rank sends to one and receives from one", "[unit][workload]") {
    const auto program = pairwise_alltoall({.ranks = 4, .channels = 1, .bytes = 64, .chunk = 16}, 1);
    const auto& lane = program.lanes.front();
    REQUIRE(lane.out.size() == 3);
    CHECK(lane.out[0] == Move{2, Deed::keep, 32, 16, 16, {0, 0}});
    CHECK(lane.out[1] == Move{3, Deed::keep, 48, 16, 16, {0, 1}});
    CHECK(lane.out[2] == Move{0, Deed::keep, 0, 16, 16, {0, 2}});
    CHECK(lane.in[0].peer == 0);
    CHECK(lane.in[1].peer == 3);
    CHECK(lane.in[2].peer == 2);
}

TEST_CASE("workers of parameter servers have the sum of what workers pushed", "[unit][workload]") {
    auto seed = seed_of(700);
    for (std::uint32_t ranks = 2; ranks <= 9; ++ranks)
        for (const std::uint32_t servers : {1u, 2u}) {
            Shape shape{.ranks = ranks, .channels = 2, .bytes = 404, .chunk = 64};
            for (std::uint32_t i = 0; i < servers && i + 1 < ranks; ++i)
                shape.servers.push_back(ranks - 1 - i);
            INFO("seed " << seed << ", " << ranks << " ranks, " << shape.servers.size() << " servers");
            Machine machine(parameter_server, shape, seed++);
            CHECK(machine.run());
            CHECK(machine.sum().count == ranks - shape.servers.size());
            for (Rank rank = 0; rank + shape.servers.size() < ranks; ++rank)
                CHECK_FALSE(machine.values().find_wrong(machine.data(rank), machine.sum(), 0).has_value());
        }
}

TEST_CASE("values show what is missing, there twice, of another place or of another operation", "[unit][workload]") {
    std::vector<std::byte> a(64), b(64), sum(64);
    const Values values(1, 2), other(1, 3);
    values.fill(a, 0, 0);
    values.fill(b, 1, 0);
    Values::Sum both, one;
    values.add(both, 0), values.add(both, 1), values.add(one, 0);
    CHECK(values.find_wrong(a, both, 0) == 0u);
    add_words(sum, a);
    CHECK_FALSE(values.find_wrong(sum, one, 0).has_value());
    add_words(sum, b);
    CHECK_FALSE(values.find_wrong(sum, both, 0).has_value());
    CHECK(values.find_wrong(sum, both, 4) == 0u);
    CHECK(other.find_wrong(sum, both, 0) == 0u);
    sum[63] ^= std::byte{1};
    CHECK(values.find_wrong(sum, both, 0) == 60u);
    sum[63] ^= std::byte{1};
    add_words(sum, b);
    CHECK(values.find_wrong(sum, both, 0) == 0u);
    // As many contributions as there must be, but one twice and none of the other.
    std::vector<std::byte> twice(64);
    add_words(twice, a), add_words(twice, a);
    CHECK(values.find_wrong(twice, both, 0) == 0u);
}
