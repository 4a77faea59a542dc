// Which work request a record belongs to: from its doorbell over its WQE, its packets and their acknowledgements to its
// CQE, the event and the interrupt. Knows a work request once its WQE was read, or completed if none was.
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
    Flow sent(const codec::Record& record, const Seen& seen);

    Causes causes_;
    std::vector<Flow> flows_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Flow>> unsent_; ///< by device and queue pair
    std::map<std::pair<std::uint32_t, std::uint32_t>, Flow> sending_;            ///< the same
    Recent packets_;                                                             ///< flows by port, peer and PSN
    Recent records_;                                                             ///< flows by number of the record
};

/// What each doorbell has posted, for a pass behind the first one: 8 bytes a work request.
class Posts {
public:
    void take(const WorkBoard::News& news, std::uint64_t record);
    /// To be called once, before the first question.
    void sort();
    std::vector<Flow> of(std::uint64_t doorbell) const;

private:
    struct Post {
        std::uint32_t doorbell;
        Flow flow;
    };
    std::deque<Post> posts_;
};

} // namespace traces::tool
