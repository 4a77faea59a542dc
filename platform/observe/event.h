// What the sinks share: the names of event types, the members of an event one by one, the names of the components that
// emit. Reads traces/events.h by its own tables, so a new event needs nothing here.
#pragma once

#include "traces/events.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace platform::observe {

inline constexpr std::size_t event_type_count = std::variant_size_v<traces::Event>;

inline constexpr auto event_names = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{std::variant_alternative_t<i, traces::Event>::name...};
}(std::make_index_sequence<event_type_count>{});

/// Position of an event type in the variant.
template <class E>
inline constexpr std::size_t event_type = []<std::size_t... i>(std::index_sequence<i...>) {
    return ((std::is_same_v<E, std::variant_alternative_t<i, traces::Event>> ? i : 0) + ...);
}(std::make_index_sequence<event_type_count>{});

/// A reason is its text to whoever writes members down.
template <class T> constexpr T plain(T value) { return value; }
template <const auto& texts> constexpr std::string_view plain(traces::OneOf<texts> reason) { return reason.text(); }

/// Calls visit(name, value) for each member, in the order of the event's table.
template <class Visit> void for_each_member(const traces::Event& event, Visit&& visit) {
    std::visit(
        [&]<class E>(const E& e) {
            std::apply([&](const auto&... member) { (visit(member.name, plain(std::invoke(member.pointer, e))), ...); },
                       E::members);
        },
        event);
}

/// The value of a member in one of three forms, for sinks that write text.
using MemberValue = std::variant<std::uint64_t, bool, std::string_view>;

/// As for_each_member, with visit(name, MemberValue): one instance of the visitor's code instead of one a type.
template <class Visit> void for_each_value(const traces::Event& event, Visit&& visit) {
    for_each_member(event, [&]<class T>(std::string_view name, const T& value) {
        if constexpr (std::is_same_v<T, std::string_view> || std::is_same_v<T, bool>)
            visit(name, MemberValue{value});
        else
            visit(name, MemberValue{static_cast<std::uint64_t>(value)});
    });
}

/// Hands out the numbers that stamps carry, in the order of registration: the same platform has the same numbers.
class Sources {
public:
    std::uint16_t add(std::string name) { return add_part(std::move(name), size_as_number()); }
    /// A component that is a part of `whole`, which has a number already: the PCIe side of a card.
    std::uint16_t add_part(std::string name, std::uint16_t whole) {
        const auto number = size_as_number();
        assert(whole <= number && "a part comes after the whole");
        entries_.push_back({std::move(name), whole});
        return number;
    }
    /// "?" for a number that was never given.
    std::string_view name(std::uint16_t source) const {
        return source < entries_.size() ? std::string_view(entries_[source].name) : "?";
    }
    /// What the component is a part of; itself, if of nothing.
    std::uint16_t whole(std::uint16_t source) const {
        return source < entries_.size() ? entries_[source].whole : source;
    }
    std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        std::string name;
        std::uint16_t whole;
    };
    std::uint16_t size_as_number() const {
        assert(entries_.size() < 0xffff && "a source number has 16 bits");
        return static_cast<std::uint16_t>(entries_.size());
    }
    std::vector<Entry> entries_;
};

/// "qpn=0x48 index=0 opcode=0x8 segments=1 length=1048576": numbers that name something are hexadecimal.
std::string describe(const traces::Event& event);

} // namespace platform::observe
