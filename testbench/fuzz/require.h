// What a fuzz program demands of what it has seen: where it is not so, the process ends, and the fuzzer keeps the
// input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>

namespace fuzz {

/// `told`: what the program under test has said, where that helps.
inline void require(bool condition, const char* what, const std::string& told = {},
                    std::source_location at = std::source_location::current()) {
    if (condition)
        return;
    std::string_view file(at.file_name());
    file.remove_prefix(file.rfind('/') + 1); // all of it where there is no directory
    std::fprintf(stderr, "%.*s:%u: %s\n", static_cast<int>(file.size()), file.data(), at.line(), what);
    if (!told.empty())
        std::fprintf(stderr, "%s\n", told.c_str());
    std::abort();
}

} // namespace fuzz
