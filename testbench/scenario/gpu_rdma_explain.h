// What an adversary of memory order has made of a GPU program that drives an HCA, in words: which store was still held
// when which other one was seen, what the HCA has fetched, and which fence orders them.
#pragma once

#include "model/gpu/memory/config.h"
#include "model/gpu/wave/grid.h"
#include "platform/observe/event.h"
#include "sw/gpu/fences.h"
#include "sw/gpu/rdma_queue.h"
#include "traces/events.h"

#include <span>
#include <string>
#include <vector>

namespace scenario {

/// Remembers what HCAs saw of doorbells, and passes all events on.
class HcaWatch final : public traces::Sink {
public:
    HcaWatch(traces::Sink* next, const platform::observe::Sources& sources) : next_(next), sources_(sources) {}

    struct Seen {
        std::string_view hca;
        model::port::Time at{};
        std::uint32_t qpn = 0;
        std::uint16_t number = 0; ///< of a doorbell: the record at that moment; of a fetch: the block
        bool is_fetch = false;
    };
    void on(const traces::Stamp& stamp, const traces::Event& event) override;
    const std::vector<Seen>& seen() const { return seen_; }

private:
    traces::Sink* next_;
    const platform::observe::Sources& sources_;
    std::vector<Seen> seen_;
};

struct OrderQuestion {
    const model::gpu::wave::Grid& grid;
    std::span<const sw::gpu::RdmaRings> rings; ///< by thread
    const HcaWatch& watch;
    std::string_view hca;
    std::uint64_t data = 0, data_bytes = 0; ///< what stands behind flags, by address of the GPU
    sw::gpu::Fences omitted;                ///< empty: any of them may be missed
    const model::gpu::memory::MemoryConfig& config;
};
/// Empty: nothing that a fence orders was seen in another order.
std::string explain_order(const OrderQuestion& question);

} // namespace scenario
