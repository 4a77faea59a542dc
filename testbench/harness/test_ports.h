// What a core under test sees of the outside: time that only the test moves, interrupts and events that are kept for
// matching.
#pragma once

#include "model/port/clock.h"
#include "model/port/interrupt.h"
#include "traces/events.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

namespace harness {

using namespace std::chrono_literals;
using model::port::Time;

/// Time that only the test moves.
class TestClock final : public model::port::Clock {
public:
    Time now() const override { return now_; }
    void wake_at(Time at) override { next_ = std::min(next_, at); }
    Time next() const { return next_; }
    void set(Time now) {
        now_ = now;
        if (next_ <= now_)
            next_ = model::port::never;
    }

private:
    Time now_{};
    Time next_ = model::port::never;
};

struct InterruptLog final : model::port::Interrupts {
    void raise(std::uint16_t vector, Time at) override {
        vectors.push_back(vector);
        last_at = at;
    }
    std::vector<std::uint16_t> vectors;
    Time last_at{}; ///< when the last one was raised
};

/// Keeps every event for matching.
struct EventLog final : traces::Sink {
    void on(const traces::Stamp& stamp, const traces::Event& event) override {
        entries.push_back({stamp, event});
        if (entries.size() == watched) [[unlikely]]
            reached();
    }
    template <class E> std::vector<E> all() const {
        std::vector<E> found;
        for (const auto& [stamp, event] : entries)
            if (const auto* e = std::get_if<E>(&event))
                found.push_back(*e);
        return found;
    }
    std::vector<std::pair<traces::Stamp, traces::Event>> entries;
    /// Called when there are so many.
    std::size_t watched = 0;
    std::function<void()> reached;
};

} // namespace harness
