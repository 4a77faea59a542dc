// The first difference between a recording and a device that plays it: which one it is, and between what. What was to
// come and what came instead are compared until the call is over, since a difference alone does not say whether
// something is missing, too much, another, or only later.
#pragma once

#include "platform/record/steps.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace platform::record {

struct Divergence {
    enum class Kind : std::uint8_t {
        missing, ///< the device has not done what it did
        extra,   ///< it does something that it did not do
        order,   ///< it does both, the later one first
        field,   ///< it does the same with another content
        time,    ///< it does the same at another time
    };
    Kind kind;
    std::uint64_t record = 0; ///< what was expected; 0: nothing more
    std::string expected{}, actual{};
    std::uint64_t other = 0;  ///< order: the record of what the device does first
    std::uint64_t next = 0;   ///< the first record that was not played; 0: the recording was at its end
    std::uint64_t others = 0; ///< steps of the call behind it, of both sides, that are not the same, either
    std::uint64_t call = 0;   ///< the record in the course of which it happened; 0: the device was being made
    /// The same as data. Nothing: there is none on this side, or it is something that no record could be.
    std::optional<Step> expected_step{}, actual_step{};

    std::string text() const;
};
std::string_view name(Divergence::Kind kind);

/// What happens from the first difference on, until the call is over.
class Inquiry {
public:
    /// What the device was to do in this call from here on, with the answers that it got.
    explicit Inquiry(std::vector<Step> to_come) : to_come_(std::move(to_come)), is_used_(to_come_.size()) {}
    /// The device does this instead. Returns the bytes that were the answer to the same later on; nullptr: there are
    /// none, and it gets one that says nothing.
    const Step* happens(const Step& actual);
    /// Which difference explains most of what was to come and of what came.
    Divergence judge() const;

private:
    static constexpr std::size_t most_steps = 4096;
    std::vector<Step> to_come_, came_;
    std::vector<bool> is_used_;
};

/// Whether two steps are the same apart from their times.
bool is_same_deed(const Step& one, const Step& other);
/// Whether they are the same with another content.
bool is_same_sort(const Step& one, const Step& other);

} // namespace platform::record
