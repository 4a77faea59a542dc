#include "sw/mlx/command/command.h"

#include "sw/base/barrier.h"
#include "sw/mlx/command/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sw::mlx {
namespace {

using abi::prm::CommandIn;
using abi::prm::CommandOut;
using abi::prm::CommandQueueEntry;
using abi::prm::DeliveryStatus;
using abi::prm::Status;

constexpr std::size_t inline_bytes = 16; // first bytes of input and output live in the entry
constexpr std::size_t queue_bytes = 4096;
constexpr std::size_t in_at = CommandQueueEntry::field<"input">::offset;
constexpr std::size_t out_at = CommandQueueEntry::field<"output">::offset;
constexpr std::size_t smallest_output = 8; // status and syndrome

std::size_t mailbox_bytes(std::size_t bytes) { return bytes > inline_bytes ? bytes - inline_bytes : 0; }

} // namespace

Result<std::unique_ptr<CommandChannel>> CommandChannel::open(transport::Transport& transport, unsigned bar,
                                                             CommandOptions options) {
    std::unique_ptr<CommandChannel> channel(new CommandChannel(transport, bar, options));
    const auto& segment = channel->segment_;
    if (const auto revision = segment.get<"cmd_interface_rev">(); revision != abi::prm::command_interface_revision)
        return failure(EPROTO,
                       fmt::format("open command channel: device has command interface {}, this driver speaks {}",
                                   revision, abi::prm::command_interface_revision));
    const auto log_size = segment.get<"log_cmdq_size">();
    const auto log_stride = segment.get<"log_cmdq_stride">();
    if (log_size < 1 || log_size > 5 || log_size + log_stride > 12 || (1u << log_stride) < CommandQueueEntry::size)
        return failure(EPROTO,
                       fmt::format("open command channel: device has 2^{} slots of 2^{} bytes; a page holds 2 to 32 of "
                                   "at least {} bytes",
                                   log_size, log_stride, CommandQueueEntry::size));
    auto queue = memory::Buffer::allocate(transport, queue_bytes);
    if (!queue)
        return failure(queue.error().code, "open command channel: " + queue.error().what);
    channel->queue_ = std::move(*queue);
    channel->log_stride_ = log_stride;
    channel->slots_.resize(1u << log_size);
    segment.set<"cmdq_phy_addr_63_32">(static_cast<std::uint32_t>(channel->queue_.bus() >> 32));
    segment.set<"cmdq_phy_addr_31_12">(static_cast<std::uint32_t>(channel->queue_.bus() >> 12));
    return channel;
}

CommandChannel::Entry CommandChannel::entry(unsigned slot) const {
    return Entry(std::span(queue_.data() + (std::size_t{slot} << log_stride_), CommandQueueEntry::size));
}

Result<unsigned> CommandChannel::choose(SlotClass slots) const {
    const auto last = slot_count() - 1;
    const auto begin = slots == SlotClass::pages ? last : 0;
    const auto end = slots == SlotClass::pages ? last + 1 : last;
    for (auto slot = begin; slot < end; ++slot)
        if (slots_[slot].state == Slot::State::free)
            return slot;
    return failure(EBUSY, slots == SlotClass::pages ? std::string("the command slot of the pages is taken")
                                                    : fmt::format("all {} command slots are taken", end));
}

Result<unsigned> CommandChannel::submit(std::span<const std::byte> in, std::size_t out_bytes, SlotClass slots) {
    if (fatal_)
        return std::unexpected(*fatal_);
    if (in.size() < CommandIn::size || in.size() > UINT32_MAX || out_bytes < smallest_output || out_bytes > UINT32_MAX)
        return failure(EINVAL, fmt::format("submit a command: {} bytes in, {} bytes out", in.size(), out_bytes));
    const abi::ConstView<CommandIn> header(in);
    const auto chosen = choose(slots);
    if (!chosen)
        return chosen;

    auto& slot = slots_[*chosen];
    slot.token = next_token_;
    next_token_ = static_cast<std::uint8_t>(next_token_ == 255 ? 1 : next_token_ + 1); // 0 would match a zeroed mailbox
    auto in_chain = mailboxes_.take_chain(mailbox_bytes(in.size()), slot.token);
    if (!in_chain)
        return std::unexpected(std::move(in_chain.error()));
    slot.in = std::move(*in_chain);
    auto out_chain = mailboxes_.take_chain(mailbox_bytes(out_bytes), slot.token);
    if (!out_chain) {
        mailboxes_.give_back(slot.in);
        return std::unexpected(std::move(out_chain.error()));
    }
    slot.out = std::move(*out_chain);
    slot.opcode = header.get<"opcode">();
    slot.op_mod = static_cast<std::uint16_t>(header.get<"op_mod">());
    slot.out_bytes = out_bytes;
    slot.by_event = uses_events();
    slot.state = Slot::State::waiting;

    const auto at = entry(*chosen);
    std::memset(at.bytes().data(), 0, CommandQueueEntry::size);
    const auto first = in.first(std::min(in.size(), inline_bytes));
    std::ranges::copy(first, at.bytes().data() + in_at);
    fill_chain(slot.in, in.subspan(first.size()));
    at.set<"type">(abi::prm::command_transport_pcie);
    at.set<"input_length">(static_cast<std::uint32_t>(in.size()));
    at.set<"input_mailbox">(slot.in.empty() ? 0 : slot.in.front().bus);
    at.set<"output_length">(static_cast<std::uint32_t>(out_bytes));
    at.set<"output_mailbox">(slot.out.empty() ? 0 : slot.out.front().bus);
    at.set<"token">(slot.token);
    if (options_.signatures) {
        sign_chain(slot.in);
        sign_chain(slot.out);
        // The signature covers the owner bit, which is set below.
        at.set<"signature">(static_cast<std::uint8_t>(signature_of(at.bytes()) ^ 1));
    }
    base::dma_wmb(); // entry and mailboxes before ownership: a device that scans may take the slot as soon as it owns
                     // it
    at.set<"owner">(1);
    base::mmio_wmb(); // ownership before doorbell: the device fetches the entry when it sees the bit
    segment_.set<"command_doorbell_vector">(1u << *chosen);
    ++executed_;
    return *chosen;
}

bool CommandChannel::is_owned_by_device(unsigned slot) const {
    // The device writes this byte while we look.
    return std::to_integer<unsigned>(
               static_cast<const volatile std::byte*>(entry(slot).bytes().data())[abi::prm::status_own_offset]) &
           1;
}

Result<void> CommandChannel::wait(unsigned slot_number) {
    auto& slot = slots_[slot_number];
    const auto deadline = transport_.now() + options_.timeout;
    const auto is_done = [&] {
        return slot.by_event ? slot.state == Slot::State::done : !is_owned_by_device(slot_number);
    };
    while (!is_done()) {
        const auto now = transport_.now();
        if (now >= deadline) {
            if (!is_owned_by_device(slot_number)) { // done, but its event never came
                ++recovered_;
                break;
            }
            slot.state = Slot::State::lost;
            return failure(
                ETIMEDOUT,
                fmt::format("{}: no answer within {} ms", name(slot.opcode),
                            std::chrono::duration_cast<std::chrono::milliseconds>(options_.timeout).count()));
        }
        if (watch_)
            if (auto alive = watch_(); !alive) {
                slot.state = Slot::State::lost;
                fatal_ = alive.error();
                return failure(alive.error().code, fmt::format("{}: {}", name(slot.opcode), alive.error().what));
            }
        if (slot.by_event && wait_for_event_)
            wait_for_event_(deadline - now);
        else
            transport_.relax();
    }
    slot.state = Slot::State::done;
    return {};
}

Result<void> CommandChannel::collect(unsigned slot_number, std::span<std::byte> out) {
    const auto& slot = slots_[slot_number];
    const auto at = entry(slot_number);
    base::dma_rmb(); // ownership before answer: the device writes the answer first, so it is read last
    if (const auto delivery = at.get<"delivery_status">(); delivery != DeliveryStatus::ok)
        return std::unexpected(delivery_error(slot.opcode, delivery));
    if (verify_ && (signature_of(at.bytes()) != 0 || !is_chain_signed(slot.out)))
        return failure(EBADMSG, fmt::format("{}: the answer's signature is wrong", name(slot.opcode)));
    const abi::ConstView<CommandOut> header(std::span<const std::byte>(at.bytes()).subspan<out_at>());
    if (const auto status = header.get<"status">(); status != Status::ok)
        return std::unexpected(command_error(slot.opcode, slot.op_mod, status, header.get<"syndrome">()));
    out = out.first(std::min(out.size(), slot.out_bytes));
    const auto first = out.first(std::min(out.size(), inline_bytes));
    std::copy_n(at.bytes().data() + out_at, first.size(), first.begin());
    read_chain(slot.out, out.subspan(first.size()));
    return {};
}

void CommandChannel::free(Slot& slot) {
    mailboxes_.give_back(slot.in);
    mailboxes_.give_back(slot.out);
    slot.state = Slot::State::free;
}

Result<void> CommandChannel::finish(unsigned slot, std::span<std::byte> out) {
    if (slot >= slot_count() || (slots_[slot].state != Slot::State::waiting && slots_[slot].state != Slot::State::done))
        return failure(EINVAL, fmt::format("finish a command: slot {} has none", slot));
    if (auto waited = wait(slot); !waited)
        return waited;
    auto collected = collect(slot, out);
    free(slots_[slot]);
    return collected;
}

Result<void> CommandChannel::execute(std::span<const std::byte> in, std::span<std::byte> out, SlotClass slots) {
    const auto slot = submit(in, out.size(), slots);
    if (!slot)
        return std::unexpected(slot.error());
    return finish(*slot, out);
}

void CommandChannel::use_events(std::function<void(std::chrono::nanoseconds)> wait) {
    wait_for_event_ = std::move(wait);
}

void CommandChannel::use_polling() { wait_for_event_ = nullptr; }

void CommandChannel::complete(std::uint32_t slots) {
    for (unsigned slot = 0; slot < slot_count(); ++slot)
        if ((slots >> slot & 1) && slots_[slot].state == Slot::State::waiting)
            slots_[slot].state = Slot::State::done;
}

} // namespace sw::mlx
