// The cable as a port of the device sees it.
#pragma once

#include "model/port/packet.h"
#include "model/port/time.h"

namespace model::port {

/// Frames and bytes that have left a port.
struct Traffic {
    std::uint64_t packets = 0, bytes = 0;
};

/// What a port should have sent and has not, or not yet.
struct Hindered {
    std::uint64_t discarded = 0; ///< frames thrown away, as the link was down
    Time waited{};               ///< the line was idle, and what was there found no room at the other end
};

/// Sending side. A packet is filled in place: `auto& p = wire.next(); p.rdma().psn = ...; wire.send(at);`
class Wire {
public:
    virtual ~Wire() = default;
    /// Whether the port takes another packet at `now`. After a "no" the link calls Receiver::ready as soon as it does.
    virtual bool can_send(Time now) = 0;
    /// A cleared packet to fill: an RDMA packet, unless it is told to be a plain frame. Valid until send().
    virtual Packet& next() = 0;
    /// Puts the packet of the last next() on the wire, its first bit no earlier than `at`. Returns when its last bit is
    /// out.
    virtual Time send(Time at) = 0;
    /// How many packets of a message this port takes as one at `now`, after a can_send() that said yes; 1: one by one.
    virtual std::uint32_t train_room(Time /*now*/) const { return 1; }
    /// Turns this end of the link off, or on again (training). A link is up while both ends are on. Returns whether it
    /// is up now; when that is a change, the other end is told (Receiver::link_changed).
    virtual bool set_on(bool is_on, Time) { return is_on; }
    /// So many bytes that this end has received and kept (Receiver::keeps_packets) are gone from its buffer since `at`:
    /// the other end may send as much again as soon as it has been told (IBA 7.9).
    virtual void give_credit(std::uint64_t /*bytes*/, Time /*at*/) {}
    /// Priority flow control (IEEE 802.1Q clause 36): asks the other end to send nothing of these priorities, a bit
    /// each, from when it hears of that until it is told otherwise. Repeats of the frame, which silicon sends before
    /// its pause runs out, are left out.
    virtual void pause(std::uint8_t /*priorities*/, Time /*at*/) {}
    /// Whether the other end has asked for that. After a "yes" the link calls Receiver::ready when it ends.
    virtual bool is_paused(unsigned /*priority*/, Time /*now*/) { return false; }
    /// What was sent so far.
    virtual Traffic sent() const { return {}; }
    /// What was not sent so far.
    virtual Hindered hindered() const { return {}; }
};

/// Receiving side, implemented by a device.
class Receiver {
public:
    virtual ~Receiver() = default;
    /// One packet, whose last bit has arrived at `at`. The receiver may change the packet until it returns.
    virtual void receive(Packet& packet, Time at) = 0;
    /// No more packets for now: the moment to send coalesced acknowledgements.
    virtual void received_all(Time at) = 0;
    /// Whether packets of a cable without timing may be delivered now. After a "no" the receiver must have the
    /// cable pumped again.
    virtual bool can_receive(Time) { return true; }
    /// Whether receive() takes a Train as one packet.
    virtual bool takes_trains() const { return false; }
    /// Whether packets stay in the buffer of this end after receive(), until they are given back by give_credit().
    virtual bool keeps_packets() const { return false; }
    /// The other end has turned the link off, or on again.
    virtual void link_changed(bool /*is_up*/, Time) {}
    /// The port takes packets again (see Wire::can_send and Wire::is_paused).
    virtual void ready(Time at) = 0;
};

} // namespace model::port
