// `hcasim calibrate [PROFILE.toml]`: measures the rows of a card's profile (testbench/calibrate) in processes of their
// own, and prints each beside what silicon has shown: target, band, figure of the model, ratio, bottleneck and verdict.
#pragma once

#include <string>
#include <vector>

namespace hcasim {

struct CalibrateOptions {
    std::vector<std::string> profiles;  ///< files; none: those of platform/profiles
    std::vector<std::string> overrides; ///< "key=value"
    std::string row;                    ///< regular expression that an identifier has to match; empty: all
    std::string json;                   ///< file to write; "-": standard output; empty: none
    unsigned jobs = 0;                  ///< processes at a time; 0: one a processor
    bool lists = false;                 ///< the rows, and nothing is measured
};

/// Exit status: 0 fitted rows and F1 to F3 are in band and four fifths of the counted ones, 1 they are not, 2 refused,
/// 3 something could not be written.
int calibrate(const CalibrateOptions& options);

} // namespace hcasim
