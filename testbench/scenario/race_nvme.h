// Races of NVMe: commands of a drive whose data lie in memory of the host or, by a dma-buf, in VRAM, and something that
// takes the memory, the queue or the controller away.
#pragma once

#include "testbench/scenario/race.h"

namespace scenario::race {

class NvmeRace;

struct NvmeOperation final : Operation {
    NvmeOperation(std::string_view name, bool brings) : Operation(name), to_memory(brings) {}
    const bool to_memory; ///< the drive's Read; else its Write
};

class NvmeAction : public Action {
public:
    using Action::Action;
    virtual ~NvmeAction() = default;
    virtual void perform(NvmeRace& race) const = 0;
};

namespace nvme_rows {
// What a race asks of a setup by name.
extern const NvmeAction& flr;
extern const Victim vram;
extern const Plant missing_invalidation, missing_drain;
} // namespace nvme_rows

const Subject& nvme();

} // namespace scenario::race
