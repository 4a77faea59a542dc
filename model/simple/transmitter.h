// The sending unit and the port behind it: makes one packet after the other, reads what it carries, and sends in the
// order in which they were begun, whichever bytes come first.
#pragma once

#include "model/port/wire.h"
#include "model/simple/config.h"
#include "model/simple/counters.h"
#include "model/simple/host_memory.h"
#include "model/simple/queue_pair.h"
#include "model/simple/regions.h"
#include "model/time/server.h"
#include "traces/events.h"

#include <cstdint>

namespace model::simple {

class Transmitter {
public:
    Transmitter(const SimpleConfig& config, port::Wire& wire, HostMemory& memory, const Regions& regions,
                Counters& counters, const traces::Events& events)
        : config_(config), wire_(wire), memory_(memory), regions_(regions), counters_(counters), events_(events),
          unit_("sending unit", 1, config.packet, time::Order::in_order) {}

    /// When the unit can begin the next packet, since it has done those before and asked for their bytes.
    port::Time free_from(port::Time now) { return std::max(unit_.free_from(0), memory_.next_read(now)); }
    bool has_room(port::Time now) { return wire_.can_send(now); }
    /// The unit works on a packet. Returns when it has done so.
    port::Time work(port::Time now, bool begins_message) {
        return unit_.use(now, begins_message ? config_.descriptor + config_.packet : config_.packet).done +
               config_.latency;
    }
    /// A packet of a connection; whoever makes it fills in the rest and sends it, or makes another one in its place.
    port::Packet& begin(const QueuePair& qp, abi::Psn psn, abi::wire::Operation operation);
    /// Reads what the packet carries from a range that the regions allow, from `at` on, which becomes the time at which
    /// it is there. False: the bus has refused it.
    bool load(port::Packet& packet, abi::Key key, std::uint64_t address, std::uint32_t length, port::Time& at);
    /// Returns when it leaves.
    port::Time send(port::Packet& packet, port::Time at);

    time::Account account() const { return unit_.account(); }

private:
    const SimpleConfig& config_;
    port::Wire& wire_;
    HostMemory& memory_;
    const Regions& regions_;
    Counters& counters_;
    const traces::Events& events_;
    time::Server unit_;
    port::Time departure_{}; ///< of the last packet
};

/// Packets that so many bytes are cut into; a message of no bytes has one.
constexpr std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu) {
    return bytes == 0 ? 1 : bytes / mtu + (bytes % mtu != 0);
}

} // namespace model::simple
