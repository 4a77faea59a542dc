// What led to each record, as the trace says it: by its mark, and by what the protocols say where the mark ends at
// something that comes from outside. Keeps a bounded past: of the last records five bytes each.
#pragma once

#include "traces/tool/decoder.h"
#include "traces/tool/devices.h"
#include "traces/tool/recent.h"
#include "traces/tool/work.h"

#include <cstdint>
#include <deque>
#include <map>

namespace traces::tool {

enum class Link : std::uint8_t {
    begin,      ///< nothing is known that led to it
    store,      ///< software did it: a chain ends here
    outside,    ///< a frame that nobody in this trace has sent: a chain ends here, too
    call,       ///< in the course of a call of the device
    request,    ///< the answer to a read
    posted,     ///< a WQE that was read because of something else than its own doorbell
    wqe,        ///< a completion of a WQE that was read
    completion, ///< an event for a CQE
    event,      ///< an interrupt for an EQE
    answered,   ///< a frame that acknowledges or answers one that was sent
    same_frame, ///< the frame that another device in this trace has sent
    asked_wake, ///< time that the device has asked for
    waited,     ///< a port that takes packets again
    batch,      ///< the end of a batch of frames
    before,     ///< work that the call before has left
    model,      ///< an event of the model, by the model's own account
    forgotten,  ///< the record is before those that are kept
};

/// Queue pairs and PSNs have 24 bits, interfaces fewer than 16.
constexpr std::uint64_t packet_key(std::uint32_t interface, std::uint32_t qpn, std::uint32_t psn) {
    return std::uint64_t{interface} << 48 | std::uint64_t{qpn} << 24 | psn;
}

/// 320 MiB of a trace that is longer.
inline constexpr std::size_t most_kept_causes = 1 << 26;

class Causes {
public:
    /// kept  of how many records, the last ones, it is known what led to them
    explicit Causes(const codec::Head& head, std::size_t kept = most_kept_causes) : devices_(head), kept_(kept) {}
    /// Each record of the trace in its order.
    void take(const codec::Record& record, const Seen& seen, const Decoder& decoder);

    struct Step {
        std::uint32_t record = 0; ///< what led to it; 0: nothing
        Link link = Link::begin;
    };
    Step of(std::uint64_t record) const;
    /// The work requests that the last record was about.
    const WorkBoard& board() const { return board_; }
    const Devices& devices() const { return devices_; }

private:
    Step step(const codec::Record& record, const Seen& seen, const Decoder& decoder);
    Step signal(const codec::Record& record, const Seen& seen);
    Step frame(const codec::Record& record, const Seen& seen, const Decoder& decoder);
    Step event(const Seen& seen, std::uint32_t mark) const;
    std::uint32_t request_of(const codec::Record& response, const Item& item, const Decoder& decoder);

    Devices devices_;
    std::size_t kept_;
    std::uint64_t forgotten_ = 0;       ///< records before those that are kept
    std::deque<std::uint32_t> parents_; ///< by record; a deque, so that growing copies nothing
    std::deque<Link> links_;
    WorkBoard board_;
    Recent last_cqe_, last_eqe_; ///< by interface and number of the queue
    Recent sent_;                ///< requests by port, peer and PSN
    Recent images_;              ///< frames that left a device, by their bytes
    Recent events_;              ///< records of events, by their numbers
    std::map<std::uint32_t, std::uint32_t> last_frame_, last_wake_at_, last_call_; ///< by interface, by device
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> blocked_;     ///< by device and port
};

} // namespace traces::tool
