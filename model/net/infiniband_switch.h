// An InfiniBand switch (IBA chapter 18): forwards packets by destination LID, multicast to every port of the group, and
// subnet management by the route that the packet itself carries (IBA 14.2.2). Stores and forwards, with a fixed
// latency. A packet that its output does not take waits in the buffer of its input, whose room the sender is granted
// anew when the packet has left (IBA 7.9); nothing is dropped for want of room. There is one data lane. With timing, a
// packet that is at the head of its queue for too long is discarded (HOQLife, IBA 18.2.5.4), so that a deadlock, or a
// host that takes nothing, ends with loss. How long it was in the switch in all (SwitchInfo:LifeTimeValue) is not
// looked at.
#pragma once

#include "model/management/performance.h"
#include "model/net/credits.h"
#include "model/net/input_buffers.h"
#include "model/net/link.h"
#include "model/net/switch_agent.h"
#include "model/port/clock.h"
#include "model/port/wire.h"
#include "traces/events.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace model::net {

struct SwitchConfig {
    SwitchAgentConfig agent;
    port::Time latency{};
    /// Packets of reliable connections go by the least busy of the ways that set_ways() has given, each by itself.
    bool is_adaptive = false;
    bool is_timed = true; ///< packets become too old
};

class InfinibandSwitch {
public:
    /// Without `clock` no packet is ever too old.
    InfinibandSwitch(const SwitchConfig& config, traces::Events events, port::Clock* clock = nullptr);
    InfinibandSwitch(const InfinibandSwitch&) = delete;
    InfinibandSwitch& operator=(const InfinibandSwitch&) = delete;

    /// Has port `number` (from 1) send by `out`. Its own buffer has so many blocks of 64 bytes. `counters`: of what it
    /// sends, for the performance agent, where somebody counts that.
    void connect(unsigned number, port::Wire& out, std::uint32_t buffer_blocks = Credits::most,
                 const LinkCounters* counters = nullptr) {
        ports_[number].out = &out;
        ports_[number].counters = counters;
        buffers_.set_size(number, buffer_blocks);
        agent_.link_changed(number, true);
    }
    /// The receiver of what comes in at port `number`.
    port::Receiver& receiver(unsigned number) { return ports_[number]; }
    SwitchAgent& agent() { return agent_; }
    /// The clock's answer to wake_at(): discards what is too old by now.
    void wake(port::Time now);
    /// What port `number` sends by, for the choice of ways: end `end` of a cable. Else its queue here alone counts.
    void set_link(unsigned number, const Link& link, unsigned end) {
        ports_[number].link = &link;
        ports_[number].end = end;
    }
    /// Ports that lead to a unicast LID and are as good, of which the table of the agent has one.
    void set_ways(std::uint16_t to, std::vector<std::uint8_t> ports) {
        if (ways_.size() <= to)
            ways_.resize(to + std::size_t{1});
        ways_[to] = std::move(ports);
    }
    /// Called when a batch was forwarded: cables without timing deliver only when asked to.
    std::function<void()> on_forwarded;

    std::uint64_t dropped() const { return dropped_; }
    /// Packets that were to leave by port `number` when it carried no data (PortXmitDiscards, IBA 16.1.3.5).
    std::uint64_t discarded(unsigned number) const { return ports_[number].discarded; }
    /// Of these, packets that were too old, or came while their lane was stalled.
    std::uint64_t outlived(unsigned number) const { return ports_[number].outlived; }
    /// Packets that wait for an output.
    std::size_t waiting() const { return buffers_.count(); }

private:
    struct Port final : port::Receiver {
        InfinibandSwitch* owner = nullptr;
        unsigned number = 0;
        port::Wire* out = nullptr; ///< nullptr: nothing is plugged in
        const LinkCounters* counters = nullptr;
        const Link* link = nullptr; ///< that `out` is end `end` of
        unsigned end = 0;
        std::uint64_t packets_received = 0, bytes_received = 0, multicast_received = 0, multicast_sent = 0;
        std::uint64_t damaged = 0, not_relayed = 0, discarded = 0, outlived = 0;
        port::Time head_since{};    ///< the packet that leaves next, where one waits, is at the head since then
        port::Time stalled_until{}; ///< the lane is in the state VLStalled
        unsigned outlived_in_row = 0;
        void receive(port::Packet& packet, port::Time at) override { owner->receive(number, packet, at); }
        void received_all(port::Time) override {
            if (owner->on_forwarded)
                owner->on_forwarded();
        }
        bool can_receive(port::Time) override { return owner->buffers_.has_room(number, Credits::largest_packet); }
        bool keeps_packets() const override { return true; }
        void ready(port::Time at) override {
            owner->go_on(number, at);
            received_all(at); // cables without timing deliver what found no room until now
        }
        void link_changed(bool is_up, port::Time at) override {
            owner->agent_.link_changed(number, is_up);
            if (!is_up)
                owner->discard_waiting(number, "the port is not armed", at);
        }
    };

    void receive(unsigned ingress, port::Packet& packet, port::Time at);
    void handle(unsigned ingress, port::Packet& packet, port::Time at);
    void route(unsigned ingress, port::Packet& packet, port::Time at);
    bool is_too_long(unsigned egress, const port::Packet& packet, port::Time at);
    unsigned way_of(unsigned ingress, const port::Packet& packet, port::Time at);
    void flood(unsigned ingress, port::Packet& packet, port::Time at);
    void manage(unsigned ingress, port::Packet& packet, port::Time at);
    void manage_on_route(unsigned ingress, port::Packet& packet, port::Time at);
    void serve(unsigned ingress, port::Packet& packet, port::Time at);
    management::PortTotals totals(unsigned number) const;
    void send_or_keep(unsigned egress, port::Packet& packet, port::Time at);
    void go_on(unsigned egress, port::Time at);
    void discard_waiting(unsigned egress, traces::Reason why, port::Time at);
    void discard_first(unsigned egress, traces::Reason why, port::Time at);
    void watch_head(unsigned egress, port::Time at);
    void watch_heads(port::Time at);
    void end_lives(unsigned egress, port::Time now);
    port::Time end_of_life(unsigned egress) const;
    /// Returns when the last bit is out.
    port::Time send(unsigned ingress, unsigned egress, const port::Packet& packet, port::Time at);
    void apply_changes(port::Time at);
    void drop(const port::Packet& packet, traces::Reason why, port::Time at);
    bool is_port(unsigned number) const {
        return number != 0 && number < ports_.size() && ports_[number].out != nullptr;
    }

    SwitchConfig config_;
    traces::Events events_;
    port::Clock* clock_;
    port::Time looks_at_ = port::never; ///< at what is too old
    SwitchAgent agent_;
    management::PerformanceAgent performance_;
    std::vector<Port> ports_; ///< 0 is not used
    InputBuffers buffers_;
    std::vector<std::vector<std::uint8_t>> ways_; ///< by LID
    std::size_t turn_ = 0;                        ///< of ways that are equally busy
    Stay arriving_;                               ///< of the packet that comes in
    Stay* arrived_ = nullptr;                     ///< as the buffer has it, when a copy of it waits
    std::uint64_t dropped_ = 0;
};

} // namespace model::net
