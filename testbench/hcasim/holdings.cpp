#include "testbench/hcasim/holdings.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

namespace hcasim {

std::string print_holdings(const firmware::Device& device) {
    const auto& state = device.state();
    std::string text;
    const auto add = [&](std::size_t count, std::string_view name) {
        if (count != 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
    };
    for (const auto& kind : state.registry.counts())
        add(kind.objects, kind.name);
    add(state.pages.given(), "lent pages");
    return text.empty() ? "nothing" : text;
}

} // namespace hcasim
