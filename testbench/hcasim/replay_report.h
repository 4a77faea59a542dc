// What is told of a divergence: both sides decoded, what led there, and what happened before. Made from the recording
// in two more passes over it, up to the place; what it holds does not grow with the recording but for five bytes a
// record, of the last ones.
#pragma once

#include "testbench/hcasim/replay_bench.h"
#include "testbench/hcasim/replay_fields.h"
#include "traces/tool/why.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hcasim {

struct DivergenceReport {
    platform::record::Divergence::Kind kind{};
    std::string field{};              ///< the first that differs; empty: one side is not there
    std::uint64_t record = 0;         ///< the TLP, frame or signal that was expected; 0: nothing was
    std::uint64_t next = 0;           ///< the first record that was not played; 0: the recording was at its end
    std::uint64_t call = 0;           ///< in the course of which it happened; 0: the device was being made
    std::uint64_t other = 0;          ///< order: the record of what the device does first
    std::string interface{};          ///< of the link or port
    std::int64_t time_ps = 0;         ///< as it was recorded; of something extra, as it is now
    std::string expected{}, actual{}; ///< what each side is, in a line
    std::vector<FieldRow> rows{};
    struct Link {
        std::uint64_t record = 0; ///< 0: what the device does now
        std::string line{}, why{};
    };
    std::vector<Link> chain{};         ///< from there back to what began it
    std::vector<std::string> before{}; ///< the last records of the device, the earliest first
};

/// `open` gives the recording that `part` was played from.
DivergenceReport make_report(const traces::tool::OpenTrace& open, const RecordedPart& part,
                             const platform::record::Divergence& divergence);

} // namespace hcasim
