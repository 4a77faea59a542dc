// The command channel: commands go in as bytes, answers come out as bytes or as an Error that names command, status and
// syndrome (PRM "Command interface"). Owns the command queue, its slots and mailboxes. Knows no object: what a command
// means is its caller's business. One thread at a time; a page request met while waiting may nest one command in the
// pages' slot.
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"
#include "abi/prm/init_segment.h"
#include "abi/prm/opcodes.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/mlx/command/mailbox.h"
#include "sw/transport/mmio.h"
#include "sw/transport/transport.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sw::mlx {

/// Which slots a command may take. The last one is kept for MANAGE_PAGES, so the device always gets the pages it waits
/// for.
enum class SlotClass : std::uint8_t { ordinary, pages };

struct CommandOptions {
    std::chrono::nanoseconds timeout = std::chrono::seconds{60};
    bool signatures = false; ///< sign what goes in; costs a pass over every byte
};

class CommandChannel {
public:
    /// Sets up the command queue at the init segment of `bar`. The device must have finished initializing.
    static Result<std::unique_ptr<CommandChannel>> open(transport::Transport& transport, unsigned bar,
                                                        CommandOptions options = {});
    CommandChannel(const CommandChannel&) = delete;
    CommandChannel& operator=(const CommandChannel&) = delete;

    /// Submits and finishes one command. `in` starts with the opcode; `out` is filled to its end, or the Error says why
    /// not.
    Result<void> execute(std::span<const std::byte> in, std::span<std::byte> out,
                         SlotClass slots = SlotClass::ordinary);

    /// Hands a command to the device and returns its slot. The answer will have at most `out_bytes`.
    Result<unsigned> submit(std::span<const std::byte> in, std::size_t out_bytes,
                            SlotClass slots = SlotClass::ordinary);
    /// Waits for the command of `slot`, copies its answer and frees the slot. After a time-out the slot is not used
    /// again: the device may still write to its mailboxes.
    Result<void> finish(unsigned slot, std::span<std::byte> out);

    /// From now on a command is done when its event says so. `wait` looks for events and may sleep until the given time
    /// is over.
    void use_events(std::function<void(std::chrono::nanoseconds)> wait);
    /// From now on a command is done when its owner bit says so.
    void use_polling();
    bool uses_events() const { return static_cast<bool>(wait_for_event_); }
    /// A command completion event: bit n of `slots` is slot n (PRM "Command interface completion event").
    void complete(std::uint32_t slots);

    /// Called at each poll while a command is waited for; its Error ends the wait and all later commands.
    void set_watch(std::function<Result<void>()> watch) { watch_ = std::move(watch); }
    /// Whether the device signs its answers, so that they can be checked.
    void verify_signatures(bool on) { verify_ = on; }
    /// All later commands fail with `error` at once: the device is gone.
    void fail(Error error) { fatal_ = std::move(error); }

    unsigned slot_count() const { return static_cast<unsigned>(slots_.size()); }
    std::uint64_t executed() const { return executed_; }
    /// Commands found done only after their time was over: an event was lost.
    std::uint64_t recovered() const { return recovered_; }

private:
    struct Slot {
        enum class State : std::uint8_t { free, waiting, done, lost } state = State::free;
        bool by_event = false;
        std::uint8_t token = 0;
        std::uint16_t op_mod = 0;
        abi::prm::Opcode opcode{};
        std::size_t out_bytes = 0;
        std::vector<Mailbox> in, out;
    };
    using Entry = abi::View<abi::prm::CommandQueueEntry>;

    CommandChannel(transport::Transport& transport, unsigned bar, CommandOptions options)
        : transport_(transport), segment_(transport, bar, 0), options_(options), mailboxes_(transport) {}

    Entry entry(unsigned slot) const;
    Result<unsigned> choose(SlotClass slots) const;
    bool is_owned_by_device(unsigned slot) const;
    Result<void> wait(unsigned slot);
    Result<void> collect(unsigned slot, std::span<std::byte> out);
    void free(Slot& slot);

    transport::Transport& transport_;
    transport::Registers<abi::prm::InitialSegment> segment_;
    CommandOptions options_;
    memory::Buffer queue_;
    unsigned log_stride_ = 6;
    MailboxPool mailboxes_;
    std::vector<Slot> slots_;
    std::function<void(std::chrono::nanoseconds)> wait_for_event_;
    std::function<Result<void>()> watch_;
    std::optional<Error> fatal_;
    bool verify_ = false;
    std::uint8_t next_token_ = 1;
    std::uint64_t executed_ = 0;
    std::uint64_t recovered_ = 0;
};

/// The input of a command: its layout, then a variable array.
template <class In> class Input {
public:
    explicit Input(abi::prm::Opcode opcode, std::uint16_t op_mod = 0, std::size_t tail_bytes = 0)
        : bytes_(In::size + tail_bytes) {
        view().template set<"opcode">(opcode).template set<"op_mod">(op_mod);
    }
    abi::View<In> view() { return abi::View<In>(std::span(bytes_)); }
    std::span<std::byte> tail() { return std::span(bytes_).subspan(In::size); }
    /// Element `i` of a variable array of 64-bit values (physical addresses).
    void set_tail64(std::size_t i, std::uint64_t value) {
        abi::store<std::uint64_t, abi::Endian::big>(bytes_.data() + In::size + i * 8, value);
    }
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

/// The output of a command that succeeded.
template <class Out> class Output {
public:
    explicit Output(std::size_t tail_bytes = 0) : bytes_(Out::size + tail_bytes) {}
    abi::ConstView<Out> view() const { return abi::ConstView<Out>(std::span<const std::byte>(bytes_)); }
    template <abi::Name F> auto get() const { return view().template get<F>(); }
    std::span<const std::byte> tail() const { return std::span<const std::byte>(bytes_).subspan(Out::size); }
    std::uint64_t tail64(std::size_t i) const {
        return abi::load<std::uint64_t, abi::Endian::big>(bytes_.data() + Out::size + i * 8);
    }
    std::span<std::byte> bytes() { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

/// Executes one command by its layouts.
template <class Out, class In>
Result<Output<Out>> run(CommandChannel& channel, const Input<In>& input, std::size_t out_tail_bytes = 0,
                        SlotClass slots = SlotClass::ordinary) {
    Output<Out> output(out_tail_bytes);
    if (auto done = channel.execute(input.bytes(), output.bytes(), slots); !done)
        return std::unexpected(std::move(done.error()));
    return output;
}

} // namespace sw::mlx
