// What a load has done, as lists of a result's JSON: "traffic" (the sum, or nothing), "operations" of an
// application, "flows", "intervals" and "held_back".
#pragma once

#include "platform/observe/files/json.h"
#include "testbench/scenario/result.h"

namespace hcasim {

void append_traffic(platform::observe::files::JsonObject& json, const scenario::Result& result);

} // namespace hcasim
