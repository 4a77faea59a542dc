// What a result says of itself. Whoever reads one refuses a later format.
#pragma once

#include <cstdint>
#include <string_view>

namespace hcasim {

inline constexpr std::string_view result_kind = "hcasim result";
inline constexpr std::uint64_t result_format = 1;

} // namespace hcasim
