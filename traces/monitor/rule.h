// What all rules have: where to put what they find, the names of the links, and how often they have judged. A rule is a
// struct with on() for each fact it looks at and on_end(); it keeps something for each live object and lets go of it
// when the object is gone.
#pragma once

#include "traces/monitor/facts.h"
#include "traces/monitor/violation.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace traces::monitor {

class Rule {
public:
    Rule(RuleName name, Findings& findings, const std::vector<std::string>& interfaces)
        : name_(name), findings_(&findings), interfaces_(&interfaces) {}
    RuleName name() const { return name_; }
    /// How often it could tell right from wrong. Zero: the trace has nothing that the rule speaks of.
    std::uint64_t judgements() const { return judgements_; }
    /// The trace is over, and it is whole.
    void on_end() {}

protected:
    void judges() { ++judgements_; }
    /// Records that are 0 are left out: they are not known.
    void violated(const At& at, std::initializer_list<std::uint64_t> others, std::string_view objects,
                  std::string sentence) {
        std::vector<std::uint64_t> records{at.record};
        for (const auto other : others)
            if (other != 0 && other != at.record)
                records.push_back(other);
        const auto& link = (*interfaces_)[at.interface];
        findings_->add({name_, std::move(records), objects.empty() ? link : fmt::format("{}, {}", link, objects),
                        std::move(sentence)});
    }

private:
    RuleName name_;
    Findings* findings_;
    const std::vector<std::string>* interfaces_;
    std::uint64_t judgements_ = 0;
};

/// An object of one function: what states are kept by.
using ObjectKey = std::pair<std::uint32_t, std::uint32_t>; ///< link, number

} // namespace traces::monitor
