// Counts the messages of a load: by flow, and in intervals of simulated time of which there are never more than a given
// number, however long the run takes; and the operations of an application, where they are parts of such. Takes what
// the resources of the platform have counted at the ends of each interval, so that set-up, warm-up and the end count
// nothing.
#pragma once

#include "platform/topology/platform_module.h"
#include "testbench/load/ledger.h"
#include "testbench/load/plan.h"
#include "testbench/scenario/busiest.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/flow_shares.h"
#include "testbench/scenario/latency_count.h"
#include "testbench/scenario/result.h"

#include <systemc>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace scenario {

class TrafficMeter : public load::Ledger {
public:
    /// `here`: what of the platform is in this process.
    TrafficMeter(platform::topology::Platform& platform, const load::Plan& plan,
                 const platform::ranks::Share& here = {});

    void add(std::span<const load::Done> messages) override;
    void add_operation(std::size_t kind, model::port::Time since, model::port::Time at) override;
    void add_work(std::size_t node, model::port::Time span) override { work_[node] += span; }
    void add_reduction(std::size_t node, model::port::Time span) override { reductions_[node] += span; }
    bool is_over() const override { return is_over_; }

    /// The cores begin now.
    virtual void start();
    /// The load has come to its end, whether the measured time is over or not.
    void stop() { finish(); }
    /// The body of a thread of the simulation: begins and ends what is measured where time decides, and takes the
    /// intervals. Returns when the load is over.
    void watch();
    /// Rows of the result.
    void show(Result& result) const;

    /// Told now and then how many messages (or operations) of how many are done. May be empty.
    std::function<void(std::uint64_t done, std::uint64_t total)> progress{};

protected:
    struct Count {
        std::uint64_t bytes = 0;
        LatencyCount latency{};
        std::uint64_t messages() const { return latency.count(); }
        void add(const load::Done& message);
    };
    /// What was counted until a moment.
    struct Moment {
        model::port::Time at{}, credit_waits{};
        Totals totals{};
        std::vector<Counted> resources{};
    };
    /// An interval ends with its moment, and begins with the one before it.
    struct Part {
        Count count{};
        Moment end{};
    };
    Moment look() const;
    /// Ends an interval at `end`.
    void cut(Moment end);

private:
    bool is_list_done() const;
    void warm_up(std::uint64_t count);
    void begin();
    void finish();
    void join_pairs();
    void wait_until(model::port::Time time);
    model::port::Time all_have_left() const;
    void show_shares(Result& result) const;
    Busiest busiest_between(const Moment& begin, const Moment& end) const;

protected:
    platform::topology::Platform& platform_;
    const platform::ranks::Share here_;
    const load::Plan& plan_;
    const platform::topology::TrafficConfig& how_;
    unsigned most_queue_pairs_ = 1; ///< of a node
    model::port::Time started_{}, interval_{};
    std::uint64_t warmed_up_ = 0, wanted_warm_up_ = 0; ///< messages, or operations
    std::uint64_t operations_done_ = 0;                ///< of those that are measured
    bool has_started_ = false, has_begun_ = false, is_over_ = false;
    sc_core::sc_event told_;
    std::vector<model::port::Time> work_, reductions_; ///< of the cores and of what adds up, by node
    Moment begin_;
    Count all_, part_;
    std::vector<Count> flows_;
    FlowShares shares_;
    std::vector<LatencyCount> operations_; ///< by kind
    std::vector<Part> parts_;
};

} // namespace scenario
