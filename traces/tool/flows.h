// Which work request a record belongs to: from its doorbell over its WQE, its packets, what they do at the responder
// and the answers to its CQE, the event and the interrupt; and what the model's rooms say of all that. Knows a work
// request once its WQE was read, or completed if none was.
#pragma once

#include "traces/tool/causes.h"

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace traces::tool {

/// The number of the record that has read the WQE, or of its doorbell if none has; 0: none.
using Flow = std::uint32_t;
inline Flow flow_of(const Work& work) {
    return static_cast<Flow>(work.doorbell == 0 ? 0 : work.fetched != 0 ? work.fetched : work.doorbell);
}

class Flows {
public:
    explicit Flows(const codec::Head& head) : causes_(head) {}
    /// Those that a record belongs to: a read of several WQEs begins several. Without those of a doorbell, which come
    /// later. Valid until the next call.
    const std::vector<Flow>& take(const codec::Record& record, const Seen& seen, const Decoder& decoder);
    const WorkBoard& board() const { return causes_.board(); }

private:
    Flow frame(const codec::Record& record, const Seen& seen, Causes::Step step, const Decoder& decoder);
    Flow sent(const codec::Record& record, const Seen& seen);
    Flow answer(const codec::Record& record, const Item& item, const Seen& seen, Causes::Step step);
    Flow answered(const codec::Record& record, const Item& item, const Decoder& decoder);
    static Flow by_psn(Recent& requests, std::uint32_t interface, std::uint32_t qpn, const Item& answer);
    Flow event(const codec::Record& record, const Seen& seen, Causes::Step step);

    Causes causes_;
    std::vector<Flow> flows_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Flow>> unsent_; ///< by device and queue pair
    std::map<std::pair<std::uint32_t, std::uint32_t>, Flow> sending_;            ///< the same
    Recent packets_;                                                             ///< flows by port, peer and PSN
    Recent received_;  ///< at a responder, by port, own queue pair and PSN
    Recent posted_;    ///< by the doorbell and the index of the WQE
    Recent records_;   ///< flows by number of the record
    Recent doorbells_; ///< that began it, by number of an event's record
};

/// What each doorbell has posted, for a pass behind the first one: 8 bytes a work request.
class Posts {
public:
    /// 128 MiB; a doorbell behind these begins no flow, which then begins with what the device does.
    static constexpr std::size_t most_kept = 1 << 24;
    explicit Posts(std::size_t most = most_kept) : most_(most) {}
    void take(const WorkBoard::News& news, std::uint64_t record);
    /// To be called once, before the first question.
    void sort();
    std::vector<Flow> of(std::uint64_t doorbell) const;

private:
    struct Post {
        std::uint32_t doorbell;
        Flow flow;
    };
    std::size_t most_;
    std::deque<Post> posts_;
};

} // namespace traces::tool
