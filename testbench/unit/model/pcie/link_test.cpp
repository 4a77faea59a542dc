#include "model/pcie/link.h"
#include "model/pcie/route.h"
#include "model/pcie/tlp_cost.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>

using namespace model;
using namespace model::pcie;
using Catch::Approx;
using port::Purpose;
using port::Time;
using namespace std::chrono_literals;

namespace {
constexpr double tolerance = 0.02;
constexpr std::uint64_t far = 0x1'0000'0000; // needs 64-bit addresses

/// Payload rate in Gb/s when accesses of `bytes` follow each other, by what they put on the link that carries the data.
double rate(const Link& link, std::uint64_t bytes, bool is_write) {
    const auto sizes = TlpSizes::of(link.config().max_payload, link.config().max_read_request);
    const auto wire = is_write ? write_packets(far, bytes, sizes) * (request_header(far) + framing_bytes) + bytes
                               : completions(far, bytes, sizes) * (completion_header + framing_bytes) + bytes;
    return link.usable_gbps() * static_cast<double>(bytes) / static_cast<double>(wire);
}
} // namespace

TEST_CASE("links reach the published rates for TLPs", "[unit][pcie][link]") {
    struct Row {
        unsigned generation, width;
        double raw, usable, write64, read64, write256, read256;
    };
    const auto row = GENERATE(Row{3, 8, 63.02, 57.88, 42.10, 44.10, 52.92, 53.69},
                              Row{4, 16, 252.06, 227.40, 165.4, 173.3, 207.9, 210.9});
    const Link link("link",
                    {.generation = row.generation, .width = row.width, .max_payload = 256, .max_read_request = 512});

    CHECK(link.raw_gbps() == Approx(row.raw).epsilon(tolerance));
    CHECK(link.usable_gbps() == Approx(row.usable).epsilon(tolerance));
    CHECK(rate(link, 64, true) == Approx(row.write64).epsilon(tolerance));
    CHECK(rate(link, 64, false) == Approx(row.read64).epsilon(tolerance));
    CHECK(rate(link, 256, true) == Approx(row.write256).epsilon(tolerance));
    CHECK(rate(link, 256, false) == Approx(row.read256).epsilon(tolerance));
    CHECK(rate(link, 512, true) == Approx(row.write256).epsilon(tolerance));
    CHECK(rate(link, 512, false) == Approx(row.read256).epsilon(tolerance));
}

TEST_CASE("a long transfer takes the time that the usable rate says", "[unit][pcie][link]") {
    Link link("link", {.generation = 3, .width = 8, .max_payload = 256, .latency = 100ns});
    constexpr std::uint64_t bytes = 1 << 24;

    const auto front = link.transfer(Direction::upstream, bytes, {});

    CHECK(front.head == Time{100ns});
    CHECK(static_cast<double>((front.tail - 100ns).count()) ==
          Approx(bytes * 8 / link.usable_gbps() * 1000).epsilon(0.001));
}

TEST_CASE("transfers of one direction queue, those of the other do not", "[unit][pcie][link]") {
    Link link("link", {.latency = 0ns});
    const auto first = link.transfer(Direction::upstream, 4096, {});

    const auto second = link.transfer(Direction::upstream, 4096, {});
    const auto other = link.transfer(Direction::downstream, 4096, {});

    CHECK(second.head == first.tail);
    CHECK(second.tail == 2 * first.tail);
    CHECK(other.tail == first.tail);
}

TEST_CASE("writes split at MPS and reads at MRRS and the completion boundary", "[unit][pcie][tlp]") {
    constexpr auto sizes = TlpSizes::of(256, 512);

    CHECK(write_packets(0, 0, sizes) == 1);
    CHECK(write_packets(0, 256, sizes) == 1);
    CHECK(write_packets(0, 257, sizes) == 2);
    CHECK(write_packets(255, 2, sizes) == 2);
    CHECK(write_packets(0x40, 1024, sizes) == 5);

    CHECK(read_requests(0, 512, sizes) == 1);
    CHECK(read_requests(1, 512, sizes) == 2);
    CHECK(read_requests(0, 4096, sizes) == 8);

    CHECK(completions(0, 1, sizes) == 1);
    CHECK(completions(0, 256, sizes) == 1);
    CHECK(completions(0, 512, sizes) == 2);
    // Unaligned by 4: the first completion ends at a 64-byte boundary, after 252 bytes.
    CHECK(completions(4, 252, sizes) == 1);
    CHECK(completions(4, 253, sizes) == 2);
    CHECK(completions(4, 508, sizes) == 2);
    // Two requests, at 512: 508 bytes in two completions, 4 bytes in one.
    CHECK(completions(4, 512, sizes) == 3);
    CHECK(completions(0, 1 << 20, sizes) == (1 << 20) / 256);
}

TEST_CASE("completions add up to those of each request, whatever the length", "[unit][pcie][tlp]") {
    const auto mps = GENERATE(128u, 256u, 512u, 4096u);
    const auto mrrs = GENERATE(128u, 512u, 4096u);
    const auto sizes = TlpSizes::of(mps, mrrs);
    for (const std::uint64_t address : {0, 3, 60, 64, 500, 511, 4095})
        for (std::uint64_t length = 1; length < 9000; length += 37) {
            std::uint64_t requests = 0, answers = 0;
            for (std::uint64_t at = address; at < address + length;) {
                const auto end = std::min(address + length, (at / mrrs + 1) * mrrs);
                ++requests;
                while (at < end) { // as a completer does it
                    const auto boundary = (at + mps) / 64 * 64;
                    at = std::min(end, boundary);
                    ++answers;
                }
            }
            CAPTURE(mps, mrrs, address, length);
            REQUIRE(read_requests(address, length, sizes) == requests);
            REQUIRE(completions(address, length, sizes) == answers);
        }
}

TEST_CASE("a route leaves its counts with the links", "[unit][pcie][route]") {
    Link near("near", {}), beyond("beyond", {});
    HopList hops;
    hops.add({&near, Direction::upstream});
    hops.add({&beyond, Direction::downstream});
    std::optional<Route> route;
    route.emplace(hops, request_header(far), TlpSizes::of(256, 512), 0ns);

    route->write(far, 300, {}, Purpose::payload);
    route->read(far + 1, 8, {}, Purpose::control);

    const Traffic forward{3, 2 * 24 + 300 + 24, 300}, backward{1, 20 + 12, 8};
    CHECK(near.traffic(Direction::upstream) == forward);
    CHECK(near.traffic(Direction::downstream) == backward);
    CHECK(beyond.traffic(Direction::downstream) == forward);
    CHECK(beyond.traffic(Direction::upstream) == backward);
    CHECK(route->volume().written[static_cast<std::size_t>(Purpose::payload)] == 300);
    CHECK(route->volume().read[static_cast<std::size_t>(Purpose::control)] == 8);
    route.reset();
    CHECK(near.traffic(Direction::upstream) == forward);
    CHECK(beyond.traffic(Direction::upstream) == backward);
}

TEST_CASE("requests and completions may cross different links", "[unit][pcie][route]") {
    Link near("near", {}), above("above", {}), beyond("beyond", {});
    HopList hops; // up and down again; completions go straight
    hops.add({&near, Direction::upstream});
    hops.add({&above, Direction::upstream, true, false});
    hops.add({&above, Direction::downstream, true, false});
    hops.add({&beyond, Direction::downstream});
    std::optional<Route> route;
    route.emplace(hops, request_header(far), TlpSizes::of(256, 512), 0ns);

    const auto written = route->write(far, 64, {}, Purpose::payload);
    const auto read = route->read(far, 64, 1ms, Purpose::payload);

    for (unsigned i = 0; i < 2; ++i, route.reset()) { // while the route exists, and when it has gone
        CHECK(above.traffic(Direction::upstream).tlps == 2);
        CHECK(above.traffic(Direction::downstream).tlps == 2);
        CHECK(near.traffic(Direction::upstream).tlps == 2);
        CHECK(near.traffic(Direction::downstream).tlps == 1);
        CHECK(beyond.traffic(Direction::upstream).tlps == 1);
    }
    CHECK(written.there > 4 * near.config().latency);
    CHECK(written.sent < near.config().latency);
    CHECK(read - 1ms > 6 * near.config().latency);
    CHECK(read - 1ms < 7 * near.config().latency);
}

TEST_CASE("a request is charged up to a gate, and counted when it is known what becomes of it", "[unit][pcie][route]") {
    Link near("near", {}), beyond("beyond", {});
    HopList to_gate, whole;
    to_gate.add({&near, Direction::upstream});
    whole.add({&near, Direction::upstream});
    whole.before_remapper = 1;
    whole.add({&beyond, Direction::downstream});
    Route first(to_gate, request_header(far), TlpSizes::of(256, 512), 0ns);
    Route second(whole, request_header(far), TlpSizes::of(256, 512), 90ns);

    const auto at_gate = first.approach(far, 64, false, {}).there;
    CHECK(at_gate > near.config().latency);
    CHECK(near.traffic(Direction::upstream).tlps == 0);
    const auto done = second.read_from(whole.before_remapper, far, 64, at_gate + 200ns, Purpose::payload);
    CHECK(done - at_gate > 200ns + 90ns + 3 * near.config().latency);
    CHECK(done - at_gate < 200ns + 90ns + 4 * near.config().latency);
    CHECK(near.traffic(Direction::upstream).tlps == 1);
    CHECK(near.traffic(Direction::downstream).payload_bytes == 64);
    CHECK(second.volume().payload() == 64);

    CHECK(first.refuse(far, 64, false, done, Purpose::payload) > done + near.config().latency);
    CHECK(first.refuse(far, 64, true, done, Purpose::payload) == done); // nobody answers a write
    CHECK(near.traffic(Direction::upstream).tlps == 3);
    CHECK(near.traffic(Direction::downstream).tlps == 2);
    CHECK(beyond.traffic(Direction::downstream).tlps == 1);
}

TEST_CASE("a link that goes before a route leaves the route's counts to the others", "[unit][pcie][route]") {
    auto near = std::make_unique<Link>("near", LinkConfig{});
    Link beyond("beyond", {});
    HopList hops;
    hops.add({near.get(), Direction::upstream});
    hops.add({&beyond, Direction::downstream});
    auto route = std::make_unique<Route>(hops, 16, TlpSizes::of(256, 512), 0ns);
    route->write(0, 300, {}, Purpose::payload);

    near.reset(); // a platform takes its devices down one after the other
    route->write(0, 300, {}, Purpose::payload);
    route.reset();

    CHECK(beyond.traffic(Direction::downstream).tlps == 4);
    CHECK(beyond.traffic(Direction::upstream).tlps == 0);
}

TEST_CASE("a link that goes takes the room with it that a write has at its end", "[unit][pcie][route]") {
    alignas(Link) std::array<std::byte, sizeof(Link)> place;
    auto* link = new (place.data()) Link("link", {.posted_credits = 64, .latency = 1us});
    HopList hops;
    hops.add({link, Direction::upstream});
    Route route(hops, 16, TlpSizes::of(256, 512), 0ns);
    const auto there = route.write(0, 64, {}, Purpose::payload).there;

    link->~Link();
    place.fill(std::byte{0xff}); // whoever asks it now finds nonsense
    route.land(there);

    CHECK(route.hops().empty());
}

TEST_CASE("a route of untimed links takes no time", "[unit][pcie][route]") {
    Link link("link", {.timed = false});
    HopList hops;
    hops.add({&link, Direction::upstream});
    Route route(hops, 16, {}, 500ns);

    const auto written = route.write(0, 1 << 20, 7ns, Purpose::payload);
    CHECK(written.sent == Time{7ns});
    CHECK(written.there == Time{7ns});
    CHECK(route.read(0, 1 << 20, 7ns, Purpose::payload) == Time{7ns});
}

TEST_CASE("the slowest link of a route sets the pace of a long write", "[unit][pcie][route]") {
    Link fast("fast", {.generation = 5, .width = 16, .latency = 100ns});
    Link slow("slow", {.generation = 3, .width = 4, .latency = 100ns});
    HopList hops;
    hops.add({&fast, Direction::upstream});
    hops.add({&slow, Direction::downstream});
    Route route(hops, 16, TlpSizes::of(256, 512), 0ns);
    constexpr std::uint64_t bytes = 1 << 20;

    const auto done = route.write(far, bytes, {}, Purpose::payload).there;

    const auto wire = static_cast<double>(bytes + bytes / 256 * 24);
    CHECK(static_cast<double>((done - 200ns).count()) == Approx(wire * 8 / slow.usable_gbps() * 1000).epsilon(0.01));
}

TEST_CASE("a function is held back by its own link only as long as there is room behind it", "[unit][pcie][route]") {
    Link fast("fast", {.generation = 5, .width = 16, .posted_credits = 1024, .latency = 100ns});
    Link slow("slow", {.generation = 3, .width = 4, .latency = 100ns});
    HopList hops;
    hops.add({&fast, Direction::upstream});
    hops.add({&slow, Direction::downstream});
    Route route(hops, 16, TlpSizes::of(256, 512), 0ns);
    constexpr std::uint64_t bytes = 4096;
    constexpr unsigned room = 1024 * credit_bytes / bytes;
    const auto write = [&] {
        const auto crossing = route.write(far, bytes, {}, Purpose::payload);
        route.land(crossing.there);
        return crossing;
    };

    for (unsigned i = 0; i < room; ++i)
        CHECK(write().sent <= (i + 1) * fast.span_of(Direction::upstream, bytes + bytes / 256 * 24));
    CHECK(fast.credit_account(Direction::upstream).usage.waited == Time{});
    // From then on as fast as the slow link takes them, and the sender knows one latency later.
    auto last = write();
    const auto pace = slow.span_of(Direction::upstream, bytes + bytes / 256 * 24);
    for (unsigned i = 0; i < 100; ++i) {
        const auto next = write();
        CHECK(next.sent - last.sent == pace);
        CHECK(next.there - last.there == pace);
        CHECK(next.there - next.sent <= (room + 1) * pace + 4 * 100ns);
        last = next;
    }
    CHECK(fast.credit_account(Direction::upstream).usage.waited > Time{});
    CHECK(fast.credit_account(Direction::upstream).load(last.there) <= 1);
}

TEST_CASE("a write that waits for its link has no credits meanwhile", "[unit][pcie][route]") {
    Link slow("slow", {.generation = 1, .width = 1, .posted_credits = 2048, .latency = 100ns});
    HopList hops;
    hops.add({&slow, Direction::upstream});
    Route route(hops, 16, TlpSizes::of(256, 512), 0ns);
    constexpr std::uint64_t bytes = 4096;
    Time last{};
    for (unsigned i = 0; i < 100; ++i) { // all at once
        last = route.write(far, bytes, {}, Purpose::payload).there;
        route.land(last);
    }
    const auto span = slow.span_of(Direction::upstream, bytes + bytes / 256 * 24);
    // Each has its credits while it leaves, on its way, and until the sender hears of it; the link is what is full.
    const auto held = static_cast<std::int64_t>(100 * bytes / credit_bytes) * (span + 2 * 100ns);
    CHECK(slow.credit_account(Direction::upstream).usage.busy == held);
    CHECK(slow.credit_account(Direction::upstream).load(last) < 0.2);
    CHECK(slow.account(Direction::upstream).load(last) > 0.9);
}

TEST_CASE("a write larger than the room of its receiver passes at the pace at which credits come back",
          "[unit][pcie][route]") {
    Link link("link", {.posted_credits = 64, .latency = 1us}); // 1 KiB, which is back after 2 us
    HopList hops;
    hops.add({&link, Direction::upstream});
    Route route(hops, 16, TlpSizes::of(256, 512), 0ns);
    const auto write = [&] {
        const auto crossing = route.write(far, 4096, {}, Purpose::payload);
        route.land(crossing.there);
        return crossing.there;
    };
    const auto first = write();
    CHECK(first >= 7us); // three more lots, and the way
    auto last = first;
    for (unsigned i = 0; i < 10; ++i)
        last = write();
    CHECK(last - first >= 10 * 8us);
    CHECK(last - first < 10 * 8.5us);
    CHECK(link.credit_account(Direction::upstream).load(last) > 0.9); // all that while it has all of the room
}

TEST_CASE("links that cannot be built are refused by name", "[unit][pcie][link]") {
    CHECK(find_fault(LinkConfig{}) == nullptr);
    CHECK(find_fault(LinkConfig{.generation = 6}) != nullptr);
    CHECK(find_fault(LinkConfig{.width = 3}) != nullptr);
    CHECK(find_fault(LinkConfig{.max_payload = 100}) != nullptr);
    CHECK(find_fault(LinkConfig{.max_read_request = 8192}) != nullptr);
    CHECK(find_fault(LinkConfig{.max_payload = 256, .posted_credits = 15}) != nullptr);
    CHECK(find_fault(LinkConfig{.posted_credits = most_posted_credits + 1}) != nullptr);
    CHECK(find_fault(LinkConfig{.posted_credits = 0}) == nullptr);
}
