// `hcasim trace check FILE...`: holds recordings against the rules of the specifications (traces/monitor). Each
// violation is a paragraph: the rule, its chapter, what is wrong, and the records it speaks of, decoded. Behind them
// stands what each rule has judged, so that a rule which found nothing is told from one that had nothing to look at.
#pragma once

#include "traces/tool/walk.h"

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hcasim {

struct TraceChecked {
    traces::tool::Outcome outcome;
    std::uint64_t violations = 0;
};
/// A trace that can be opened again; nullptr where it can be read once only.
using OpenTrace = std::function<std::expected<std::unique_ptr<traces::codec::Source>, std::string>()>;
/// `again` is called for the records that violations speak of.
TraceChecked check_trace(const std::string& name, traces::codec::Source& trace, const OpenTrace& again,
                         traces::codec::Destination& result);

/// Of all files, one after another, to standard output. Exit status: 3 that cannot be written, 1 violations, else how
/// the first of them ended that could not be read to its end, else 0.
int check_traces(const std::vector<std::string>& files);

} // namespace hcasim
