// From a study file to a Study, or to all that is wrong with it: unknown keys, values out of range, an axis of a key
// that the platform does not have, constraints that contradict each other. What passes can be begun.
#pragma once

#include "platform/topology/config.h"
#include "testbench/study/study.h"

#include <expected>
#include <string>
#include <string_view>

namespace study {

struct ReadStudy {
    Study study;
    platform::topology::Config base; ///< with the keys of [set]
};

/// The error is for a person, a line for each thing that is wrong: "qp_scaling.toml:12: ...". What the study names, a
/// platform or a payload, lies beside the file.
std::expected<ReadStudy, std::string> read_study(const std::string& file);

/// Whether a file has what each study has, right or wrong: somebody may have taken it for a configuration.
bool is_study(const std::string& file);

/// The same of a text that was read before, as a results file has it; the base is not opened.
std::expected<Study, std::string> parse_study(std::string_view text, const std::string& file);

} // namespace study
