// One HCA of a load: brought up by our driver, with completion queues of each core, and memory that the others may
// reach. Every core is a thread of the simulation (SC_THREAD) and looks at memory by itself.
#pragma once

#include "platform/bridge/in_process.h"
#include "platform/topology/platform_module.h"
#include "sw/verbs/verbs.h"
#include "testbench/harness/host_functions.h"
#include "testbench/load/end.h"
#include "testbench/load/memory.h"
#include "testbench/load/plan.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace load {

/// What a core has to itself.
struct Core {
    std::unique_ptr<platform::bridge::InProcessTransport> eyes; ///< with which it waits for memory to change
    std::unique_ptr<sw::verbs::CompletionQueue> sent, received;
    sw::verbs::DoorbellPage* doorbell_page = nullptr;
    std::vector<End*> ends; ///< by wr_id
};

/// A counter of atomics, shared by all who send here.
struct Tally {
    std::uint64_t added = 0; ///< atomics that have changed it
    Wide seen = 0;           ///< sum of what they have found
};

class Node {
public:
    /// Called by a thread of the simulation. Throws when the driver refuses something.
    Node(platform::topology::Platform& platform, harness::HostFunctions& functions, const PlannedNode& planned,
         const Work& work);

    /// How often parts of its memories are needed, before there are any.
    struct Needs {
        std::uint64_t out = 0, in = 0;            ///< areas
        std::uint64_t sending = 0, receiving = 0; ///< ends
        std::vector<std::uint64_t> queue_pairs{}; ///< of each core
    };
    void prepare(const Needs& needs);
    /// A queue pair of core `end.core`, and areas for what it does.
    void add(End& end, bool sends, bool is_sent_to);
    void connect(End& end, const Node& peer);
    void give_receive(End& end);

    /// Takes completions in; the core that asks spends the time that this costs, before anything else is done.
    std::size_t poll(sw::verbs::CompletionQueue& queue, std::span<sw::verbs::Completion> into) {
        const auto found = queue.poll(into);
        if (found != 0)
            (void)hca_->now(); // the driver has noted what its calls cost; here it passes
        return found;
    }

    const PlannedNode& planned() const { return planned_; }
    std::vector<Core>& cores() { return cores_; }
    const Memory& out() const { return out_; }
    const Memory& in() const { return in_; }
    const Memory& counters() const { return counters_; }
    const Memory& results() const { return results_; }
    std::vector<Tally>& tallies() { return tallies_; }

private:
    Area take(std::uint64_t& next, std::uint64_t share) const;
    RegionSource source(platform::topology::TrafficMemory kind);

    const PlannedNode planned_;
    const Work& work_;
    platform::topology::Platform& platform_;
    std::unique_ptr<sw::transport::Transport> hca_, gpu_function_;
    std::optional<sw::gpu::Gpu> gpu_;
    std::unique_ptr<sw::verbs::Context> context_;
    abi::Pd pd_{};
    sw::verbs::AddressPath path_{};
    Memory out_, in_, counters_, results_;
    std::uint64_t out_share_ = 0, in_share_ = 0; ///< slots of an area
    std::uint64_t out_next_ = 0, in_next_ = 0, results_next_ = 0;
    std::vector<Tally> tallies_;
    std::vector<Core> cores_;
};

} // namespace load
