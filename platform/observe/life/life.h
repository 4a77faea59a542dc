// The life of one RDMA WRITE: the stages the first WRITE of a run goes through, doorbell to interrupt, each with its
// event, component and time. Follows causes (traces/events.h), so that of all that goes on it takes what this message
// led to and nothing else; once it is complete an event costs one branch.
#pragma once

#include "platform/observe/event.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace platform::observe::life {

class Life final : public traces::Sink {
public:
    enum class Side : std::uint8_t { requester, responder };
    struct Stage {
        std::string_view room; ///< "hca/doorbell"
        Side side;
        std::size_t type; ///< of the event, see event_type
    };
    struct Entry {
        traces::Stamp stamp;
        traces::Event event;
    };

    /// The stages in the order of a WRITE.
    static std::span<const Stage> stages();

    void on(const traces::Stamp& stamp, const traces::Event& event) override;

    /// Stage `i` of stages(); empty when it was not seen (no interrupt armed, say).
    const std::optional<Entry>& seen(std::size_t i) const { return seen_[i]; }
    bool is_complete() const { return is_complete_; }
    /// A WRITE was seen at all.
    bool has_begun() const { return has_begun_; }

private:
    static constexpr std::size_t stage_count = 14;
    /// What an event is of the message, and with that what may follow from it.
    enum class Part : std::uint8_t { work, request, arrival, answer, answered, completion, notice };
    struct Member {
        std::uint64_t number;
        Part part;
    };
    struct Prelude { ///< the last that was seen of a queue pair before its WQE said that it is a WRITE
        std::uint16_t source;
        std::uint32_t qpn;
        std::optional<Entry> doorbell, rung, turn; ///< rung: the one that the turn is for
    };
    struct Step;

    Prelude& prelude(std::uint16_t source, std::uint32_t qpn);
    void wait(const traces::Stamp& stamp, const traces::Event& event);
    void follow(const traces::Stamp& stamp, const traces::Event& event);
    void see(std::size_t stage, const traces::Stamp& stamp, const traces::Event& event);

    std::array<std::optional<Entry>, stage_count> seen_{};
    std::vector<Prelude> preludes_;
    std::vector<Member> members_;       ///< that more may follow from, by ascending number
    std::optional<Entry> acknowledged_; ///< the last acknowledgement of any message
    bool has_begun_ = false, is_complete_ = false;
};

} // namespace platform::observe::life
