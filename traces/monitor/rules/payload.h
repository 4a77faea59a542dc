// What a message brings is in memory before the completion that says so, and nothing of it is written afterwards, when
// software may use the buffer (IBA 9.7.3.2, 10.8.5; PCIe 6.0 §2.4.1). Key: queue pair and message that arrives. Which
// writes are of a message, the cause of the write says: the packet in whose course it happened.
#pragma once

#include "traces/monitor/rule.h"

#include <deque>
#include <map>
#include <optional>

namespace traces::monitor {

class Payload : public Rule {
public:
    Payload(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"payload before completion", "IBA 10.8.5; PCIe 6.0 §2.4.1", "messages that arrive and complete"},
               findings, interfaces) {}
    void on(const PacketSeen& seen);
    void on(const MemoryWritten& written);
    void on(const CqeWritten& written);
    void on(const ObjectGone& gone);

private:
    static constexpr std::size_t most_packets = 256; ///< of a message: the last ones
    struct Message {
        std::deque<std::uint64_t> packets{}; ///< records
        std::uint64_t written = 0;           ///< bytes
        std::uint64_t others = 0;            ///< writes of the function for other reasons, when it began
        std::uint64_t completion = 0;        ///< record; 0: not yet
        std::uint32_t waiting = 0;           ///< messages before it that have not completed, and may still
        abi::Psn next{};                     ///< of the packet that should follow
        std::optional<abi::Psn> newest{};    ///< that the queue pair has had, in whatever message
        bool is_datagram = false, completes = false, is_in_order = true;
    };
    void forget(Message& message);

    std::map<ObjectKey, Message> messages_;        ///< the newest of each queue pair
    std::map<std::uint64_t, ObjectKey> by_packet_; ///< whose message a packet belongs to
    std::map<std::uint32_t, std::uint64_t> others_;
};

} // namespace traces::monitor
