// A peer reaches memory only by a key that exists, within its bounds and with its rights (IBA 10.6.3.1, 10.6.7; PRM
// "Memory key"): what a packet asks for by another is neither written nor answered. Key: memory key, and queue pair.
// Keys that work requests may change (umr_en) are judged by whether they exist.
#pragma once

#include "traces/monitor/rule.h"

#include <map>
#include <set>

namespace traces::monitor {

class Keys : public Rule {
public:
    Keys(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"rkey valid", "IBA 10.6.3.1, 10.6.7; PRM \"Memory key\""}, findings, interfaces) {}
    void on(const CommandDone& done);
    void on(const ObjectGone& gone);
    void on(const FunctionReset& reset) { followed_.erase(reset.at.interface); }
    void on(const PacketSeen& seen);
    void on(const MemoryWritten& written);

private:
    struct MemoryKey {
        std::uint8_t variant = 0;
        bool is_changeable = false, is_unbounded = false, can_read = false, can_write = false, can_atomic = false;
        std::uint64_t begin = 0, length = 0;
        std::uint64_t made = 0; ///< record
    };
    struct Access { ///< what the message asks for whose packets come now
        abi::Key key{};
        std::uint64_t address = 0, length = 0;
        abi::wire::OperationTraits::Kind kind{};
    };
    struct Refused { ///< a packet that must not reach memory
        std::uint64_t record = 0, made = 0;
        std::string objects, reason;
    };
    struct RefusedRead { ///< the newest of a queue pair
        Refused request;
        abi::Psn begin, end;
    };
    void judge(const PacketSeen& seen, const Access& access);
    void answers(const PacketSeen& seen);
    std::string find_fault(std::uint32_t link, const Access& access, std::uint64_t& made) const;

    std::set<std::uint32_t> followed_;         ///< links whose commands are in the trace from the beginning on
    std::map<ObjectKey, MemoryKey> keys_;      ///< by index
    std::map<ObjectKey, Access> accesses_;     ///< by queue pair
    std::map<std::uint32_t, Refused> refused_; ///< the newest one of each link
    std::map<ObjectKey, RefusedRead> reads_;   ///< by queue pair
};

} // namespace traces::monitor
