// Each event of the vocabulary survives being a record.
#include "traces/codec/event_record.h"

#include "platform/observe/event.h"
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <bit>

using namespace traces;
using trace_bench::Bytes;

namespace {

/// Sets a member to something that is not zero.
template <class T> void fill(T& value, unsigned salt) {
    if constexpr (std::is_same_v<T, std::string_view>)
        value = salt % 2 ? "something" : "";
    else if constexpr (std::is_same_v<T, bool>)
        value = true;
    else if constexpr (std::is_integral_v<T>)
        value = static_cast<T>(0x8123'4567'89ab'cdefu >> salt);
    else
        value = T::numbered(salt % 3);
}

template <std::size_t i> Event filled() {
    using E = std::variant_alternative_t<i, Event>;
    auto event = std::bit_cast<E>(std::array<std::byte, sizeof(E)>{});
    std::apply(
        [&](const auto&... member) {
            unsigned salt = 0;
            const auto one = [&](auto pointer) {
                if constexpr (std::is_member_object_pointer_v<decltype(pointer)>)
                    fill(event.*pointer, ++salt);
            };
            (one(member.pointer), ...);
        },
        E::members);
    return event;
}

const auto events = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{filled<i>()...};
}(std::make_index_sequence<std::variant_size_v<Event>>{});

bool has_equal_members(const Event& a, const Event& b) {
    std::vector<std::pair<std::string_view, platform::observe::MemberValue>> left, right;
    platform::observe::for_each_value(a, [&](auto name, auto value) { left.emplace_back(name, value); });
    platform::observe::for_each_value(b, [&](auto name, auto value) { right.emplace_back(name, value); });
    return a.index() == b.index() && left == right;
}

constexpr Stamp stamp{
    .time_ps = 77, .source = 3, .access = Access::packet, .number = 9, .cause = 4, .access_number = 2};

} // namespace

TEST_CASE("each event is read from its record as it was", "[unit][traces]") {
    for (const auto& event : events) {
        INFO(platform::observe::event_names[event.index()]);
        Bytes bytes;
        codec::put_event(bytes, stamp, event);

        const auto again = codec::read_event(bytes, 77);

        REQUIRE(again);
        CHECK(has_equal_members(again->event, event));
        CHECK(again->stamp.time_ps == 77);
        CHECK(again->stamp.source == 3);
        CHECK(again->stamp.access == Access::packet);
        CHECK(again->stamp.number == 9);
        CHECK(again->stamp.cause == 4);
        CHECK(again->stamp.access_number == 2);
    }
}

TEST_CASE("an event record of another length is none", "[unit][traces]") {
    for (const auto& event : events) {
        INFO(platform::observe::event_names[event.index()]);
        Bytes bytes;
        codec::put_event(bytes, stamp, event);
        for (std::size_t cut = 0; cut < bytes.size(); ++cut)
            REQUIRE_FALSE(codec::read_event(std::span(bytes).first(cut), 0));
        bytes.push_back({});
        REQUIRE_FALSE(codec::read_event(bytes, 0));
    }
}

TEST_CASE("a record of an event that this version does not have is none", "[unit][traces]") {
    Bytes bytes;
    codec::put_event(bytes, stamp, DoorbellIgnored{.number = 1, .uar = 2, .reason = "no such queue pair"});
    const auto changed = [&](std::size_t at, unsigned value) {
        auto other = bytes;
        other[at] = static_cast<std::byte>(value);
        return codec::read_event(other, 0).has_value();
    };

    CHECK(changed(32, 5));                               // another number
    CHECK_FALSE(changed(0, std::variant_size_v<Event>)); // type
    CHECK_FALSE(changed(4, 6));                          // access
    CHECK_FALSE(changed(41, 0xff));                      // reason
}
