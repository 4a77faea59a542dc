// Where packets leave: by the cable, or by the way inside the port that leads back to the port itself (IBA 17.2.3,
// loopback). A connection's outlet is chosen when its path is set, a datagram's with its work request.
#pragma once

#include "abi/wire/infiniband.h"
#include "model/port/wire.h"

#include <cstddef>

namespace model::hca::wire {

class Outlets {
public:
    /// `inside`: both of its ends are this port; nullptr: everything goes by the cable.
    Outlets(port::Wire& cable, port::Wire* inside) : cable_(cable), inside_(inside) {}

    port::Wire& cable() { return cable_; }
    /// nullptr: there is no way inside.
    port::Wire* inside() {
        is_inside_used_ = inside_ != nullptr;
        return inside_;
    }
    port::Wire& to(const port::Path& path) {
        if (!is_to_self(path)) [[likely]]
            return cable_;
        auto* way = inside();
        return way != nullptr ? *way : cable_;
    }
    bool can_send(port::Time now) { return cable_.can_send(now) && (!is_inside_used_ || inside_->can_send(now)); }
    /// See Wire::settle.
    void settle() {
        cable_.settle();
        if (is_inside_used_)
            inside_->settle();
    }

private:
    static bool is_to_self(const port::Path& path) {
        if (path.encapsulation == port::Encapsulation::infiniband)
            return path.destination_lid == path.source_lid && path.destination_lid != 0 && path.destination_lid != abi::wire::permissive_lid;
        return path.destination_mac == path.source_mac && path.destination_mac != port::MacAddress{};
    }

    port::Wire& cable_;
    port::Wire* inside_;
    bool is_inside_used_ = false;
};

} // namespace model::hca::wire
