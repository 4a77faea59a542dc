// Races of pages of a GPU: waves, or a copy engine, move bytes between memory that their address space maps, and the
// driver takes the pages out or moves them while they do.
#pragma once

#include "testbench/scenario/race.h"

namespace scenario::race {

class GpuPagesRace;

struct PagesOperation final : Operation {
    PagesOperation(std::string_view name, bool stores, bool copies)
        : Operation(name), to_memory(stores), by_engine(copies) {}
    const bool to_memory; ///< the victim's is stored to; else loaded from
    const bool by_engine; ///< a copy engine; else waves
};

class PagesAction : public Action {
public:
    using Action::Action;
    virtual ~PagesAction() = default;
    virtual void perform(GpuPagesRace& race) const = 0;
};

namespace pages_rows {
// What a race asks of a setup by name.
extern const PagesAction &unmap, &move;
extern const Victim vram;
} // namespace pages_rows

const Subject& gpu_pages();

} // namespace scenario::race
