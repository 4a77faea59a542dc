// ./dev bench record: what it costs to record every device while WRITEs go from VRAM to VRAM.
#pragma once

#include <string>

namespace bench {

struct RecordingReport {
    std::string text;
    double ratio = 0; ///< wall time with recording to without it, at 64 KiB messages that are all different; of the
                      ///< timing models the worse
};

/// `directory` is where the recordings are written, and removed. Ends the process when that cannot be.
RecordingReport measure_recording(const std::string& directory, double seconds, unsigned samples);

} // namespace bench
