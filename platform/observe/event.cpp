#include "platform/observe/event.h"

#include <fmt/format.h>

#include <algorithm>

namespace platform::observe {
namespace {

constexpr std::array<std::string_view, 13> hexadecimal{"qpn",     "destination_qpn", "cqn",    "eqn",      "key",
                                                       "address", "opcode",          "op_mod", "syndrome", "status",
                                                       "psn",     "number",          "uar"};

} // namespace

std::string describe(const traces::Event& event) {
    std::string text;
    for_each_value(event, [&](std::string_view name, const MemberValue& value) {
        text += fmt::format("{}{}=", text.empty() ? "" : " ", name);
        if (const auto* words = std::get_if<std::string_view>(&value))
            text += fmt::format("\"{}\"", *words);
        else if (const auto* is_set = std::get_if<bool>(&value))
            text += *is_set ? "true" : "false";
        else if (std::ranges::count(hexadecimal, name) != 0)
            text += fmt::format("{:#x}", std::get<std::uint64_t>(value));
        else
            text += fmt::to_string(std::get<std::uint64_t>(value));
    });
    return text;
}

} // namespace platform::observe
