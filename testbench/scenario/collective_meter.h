// Counts the operations of a collective and their messages, where the ranks of the collective may be in several
// processes: what was done is noted with its time, and counted at the next whole microsecond, when all know of it. The
// measured time begins and ends with operations, wherever they were done; what resources have counted until then is
// taken at that microsecond.
#pragma once

#include "model/tlm/kernel_clock.h"
#include "platform/ranks/bytes.h"
#include "platform/ranks/post.h"
#include "testbench/scenario/traffic_meter.h"

#include <cstddef>
#include <vector>

namespace scenario {

class CollectiveMeter final : public TrafficMeter {
public:
    static constexpr model::port::Time grid = std::chrono::microseconds{1};

    /// `post`: to the other processes; nullptr: there are none, and the meter counts by itself when it is time. To be
    /// made during elaboration.
    CollectiveMeter(platform::topology::Platform& platform, const load::Plan& plan, const platform::ranks::Share& here,
                    platform::ranks::Post* post);

    void add(std::span<const load::Done> messages) override;
    void add_operation(std::size_t kind, model::port::Time since, model::port::Time at) override;
    void start() override;

    /// When count_until() is to be called, the same in all processes; port::never: for the present not at all.
    model::port::Time due() const;
    /// It is `now`, a multiple of the grid: all that was done before is known, and nothing of what is done now.
    void count_until(model::port::Time now);

    /// What was counted here, for the process that reports.
    void put(platform::ranks::Writer& writer) const;
    /// What was counted in another process. False: it is none of the same run.
    bool add(platform::ranks::Reader& reader);
    /// To be called once, when all have been added.
    void sort_resources();

private:
    struct Performed {
        std::size_t kind;
        model::port::Time since, at;
    };
    bool take(unsigned from, platform::ranks::Reader& message);
    void note_operation(model::port::Time at);
    bool is_measured(model::port::Time at) const;
    void open(model::port::Time at);
    void ask();

    platform::ranks::Post* post_;
    model::tlm::KernelClock clock_;
    model::port::Time next_cut_ = model::port::never, over_at_ = model::port::never;
    std::vector<model::port::Time> done_at_; ///< operations of all processes since the last count
    std::vector<Performed> performed_;       ///< operations of this one
    std::vector<load::Done> messages_;       ///< of this one
};

} // namespace scenario
