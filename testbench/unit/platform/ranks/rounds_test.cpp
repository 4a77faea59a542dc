// Windows, and what goes by post between processes of one run, without processes.
#include "platform/ranks/post.h"
#include "platform/ranks/windows.h"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace platform::ranks;
using namespace std::chrono_literals;
using model::port::never;
using model::port::Time;

namespace {

/// Process 1 of two, of which the other one has said what the test says.
class OneOfTwo final : public Exchange {
public:
    unsigned rank() const override { return 1; }
    unsigned ranks() const override { return 2; }
    Round exchange(Time next, std::vector<Bytes> to) override {
        told_next = next;
        sent = to[0];
        return {std::min(next, other_next), {std::exchange(other, {}), to[1]}};
    }
    [[noreturn]] void abandon(std::string_view why) override { throw std::runtime_error(std::string(why)); }

    Time other_next = never, told_next{};
    Bytes other, sent;
};

} // namespace

TEST_CASE("a window begins with what comes first anywhere, and ends before anything else has an effect",
          "[unit][ranks]") {
    constexpr Windows windows{.lookahead = 249ns, .grid = 1us};

    CHECK(windows.end_of(0ns) == 249ns);
    CHECK(windows.end_of(500ns) == 749ns);
    CHECK(windows.end_of(900ns) == 1us);                         // all count together there
    CHECK(windows.end_of(1us) == 1us + 249ns);                   // and go on behind it
    CHECK(windows.end_of(5s + Time{1}) == 5s + Time{1} + 249ns); // a quiet time is passed at once
    CHECK(windows.next_on_grid(1us) == 2us);
    CHECK(windows.next_on_grid(1us - Time{1}) == 1us);
}

TEST_CASE("messages are taken in the order of the ranks, one's own among them", "[unit][ranks]") {
    OneOfTwo exchange;
    Post post(exchange);
    std::vector<std::pair<unsigned, std::uint32_t>> taken;
    post.on(Topic::credit, [&](unsigned from, Reader& message) {
        taken.emplace_back(from, message.get<std::uint32_t>());
        return true;
    });
    const auto number = [](std::uint32_t value) { return [value](Writer& writer) { writer.put(value); }; };
    post.send(0, Topic::credit, 70ns, number(7));
    post.send(1, Topic::credit, 80ns, number(8));
    OneOfTwo twin;
    Post peer(twin);
    peer.send(0, Topic::credit, 90ns, number(9)); // what one process has for another looks the same everywhere
    CHECK(peer.exchange(never).has_value());
    exchange.other = twin.sent;
    exchange.other_next = 60ns;

    const auto next = post.exchange(100ns);

    CHECK(taken == std::vector<std::pair<unsigned, std::uint32_t>>{{0, 9}, {1, 8}});
    CHECK(exchange.told_next == 70ns); // what is sent has an effect before this process does anything
    CHECK(next == 60ns);
    CHECK(post.exchange(100ns) == std::expected<Time, std::string>(60ns));
    CHECK(exchange.told_next == 100ns); // and was sent once
    CHECK(exchange.sent.empty());
}

TEST_CASE("bytes that are no messages are refused with the process that has sent them", "[unit][ranks][hostile]") {
    const std::vector<Bytes> hostile{
        {std::byte{1}},                                                          // no length
        {std::byte{1}, std::byte{9}, std::byte{0}, std::byte{0}, std::byte{0}},  // longer than what is there
        {std::byte{99}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}}, // no topic
        {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}},  // nobody takes it
        {std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}},  // too short for its topic
        {std::byte{1}, std::byte{5}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{1}, std::byte{1},
         std::byte{1}, std::byte{1}}}; // longer than its topic has it
    for (const auto& bytes : hostile) {
        OneOfTwo exchange;
        Post post(exchange);
        post.on(Topic::credit, [](unsigned, Reader& message) {
            (void)message.get<std::uint32_t>();
            return message.is_good();
        });
        exchange.other = bytes;

        const auto next = post.exchange(never);

        REQUIRE(!next.has_value());
        CHECK(next.error().starts_with("process 0 of 2"));
    }
}
