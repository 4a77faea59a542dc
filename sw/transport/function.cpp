#include "sw/transport/function.h"

#include "abi/layout.h"
#include "abi/pcie/config_space.h"

#include <fmt/format.h>

#include <cerrno>

namespace sw::transport {
namespace {

using abi::pcie::CommonHeader;

constexpr std::uint16_t id_at = CommonHeader::field<"vendor_id">::offset;
constexpr std::uint16_t command_at = CommonHeader::field<"bus_master_enable">::offset;

/// The header with one of its words as configuration space has it now.
abi::Block<CommonHeader> read_word(Transport& transport, std::uint16_t at, unsigned bytes) {
    abi::Block<CommonHeader> header;
    abi::store<std::uint32_t, abi::Endian::little>(header.bytes.data() + at, transport.config_read(at, bytes));
    return header;
}

/// Writes the command register alone: the status register beside it clears what is written as one.
void write_command(Transport& transport, const abi::Block<CommonHeader>& header) {
    transport.config_write(command_at, 2,
                           abi::load<std::uint16_t, abi::Endian::little>(header.bytes.data() + command_at));
}

} // namespace

Result<FunctionId> enable_function(Transport& transport) {
    const auto identity = read_word(transport, id_at, 4);
    const FunctionId id{identity.view().get<"vendor_id">(), identity.view().get<"device_id">()};
    if (id.vendor == 0xffff)
        return failure(ENODEV, "enable PCIe function: configuration space reads all ones, nothing answers");
    auto wanted = read_word(transport, command_at, 2);
    wanted.view().set<"memory_space_enable">(true).set<"bus_master_enable">(true);
    write_command(transport, wanted);
    const auto now = read_word(transport, command_at, 2);
    if (!now.view().get<"memory_space_enable">() || !now.view().get<"bus_master_enable">())
        return failure(EIO,
                       fmt::format("enable PCIe function {:04x}:{:04x}: memory space {}, bus master {} after both were "
                                   "switched on",
                                   id.vendor, id.device, now.view().get<"memory_space_enable">(),
                                   now.view().get<"bus_master_enable">()));
    return id;
}

void disable_function(Transport& transport) {
    auto header = read_word(transport, command_at, 2);
    header.view().set<"bus_master_enable">(false);
    write_command(transport, header);
}

} // namespace sw::transport
