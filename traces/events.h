// How events come out of a room: a component's door, and the sinks behind it. Logs, counters, recorders, diagnostics
// and test matchers are sinks of the same typed events.
#pragma once

#include "traces/event.h"

#include <cstdint>

namespace traces {

/// When and where: picoseconds of simulated time, and the number of the component (names: Sink's owner).
struct Stamp {
    std::int64_t time_ps;
    std::uint16_t source;
};

class Sink {
public:
    virtual ~Sink() = default;
    virtual void on(const Stamp& stamp, const Event& event) = 0;
};

/// A component's door to the sinks. Without a sink, emitting costs one branch.
class Events {
public:
    constexpr Events() = default;
    constexpr Events(Sink* sink, std::uint16_t source) : sink_(sink), source_(source) {}
    bool is_on() const { return sink_ != nullptr; }
    template <class E, class Time> void emit(Time at, const E& event) const {
        if (sink_ != nullptr) [[unlikely]]
            sink_->on(Stamp{at.count(), source_}, Event{event});
    }

private:
    Sink* sink_ = nullptr;
    std::uint16_t source_ = 0;
};

} // namespace traces
