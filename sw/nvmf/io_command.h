// I/O commands as a target has them: which of them it passes on to its drive, and how many bytes of data each has.
#pragma once

#include "abi/nvme/command.h"

#include <cstdint>
#include <optional>

namespace sw::nvmf {

struct Wanted {
    std::uint64_t bytes = 0;
    bool may_be_longer = false; ///< the host may have given more memory than the command uses
};
/// Nothing: it is not passed on. `block_bytes` of its namespace.
std::optional<Wanted> wanted_by(abi::ConstView<abi::nvme::Command> command, std::uint32_t block_bytes);

/// Of the optional commands that a drive has, those that are passed on; both as Identify Controller "ONCS" has them.
std::uint16_t passed_on(std::uint16_t optional);

} // namespace sw::nvmf
