// Holds a trace against the rules of the specifications, record by record. Memory is bounded by the objects that are
// alive in the trace.
#pragma once

#include "traces/monitor/observer.h"
#include "traces/monitor/rules/atomics.h"
#include "traces/monitor/rules/completion_events.h"
#include "traces/monitor/rules/interrupts.h"
#include "traces/monitor/rules/keys.h"
#include "traces/monitor/rules/mapping.h"
#include "traces/monitor/rules/nvme.h"
#include "traces/monitor/rules/once.h"
#include "traces/monitor/rules/payload.h"
#include "traces/monitor/rules/psns.h"
#include "traces/monitor/rules/reads.h"
#include "traces/monitor/rules/tags.h"

#include <tuple>

namespace traces::monitor {

class Monitor {
public:
    explicit Monitor(const codec::Head& head);
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;

    void on(const codec::Record& record);
    /// The trace is over. Whole: nothing is missing at its end, so that what was not answered never will be.
    void on_end(bool is_whole = true);

    const Findings& findings() const { return findings_; }
    /// Of each rule, in the order of the README's table.
    std::vector<Verdict> verdicts() const;

private:
    using Rules = std::tuple<Tags, Payload, CompletionEvents, Interrupts, Once, Psns, Reads, Atomics, Keys, Mapping,
                             NvmeFetches, NvmeOnce, NvmePhase, NvmeRoom, NvmeInterrupts>;
    template <class... R> static std::tuple<R...> make(std::type_identity<std::tuple<R...>>, Monitor& monitor) {
        return {R(monitor.findings_, monitor.names_)...};
    }

    std::vector<std::string> names_;
    Findings findings_;
    Observer observer_;
    Rules rules_;
};

} // namespace traces::monitor
