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

std::uint32_t Event::read(std::uint32_t index) const {
    const std::array<std::uint64_t, register_count> values{control_.value(), data_.value(), address_.value(),
                                                           upper_address_.value()};
    return static_cast<std::uint32_t>(values[index]);
}

void Event::write(std::uint32_t index, std::uint32_t value, port::Time at) {
    switch (index) {
    case 0: return write_control(value, at);
    case 1: data_ = data_.written({value}); return;
    case 2: address_ = address_.written({value}); return;
    default: upper_address_ = upper_address_.written({value}); return;
    }
}

void Event::write_control(std::uint32_t value, port::Time at) {
    control_ = control_.written({value});
    if (!control_.get<"im">() && control_.get<"ip">()) {
        control_.set<"ip">(false);
        send(at);
    }
}

void Event::send(port::Time at) {
    std::array<std::byte, 4> message;
    abi::store<std::uint32_t, abi::Endian::little>(message.data(), read(1));
    memory_.write(abi::BusAddress{upper_address_.get<"mua">() << 32 | address_.get<"ma">()}, message, at);
}

} // namespace model::iommu
