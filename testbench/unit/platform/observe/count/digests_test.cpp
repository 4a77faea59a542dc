#include "platform/observe/count/digests.h"

#include <catch2/catch_test_macros.hpp>

using namespace platform::observe::count;
using traces::Events;

namespace {

struct At {
    std::int64_t ps;
    std::int64_t count() const { return ps; }
};

void ring(traces::Sink& sink, std::uint16_t source, std::int64_t at, std::uint32_t qpn = 1) {
    Events{&sink, source}.emit(At{at}, traces::DoorbellRung{.qpn = qpn, .uar = 2, .producer = 3});
}

} // namespace

TEST_CASE("the digest of all events is the one that a run always had", "[unit][observe]") {
    Digest plain;
    Digests digests;
    for (const auto source : {0, 3, 0, 1}) {
        ring(plain, static_cast<std::uint16_t>(source), 10 * source);
        ring(digests, static_cast<std::uint16_t>(source), 10 * source);
    }

    CHECK(digests.all().text() == plain.text());
    CHECK(digests.all().events() == 4);
}

TEST_CASE("a component's digest is of its events only, whatever its number", "[unit][observe]") {
    Digests one, other, changed;
    ring(one, 0, 5);
    ring(one, 1, 6);
    ring(one, 0, 7);
    ring(other, 2, 5); // the same component in a platform with more
    ring(other, 1, 9);
    ring(other, 2, 7);
    ring(changed, 0, 5);
    ring(changed, 0, 7, 2);

    REQUIRE(one.of(0) != nullptr);
    REQUIRE(other.of(2) != nullptr);
    CHECK(one.of(0)->events() == 2);
    CHECK(one.of(0)->text() == other.of(2)->text());
    CHECK(one.of(1)->text() != other.of(1)->text());
    CHECK(one.of(0)->text() != changed.of(0)->text());
    CHECK(one.all().text() != other.all().text());
    CHECK(other.of(0) == nullptr);
    CHECK(other.of(99) == nullptr);
}

TEST_CASE("marks say between which events two runs part, and are few however long a run is", "[unit][observe]") {
    Digests one, other;
    for (int i = 0; i < 100'000; ++i) {
        ring(one, 0, i);
        ring(other, 0, i, i == 60'000 ? 2 : 1);
    }

    const auto &marks = one.marks(), &others = other.marks();
    REQUIRE(marks.size() == others.size());
    CHECK(marks.size() >= Digests::most_marks / 2);
    CHECK(marks.size() < Digests::most_marks);
    for (std::size_t i = 0; i < marks.size(); ++i) {
        CHECK(marks[i].events == (i + 1) * marks[0].events);
        CHECK(marks[i].time_ps == static_cast<std::int64_t>(marks[i].events) - 1);
        CHECK((marks[i].digest == others[i].digest) == (marks[i].events <= 60'000));
    }
}

TEST_CASE("of two runs the longer one's marks are among those of the shorter one, as far as that goes",
          "[unit][observe]") {
    Digests brief, extended;
    for (int i = 0; i < 50'000; ++i) {
        if (i < 3'000)
            ring(brief, 0, i);
        ring(extended, 0, i);
    }

    for (const auto& mark : extended.marks()) {
        if (mark.events > 3'000)
            break;
        bool is_there = false;
        for (const auto& own : brief.marks())
            is_there |= own.events == mark.events && own.digest == mark.digest && own.number == mark.number;
        CHECK(is_there);
    }
}
