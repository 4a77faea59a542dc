// What `hcasim compare` is given: a result, or a baseline, that anybody may have written. It is refused with file and
// line, or each result equals itself.
#include "testbench/hcasim/comparison.h"

#include <cstdio>
#include <cstdlib>

namespace {

void require(bool condition, const char* what, const std::string& told = {}) {
    if (!condition) {
        std::fprintf(stderr, "compared_fuzz: %s\n%s\n", what, told.c_str());
        std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto read = hcasim::read_compared(text, "fuzz.json");
    if (!read) {
        require(read.error().starts_with("fuzz.json"), "a refusal that does not name the file", read.error());
        return 0;
    }
    for (const auto& one : read->results)
        require(hcasim::compare(one, one, {}).is_equal(), "a result differs from itself", one.name);
    return 0;
}
