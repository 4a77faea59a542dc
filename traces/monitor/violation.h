// What a rule says when a trace breaks it: enough for the author of a driver or of a model to look it up in the trace
// and in the specification.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace traces::monitor {

/// The rules, by the names that people see.
struct RuleName {
    std::string_view name;    ///< "event before interrupt"
    std::string_view chapter; ///< of the specification that says so
};

struct Violation {
    RuleName rule;
    std::vector<std::uint64_t> records; ///< the one that breaks it first, then what it should have agreed with
    std::string objects;                ///< "host0.hca0, EQ 3, vector 0"
    std::string sentence;
    std::string text() const;
};

/// Where rules put what they find. Counts everything, keeps the first ones: a broken trace may break a rule at every
/// record.
class Findings {
public:
    static constexpr std::size_t most_kept = 1000;
    void add(Violation violation) {
        ++count_;
        if (kept_.size() < most_kept)
            kept_.push_back(std::move(violation));
    }
    const std::vector<Violation>& kept() const { return kept_; }
    std::uint64_t count() const { return count_; }

private:
    std::vector<Violation> kept_;
    std::uint64_t count_ = 0;
};

} // namespace traces::monitor
