#include "testbench/harness/monitored.h"

#include "platform/topology/description.h"
#include "platform/topology/what_to_record.h"

namespace harness {

Monitored::Monitored(const platform::topology::Config& config)
    : recording_(
          {.revision = {},
           .seed = config.link.seed,
           .configuration = {},
           .subjects =
               platform::topology::choose_recorded(platform::topology::describe(config).value(), {}).value().subjects,
           .has_events = false}) {
    recording_.watch(watch_);
}

std::vector<traces::monitor::Violation> Monitored::finish(End end) {
    static_cast<void>(recording_.close());
    if (!watch_.monitor)
        return {};
    watch_.monitor->on_end(end == End::quiet);
    return watch_.monitor->findings().kept();
}

std::vector<traces::monitor::Verdict> Monitored::verdicts() const {
    return watch_.monitor ? watch_.monitor->verdicts() : std::vector<traces::monitor::Verdict>();
}

} // namespace harness
