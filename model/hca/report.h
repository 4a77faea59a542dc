// The counters and the events of one HCA, in which the rooms of the data path report what they do.
#pragma once

#include "model/hca/counters.h"
#include "model/port/packet.h"
#include "traces/events.h"

namespace model::hca {

struct Report {
    Counters& counters;
    const traces::Events& events;

    /// An RDMA packet goes no further; its sender is not told.
    void drop(const port::Packet& packet, traces::Reason reason, port::Time at) const {
        ++counters.packets_dropped;
        events.emit(at, traces::PacketDropped{packet.rdma().destination.value, packet.rdma().psn.value, reason});
    }
};

} // namespace model::hca
