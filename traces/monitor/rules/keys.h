// A peer reaches memory only by a key that exists, within its bounds and with its rights (IBA 10.6.3.1, 10.6.7; PRM
// "Memory key"): what a packet asks for by another is neither written nor answered. Work requests of the driver and
// SENDs of the peer change and invalidate keys: from the completion on that says so they are judged as they are then;
// while a change is under way, only by whether they exist. Key: memory key, and queue pair.
#pragma once

#include "traces/monitor/rule.h"

#include <deque>
#include <map>
#include <set>

namespace traces::monitor {

class Keys : public Rule {
public:
    Keys(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"rkey valid", "IBA 10.6.3.1, 10.6.7; PRM \"Memory key\"", "accesses of peers to memory"}, findings,
               interfaces) {}
    void on(const CommandDone& done);
    void on(const ObjectGone& gone);
    void on(const FunctionReset& reset) { followed_.erase(reset.at.interface); }
    void on(const UmrFetched& fetched);
    void on(const CqeWritten& written);
    void on(const PacketSeen& seen);
    void on(const MemoryWritten& written);

private:
    struct MemoryKey {
        std::uint8_t variant = 0;
        bool is_free = false, is_unbounded = false, can_read = false, can_write = false, can_atomic = false;
        std::uint64_t begin = 0, length = 0;
        std::uint64_t made = 0;           ///< record that has made it, or changed it last
        std::uint32_t changes = 0;        ///< under way
        std::uint64_t invalidated_by = 0; ///< record of a packet that asks for it, and has not completed
        bool is_lost = false;             ///< of a change nobody knows whether it was done
    };
    struct Change { ///< by a work request
        std::uint16_t index = 0;
        std::uint32_t key = 0;
        std::uint64_t mask = 0;
        MemoryKey value{};
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
    static MemoryKey read(abi::ConstView<abi::prm::Mkc> context, std::uint64_t record);
    static constexpr std::size_t most_changes = 65536; ///< of a queue pair: indices have 16 bits
    void settle(std::uint32_t link, const Change& change, bool is_done, std::uint64_t record);
    void judge(const PacketSeen& seen, const Access& access);
    void answers(const PacketSeen& seen);
    /// What is wrong with an access by a key as it is now; empty: nothing.
    static std::string find_fault(const MemoryKey& key, const Access& access);

    std::set<std::uint32_t> followed_;                ///< links whose commands are in the trace from the beginning on
    std::map<ObjectKey, MemoryKey> keys_;             ///< by index
    std::map<ObjectKey, std::deque<Change>> changes_; ///< under way, by queue pair
    std::map<ObjectKey, Access> accesses_;            ///< by queue pair
    std::map<std::uint32_t, Refused> refused_;        ///< the newest one of each link
    std::map<ObjectKey, RefusedRead> reads_;          ///< by queue pair
};

} // namespace traces::monitor
