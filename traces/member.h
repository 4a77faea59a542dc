// Members of events: each event has a table of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

namespace traces {

/// One member of an event: its name, and where it is or which function gives it.
template <class E, class T> struct Member {
    std::string_view name;
    T E::* pointer;
};
template <class E, class T> Member(const char*, T E::*) -> Member<E, T>;

} // namespace traces
