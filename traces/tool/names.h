// What people call things in a recording. All that is printed has a device's path, as recorded: "A.root.switch.hca";
// people may leave out words in the middle, and write or leave out the number of the first of its kind: "A.hca",
// "A.hca0". Knows no platform; the words are all there is.
#pragma once

#include "traces/codec/trace.h"

#include <expected>
#include <string>
#include <string_view>

namespace traces::tool {

/// Whether somebody who says `wish` means what is called `name`: part of the name as it stands; words of it in their
/// order, from its first one on; or, of the source of an event, the name with words in the middle that it does not
/// have.
bool is_called(std::string_view name, std::string_view wish);

/// The error says that nothing in the recording is called so, and what there is. An empty wish is none.
std::expected<void, std::string> has_name(const codec::Head& head, std::string_view wish);

} // namespace traces::tool
