// What changed from one trace to another, as lines: of two records field by field, of two heads, of two tallies.
#pragma once

#include "traces/tool/decoder.h"
#include "traces/tool/tally.h"

#include <cstdint>
#include <string>
#include <vector>

namespace traces::tool {

/// A record that outlives the pass over its trace.
struct Quoted {
    struct Structure {
        const abi::LayoutInfo* layout;
        std::vector<std::byte> bytes;
    };
    std::int64_t time_ps = 0;
    std::string line{};
    std::vector<Structure> structures{};
    std::vector<std::byte> head{}, payload{};
};
Quoted quote(const codec::Record& record, const Seen& seen, const codec::Head& head);

/// Fields, the time, and where bytes have no fields, the first that differ.
std::vector<std::string> changes_of(const Quoted& a, const Quoted& b, bool has_times);
/// Revision, seed and configuration.
std::vector<std::string> head_changes(const codec::Head& a, const codec::Head& b);
/// A table of the rows that differ.
std::vector<std::string> tally_changes(const Tally& a, const Tally& b, bool has_times);

} // namespace traces::tool
