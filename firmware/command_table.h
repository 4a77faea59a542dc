// The commands of the device in one sorted table (PRM "Commands"): what each is called, how long its input and output
// are, when it is legal, which capability goes with it, and who executes it. The same table names commands in the log,
// is walked by the coverage test, and drives the fuzz test. Bytes in, bytes out: mailboxes and slots are
// firmware/command_queue.
#pragma once

#include "abi/print.h"
#include "abi/prm/command.h"
#include "firmware/refusal.h"
#include "firmware/call.h"
#include "firmware/state.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace firmware {

/// The capability without which a command does not exist; `name` is empty for commands that always do.
struct Advertised {
    std::string_view name;
    bool (*is_on)(abi::ConstView<abi::prm::CmdHcaCap>) = nullptr;
};

struct Command {
    abi::prm::Opcode opcode;
    std::uint8_t phases;         ///< bits of Phase
    std::size_t in_size, in_max; ///< bytes of the input structure, and with the longest list behind it
    std::size_t out_size;        ///< bytes of the output structure
    std::size_t out_least;       ///< room that the driver must give; less than out_size where the end is optional
    std::size_t out_max;         ///< with the longest list; a longer output is not written to its end
    Advertised advertised;
    const abi::LayoutInfo* input; ///< the input structure, for diagnostics
    bool is_privileged;           ///< no user context may send it (PRM "User context")
    Reply (*run)(State&, const Call&, std::span<const std::byte> in, std::span<std::byte> out);

    std::string_view name() const { return abi::prm::name(opcode); }
    bool is_legal_in(Phase phase) const { return phases & static_cast<std::uint8_t>(phase); }
    /// Bytes that the output needs while the command runs, for a driver that gives `room`.
    std::size_t out_bytes(std::size_t room) const;
};

std::span<const Command> commands();
const Command* find_command(abi::prm::Opcode opcode);

/// The rules that hold before any byte behind the first sixteen is looked at. `in_length` and `out_length` are what the
/// driver claims; nothing is allocated for them before this agrees.
Reply check_command(const State& state, abi::ConstView<abi::prm::CommandIn> header, std::size_t in_length,
                    std::size_t out_length);

/// Executes a command that check_command() let through: `in` is the whole input, `out` has out_bytes() zeroed bytes, of
/// which the driver gets `room`. Writes status and syndrome, and says CommandExecuted.
void run_command(State& state, const Command& command, std::span<const std::byte> in, std::span<std::byte> out,
                 std::size_t room, model::port::Time at);

/// Writes what a refused command answers into the first bytes of `out`, and says CommandExecuted.
void refuse_command(State& state, abi::ConstView<abi::prm::CommandIn> header, Reply refusal, std::span<std::byte> out,
                    model::port::Time at);

} // namespace firmware
