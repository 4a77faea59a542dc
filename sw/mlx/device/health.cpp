#include "sw/mlx/device/health.h"

#include <fmt/format.h>

#include <cerrno>

namespace sw::mlx {

using abi::prm::NicInterface;

Result<void> Health::look() {
    last_look_ = transport_.now();
    if (buffer_.get<"fw_version">() == ~0u)
        return failure(ENODEV, "device does not answer: its firmware version reads all ones");
    if (const auto interface = segment_.get<"nic_interface">();
        interface == NicInterface::disabled || interface == NicInterface::sw_reset)
        return failure(EIO, fmt::format("device has taken its interface away: {}", name(interface)));
    syndrome_ = static_cast<std::uint8_t>(buffer_.get<"synd">());
    if (syndrome_ != 0 && buffer_.get<"rfr">())
        return failure(EIO, fmt::format("device asks for a reset: health syndrome {:#04x}, extended {:#06x}", syndrome_,
                                        buffer_.get<"ext_synd">()));
    const auto counter = segment_.get<"health_counter">();
    misses_ = counter == last_counter_ ? misses_ + 1 : 0;
    last_counter_ = counter;
    return {};
}

Result<void> Health::look_now_and_then() { return transport_.now() - last_look_ < period ? Result<void>{} : look(); }

} // namespace sw::mlx
