// Windows as tests of what a window lets through have them.
#pragma once

#include "model/hca/congestion/config.h"

#include <chrono>
#include <cstdint>

namespace windows {

inline constexpr std::uint32_t mtu = 1024;

/// One that stays what it is, unless something is lost: no delay is too long, and none adds much.
inline model::hca::congestion::SwiftConfig fixed(double window) {
    model::hca::congestion::SwiftConfig config;
    config.base_target = std::chrono::milliseconds(100);
    config.increase = 0.001;
    config.first_window = window;
    return config;
}

} // namespace windows
