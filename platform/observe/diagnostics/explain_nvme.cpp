// Paragraphs about what an NVMe controller refuses, passes over, and fails of.
#include "abi/nvme/command.h"
#include "abi/nvme/registers.h"
#include "abi/print.h"
#include "platform/observe/diagnostics/explain.h"

#include <fmt/format.h>

#include <array>

namespace platform::observe::diagnostics {
namespace {

using abi::layout_info;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;

template <class Opcode> struct CommandLayout {
    Opcode opcode;
    const abi::LayoutInfo* layout;
};
constexpr auto admin_layouts = std::to_array<CommandLayout<AdminOpcode>>({
    {AdminOpcode::delete_sq, &layout_info<abi::nvme::DeleteQueue>},
    {AdminOpcode::delete_cq, &layout_info<abi::nvme::DeleteQueue>},
    {AdminOpcode::create_sq, &layout_info<abi::nvme::CreateSq>},
    {AdminOpcode::create_cq, &layout_info<abi::nvme::CreateCq>},
    {AdminOpcode::get_log_page, &layout_info<abi::nvme::GetLogPage>},
    {AdminOpcode::identify, &layout_info<abi::nvme::Identify>},
    {AdminOpcode::abort, &layout_info<abi::nvme::Abort>},
    {AdminOpcode::set_features, &layout_info<abi::nvme::Features>},
    {AdminOpcode::get_features, &layout_info<abi::nvme::Features>},
    {AdminOpcode::namespace_management, &layout_info<abi::nvme::NamespaceManagement>},
    {AdminOpcode::namespace_attachment, &layout_info<abi::nvme::NamespaceAttachment>},
    {AdminOpcode::device_self_test, &layout_info<abi::nvme::DeviceSelfTest>},
    {AdminOpcode::format_nvm, &layout_info<abi::nvme::FormatNvm>},
    {AdminOpcode::sanitize, &layout_info<abi::nvme::Sanitize>},
});
constexpr auto io_layouts = std::to_array<CommandLayout<IoOpcode>>({
    {IoOpcode::read, &layout_info<abi::nvme::ReadWrite>},
    {IoOpcode::write, &layout_info<abi::nvme::ReadWrite>},
    {IoOpcode::compare, &layout_info<abi::nvme::ReadWrite>},
    {IoOpcode::verify, &layout_info<abi::nvme::ReadWrite>},
    {IoOpcode::write_zeroes, &layout_info<abi::nvme::ReadWrite>},
    {IoOpcode::write_uncorrectable, &layout_info<abi::nvme::ReadWrite>},
    {IoOpcode::dataset_management, &layout_info<abi::nvme::DatasetManagement>},
    {IoOpcode::copy, &layout_info<abi::nvme::Copy>},
});

template <class Opcode, std::size_t n>
const abi::LayoutInfo* layout_of(const std::array<CommandLayout<Opcode>, n>& rows, std::uint8_t opcode) {
    const auto row = std::ranges::find(rows, static_cast<Opcode>(opcode), &CommandLayout<Opcode>::opcode);
    return row == rows.end() ? nullptr : row->layout;
}

abi::Block<abi::nvme::Command> command_of(const traces::NvmeCommandRefused& e) {
    abi::Block<abi::nvme::Command> block;
    block.view().set<"opcode">(e.opcode).set<"cid">(e.cid).set<"nsid">(e.nsid).set<"mptr">(e.metadata);
    block.view().set<"prp1">(e.prp1).set<"prp2">(e.prp2);
    block.bytes[1] = static_cast<std::byte>(e.flags);
    const auto put = [&](std::size_t offset, std::uint64_t value) {
        abi::store<std::uint64_t, abi::Endian::little>(block.bytes.data() + offset, value);
    };
    put(8, e.dwords_2_3), put(40, e.dwords_10_11), put(48, e.dwords_12_13), put(56, e.dwords_14_15);
    return block;
}

/// The field in which an error is, by its byte and bit.
std::string_view field_at(const abi::LayoutInfo* layout, std::size_t byte, unsigned bit) {
    if (layout == nullptr)
        return {};
    for (const auto& row : layout->rows)
        if (row.field.offset + row.field.low / 8 == byte && row.field.low % 8 == bit)
            return row.field.name;
    return {};
}

std::string place_of(const traces::NvmeCommandRefused& e, const abi::LayoutInfo* own) {
    constexpr std::uint16_t none = 0xffff;
    if (e.parameter == none)
        return {};
    const std::size_t byte = e.parameter & 0xff;
    const unsigned bit = e.parameter >> 8 & 7;
    auto field = field_at(own, byte, bit);
    if (field.empty())
        field = field_at(&layout_info<abi::nvme::Command>, byte, bit);
    return fmt::format("; the error is in byte {}, bit {}{}", byte, bit,
                       field.empty() ? std::string{} : fmt::format(" ({})", field));
}

} // namespace

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::NvmeCommandRefused& event) {
    const auto status = static_cast<abi::nvme::Status>(event.status);
    const bool is_admin = event.sqid == 0;
    const auto opcode =
        is_admin ? name(static_cast<AdminOpcode>(event.opcode)) : name(static_cast<IoOpcode>(event.opcode));
    const auto* own = is_admin ? layout_of(admin_layouts, event.opcode) : layout_of(io_layouts, event.opcode);
    Paragraph paragraph{fmt::format("command {}{} in submission queue {}, identifier {:#x}: status {}/{:#04x} ({})",
                                    opcode.empty() ? "without a name" : opcode,
                                    opcode.empty() ? fmt::format(" (opcode {:#04x})", event.opcode) : std::string{},
                                    event.sqid, event.cid, event.status >> 8, event.status & 0xff, name(status)),
                        {},
                        or_none(explain(status))};
    const auto block = command_of(event);
    abi::print(paragraph.decoded, own != nullptr ? *own : layout_info<abi::nvme::Command>, block.bytes,
               abi::PrintForm::line, abi::PrintZeros::no);
    paragraph.decoded =
        fmt::format("namespace {:#x}, data pointer {:#x} {:#x}, PSDT {}, FUSE {}; {}{}", event.nsid, event.prp1,
                    event.prp2, event.flags >> 6, event.flags & 3, paragraph.decoded, place_of(event, own));
    if (event.lba != 0)
        paragraph.decoded += fmt::format("; block {:#x}", event.lba);
    if (const auto dma = take_dma(device); !dma.empty())
        paragraph.decoded += "; " + dma;
    out_.print(stamp, paragraph);
}

void Explain::take(const traces::Stamp& stamp, Device&, const traces::NvmeDoorbellIgnored& event) {
    out_.print(stamp, {fmt::format("doorbell of {} queue {} ignored: {}",
                                   event.is_completion ? "completion" : "submission", event.queue, event.reason.text()),
                       fmt::format("{} {:#x}, written to the register or found in its shadow",
                                   event.is_completion ? "head" : "tail", event.value),
                       or_none(explain(event.reason))});
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::NvmeStateChanged& event) {
    constexpr traces::ControllerState enabled = "enabled";
    if (event.state == enabled)
        begin_anew(stamp, device);
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::NvmeFailed& event) {
    constexpr traces::ControllerFailure configuration = "it was enabled with what it does not support";
    auto decoded = event.reason == configuration ? fmt::format("CC {:#010x}", event.address)
                                                 : fmt::format("bus address {:#x}", event.address);
    if (const auto dma = take_dma(device); !dma.empty())
        decoded += "; " + dma;
    out_.print(stamp, {fmt::format("the controller has failed (CSTS.CFS): {}", event.reason.text()), decoded,
                       or_none(explain(event.reason))});
}

} // namespace platform::observe::diagnostics
