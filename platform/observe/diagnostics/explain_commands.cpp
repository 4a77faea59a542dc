// Paragraphs about commands that a device refuses or cannot take, and about doorbells that it passes over.
#include "platform/observe/diagnostics/explain.h"

#include "abi/layout.h"
#include "abi/print.h"
#include "abi/prm/command.h"
#include "firmware/command_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace platform::observe::diagnostics {
namespace {

using abi::prm::DeliveryStatus;
using abi::prm::Opcode;

constexpr auto command_doorbells = std::to_array<traces::Reason>({
    "command doorbell before the command queue's address",
    "the command queue's memory cannot be read",
    "the command queue entry belongs to software",
});

constexpr traces::Reason uncounted = "the doorbell record does not count this work request";

/// What the driver finds of a command that failed, and where: an entry that could not be delivered has no output.
std::string describe_status(const traces::CommandExecuted& e) {
    if (e.delivery != 0)
        return fmt::format("delivery status {:#x} ({})", e.delivery, name(static_cast<DeliveryStatus>(e.delivery)));
    return fmt::format("status {:#x} ({}), syndrome {:#x}", e.status, name(static_cast<abi::prm::Status>(e.status)),
                       e.syndrome);
}

} // namespace

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::DoorbellIgnored& event) {
    if (event.reason == traces::harmless)
        return;
    // The command queue is rung in the initialization segment, where each of its slots has a bit.
    const auto which =
        std::ranges::find(command_doorbells, event.reason) != command_doorbells.end()
            ? fmt::format("command doorbell of slot {} (bit {} of command_doorbell_vector)", event.number, event.number)
            : fmt::format("doorbell of {:#x} on UAR page {:#x}", event.number, event.uar);
    const auto decoded = event.reason == uncounted && device.rung.qpn == event.number
                             ? fmt::format("the record of QP {:#x} says {} still", event.number, device.rung.producer)
                             : take_dma(device);
    out_.print(stamp, {fmt::format("{} ignored: {}", which, event.reason.text()), decoded,
                       or_none(explain_doorbell(event.reason))});
}

void Explain::take(const traces::Stamp&, Device& device, const traces::CommandInput& event) {
    constexpr std::size_t piece = 16;
    if (event.offset + piece > device.input.size())
        return;
    auto* const p = device.input.data() + event.offset;
    abi::store<std::uint64_t, abi::Endian::big>(p, event.first);
    abi::store<std::uint64_t, abi::Endian::big>(p + sizeof event.first, event.second);
    device.input_bytes = std::max(device.input_bytes, event.offset + piece);
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::CommandExecuted& event) {
    // A queue pair that the driver itself brings into the error state is no failure.
    std::erase_if(incidents_, [&](const Incident& i) {
        return event.status == 0 && event.opcode == static_cast<std::uint16_t>(Opcode::qp_2err) &&
               i.stamp.source == stamp.source && i.state && !i.failed && !i.naked && !i.key_change;
    });
    auto input = std::span<const std::byte>(device.input).first(device.input_bytes);
    if (event.status != 0) {
        const auto* refusal = firmware::find_refusal(event.syndrome);
        const auto* command = firmware::find_command(static_cast<Opcode>(event.opcode));
        Paragraph paragraph{fmt::format("command {} (opcode {:#x}, op_mod {:#x}) refused: {}",
                                        event.command.empty() ? "without a name" : event.command, event.opcode,
                                        event.op_mod, describe_status(event)),
                            {},
                            refusal ? explain(*refusal)
                                    : or_none(explain(static_cast<DeliveryStatus>(event.delivery)))};
        if (command != nullptr && command->input->size <= device.input.size() && !input.empty())
            abi::print(paragraph.decoded, *command->input, device.input, abi::PrintForm::line, abi::PrintZeros::no);
        else if (!input.empty())
            abi::print(paragraph.decoded, abi::layout_info<abi::prm::CommandIn>, device.input, abi::PrintForm::line,
                       abi::PrintZeros::no);
        if (const auto dma = refusal == nullptr ? take_dma(device) : std::string{}; !dma.empty())
            paragraph.decoded += paragraph.decoded.empty() ? dma : "; " + dma;
        if (paragraph.text.rule.empty())
            paragraph.text.rule = event.why;
        go_on(stamp, device);
        out_.print(stamp, paragraph);
    } else if (const auto opcode = static_cast<Opcode>(event.opcode);
               opcode == Opcode::enable_hca || opcode == Opcode::teardown_hca) {
        begin_anew(stamp, device);
    } else {
        go_on(stamp, device);
    }
    std::fill_n(device.input.begin(), device.input_bytes, std::byte{});
    device.input_bytes = 0;
}

} // namespace platform::observe::diagnostics
