// What a command's answer means to the driver: delivery status and command status as errno and words (PRM "Command
// interface").
#pragma once

#include "abi/prm/command.h"
#include "abi/prm/opcodes.h"
#include "sw/base/result.h"

#include <cstdint>

namespace sw::mlx {

/// Error of a command the device took but did not fetch or answer properly: what the entry itself says.
Error delivery_error(abi::prm::Opcode opcode, abi::prm::DeliveryStatus status);

/// Error of a command the device refused, with the names of command and status and the vendor's syndrome.
Error command_error(abi::prm::Opcode opcode, std::uint16_t op_mod, abi::prm::Status status, std::uint32_t syndrome);

} // namespace sw::mlx
