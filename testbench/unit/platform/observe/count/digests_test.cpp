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

TEST_CASE("the digest of all events does not depend on which component speaks first", "[unit][observe]") {
    Digests one, other, swapped;
    ring(one, 0, 5), ring(one, 1, 5), ring(one, 0, 7);
    ring(other, 1, 5), ring(other, 0, 5), ring(other, 0, 7);
    ring(swapped, 0, 7), ring(swapped, 0, 5), ring(swapped, 1, 5); // another order within one component

    CHECK(one.all() == other.all());
    CHECK(one.all().events == 3);
    CHECK(one.all().value != swapped.all().value);
}

TEST_CASE("digests of components in several processes together are that of one process", "[unit][observe]") {
    const auto fault = [](traces::Sink& sink, std::uint32_t direction) {
        Events{&sink, std::uint16_t{2}}.emit(At{9}, traces::LinkFault{direction, 1, "lost"});
    };
    Digests whole, first, second;
    ring(whole, 0, 5), ring(whole, 1, 6), fault(whole, 0), fault(whole, 1);
    ring(first, 0, 5), fault(first, 0);
    ring(second, 1, 6), fault(second, 1);

    Digests gathered;
    for (const auto* one : {&second, &first})
        for (const auto& part : one->parts())
            CHECK(gathered.add(part));

    CHECK(gathered.all() == whole.all());
    CHECK(gathered.sources() == whole.sources());
    for (std::uint16_t source = 0; source < whole.sources(); ++source)
        CHECK(gathered.of(source) == whole.of(source));
    CHECK(!gathered.add(first.parts().front())); // a component is in one process
}

TEST_CASE("a digest lacks no component and no end of a cable", "[unit][observe]") {
    const auto fault = [](traces::Sink& sink, std::uint32_t direction) {
        Events{&sink, std::uint16_t{2}}.emit(At{9}, traces::LinkFault{direction, 1, "lost"});
    };
    Digests whole, without_end, without_component;
    ring(whole, 0, 5), ring(whole, 1, 6), fault(whole, 0), fault(whole, 1);
    ring(without_end, 0, 5), ring(without_end, 1, 6), fault(without_end, 0);
    ring(without_component, 0, 5), fault(without_component, 0), fault(without_component, 1);

    CHECK(whole.all().value != without_end.all().value);
    CHECK(whole.of(2) != without_end.of(2));
    CHECK(whole.all().value != without_component.all().value);
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

    REQUIRE(one.of(0).has_value());
    REQUIRE(other.of(2).has_value());
    CHECK(one.of(0)->events == 2);
    CHECK(one.of(0)->text() == other.of(2)->text());
    CHECK(one.of(1)->text() != other.of(1)->text());
    CHECK(one.of(0)->text() != changed.of(0)->text());
    CHECK(one.all().text() != other.all().text());
    CHECK(!other.of(0).has_value());
    CHECK(!other.of(99).has_value());
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
