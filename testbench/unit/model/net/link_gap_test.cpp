// What leaves when: packets are given to a cable in the order of turns, with times that lie ahead, and the line takes
// them as their bytes are there.
#include "testbench/unit/model/net/link_bench.h"

using namespace harness;
using Bench = LinkBench;

namespace {

constexpr LinkConfig fast{.latency = nanoseconds{500}, .rate_gbps = 8}; // a nanosecond a byte

/// A WRITE or its acknowledge, for queue pair `destination`. Returns when its last bit is out.
Time send(Bench& b, std::uint32_t destination, std::uint32_t psn, Time at, std::size_t payload,
          Operation operation = Operation::write_only) {
    auto& packet = b.link.end(0).next();
    packet.rdma().operation = operation;
    packet.rdma().destination = abi::Qpn{destination};
    packet.rdma().psn = abi::Psn{psn};
    if (payload != 0)
        packet.payload.extend(payload);
    return b.link.end(0).send(at);
}

} // namespace

TEST_CASE("a packet whose bytes come late does not hold back one of another queue pair", "[unit][link]") {
    Bench b(fast);
    const auto late = send(b, 1, 1, nanoseconds{10'000}, 1024);
    const auto soon = send(b, 2, 2, nanoseconds{100}, 1024);
    b.clock.run(b.link);

    CHECK(soon < nanoseconds{1'500});
    CHECK(late > nanoseconds{11'000});
    CHECK(b.ports[1].arrivals ==
          std::vector<Arrival>{{2, soon + nanoseconds{500}}, {1, late + nanoseconds{500}}}); // as they come
    b.check_balance();
}

TEST_CASE("an acknowledge leaves before data of its queue pair that comes late", "[unit][link]") {
    Bench b(fast);
    send(b, 1, 1, nanoseconds{10'000}, 1024);
    CHECK(send(b, 1, 7, nanoseconds{100}, 0, Operation::acknowledge) < nanoseconds{300});
}

TEST_CASE("packets of a queue pair keep their order, whatever gap a short one would fit into", "[unit][link]") {
    Bench b(fast);
    send(b, 2, 0, nanoseconds{300}, 1024); // leaves a gap of 300 ns before it
    const auto first = send(b, 1, 1, nanoseconds{0}, 1024);
    const auto second = send(b, 1, 2, nanoseconds{0}, 0);
    CHECK(first < second);
    b.clock.run(b.link);
    CHECK(b.ports[1].psns() == std::vector<std::uint32_t>{0, 1, 2});
    b.check_balance();
}

TEST_CASE("a line carries one packet at a time, in whichever order they were given to it", "[unit][link]") {
    Bench b(fast);
    std::vector<Time> out;
    for (std::uint32_t i = 0; i < 64; ++i)
        out.push_back(send(b, i, i, nanoseconds{(i * 37) % 64 * 1'000}, 512));
    std::ranges::sort(out);
    for (std::size_t i = 1; i < out.size(); ++i)
        CHECK(out[i] - out[i - 1] >= nanoseconds{512});
    b.clock.run(b.link);
    CHECK(std::ranges::is_sorted(b.ports[1].arrivals, {}, &Arrival::at));
    CHECK(b.ports[1].arrivals.size() == 64);
}

TEST_CASE("packets that were to leave behind the end of a link are lost, and the others arrive", "[unit][link]") {
    Bench b(fast);
    send(b, 1, 1, nanoseconds{10'000}, 1024);
    send(b, 2, 2, nanoseconds{0}, 64);
    b.link.end(1).set_on(false, nanoseconds{5'000});
    b.clock.run(b.link);
    CHECK(b.ports[1].psns() == std::vector<std::uint32_t>{2});
    CHECK(b.link.counters(0).lost == 1);
    b.check_balance();
}
