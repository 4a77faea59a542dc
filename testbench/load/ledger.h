// Who is told what becomes of the messages of a load: a meter, a report. Decides when the load has done enough.
#pragma once

#include "model/port/time.h"
#include "testbench/load/mix.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace load {

/// A message whose completion was polled.
struct Done {
    std::size_t flow = 0;
    Verb verb{};
    std::uint32_t bytes = 0;
    /// When it was posted, or was to be posted in an open loop; and when its completion was polled. Of a ping-pong half
    /// of the time from one message to the next.
    model::port::Time since{}, at{};
};

class Ledger {
public:
    virtual ~Ledger() = default;
    /// What one look at a completion queue has found: all of it was done by then, and none of it later.
    virtual void add(std::span<const Done> messages) = 0;
    /// An application has done an operation, by its number in Plan::operations; its messages count, too.
    virtual void add_operation(std::size_t kind, model::port::Time since, model::port::Time at) = 0;
    /// A core of a node was at work for so long, and not waiting.
    virtual void add_work(std::size_t node, model::port::Time span) = 0;
    /// A node has added up data for so long, beside what its cores do.
    virtual void add_reduction(std::size_t node, model::port::Time span) = 0;
    /// From then on nothing is posted any more; what is under way is waited for.
    virtual bool is_over() const = 0;
};

} // namespace load
