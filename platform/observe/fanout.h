// One sink that stands for several: hands each event to all of them in the order they were added. Sinks outlive it.
#pragma once

#include "traces/events.h"

#include <vector>

namespace platform::observe {

class Fanout final : public traces::Sink {
public:
    void add(traces::Sink& sink) { sinks_.push_back(&sink); }
    bool is_empty() const { return sinks_.empty(); }
    void on(const traces::Stamp& stamp, const traces::Event& event) override {
        for (auto* sink : sinks_)
            sink->on(stamp, event);
    }

private:
    std::vector<traces::Sink*> sinks_;
};

} // namespace platform::observe
