// A platform file that anybody may have written. Whatever it says, it is refused with its reasons, or its platform can
// be described, and printed with all keys it is read as the same.
#include "platform/topology/description.h"
#include "platform/topology/keys.h"
#include "platform/topology/read.h"
#include "testbench/fuzz/require.h"

using namespace platform::topology;

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto config = parse_config(text, "fuzz.toml", {});
    if (!config) {
        require(config.error().starts_with("fuzz.toml"), "a refusal that does not name the file", config.error());
        return 0;
    }
    const auto platform = describe(*config);
    require(platform || !platform.error().empty(), "a platform is refused without a reason");
    const auto printed = print_toml(*config);
    const auto again = parse_config(printed, "again.toml", {});
    require(again.has_value(), "what was printed is refused", again ? printed : again.error());
    require(print_toml(*again) == printed, "what was printed is read as something else", printed);
    require(describe(*again).has_value() == platform.has_value(), "what was printed is another platform", printed);
    return 0;
}
