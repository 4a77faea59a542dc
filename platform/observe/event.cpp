#include "platform/observe/event.h"

#include <fmt/format.h>

#include <algorithm>

namespace platform::observe {
namespace {

constexpr std::array<std::string_view, 13> hexadecimal{"qpn",     "destination_qpn", "cqn",    "eqn",      "key",    "address", "opcode",
                                                       "op_mod",  "syndrome",        "status", "psn",      "number", "uar"};

} // namespace

std::string describe(const traces::Event& event) {
    fmt::memory_buffer text;
    for_each_member(event, [&]<class T>(std::string_view name, const T& value) {
        if (text.size() != 0)
            text.push_back(' ');
        fmt::format_to(std::back_inserter(text), "{}=", name);
        if constexpr (std::is_same_v<T, std::string_view>)
            fmt::format_to(std::back_inserter(text), "\"{}\"", value);
        else if constexpr (std::is_same_v<T, bool>)
            fmt::format_to(std::back_inserter(text), "{}", value);
        else if (std::ranges::count(hexadecimal, name) != 0)
            fmt::format_to(std::back_inserter(text), "{:#x}", static_cast<std::uint64_t>(value));
        else
            fmt::format_to(std::back_inserter(text), "{}", static_cast<std::uint64_t>(value));
    });
    return fmt::to_string(text);
}

} // namespace platform::observe
