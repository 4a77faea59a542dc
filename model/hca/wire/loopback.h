// The way back inside the port: a packet to the port's own address never reaches the cable (IBA 17.2.3, loopback). Stands
// between the core and its cable; what turns round goes over a link of its own and arrives at the same core.
#pragma once

#include "model/net/link.h"
#include "model/port/wire.h"

namespace model::hca::wire {

class Loopback final : public port::Wire {
public:
    /// `inside` has the core at both ends.
    Loopback(port::Wire& cable, net::Link& inside) : cable_(cable), inside_(inside.end(0)) {}

    bool can_send(port::Time now) override { return cable_.can_send(now) && inside_.can_send(now); }
    port::Packet& next() override { return *(filling_ = &cable_.next()); }
    port::Time send(port::Time at) override {
        if (!is_to_self(filling_->path)) [[likely]]
            return cable_.send(at);
        inside_.next() = *filling_; // the cable's slot is filled anew for the next packet
        return inside_.send(at);
    }
    void settle() override {
        cable_.settle();
        inside_.settle();
    }

private:
    static bool is_to_self(const port::Path& path) {
        if (path.encapsulation == port::Encapsulation::infiniband)
            return path.destination_lid == path.source_lid;
        return path.destination_mac == path.source_mac;
    }

    port::Wire& cable_;
    port::Wire& inside_;
    port::Packet* filling_ = nullptr;
};

} // namespace model::hca::wire
