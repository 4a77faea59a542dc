// Races of a revoked BAR: threads of a GPU program ring a drive's doorbells by a mapping of its BAR, and the BAR is
// taken back, as vfio-pci does before it resets the function, switches its memory space off, or lets it go.
#pragma once

#include "testbench/scenario/race.h"

namespace scenario::race {

class GpuBarRace;

class BarAction : public Action {
public:
    using Action::Action;
    virtual ~BarAction() = default;
    virtual void perform(GpuBarRace& race) const = 0;
};

namespace bar_rows {
// What a race asks of a setup by name.
extern const BarAction& flr;
} // namespace bar_rows

const Subject& gpu_bar();

} // namespace scenario::race
