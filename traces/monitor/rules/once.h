// A work request completes at most once, and not before it is posted (IBA 10.8.5, 11.4.2; PRM "CQE", wqe_counter).
// Those of a queue complete in order, so that a completion stands for the unsignalled ones before it, too. Key: queue
// pair, and which of its queues. Receives from a shared queue are not looked at: their indices are a list's.
#pragma once

#include "traces/monitor/rule.h"

#include <array>
#include <map>

namespace traces::monitor {

class Once : public Rule {
public:
    Once(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"at most once", "IBA 10.8.5; PRM \"CQE\"", "completions of work requests"}, findings, interfaces) {}
    void on(const Posted& posted);
    void on(const CqeWritten& written);
    void on(const ObjectGone& gone);

private:
    struct Queue {
        std::uint16_t head = 0;      ///< index behind the last completed one
        std::uint16_t posted = 0;    ///< index behind the last posted one, both modulo 2^16
        std::uint64_t completed = 0; ///< record of the last completion
        bool is_known = false;       ///< the device has looked at the doorbell record, or was rung
    };
    std::map<ObjectKey, std::array<Queue, 2>> queues_; ///< receive, send
};

} // namespace traces::monitor
