#include "sw/mlx/command/status.h"

#include <fmt/format.h>

#include <cerrno>
#include <string>

namespace sw::mlx {
namespace {

using abi::prm::DeliveryStatus;
using abi::prm::Opcode;
using abi::prm::Status;

int errno_of(Status status) {
    switch (status) {
    case Status::ok: return 0;
    case Status::bad_operation:
    case Status::bad_parameter:
    case Status::bad_resource:
    case Status::bad_resource_state:
    case Status::bad_index:
    case Status::bad_qp_state:
    case Status::bad_packet:
    case Status::bad_size_outstanding_cqes: return EINVAL;
    case Status::resource_busy: return EBUSY;
    case Status::not_ready:
    case Status::no_resources: return EAGAIN;
    case Status::limits_exceeded: return ENOMEM;
    case Status::internal_error:
    case Status::bad_system_state:
    case Status::bad_input_length:
    case Status::bad_output_length: return EIO;
    }
    return EIO; // a status newer than this driver
}

/// The name of a value, or its number when it has none.
template <class E> std::string words(E value) {
    const auto text = name(value);
    return text.empty() ? fmt::format("{:#x}", static_cast<unsigned>(value)) : std::string(text);
}

} // namespace

Error delivery_error(Opcode opcode, DeliveryStatus status) {
    return {EIO,
            fmt::format("{}: not delivered: {} ({:#x})", words(opcode), words(status), static_cast<unsigned>(status))};
}

Error command_error(Opcode opcode, std::uint16_t op_mod, Status status, std::uint32_t syndrome) {
    return {errno_of(status), fmt::format("{} op_mod {:#x}: {} ({:#x}), syndrome {:#010x}", words(opcode), op_mod,
                                          words(status), static_cast<unsigned>(status), syndrome)};
}

} // namespace sw::mlx
