#include "model/iommu/event.h"

#include "abi/layout.h"

#include <array>

namespace model::iommu {

void Event::raise(port::Time at) {
    if (control_.get<"im">())
        control_.set<"ip">(true);
    else
        send(at);
}

void Event::write_control(std::uint32_t value, port::Time at) {
    control_.set<"im">(abi::iommu::EventControl{value}.get<"im">());
    if (!control_.get<"im">() && control_.get<"ip">()) {
        control_.set<"ip">(false);
        send(at);
    }
}

void Event::send(port::Time at) {
    std::array<std::byte, 4> message;
    abi::store<std::uint32_t, abi::Endian::little>(message.data(), data);
    memory_.write(abi::BusAddress{std::uint64_t{upper_address} << 32 | address}, message, at);
}

} // namespace model::iommu
