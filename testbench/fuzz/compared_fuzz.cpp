// What `hcasim compare` is given: a result, or a baseline, that anybody may have written. It is refused with file and
// line, or each result equals itself.
#include "testbench/fuzz/require.h"
#include "testbench/result/comparison.h"

using fuzz::require;

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
