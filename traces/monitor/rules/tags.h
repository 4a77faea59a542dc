// No new read has the tag of one that is outstanding, and each read gets exactly one set of completions (PCIe 6.0
// §2.2.6.2, §2.2.9). Key: link, direction and access.
#pragma once

#include "traces/monitor/rule.h"

#include <map>

namespace traces::monitor {

class Tags : public Rule {
public:
    Tags(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"tags unique", "PCIe 6.0 §2.2.6.2, §2.2.9", "reads on the link"}, findings, interfaces) {}
    void on(const ReadAsked& asked);
    void on(const ReadAnswered& answered);
    void on(const FunctionReset& reset); ///< what was asked before it may go unanswered
    void on_end();

private:
    /// More reads than a link has tags for are not outstanding; the oldest ones are given up then.
    static constexpr std::size_t most_waiting = 4096;
    struct Waiting {
        At at;
        Direction direction;
        std::uint16_t requester;
        std::uint8_t tag;
        std::uint64_t access, address;
        std::uint32_t length;
    };
    void give_up(const Waiting& read);
    std::map<std::uint64_t, Waiting> waiting_; ///< by record: few, since a read is mostly answered at once
};

} // namespace traces::monitor
