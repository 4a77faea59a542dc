// What a rule says when a trace breaks it: enough for the author of a driver or of a model to look it up in the trace
// and in the specification.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace traces::monitor {

/// The rules, by the names that people see.
struct RuleName {
    std::string_view name;    ///< "event before interrupt"
    std::string_view chapter; ///< of the specification that says so
    std::string_view subject; ///< what it judges: "interrupts"
};

/// What became of a rule in a trace.
struct Verdict {
    RuleName rule;
    std::uint64_t judgements = 0; ///< 0: it has never seen its subject, so that its silence says nothing
    std::uint64_t violations = 0;
};

struct Violation {
    RuleName rule;
    std::vector<std::uint64_t> records; ///< the one that breaks it first, then what it should have agreed with
    std::string objects;                ///< "host0.hca0, EQ 3, vector 0"
    std::string sentence;
    std::string text() const;
};

/// Where rules put what they find. Counts everything, keeps the first ones of each rule: a broken trace may break a
/// rule at every record.
class Findings {
public:
    static constexpr std::size_t most_kept = 100; ///< of a rule
    void add(Violation violation) {
        ++count_;
        if (++by_rule_[violation.rule.name] <= most_kept)
            kept_.push_back(std::move(violation));
    }
    const std::vector<Violation>& kept() const { return kept_; }
    std::uint64_t count() const { return count_; }
    std::uint64_t count(const RuleName& rule) const {
        const auto found = by_rule_.find(rule.name);
        return found == by_rule_.end() ? 0 : found->second;
    }

private:
    std::vector<Violation> kept_;
    std::map<std::string_view, std::uint64_t> by_rule_;
    std::uint64_t count_ = 0;
};

} // namespace traces::monitor
