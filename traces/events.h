// How events come out of a room: a component's door, and the sinks behind it. Logs, counters, recorders, diagnostics
// and test matchers are sinks of the same typed events. A sink numbers what comes to it, and each event names what led
// to it: an earlier event, or the access from outside in whose course it happened.
#pragma once

#include "traces/event.h"

#include <cstdint>

namespace traces {

/// What enters a component from outside and sets something in motion there.
enum class Access : std::uint8_t {
    none,       ///< nobody has said
    mmio_write, ///< by software
    packet,     ///< from the wire
    batch_end,  ///< the last packet of those that arrived together
    room,       ///< on the wire, for which something waited
    timer,      ///< time that was asked for has come
};

/// When and where, and why. Accesses and events of a sink share one count, which starts at 1; 0: there is none.
struct Stamp {
    std::int64_t time_ps; ///< picoseconds of simulated time
    std::uint16_t source; ///< number of the component (names: Sink's owner)
    Access access = Access::none;
    std::uint64_t number = 0; ///< of this event
    /// The event that led to this one, or the access itself where no event did. Work that has waited (a message for its
    /// acknowledgement, an answer for room, a completion for its event) keeps the event that began it.
    std::uint64_t cause = 0;
    std::uint64_t access_number = 0; ///< of the access in whose course it happened
};

/// What goes on in a component at the moment, one chain of calls at a time.
struct Course {
    Access access = Access::none;
    std::uint64_t access_number = 0, cause = 0;
};

class Sink {
public:
    virtual ~Sink() = default;
    virtual void on(const Stamp& stamp, const Event& event) = 0;

private:
    friend class Events;
    friend class Cause;
    std::uint64_t count_ = 0;
    Course course_; ///< of components that share one
};

/// A component's door to the sinks. Without a sink, emitting costs one branch.
class Events {
public:
    constexpr Events() = default;
    constexpr Events(Sink* sink, std::uint16_t source)
        : sink_(sink), course_(sink != nullptr ? &sink->course_ : nullptr), source_(source) {}
    /// The same door for a component whose calls may wait while others go on: it has a course of its own, which
    /// outlives it.
    Events within(Course& course) const {
        auto events = *this;
        if (sink_ != nullptr)
            events.course_ = &course;
        return events;
    }

    bool is_on() const { return sink_ != nullptr; }
    /// Returns the event's number, 0 without a sink.
    template <class E, class Time> std::uint64_t emit(Time at, const E& event) const {
        if (sink_ == nullptr) [[likely]]
            return 0;
        const Stamp stamp{.time_ps = at.count(),
                          .source = source_,
                          .access = course_->access,
                          .number = ++sink_->count_,
                          .cause = course_->cause,
                          .access_number = course_->access_number};
        sink_->on(stamp, Event{event});
        return stamp.number;
    }
    /// What leads to the next event, for work that has to wait.
    std::uint64_t cause() const { return sink_ != nullptr ? course_->cause : 0; }

private:
    friend class Cause;
    Sink* sink_ = nullptr;
    Course* course_ = nullptr;
    std::uint16_t source_ = 0;
};

/// While it lives, what a component does was led to by this. One inside of another holds until it goes.
class [[nodiscard]] Cause {
public:
    /// An event; 0: nobody has noted which.
    Cause(const Events& events, std::uint64_t event) : course_(events.course_) {
        if (course_ == nullptr) [[likely]]
            return;
        kept_ = *course_;
        course_->cause = event;
    }
    /// An access from outside, and the event elsewhere that sent it, where one is known.
    Cause(const Events& events, Access access, std::uint64_t event = 0) : course_(events.course_) {
        if (course_ == nullptr) [[likely]]
            return;
        kept_ = *course_;
        const auto number = ++events.sink_->count_;
        *course_ = {.access = access, .access_number = number, .cause = event != 0 ? event : number};
    }
    ~Cause() {
        if (course_ != nullptr) [[unlikely]]
            *course_ = kept_;
    }
    Cause(const Cause&) = delete;
    Cause& operator=(const Cause&) = delete;

    /// From now on it is this event.
    void becomes(std::uint64_t event) {
        if (course_ != nullptr) [[unlikely]]
            course_->cause = event;
    }

private:
    Course* course_;
    union { // not set where there is no course
        Course kept_;
    };
};

} // namespace traces
