// A cable between two ports. Receives filled packets, RDMA or plain frames, at either end and gives them to the
// receiver at the other, in order, after serialisation and latency, or not as a seeded script of faults has it; every
// packet is counted once as delivered, lost or still under way. Either end may let the link go; it trains again in no
// time. A cable that breaks loses what is on it. On a timed InfiniBand link a data packet leaves only when the buffer
// at the other end has room for it (IBA 7.9); management has a lane of its own without that (7.9.1). On a timed
// Ethernet link either end may pause priorities of the other. Does not look into packets and knows no switch and no
// card.
#pragma once

#include "model/port/clock.h"
#include "model/port/wire.h"

#include "traces/events.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace model::net {

struct LinkConfig {
    /// False: packets arrive when they are sent, and pump() delivers until both sides are quiet.
    bool timed = true;
    /// Kind of the link; which IP version a RoCE packet has is the packet's business.
    port::Encapsulation encapsulation = port::Encapsulation::roce_v2_ipv4;
    port::Time latency = std::chrono::nanoseconds{500}; ///< propagation, one way
    double rate_gbps = 100;                             ///< 0: serialisation costs no time
    /// How far ahead of now a port may book its transmitter, by the length of what it sends. Bytes that are still on
    /// the way from memory make a packet later, and no difference here: how many are, the tags of the function decide.
    port::Time horizon = std::chrono::microseconds{2};
    /// Packets that arrive so soon are delivered together with the present ones, each with its own time; at most half
    /// of the latency counts.
    port::Time quantum = std::chrono::nanoseconds{250};
    /// Packets of one direction at which the port refuses more; 0: 256 untimed, 16384 timed.
    std::uint32_t max_under_way = 0;
    /// Receive buffer of each end of a timed InfiniBand link, in blocks of 64 bytes: what may be sent before room in it
    /// is granted again. The default is the most that IBA 7.9.4 can grant; a link needs rate x round trip. 0: no flow
    /// control.
    std::uint32_t credit_blocks = 2048;
    /// How much may wait at a port for such room before it takes no more, in time of its line.
    port::Time backlog = std::chrono::microseconds{10};

    double loss = 0, duplicate = 0, reorder = 0, corrupt = 0; ///< probability for a packet
    std::uint32_t reorder_depth = 8;                          ///< a held packet lets 1 to so many later ones pass
    port::Time reorder_delay = std::chrono::microseconds{10}; ///< and is held no longer than so
    std::uint64_t seed = 1;
    bool exact_bytes = false; ///< every packet crosses as its frame; otherwise only corrupted and tapped ones do

    /// What counts so soon, an end may know now: of packets, credits and pauses that come by the cable. The rest of the
    /// latency is what the two ends can be simulated apart.
    port::Time early() const { return std::min(quantum, latency / 2); }
};

/// What one direction has carried. At any time packets + duplicated == delivered + lost + refused + under way.
struct LinkCounters {
    std::uint64_t packets = 0, bytes = 0; ///< sent, faults included
    std::uint64_t delivered = 0, lost = 0, duplicated = 0, reordered = 0, corrupted = 0;
    std::uint64_t refused = 0;   ///< dropped, as the sender ignored can_send() up to four times the limit
    std::uint64_t discarded = 0; ///< not sent at all: the link was down, or is InfiniBand and this a plain frame
    std::uint64_t pauses = 0;    ///< frames that asked the other end to pause, or to go on
    std::uint64_t cut = 0;       ///< of those lost: the cable broke under them
    port::Time waited{};         ///< the line was idle, and what was there to be sent found no room at the other end
    bool operator==(const LinkCounters&) const = default;
};

/// Sees every frame as it leaves a port, before the script of faults.
class Tap {
public:
    virtual ~Tap() = default;
    /// direction: number of the sending end; at: its last bit leaves the port.
    virtual void on_frame(std::span<const std::byte> frame, unsigned direction, port::Time at) = 0;
};

/// Has what crosses a cable of which another process has the other end (Link::cut).
class FarEnd {
public:
    virtual ~FarEnd() = default;
    /// A packet has been put on the line, and its last bit arrives at `arrival`. Valid until this returns.
    virtual void on_packet(const port::Packet& packet, port::Time arrival) = 0;
    /// The other end's sender hears at `at` of room for so many bytes.
    virtual void on_credit(std::uint64_t bytes, port::Time at) = 0;
    /// The other end's sender hears at `at` which priorities are paused.
    virtual void on_pause(std::uint8_t priorities, port::Time at) = 0;
    /// This end has turned the link off or on, which the other end would know at once.
    virtual void on_turned(bool is_on) = 0;
};

class Link {
public:
    Link(const LinkConfig& config, port::Clock& clock, traces::Events events);
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link();

    /// The sending side of end 0 or 1.
    port::Wire& end(unsigned i);
    /// Sets the receiver at end `i`. Both ends need one before the first pump().
    void attach(unsigned i, port::Receiver& receiver);
    /// Delivers what has arrived by `now`, to both sides, until quiet; tells refused senders when there is room again.
    /// Returns at once when called from inside a delivery.
    void pump(port::Time now);
    /// The clock's answer to wake_at().
    void wake(port::Time now);
    /// Has a timed cable break at `at`, or be whole again: what has not arrived by then is lost, and both ends are
    /// told. To be said before `at`, in the order of the times, since packets may be delivered ahead of now.
    void plan_break(bool is_broken, port::Time at);
    /// A second tap replaces the first; nullptr removes it.
    void set_tap(Tap* tap) { tap_ = tap, needs_image_ = config_.exact_bytes || tap != nullptr; }

    /// From now on only end `near` of a timed cable is here, and its device; `far` takes what goes to the other end,
    /// whose device gets nothing. Both ends are attached. What comes from there is told by take_packet(), take_credit()
    /// and take_pause(), no later than LinkConfig::early() before it counts. Faults that change the order, and breaks,
    /// are not for such a cable.
    void cut(unsigned near, FarEnd& far);
    /// `packet` arrives at the near end at `arrival`, behind what was told before and arrives as late.
    void take_packet(const port::Packet& packet, port::Time arrival);
    void take_credit(std::uint64_t bytes, port::Time at);
    void take_pause(std::uint8_t priorities, port::Time at);
    /// Of a direction whose sender is at the far end only `delivered` counts.
    const LinkCounters& counters(unsigned direction) const;
    std::size_t under_way(unsigned direction) const;
    /// How long the line of a direction is busy with what it has been given, from `now` on.
    port::Time backlog(unsigned direction, port::Time now) const;
    const LinkConfig& config() const { return config_; }

private:
    struct Slot;
    struct Held;
    class Lane;
    struct Change {
        unsigned end; ///< that is to be told
        bool is_up;
        port::Time at;
    };

    struct Break {
        bool is_broken;
        port::Time at;
    };

    bool set_on(unsigned end, bool is_on, port::Time at);
    bool take_break(port::Time now);
    /// Until when packets may be delivered at `now`.
    port::Time deliverable(port::Time now) const;
    bool tell(port::Time until);
    bool deliver(port::Time now, port::Time until);
    bool offer_room(port::Time now);
    /// What end `from` has received and kept is out of its buffer since `at`.
    void free_room(unsigned from, std::uint64_t bytes, port::Time at);
    /// End `from` asks the other end at `at` to pause these priorities.
    void pause(unsigned from, std::uint8_t priorities, port::Time at);
    void wake_at(port::Time at);

    LinkConfig config_;
    port::Clock& clock_;
    traces::Events events_;
    std::uint64_t ps_per_byte_q16_; ///< picoseconds a byte, in 1/65536
    Tap* tap_ = nullptr;
    bool needs_image_, has_faults_;
    bool is_pumping_ = false;
    bool is_up_ = true;
    bool is_broken_ = false;
    std::array<bool, 2> is_on_{true, true};
    std::deque<Break> breaks_;   ///< to come
    std::deque<Change> changes_; ///< that an end has yet to be told
    port::Time next_wake_ = port::never;
    FarEnd* far_ = nullptr; ///< of a cable that is cut
    unsigned near_ = 0;
    std::array<std::unique_ptr<Lane>, 2> lanes_;
};

} // namespace model::net
