// Requests of a connected queue pair have PSNs without a gap: each goes on where the one before it ended, and only
// what is not acknowledged is sent again (IBA 9.7.2, 9.7.5.1). A READ has as many PSNs as its answer has packets. Key:
// queue pair; from the transition to RTS on, which says the first PSN.
#pragma once

#include "traces/monitor/rule.h"

#include <deque>
#include <map>

namespace traces::monitor {

class Psns : public Rule {
public:
    Psns(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"PSN without gap", "IBA 9.7.2, 9.7.5.1", "requests of connected queue pairs"}, findings, interfaces) {}
    void on(const QpConnected& connected);
    void on(const PacketSeen& seen);
    void on(const MemoryWritten& written);
    void on(const ObjectGone& gone);

private:
    struct Answered { ///< by the responder, with more than an acknowledgement
        abi::Psn begin, next, end;
    };
    struct State {
        abi::Psn next, unacknowledged;
        std::uint64_t newest = 0;      ///< record of the last new request
        std::deque<Answered> answered; ///< READs and atomics under way, in order
    };
    void sent(const PacketSeen& seen, State& state);
    void answered(const PacketSeen& seen, State& state);
    static bool asks_again(const State& state, const Packet& packet);
    static void acknowledge(State& state, abi::Psn end);
    static void take(State& state, abi::Psn psn);

    std::map<ObjectKey, State> states_;
    /// A packet of an answer counts when what it brings has been written: it may be dropped for want of a page.
    struct Pending {
        std::uint64_t record = 0;
        ObjectKey key{};
        abi::Psn psn;
    };
    Pending pending_;
};

} // namespace traces::monitor
