// An event that reports completions comes after the completion that software asked for by arming the queue, and once
// for each time it asked (PRM "CQ doorbell"; IBA 11.4.2.2). Key: completion queue.
#pragma once

#include "traces/monitor/rule.h"

#include <map>

namespace traces::monitor {

class CompletionEvents : public Rule {
public:
    CompletionEvents(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"completion before event", "PRM \"CQ doorbell\"; IBA 11.4.2.2", "completion events"}, findings,
               interfaces) {}
    void on(const CqeWritten& written);
    void on(const CqArmed& armed);
    void on(const EqeWritten& written);
    void on(const ObjectGone& gone);

private:
    struct Queue {
        std::uint64_t armed = 0;    ///< record; 0: not armed
        std::uint64_t reported = 0; ///< record of the last event
        bool is_solicited_only = false;
        std::uint32_t consumer = 0;  ///< as the arm said it
        std::uint32_t solicited = 0; ///< completions up to the last solicited one, or error
    };
    std::map<ObjectKey, Queue> queues_;
};

} // namespace traces::monitor
