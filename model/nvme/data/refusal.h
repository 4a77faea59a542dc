// Why a command is refused: its status, whether a retry would be refused, too, and which of its parameters is wrong.
#pragma once

#include "abi/layout.h"
#include "abi/nvme/log.h"
#include "abi/nvme/status.h"

#include <cstdint>

namespace model::nvme {

using abi::nvme::Status;

using abi::nvme::no_parameter;

/// Byte of the command in bits 7:0, bit of that byte in bits 10:8.
constexpr std::uint16_t parameter(std::size_t byte, unsigned bit = 0) {
    return static_cast<std::uint16_t>(bit << 8 | byte);
}
/// The place of a field of a command.
template <class Layout, abi::Name Field> constexpr std::uint16_t parameter_of() {
    using Row = typename Layout::template field<Field>;
    return parameter(Row::offset + Row::low / 8, Row::low % 8);
}

struct Refusal {
    Status status = Status::success;
    bool dnr = false; ///< "do not retry"
    std::uint16_t parameter = no_parameter;
    constexpr bool is_ok() const { return status == Status::success; }
    bool operator==(const Refusal&) const = default;
};

/// What is wrong with the command stays wrong.
constexpr Refusal refuse(Status status, std::uint16_t where = no_parameter) { return {status, true, where}; }
/// What went wrong may go well the next time.
constexpr Refusal fail(Status status, std::uint16_t where = no_parameter) { return {status, false, where}; }

} // namespace model::nvme
