// A calibration as text, and as JSON. Pure: verdicts in, text out.
#pragma once

#include "testbench/calibrate/judge.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace hcasim {

/// What was measured of one profile.
struct Calibrated {
    std::string profile; ///< its name
    std::vector<calibrate::Judged> judged;
};

std::string print_calibration(const Calibrated& calibrated, std::size_t width);
/// All of them as one object, by profile.
std::string calibration_as_json(std::span<const Calibrated> all);
/// The rows of profiles, as `--list` shows them.
std::string print_rows(std::span<const calibrate::Row* const> rows, std::size_t width);

} // namespace hcasim
