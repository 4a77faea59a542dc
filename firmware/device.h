// The image in the card, as one piece: the initialization segment in front, the command queue behind it, and the state
// that commands change. Plain C++; platform/card/mlx5_device puts it behind BAR 0. It is never on the data path.
#pragma once

#include "firmware/command_queue.h"
#include "firmware/init_segment.h"
#include "firmware/management/agent.h"
#include "firmware/register_spaces.h"
#include "firmware/state.h"
#include "model/hca/hca.h"
#include "model/port/clock.h"
#include "model/port/dma.h"
#include "traces/events.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace firmware {

class Device {
public:
    /// All of them outlive the device; the configuration is the core's.
    Device(model::hca::Hca& hca, model::port::Dma& dma, model::port::Clock& clock, traces::Events events)
        : state_(hca, events), queue_(state_, dma, clock), segment_(hca.config(), queue_, [this] { disable(); }),
          spaces_(hca.config(), segment_), agent_(state_) {
        if (!hca.config().is_ethernet)
            hca.set_agent(&agent_);
        hca.on_link_changed = [this](bool is_up, model::port::Time at) { state_.link_changed(is_up, at); };
        state_.traps.set_clock(&clock);
        hca.contexts().set_pages(&state_.pages.pages());
    }
    ~Device() {
        state_.hca.set_agent(nullptr);
        state_.hca.contexts().set_pages(nullptr);
        state_.hca.on_link_changed = nullptr;
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    /// The part of BAR 0 below the first UAR page.
    void read(std::uint64_t offset, std::span<std::byte> into, model::port::Time at) {
        segment_.read(offset, into, at);
    }
    void write(std::uint64_t offset, std::span<const std::byte> from, model::port::Time at) {
        const traces::Cause cause(state_.events(), traces::Access::mmio_write);
        segment_.write(offset, from, at);
    }
    /// Time asked for by Clock::wake_at has come.
    void wake(model::port::Time now) {
        const traces::Cause cause(state_.events(), traces::Access::timer);
        queue_.wake(now);
        state_.traps.wake(now);
    }
    /// Function-level reset: as after power-on, every object dropped.
    void reset() {
        disable();
        state_.reset_port();
        segment_.reset();
        spaces_.reset();
    }
    /// What the vendor-specific capability leads to.
    RegisterSpaces& spaces() { return spaces_; }

    const State& state() const { return state_; }
    State& state() { return state_; }

private:
    void disable() {
        queue_.reset();
        state_.reset();
    }

    State state_;
    CommandQueue queue_;
    InitSegment segment_;
    RegisterSpaces spaces_;
    management::PortAgent agent_;
};

} // namespace firmware
