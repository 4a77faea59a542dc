#include "sw/nvmf/io_command.h"

#include "abi/nvme/identify.h"
#include "abi/nvme/opcode.h"

#include <algorithm>
#include <array>

namespace sw::nvmf {

using abi::nvme::IoOpcode;
using abi::nvme::OptionalIo;

namespace {

enum class Data : std::uint8_t { none, blocks, ranges };

/// A command that is passed on.
struct Row {
    IoOpcode opcode;
    Data data;
    std::optional<OptionalIo> option{}; ///< none: every drive has it
};
constexpr std::array rows{
    Row{IoOpcode::flush, Data::none},
    Row{IoOpcode::write, Data::blocks},
    Row{IoOpcode::read, Data::blocks},
    Row{IoOpcode::write_uncorrectable, Data::none, OptionalIo::write_uncorrectable},
    Row{IoOpcode::compare, Data::blocks, OptionalIo::compare},
    Row{IoOpcode::write_zeroes, Data::none, OptionalIo::write_zeroes},
    Row{IoOpcode::dataset_management, Data::ranges, OptionalIo::dataset_management},
    Row{IoOpcode::verify, Data::none, OptionalIo::verify},
};

} // namespace

std::optional<Wanted> wanted_by(abi::ConstView<abi::nvme::Command> command, std::uint32_t block_bytes) {
    const auto row = std::ranges::find(rows, static_cast<IoOpcode>(command.get<"opcode">()), &Row::opcode);
    if (row == rows.end())
        return std::nullopt;
    switch (row->data) {
    case Data::none: break;
    case Data::blocks:
        return Wanted{(abi::ConstView<abi::nvme::ReadWrite>(command.bytes()).get<"nlb">() + std::uint64_t{1}) *
                      block_bytes};
    case Data::ranges:
        return Wanted{(abi::ConstView<abi::nvme::DatasetManagement>(command.bytes()).get<"nr">() + std::uint64_t{1}) *
                          abi::nvme::DsmRange::size,
                      true};
    }
    return Wanted{};
}

std::uint16_t passed_on(std::uint16_t optional) {
    unsigned known = 0;
    for (const auto& row : rows)
        known |= row.option ? static_cast<unsigned>(*row.option) : 0;
    return static_cast<std::uint16_t>(optional & known);
}

} // namespace sw::nvmf
