// Part of ./dev bench record: what it costs to record devices while WRITEs go from VRAM to VRAM, and nothing else is
// done. Bytes move as fast as memcpy then, which no program that does something with them does; what recording costs a
// run of the program, recording_cost.py measures.
#pragma once

#include <string>

namespace bench {

/// A table. `directory` is where the recordings are written, and removed. Ends the process when that cannot be.
std::string measure_recording(const std::string& directory, double seconds, unsigned samples);

} // namespace bench
