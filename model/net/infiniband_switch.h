// An InfiniBand switch (IBA chapter 18): forwards packets by destination LID, multicast to every port of the group, and
// subnet management by the route that the packet itself carries (IBA 14.2.2). Stores and forwards, with a fixed
// latency. Keeps no queues of its own: an output port's cable does, and while one is full, cables without timing hold
// their packets back. There are no credits and one data lane.
#pragma once

#include "model/management/performance.h"
#include "model/net/switch_agent.h"
#include "model/port/wire.h"
#include "traces/events.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace model::net {

struct SwitchConfig {
    SwitchAgentConfig agent;
    port::Time latency{};
};

class InfinibandSwitch {
public:
    InfinibandSwitch(const SwitchConfig& config, traces::Events events);
    InfinibandSwitch(const InfinibandSwitch&) = delete;
    InfinibandSwitch& operator=(const InfinibandSwitch&) = delete;

    /// Has port `number` (from 1) send by `out`.
    void connect(unsigned number, port::Wire& out) {
        ports_[number].out = &out;
        agent_.link_changed(number, true);
    }
    /// The receiver of what comes in at port `number`.
    port::Receiver& receiver(unsigned number) { return ports_[number]; }
    SwitchAgent& agent() { return agent_; }
    /// Called when a batch was forwarded: cables without timing deliver only when asked to.
    std::function<void()> on_forwarded;

    std::uint64_t dropped() const { return dropped_; }

private:
    struct Port final : port::Receiver {
        InfinibandSwitch* owner = nullptr;
        unsigned number = 0;
        port::Wire* out = nullptr; ///< nullptr: nothing is plugged in
        std::uint64_t packets_received = 0, bytes_received = 0, multicast_received = 0, multicast_sent = 0;
        std::uint64_t damaged = 0, not_relayed = 0, discarded = 0;
        void receive(port::Packet& packet, port::Time at) override { owner->receive(number, packet, at); }
        void received_all(port::Time) override {
            if (owner->on_forwarded)
                owner->on_forwarded();
        }
        bool can_receive(port::Time now) override { return owner->has_room(number, now); }
        void ready(port::Time at) override { received_all(at); } // what waited at the other ports goes on
        void link_changed(bool is_up, port::Time) override { owner->agent_.link_changed(number, is_up); }
    };

    void receive(unsigned ingress, port::Packet& packet, port::Time at);
    void route(unsigned ingress, port::Packet& packet, port::Time at);
    void flood(unsigned ingress, port::Packet& packet, port::Time at);
    void manage(unsigned ingress, port::Packet& packet, port::Time at);
    void manage_on_route(unsigned ingress, port::Packet& packet, port::Time at);
    void serve(unsigned ingress, port::Packet& packet, port::Time at);
    management::PortTotals totals(unsigned number) const;
    /// Returns when the last bit is out.
    port::Time send(unsigned ingress, unsigned egress, port::Packet& packet, port::Time at);
    void apply_link_changes(port::Time at);
    bool has_room(unsigned ingress, port::Time now);
    void drop(const port::Packet& packet, traces::Reason why, port::Time at);
    bool is_port(unsigned number) const {
        return number != 0 && number < ports_.size() && ports_[number].out != nullptr;
    }

    SwitchConfig config_;
    traces::Events events_;
    SwitchAgent agent_;
    management::PerformanceAgent performance_;
    std::vector<Port> ports_; ///< 0 is not used
    std::uint64_t dropped_ = 0;
};

} // namespace model::net
