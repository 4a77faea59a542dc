// Work requests between their doorbell and their completion, and commands: what statistics and pictures have in common.
#pragma once

#include "traces/tool/decoder.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace traces::tool {

/// A work request of a send queue.
struct Work {
    std::uint32_t interface = 0, qpn = 0;
    std::uint32_t index = 0; ///< of its first basic block, modulo 2^16
    std::uint8_t opcode = 0;
    std::uint64_t doorbell = 0, fetched = 0; ///< numbers of records; 0: not seen. One that came with its doorbell
                                             ///< is fetched by none
    std::int64_t doorbell_ps = 0, fetched_ps = 0;
};

/// Follows the send queues of all interfaces.
class WorkBoard {
public:
    struct Doorbell {
        std::uint64_t record = 0;
        std::int64_t time_ps = 0;
        std::uint32_t index = 0; ///< of the last WQE that it posts
        std::uint8_t opcode = 0; ///< of the same
    };
    /// What a record says about work.
    struct News {
        std::optional<Doorbell> rung{};
        std::vector<Work> fetched{};
        std::vector<Work> completed{};       ///< the last one is that of the completion; before it, those that had none
        std::vector<Work> dropped{};         ///< with their queue pair
        std::optional<std::uint32_t> gone{}; ///< a queue pair that was destroyed or reset
        void clear() { rung.reset(), fetched.clear(), completed.clear(), dropped.clear(), gone.reset(); }
    };
    /// Valid until the next call.
    const News& news() const { return news_; }
    const News& take(const codec::Record& record, const Seen& seen);
    /// WQEs of a queue pair that were fetched and are not completed.
    std::size_t depth(std::uint32_t interface, std::uint32_t qpn) const;
    /// Whether the one whose WQE this record has read is among them.
    bool is_open(std::uint32_t interface, std::uint32_t qpn, std::uint64_t fetched) const;
    /// All of those.
    std::vector<Work> open() const;

private:
    struct Queue {
        std::deque<Doorbell> doorbells; ///< oldest first, until what they post is completed
        std::deque<Work> works;         ///< fetched and not completed, oldest first
    };
    using Key = std::pair<std::uint32_t, std::uint32_t>;
    std::map<Key, Queue> queues_;
    News news_;
};

} // namespace traces::tool
