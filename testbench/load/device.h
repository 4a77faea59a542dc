// An HCA of a load, brought up by the driver that it has: cores with completion queues of their own, memory that it may
// reach, queue pairs. Every core is a thread of the simulation (SC_THREAD) and looks at memory by itself.
#pragma once

#include "platform/bridge/in_process.h"
#include "platform/topology/platform_module.h"
#include "sw/verbs/verbs.h"
#include "testbench/harness/host_functions.h"
#include "testbench/load/memory.h"
#include "testbench/load/plan.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace load {

struct End;

/// The address of an HCA, as its cable has them.
sw::verbs::Gid gid_of(const platform::topology::Description& described, const platform::topology::PartAt& hca);

/// What a core has to itself.
struct Core {
    std::unique_ptr<platform::bridge::InProcessTransport> eyes; ///< with which it waits for memory to change
    std::unique_ptr<sw::verbs::CompletionQueue> sent, received;
    sw::verbs::DoorbellPage* doorbell_page = nullptr;
    std::vector<End*> ends; ///< by wr_id
    /// What the last look has found. Kept, since making room for many anew costs more than a look that finds few.
    std::vector<sw::verbs::Completion> found = std::vector<sw::verbs::Completion>(32);
};

/// Work requests of a queue pair.
struct QueueSizes {
    std::uint32_t send = 1, receive = 1, inline_bytes = 0;
};

class Device {
public:
    /// Called by a thread of the simulation. Throws when the driver refuses something.
    Device(platform::topology::Platform& platform, harness::HostFunctions& functions, const PlannedNode& planned,
           const Work& work);

    /// As Memory's constructor has it.
    Memory make_memory(platform::topology::TrafficMemory kind, std::uint32_t regions, std::uint64_t region_bytes,
                       std::uint64_t page_bytes, std::uint64_t stride);
    /// With room for so many completions.
    Core& add_core(std::uint32_t sent, std::uint32_t received);
    std::unique_ptr<sw::verbs::QueuePair> make_queue_pair(const Core& core, const QueueSizes& sizes);
    /// To `peer_qp` of `peer`, which connects its own end.
    void connect(sw::verbs::QueuePair& qp, const Device& peer, const sw::verbs::QueuePair& peer_qp);
    /// What whoever connects to a queue pair of this one has to know, but its number.
    sw::verbs::Peer as_peer() const;
    /// To a queue pair elsewhere, of a device that has been told of.
    void connect(sw::verbs::QueuePair& qp, const sw::verbs::Peer& peer);

    /// Takes completions in; the core that asks spends the time that this costs, before anything else is done. They
    /// are there until it asks again.
    std::span<const sw::verbs::Completion> poll(Core& core, sw::verbs::CompletionQueue& queue) {
        const auto found = queue.poll(core.found);
        if (found != 0)
            (void)hca_->now(); // the driver has noted what its calls cost; here it passes
        return std::span(core.found).first(found);
    }

    const PlannedNode& planned() const { return planned_; }
    std::vector<Core>& cores() { return cores_; }

protected:
    const PlannedNode planned_;
    const Work& work_;

private:
    platform::topology::Platform& platform_;
    std::unique_ptr<sw::transport::Transport> hca_, gpu_function_;
    std::optional<sw::gpu::Gpu> gpu_;
    std::unique_ptr<sw::verbs::Context> context_;
    abi::Pd pd_{};
    sw::verbs::AddressPath path_{};
    std::vector<Core> cores_;
};

} // namespace load
