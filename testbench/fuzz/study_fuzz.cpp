// A study file that anybody may have written: refused with file and line, or a study whose points can be planned and
// whose answer without any result is a sentence.
#include "testbench/fuzz/require.h"
#include "testbench/study/answer.h"
#include "testbench/study/design.h"
#include "testbench/study/read_study.h"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto study = study::parse_study(text, "fuzz.toml");
    if (!study) {
        require(study.error().starts_with("fuzz.toml"), "a refusal that does not name the file", study.error());
        return 0;
    }
    const auto points = study::first_round(*study);
    require(!points.empty(), "a study without points has passed");
    require(static_cast<double>(points.size()) <= study::count_of_design(*study), "more points than the design has");
    for (const auto& settings : points)
        require(study::is_allowed(*study, settings), "a point that a constraint excludes", study::print(settings));
    require(!study::answer(*study, {}).empty(), "no answer");
    return 0;
}
