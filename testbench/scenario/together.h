// Runs the part of a simulation that is in this process in step with the parts in others: a window of simulated time,
// a round in which they exchange what crosses, the next window.
#pragma once

#include "platform/ranks/cut_cables.h"
#include "platform/ranks/exchange.h"
#include "platform/ranks/partition.h"
#include "platform/ranks/post.h"
#include "testbench/scenario/collective_meter.h"
#include "testbench/scenario/programs.h"
#include "testbench/scenario/stop.h"
#include "testbench/workload/collective_load.h"

#include <cstddef>
#include <expected>
#include <string>

namespace scenario {

/// When the last program has returned, what is still on its way goes on for so long. One process does that, too.
inline constexpr model::port::Time tail = load::Meeting::latency;

class Together {
public:
    struct Parts {
        const platform::ranks::Partition& partition;
        platform::ranks::Exchange& exchange;
        platform::ranks::Post& post;
        const platform::ranks::CutCables& cables;
        CollectiveMeter& meter;
        workload::CollectiveLoad& load;
    };
    explicit Together(const Parts& parts);

    /// Until the programs of all processes have returned, or one of them is to stop. Otherwise a failure for a person.
    std::expected<void, std::string> run(const Programs& programs, Stop* stop);
    /// Rounds that were exchanged.
    std::uint64_t rounds() const { return rounds_; }

private:
    enum class News : std::uint8_t { done, failed, stopped };
    void tell(News news, model::port::Time at, std::string_view text);
    bool hear(platform::ranks::Reader& message);

    const Parts parts_;
    bool has_told_done_ = false, has_told_failure_ = false, has_told_stop_ = false;
    std::size_t done_ = 0; ///< processes whose programs have returned
    model::port::Time last_done_{};
    std::string stopped_;
    std::uint64_t rounds_ = 0;
};

} // namespace scenario
