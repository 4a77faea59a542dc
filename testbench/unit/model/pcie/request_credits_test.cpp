// Credits for non-posted requests and for completions (PCIe 6.0 §2.6.1): reads are bounded by credits x request size /
// round trip where they have few, and what may pass a blocked read (§2.4.1, table 2-40) passes it.
#include "model/pcie/request_credits.h"
#include "model/pcie/route.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace model::pcie;
using namespace std::chrono_literals;
using Catch::Approx;
using model::port::Purpose;
using model::port::Time;

namespace {

constexpr std::uint64_t far = 0x1'0000'0000;
constexpr Time memory = 100ns;

HopList way(std::initializer_list<Link*> links) {
    HopList hops;
    for (auto* link : links)
        hops.add({link, Direction::upstream});
    return hops;
}

/// GB/s of so many reads of `bytes` that all begin at once, from the end of the first to that of the last.
double rate(Route& route, std::uint64_t bytes, unsigned reads) {
    Time first{}, last{};
    for (unsigned i = 0; i < reads; ++i) {
        last = route.read(far + i * bytes, bytes, {}, Purpose::payload);
        if (i == 0)
            first = last;
    }
    return static_cast<double>((reads - 1) * bytes) / static_cast<double>((last - first).count()) * 1e3;
}

} // namespace

TEST_CASE("who finds no credit for a request begins when one has come back", "[unit][pcie][credits]") {
    RequestCredits credits(2);
    CHECK(credits.take(1, 0ns) == 0ns);
    credits.give(1, 0ns, 100ns);
    CHECK(credits.at_once(0ns) == 1);
    CHECK(credits.take(1, 10ns) == 10ns);
    credits.give(1, 10ns, 60ns);
    CHECK(credits.at_once(20ns) == 1); // that of 60 ns
    CHECK(credits.at_once(200ns) == 2);
    CHECK(credits.take(1, 20ns) == 60ns);
    credits.give(1, 60ns, 70ns);
    CHECK(credits.take(2, 20ns) == 100ns);
    credits.give(2, 100ns, 110ns);
    CHECK(credits.usage().uses == 5);
    CHECK(credits.usage().waited == 40ns + 80ns);
    CHECK(credits.usage().longest_wait == 80ns);
    CHECK(credits.usage().busy == 100ns + 50ns + 10ns + 2 * 10ns);
}

TEST_CASE("a receiver without a limit lets every request in at once", "[unit][pcie][credits]") {
    RequestCredits credits(0);
    for (int i = 0; i < 100; ++i) {
        CHECK(credits.take(1000, 5ns) == 5ns);
        credits.give(1000, 5ns, 1s);
    }
    CHECK(credits.usage() == model::time::Usage{});
}

TEST_CASE("requests within requests that have all credits wait for nobody", "[unit][pcie][credits]") {
    RequestCredits credits(2);
    CHECK(credits.take(2, 0ns) == 0ns);
    CHECK(credits.take(1, 5ns) == 5ns);
    credits.give(1, 5ns, 50ns);
    credits.give(2, 0ns, 100ns);
    CHECK(credits.at_once(100ns) == 2); // no more than there were
    CHECK(credits.take(2, 60ns) == 100ns);
}

TEST_CASE("reads go at credits x request size / round trip, whatever their size", "[unit][pcie][credits]") {
    const auto credits = GENERATE(1u, 3u, 8u, 32u);
    const auto bytes = GENERATE(std::uint64_t{64}, std::uint64_t{512}, std::uint64_t{1536}, std::uint64_t{65536});
    Link link("link", {.generation = 5, .width = 16, .nonposted_credits = credits, .latency = 1us});
    Route route(way({&link}), 16, TlpSizes::of(512, 512), memory);
    INFO(credits << " credits, reads of " << bytes << " bytes");

    const auto found = rate(route, bytes, static_cast<unsigned>(std::max<std::uint64_t>(200, 4'000'000 / bytes) / 10));

    const auto round_trip = 2 * 1000 + 100; // there, memory, and the sender hears of it
    const auto bound = credits * static_cast<double>(std::min<std::uint64_t>(bytes, 512)) / round_trip;
    CHECK(found == Approx(bound).epsilon(0.06));
    const auto account = link.request_credit_account(Direction::upstream);
    CHECK(account.units == credits);
    CHECK(account.usage.waited > Time{});
}

TEST_CASE("a blocked read holds up no posted write and no completion", "[unit][pcie][credits]") {
    const auto credits = GENERATE(0u, 1u);
    Link link("link", {.generation = 5, .width = 16, .nonposted_credits = credits, .latency = 1us});
    Route route(way({&link}), 16, TlpSizes::of(512, 512), memory);
    HopList down; // what the root reads of the device is answered upstream, too
    down.add({&link, Direction::downstream});
    Route of_root(down, 16, TlpSizes::of(512, 512), memory);
    Time last{};
    for (int i = 0; i < 50; ++i)
        last = route.read(far, 64, {}, Purpose::payload);

    const auto written = route.write(far, 64, 10ns, Purpose::payload);
    route.land(written.there);
    const auto answered = of_root.read(far, 64, {}, Purpose::payload);

    CHECK(written.there < 1200ns);
    CHECK(answered < 2300ns);
    CHECK((last > 50us) == (credits == 1));
}

TEST_CASE("where the next link has no credits a switch fills, and holds its sender back", "[unit][pcie][credits]") {
    Link device("device", {.generation = 5, .width = 16, .nonposted_credits = 16, .latency = 100ns});
    Link upstream("upstream", {.generation = 5, .width = 16, .nonposted_credits = 4, .latency = 1us});
    Route route(way({&device, &upstream}), 16, TlpSizes::of(512, 512), memory);

    const auto found = rate(route, 512, 400);

    CHECK(found == Approx(4 * 512.0 / 2100).epsilon(0.03));
    CHECK(device.request_credit_account(Direction::upstream).usage.waited > Time{});
    CHECK(device.request_credit_account(Direction::upstream).load(400 / 4 * 2100ns) > 0.9);
}

TEST_CASE("a switch gives a credit back when the request has left for the next link, and memory when it has the bytes",
          "[unit][pcie][credits]") {
    SECTION("a switch") {
        Link device("device", {.generation = 5, .width = 16, .nonposted_credits = 1, .latency = 100ns});
        Link upstream("upstream", {.generation = 5, .width = 16, .latency = 1us});
        Route route(way({&device, &upstream}), 16, TlpSizes::of(512, 512), memory);
        CHECK(rate(route, 512, 400) == Approx(512.0 / 200).epsilon(0.03));
    }
    SECTION("memory, of each lot of a long read") {
        Link link("link", {.generation = 5, .width = 16, .nonposted_credits = 2, .latency = 100ns});
        Route route(way({&link}), 16, TlpSizes::of(512, 512), 2us);
        CHECK(route.read(far, 4096, {}, Purpose::payload) >= 4 * 2200ns);
    }
}

TEST_CASE("a read that is brought to a gate has its credit until it leaves that", "[unit][pcie][credits]") {
    Link link("link", {.generation = 5, .width = 16, .nonposted_credits = 1, .latency = 1us});
    Route route(way({&link}), 16, TlpSizes::of(512, 512), 0ns);
    const auto there = route.approach(far, 64, false, {}).there;
    route.leave_end(there + 5us);
    CHECK(route.approach(far, 64, false, {}).there > there + 6us);
    SECTION("as when it is refused there") {
        const auto refused = route.refuse(far, 64, false, 20us, Purpose::payload);
        CHECK(refused > 21us);
        CHECK(route.approach(far, 64, false, {}).there > 22us);
    }
}

TEST_CASE("completions are bounded by the room of the switch that they come down to", "[unit][pcie][credits]") {
    const auto credits = GENERATE(0u, 64u, 128u); // 1 and 2 KiB
    Link device("device", {.generation = 5, .width = 16, .latency = 100ns});
    Link upstream("upstream", {.generation = 5, .width = 16, .completion_credits = credits, .latency = 1us});
    Route route(way({&device, &upstream}), 16, TlpSizes::of(512, 512), memory);

    const auto found = rate(route, 512, 400);

    if (credits == 0) {
        CHECK(found > 40);
        CHECK(upstream.completion_credit_account().usage.uses == 0);
        return;
    }
    // Back when the last byte has left for the device, and the host knows.
    CHECK(found == Approx(credits * 16 / 2010.0).epsilon(0.03));
    CHECK(upstream.completion_credit_account().usage.waited > Time{});
}

TEST_CASE("an answer that is longer than the room of a switch passes at the pace at which credits come back",
          "[unit][pcie][credits]") {
    constexpr unsigned credits = 64; // 1 KiB
    Link device("device", {.generation = 5, .width = 16, .latency = 100ns});
    Link upstream("upstream", {.generation = 5, .width = 16, .completion_credits = credits, .latency = 1us});
    Route route(way({&device, &upstream}), 16, TlpSizes::of(512, 512), memory);

    const auto done = route.read(far, 64 * 1024, {}, Purpose::payload);

    CHECK(done > 63 * 2us); // all lots behind the first one wait for a round trip each
}

TEST_CASE("a link without time takes none where another one on the way has few credits", "[unit][pcie][credits]") {
    Link plain("plain", {.generation = 5, .width = 16, .completion_credits = 64, .latency = 1us});
    Link upstream("upstream", {.generation = 5, .width = 16, .completion_credits = 64, .latency = 1us});
    Link untimed("untimed", {.generation = 1, .width = 1, .timed = false});
    Route alone(way({&plain}), 16, TlpSizes::of(512, 512), memory);
    Route behind(way({&untimed, &upstream}), 16, TlpSizes::of(512, 512), memory);

    CHECK(behind.read(far, 512, {}, Purpose::payload) == alone.read(far, 512, {}, Purpose::payload));
}

TEST_CASE("who asks has room for all answers: no credits but a switch's own hold completions back",
          "[unit][pcie][credits]") {
    Link link("link", {.generation = 5, .width = 16, .completion_credits = 64, .latency = 1us});
    HopList down; // a processor reads: completions go up to the root complex
    down.add({&link, Direction::downstream});
    Route route(down, 16, TlpSizes::of(512, 512), memory);
    CHECK(rate(route, 512, 400) > 40);
    CHECK(link.completion_credit_account().usage.uses == 0);
}

TEST_CASE("credits of requests and completions that cannot be are refused by name", "[unit][pcie][link]") {
    CHECK(find_fault(LinkConfig{.nonposted_credits = most_nonposted_credits}) == nullptr);
    CHECK(find_fault(LinkConfig{.nonposted_credits = most_nonposted_credits + 1}) != nullptr);
    CHECK(find_fault(LinkConfig{.max_payload = 256, .completion_credits = 15}) != nullptr);
    CHECK(find_fault(LinkConfig{.max_payload = 256, .completion_credits = 16}) == nullptr);
    CHECK(find_fault(LinkConfig{.completion_credits = most_posted_credits + 1}) != nullptr);
}
