#include "sw/nvmf/capsule.h"

#include "abi/nvme/opcode.h"

namespace sw::nvmf {

using abi::nvme::Command;
using abi::nvme::DataPointerType;
using abi::nvme::KeyedSglDescriptor;
using abi::nvme::sgl1_offset;
using abi::nvme::SglDescriptor;
using abi::nvme::SglSubtype;
using abi::nvme::SglType;
using abi::nvme::Status;

Flow flow_of(abi::ConstView<Command> command) {
    const auto opcode = command.get<"opcode">();
    const bool is_fabrics = opcode == static_cast<std::uint8_t>(abi::nvme::AdminOpcode::fabrics);
    const auto direction =
        (is_fabrics ? abi::ConstView<abi::nvme::FabricsCommand>(command.bytes()).get<"fctype">() : opcode) & 3u;
    // Both ways at once is a direction that no command here has.
    return direction == 0 ? Flow::none : direction == 1 ? Flow::to_controller : Flow::from_controller;
}

void point_to_host(abi::View<Command> command, const RemoteMemory& memory) {
    command.set<"psdt">(DataPointerType::sgl_metadata_buffer);
    abi::View<KeyedSglDescriptor>(command.bytes().subspan(sgl1_offset))
        .set<"address">(memory.address)
        .set<"length">(memory.bytes)
        .set<"key">(memory.key)
        .set<"subtype">(SglSubtype::address)
        .set<"type">(SglType::keyed);
}

void point_into_capsule(abi::View<Command> command, std::uint32_t bytes) {
    command.set<"psdt">(DataPointerType::sgl_metadata_buffer);
    abi::View<SglDescriptor>(command.bytes().subspan(sgl1_offset))
        .set<"address">(0)
        .set<"length">(bytes)
        .set<"subtype">(static_cast<std::uint32_t>(SglSubtype::offset))
        .set<"type">(SglType::data_block);
}

std::expected<CapsuleData, Status> data_of(abi::ConstView<Command> command, std::uint64_t room) {
    // PRP entries mean nothing on a wire.
    if (command.get<"psdt">() != DataPointerType::sgl_metadata_buffer)
        return std::unexpected(Status::invalid_field);
    const auto bytes = command.bytes().subspan(sgl1_offset, SglDescriptor::size);
    const abi::ConstView<KeyedSglDescriptor> keyed{bytes};
    const auto subtype = keyed.get<"subtype">();
    if (keyed.get<"type">() == SglType::keyed) {
        // A host that would have its key invalidated does that itself when no response has done it.
        if (subtype != SglSubtype::address && subtype != SglSubtype::invalidate)
            return std::unexpected(Status::invalid_sgl_type);
        return CapsuleData{
            .bytes = keyed.get<"length">(),
            .memory = {.address = keyed.get<"address">(), .bytes = keyed.get<"length">(), .key = keyed.get<"key">()}};
    }
    if (keyed.get<"type">() != SglType::data_block || subtype != SglSubtype::offset)
        return std::unexpected(Status::invalid_sgl_type);
    const abi::ConstView<SglDescriptor> block{bytes};
    const auto offset = block.get<"address">();
    if (offset > room || block.get<"length">() > room - offset)
        return std::unexpected(Status::invalid_sgl_offset);
    return CapsuleData{.is_in_capsule = true, .offset = offset, .bytes = block.get<"length">()};
}

} // namespace sw::nvmf
