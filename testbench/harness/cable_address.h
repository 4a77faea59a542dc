// The addresses that hosts have on a RoCE cable, where nobody else gives them any. Of drivers' values alone: a program
// that knows nothing of the model has them, too.
#pragma once

#include "sw/mlx/port/address.h"

#include <cstdint>

namespace harness {

/// Of host `number`: 10.0.0.1 and .2, or 2001:db8::1 and ::2.
inline sw::mlx::Gid cable_address(unsigned number, bool is_ipv6) {
    return is_ipv6 ? sw::mlx::gid_of(0x2001'0db8'0000'0000, number + 1) : sw::mlx::gid_of_ipv4(0x0a00'0001 + number);
}

} // namespace harness
