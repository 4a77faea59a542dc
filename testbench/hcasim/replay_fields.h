// Two steps of a device side by side, field by field as abi/ knows them: addresses and lengths of an access, the rows
// of the structures in it (a CQE, a command's output), the headers of a frame. What no layout has is shown as bytes.
#pragma once

#include "platform/record/steps.h"
#include "traces/tool/decoder.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hcasim {

/// One of the two may be empty: that side does not have it.
struct FieldRow {
    std::string name{}, expected{}, actual{};
    bool differs() const { return expected != actual; }
};

/// One TLP, frame or signal of a step, as a record has it.
struct StepRecord {
    std::vector<std::byte> head{}, payload{};
    traces::codec::RecordKind kind{};
};
/// Part `piece` of a step: an access of more than 4 KiB is several TLPs. `address` is that of the request, for a step
/// that answers one.
StepRecord record_of(const platform::record::Step& step, std::size_t piece, std::uint64_t address = 0);
/// In which of its TLPs two accesses to the same address differ first.
std::size_t first_differing_piece(const platform::record::Step& expected, const platform::record::Step& actual);

/// The fields of a record that the decoder has just taken.
using Fields = std::vector<std::pair<std::string, std::string>>;
Fields fields_of(const traces::codec::Record& record, const traces::tool::Seen& seen,
                 traces::codec::InterfaceKind kind);
/// The rows of both, in the order of the expected side.
std::vector<FieldRow> side_by_side(const Fields& expected, const Fields& actual);

} // namespace hcasim
