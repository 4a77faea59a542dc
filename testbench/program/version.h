// Which program this is: for reports that are kept, and to start it again.
#pragma once

#include <string_view>

namespace hcasim {

/// "0.1"
std::string_view version();
/// Of the tree it was built from, "19540f3a" or "19540f3a-dirty"; "unknown" when that is no work tree.
std::string_view revision();
/// Its file, also when that has been replaced since it was started.
inline constexpr const char* program_itself = "/proc/self/exe";

} // namespace hcasim
