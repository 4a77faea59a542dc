// Asynchronous events: requests that the host has parked, and events that wait for one. After an event of a type, the
// type is silent until the host has read the log page (NVMe base 2.0 "Asynchronous Event Request command").
#pragma once

#include "abi/nvme/feature.h"
#include "abi/nvme/log.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace model::nvme {

class EventRequests {
public:
    explicit EventRequests(std::uint32_t most) : most_(most) {}
    void reset() { parked_.clear(), waiting_.clear(), masked_ = {}; }

    /// False: there are as many as may be.
    bool park(std::uint16_t cid) {
        if (parked_.size() >= most_)
            return false;
        parked_.push_back(cid);
        return true;
    }
    bool abort(std::uint16_t cid) { return std::erase(parked_, cid) != 0; }
    /// An event, unless the same one waits already.
    template <class Info> void note(abi::nvme::EventType type, Info info, abi::nvme::LogPage log) {
        const Event event{static_cast<std::uint8_t>(type), static_cast<std::uint8_t>(info),
                          static_cast<std::uint8_t>(log)};
        if (waiting_.size() < most_waiting && std::ranges::find(waiting_, event) == waiting_.end())
            waiting_.push_back(event);
    }
    /// The host has read a log page and lets its events come again.
    void log_was_read(abi::nvme::LogPage log) {
        for (auto& masked : masked_)
            if (masked == static_cast<int>(log))
                masked = none;
    }
    /// A request and the dword 0 of its completion.
    std::optional<std::pair<std::uint16_t, std::uint32_t>> next() {
        if (parked_.empty())
            return std::nullopt;
        for (auto event = waiting_.begin(); event != waiting_.end(); ++event) {
            if (masked_[event->type] != none)
                continue;
            masked_[event->type] = event->log;
            const auto cid = parked_.front();
            parked_.erase(parked_.begin());
            const std::uint32_t dw0 = event->type | event->info << 8 | event->log << 16;
            waiting_.erase(event);
            return std::pair{cid, dw0};
        }
        return std::nullopt;
    }

private:
    static constexpr int none = -1;
    static constexpr std::size_t most_waiting = 32; ///< a host that takes none costs no more than these
    struct Event {
        std::uint8_t type, info, log;
        bool operator==(const Event&) const = default;
    };
    struct Masked {
        int log = none;
        Masked& operator=(int value) { return log = value, *this; }
        operator int() const { return log; }
    };
    std::size_t most_;
    std::vector<std::uint16_t> parked_;
    std::deque<Event> waiting_;
    std::array<Masked, 8> masked_{};
};

} // namespace model::nvme
