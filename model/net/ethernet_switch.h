// An Ethernet switch (IEEE 802.1Q clause 8): forwards frames by destination MAC, over the ways that its table has, one
// of which each flow keeps (equal-cost multipath by addresses and UDP source port), or to the ports of a tree when it
// does not know the MAC; learns MACs from senders. Frames wait in a buffer that all ports share, in queues of eight
// priorities for each output, which take turns; it marks, pauses or drops as the buffer says. Stores and forwards, with
// a fixed latency. Without timing nothing is dropped for want of room: senders wait.
#pragma once

#include "model/net/shared_buffer.h"
#include "model/port/clock.h"
#include "model/port/wire.h"
#include "traces/events.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace model::net {

struct EthernetSwitchConfig {
    unsigned ports = 2; ///< at most 63
    port::Time latency{};
    bool is_timed = true;
    SharedBufferConfig buffer;
    std::uint64_t seed = 1; ///< of the choice of ways
};

/// What a port of the switch has counted.
struct EthernetPortCounters {
    std::uint64_t forwarded = 0, flooded = 0, dropped = 0, marked = 0, damaged = 0; ///< frames that came in
    std::uint64_t unroutable = 0;
    std::uint64_t no_link = 0; ///< of those, such as were to leave by this port when its link was down
    std::uint64_t pauses = 0;  ///< changes of what its sender has to pause
};

class EthernetSwitch {
public:
    EthernetSwitch(const EthernetSwitchConfig& config, port::Clock& clock, traces::Events events);
    EthernetSwitch(const EthernetSwitch&) = delete;
    EthernetSwitch& operator=(const EthernetSwitch&) = delete;

    /// Has port `number` (from 1) send by `out`.
    void connect(unsigned number, port::Wire& out) { ports_[number].out = &out; }
    /// The receiver of what comes in at port `number`.
    port::Receiver& receiver(unsigned number) { return ports_[number]; }
    /// Frames to this MAC leave by one of these ports, of which none is 0; none: they are dropped. A MAC that has ways
    /// is not learned.
    void set_ways(const port::MacAddress& mac, std::vector<std::uint8_t> ports);
    /// Frames to nobody known, and to groups, leave by these ports, a bit each: a tree, so that none comes twice.
    void set_tree(std::uint64_t ports) { tree_ = ports; }
    /// The clock's answer to wake_at().
    void wake(port::Time now);
    /// Called when a batch was forwarded: cables without timing deliver only when asked to.
    std::function<void()> on_forwarded;

    const EthernetPortCounters& counters(unsigned number) const { return ports_[number].counters; }
    unsigned ports() const { return config_.ports; }
    const SharedBuffer& buffer() const { return buffer_; }
    /// Frames that wait for an output.
    std::size_t waiting() const { return waiting_; }

private:
    struct Waiting {
        port::Packet packet;
        port::Time at{}; ///< it can leave from then on
        SharedBuffer::Stay stay;
        Waiting* next = nullptr;
    };
    struct Queue {
        Waiting *first = nullptr, *last = nullptr;
    };
    struct Port final : port::Receiver {
        EthernetSwitch* owner = nullptr;
        unsigned number = 0;
        port::Wire* out = nullptr; ///< nullptr: nothing is plugged in
        bool is_up = true;
        std::array<Queue, SharedBuffer::priorities> queues{};
        unsigned last_priority = 0; ///< that had its turn
        std::size_t waiting = 0;
        std::uint8_t paused = 0; ///< priorities that its sender was asked to pause
        EthernetPortCounters counters{};
        void receive(port::Packet& packet, port::Time at) override { owner->receive(number, packet, at); }
        void received_all(port::Time) override {
            if (owner->on_forwarded)
                owner->on_forwarded();
        }
        bool can_receive(port::Time) override { return owner->waiting_ < most_waiting; }
        bool keeps_packets() const override { return true; }
        void ready(port::Time at) override {
            owner->go_on(*this, at);
            received_all(at); // cables without timing deliver what found no room until now
        }
        void link_changed(bool is_up_now, port::Time at) override;
    };
    struct Leaving {
        port::Time gone{};
        std::uint64_t order = 0;
        SharedBuffer::Stay stay;
        bool operator>(const Leaving& other) const {
            return gone != other.gone ? gone > other.gone : order > other.order;
        }
    };
    static constexpr std::size_t most_waiting = 1024; ///< without timing, until senders have to wait

    void receive(unsigned ingress, port::Packet& packet, port::Time at);
    bool is_whole(Port& from, port::Packet& packet, port::Time at);
    unsigned way_of(const port::MacAddress& mac, const port::Packet& packet) const;
    void flood(unsigned ingress, port::Packet& packet, port::Time at);
    void forward(unsigned ingress, unsigned egress, port::Packet& packet, port::Time at);
    void keep(Port& to, const port::Packet& packet, const SharedBuffer::Stay& stay, port::Time at);
    void go_on(Port& to, port::Time at);
    void send(Port& to, const port::Packet& packet, const SharedBuffer::Stay& stay, port::Time at);
    Waiting* next_of(Port& to, port::Time at);
    void free(Waiting& waiting);
    void collect(port::Time now);
    void update_pause(unsigned ingress, port::Time at);
    void drop(const port::Packet& packet, traces::Reason why, port::Time at);
    bool is_port(unsigned number) const {
        return number != 0 && number < ports_.size() && ports_[number].out != nullptr && ports_[number].is_up;
    }

    EthernetSwitchConfig config_;
    port::Clock& clock_;
    traces::Events events_;
    std::vector<Port> ports_; ///< 0 is not used
    SharedBuffer buffer_;
    std::unordered_map<std::uint64_t, std::vector<std::uint8_t>> ways_; ///< by MAC
    std::unordered_map<std::uint64_t, std::uint8_t> learned_;           ///< at most as many as a small switch holds
    std::uint64_t tree_ = ~std::uint64_t{1};
    std::vector<Leaving> leaving_; ///< a heap: what is on its way out, and still in the buffer
    std::uint64_t order_ = 0;
    std::size_t waiting_ = 0;
    int paused_ports_ = 0; ///< whose senders were asked to pause
    Waiting* free_ = nullptr;
    std::vector<std::unique_ptr<Waiting[]>> blocks_;
};

} // namespace model::net
