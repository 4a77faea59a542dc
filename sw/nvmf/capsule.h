// Where the data of a command capsule are: behind the command, or in memory of the host that the controller reaches by
// a key (NVMe over RDMA transport 1.0 "Data Transfer Mechanism", "Keyed SGL Data Block"). Writes and reads the SGL
// descriptor of a command; touches no data.
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/fabrics.h"
#include "abi/nvme/status.h"

#include <cstdint>
#include <expected>

namespace sw::nvmf {

/// Memory of the host, as its controller is told of it.
struct RemoteMemory {
    std::uint64_t address = 0;
    std::uint32_t bytes = 0, key = 0;
};

struct CapsuleData {
    bool is_in_capsule = false;
    std::uint64_t offset = 0; ///< behind the command, where it is in the capsule
    std::uint32_t bytes = 0;
    RemoteMemory memory{}; ///< where it is not
};

/// Which way data of a command go (NVMe base 2.0 "Opcode": the two lowest bits; of Fabrics commands, of their type).
enum class Flow : std::uint8_t { none, to_controller, from_controller };
Flow flow_of(abi::ConstView<abi::nvme::Command> command);

/// What a keyed data block has room for.
inline constexpr std::uint32_t most_pointed_bytes =
    (1u << (abi::nvme::KeyedSglDescriptor::field<"length">::high + 1)) - 1;
/// `memory.bytes` is at most that.
void point_to_host(abi::View<abi::nvme::Command> command, const RemoteMemory& memory);
/// The data begin where the command ends.
void point_into_capsule(abi::View<abi::nvme::Command> command, std::uint32_t bytes);

/// What a host has written; `room`: bytes that came behind the command, or may come there. Statuses as NVMe base 2.0
/// "SGL Descriptor" has them.
std::expected<CapsuleData, abi::nvme::Status> data_of(abi::ConstView<abi::nvme::Command> command, std::uint64_t room);

} // namespace sw::nvmf
