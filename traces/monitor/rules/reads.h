// The answer to a READ is complete: its packets follow one another, together they have the length of the request, and
// the requester says that it is done after the last of them (IBA 9.7.5.1.2 to 9.7.5.2, 10.8.5). Key: queue pair and
// request. As responder, the recorded device is judged by what it sends; as requester, by its completions.
#pragma once

#include "traces/monitor/rule.h"

#include <deque>
#include <map>

namespace traces::monitor {

class Reads : public Rule {
public:
    Reads(Findings& findings, const std::vector<std::string>& interfaces)
        : Rule({"READ response complete", "IBA 9.4.4, 9.7.5.2", "answers to READs"}, findings, interfaces) {}
    void on(const PacketSeen& seen);
    void on(const CqeWritten& written);
    void on(const ObjectGone& gone);

private:
    static constexpr std::size_t most_kept = 256; ///< requests that nobody has answered are forgotten then
    struct Read {
        abi::Psn begin;
        std::uint32_t packets = 1, length = 0;
        std::uint64_t request = 0;             ///< record
        std::uint32_t position = 0, bytes = 0; ///< that have come
        abi::Psn next() const { return begin + position; }
        bool takes(const Packet& packet) const; ///< as its next one: first, middle, last, and the length
    };
    struct Ends {
        std::deque<Read> asked, answering; ///< by this device, and by its peer
        std::uint64_t whole = 0;           ///< answers that have come and whose completion has not
    };
    static Read read_of(const PacketSeen& seen);
    static std::deque<Read>::iterator answered_by(const PacketSeen& seen, std::deque<Read>& answering);
    void asks(const PacketSeen& seen, Ends& ends);
    void is_asked(const PacketSeen& seen, Ends& ends);
    void answers(const PacketSeen& seen, Ends& ends);
    void is_answered(const PacketSeen& seen, Ends& ends);

    std::map<ObjectKey, Ends> ends_;
};

} // namespace traces::monitor
