// One host of a measuring workload: its HCA brought up by our driver, queue pairs and completion queues of each core,
// and memory that the other side may reach. Every core is a thread of the simulation (SC_THREAD) and looks at memory by
// itself.
#pragma once

#include "platform/bridge/in_process.h"
#include "platform/topology/platform_module.h"
#include "sw/mlx/verbs.h"
#include "testbench/calibrate/traffic.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace calibrate {

/// What a core has to itself.
struct Core {
    std::unique_ptr<platform::bridge::InProcessTransport> eyes; ///< with which it waits for memory to change
    std::unique_ptr<sw::mlx::CompletionQueue> sent, received;
    std::vector<std::unique_ptr<sw::mlx::QueuePair>> qps;
};

class Side {
public:
    /// Called by a thread of the simulation. Throws when the driver refuses something.
    Side(platform::topology::Machine& machine, const Traffic& traffic, unsigned number);

    void connect(const Side& peer, const Traffic& traffic);

    /// Takes completions in; the core that asks spends the time that this costs, before anything else is done.
    std::size_t poll(sw::mlx::CompletionQueue& queue, std::span<sw::mlx::Completion> into) {
        const auto found = queue.poll(into);
        (void)hca_.now(); // the driver has noted what its calls cost; here it passes
        return found;
    }

    std::vector<Core>& cores() { return cores_; }
    const sw::mlx::MemoryRegion& region() const { return region_; }
    std::span<std::byte> bytes() const { return buffer_.bytes(); }

private:
    Core make_core(platform::topology::Machine& machine, const Traffic& traffic, std::uint32_t queue_pairs);

    platform::bridge::InProcessTransport hca_;
    std::unique_ptr<sw::mlx::Context> context_;
    abi::Pd pd_;
    sw::mlx::AddressPath path_;
    sw::memory::Buffer buffer_;
    sw::mlx::MemoryRegion region_;
    std::vector<Core> cores_;
};

} // namespace calibrate
