// An atomic operation is executed once: when its request comes again, the responder answers with the value it has kept
// and leaves memory alone (IBA 9.4.5, 9.7.5.1.4). Key: queue pair and PSN, for as many as any responder keeps.
#pragma once

#include "traces/monitor/rule.h"

#include <deque>
#include <map>

namespace traces::monitor {

class Atomics : public Rule {
public:
    Atomics(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"atomic once", "IBA 9.4.5, 9.7.5.1.4", "atomic requests that come again"}, findings, interfaces) {}
    void on(const PacketSeen& seen);
    void on(const MemoryWritten& written);
    void on(const ObjectGone& gone);

private:
    static constexpr std::size_t most_kept = 128; ///< log_rra_max has three bits
    struct Operation {
        abi::Psn psn;
        std::uint64_t request = 0, answer = 0; ///< records of the first ones
        std::uint64_t original = 0;
    };
    struct Duplicate { ///< the one that has come last
        std::uint64_t record = 0, request = 0;
        std::string objects;
    };
    std::map<ObjectKey, std::deque<Operation>> operations_;
    Duplicate duplicate_;
};

} // namespace traces::monitor
