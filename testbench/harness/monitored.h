// A run whose records go to the monitor as they happen, with no file between (traces/monitor): all functions and
// network ports of a platform's devices. Devices that are recorded are lent no memory, so that a run is either
// monitored or one in which mistakes about loans show.
#pragma once

#include "platform/record/recording.h"
#include "platform/topology/config.h"
#include "traces/monitor/monitor.h"

#include <optional>
#include <vector>

namespace harness {

class Monitored {
public:
    explicit Monitored(const platform::topology::Config& config);
    Monitored(const Monitored&) = delete;
    Monitored& operator=(const Monitored&) = delete;

    /// For the platform; it goes before this.
    platform::record::Recording& recording() { return recording_; }

    enum class End : std::uint8_t { quiet, torn }; ///< whether what is unanswered then will never be answered
    /// After the run: what breaks a rule.
    std::vector<traces::monitor::Violation> finish(End end);
    /// Of each rule; none before the platform was built.
    std::vector<traces::monitor::Verdict> verdicts() const;

private:
    struct Watch final : platform::record::Watcher {
        void begin(const traces::codec::Head& head) override { monitor.emplace(head); }
        void on(const traces::codec::Record& record) override { monitor->on(record); }
        std::optional<traces::monitor::Monitor> monitor;
    };
    Watch watch_;
    platform::record::Recording recording_;
};

} // namespace harness
