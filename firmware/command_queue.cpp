#include "firmware/command_queue.h"

#include "firmware/command_table.h"

#include <algorithm>
#include <vector>

namespace firmware {

namespace prm = abi::prm;
using model::port::Time;
using prm::CommandQueueEntry;
using prm::DeliveryStatus;

namespace {

constexpr std::size_t inline_bytes = 16; ///< of input and of output, in the entry itself
constexpr std::size_t header_bytes = 8;  ///< opcode and op_mod; status and syndrome
constexpr std::size_t output_offset = CommandQueueEntry::field<"output">::offset;
constexpr std::size_t signature_offset = CommandQueueEntry::field<"signature">::offset;
constexpr std::size_t reserved_byte = 0x3e;

/// What an entry must be before its command is looked at.
DeliveryStatus check_entry(std::span<const std::byte, CommandQueueEntry::size> bytes, bool check_signature) {
    const abi::ConstView<CommandQueueEntry> entry(bytes);
    if (check_signature && prm::xor_of(bytes) != prm::good_signature)
        return DeliveryStatus::signature_error;
    if (entry.get<"type">() != prm::command_transport_pcie)
        return DeliveryStatus::bad_descriptor_type;
    if (bytes[1] != std::byte{0} || bytes[2] != std::byte{0} || bytes[3] != std::byte{0} ||
        bytes[reserved_byte] != std::byte{0})
        return DeliveryStatus::reserved_not_zero;
    if (entry.get<"input_length">() < header_bytes)
        return DeliveryStatus::bad_input_length;
    if (entry.get<"output_length">() < header_bytes)
        return DeliveryStatus::bad_output_length;
    return DeliveryStatus::ok;
}

std::size_t beyond_inline(std::size_t length) { return length > inline_bytes ? length - inline_bytes : 0; }

} // namespace

void CommandQueue::set_base(std::uint64_t address) {
    base_ = address;
    has_base_ = true;
}

void CommandQueue::reset() {
    base_ = 0;
    has_base_ = false;
    waiting_.clear();
    waiting_mask_ = 0;
    due_ = {};
}

Time CommandQueue::latency() const { return state_.config().timed ? state_.config().command_latency : Time{}; }

void CommandQueue::ring(std::uint32_t vector, Time at) {
    for (unsigned slot = 0; slot < 1u << log_entries; ++slot) {
        const auto bit = 1u << slot;
        if ((vector & bit) == 0)
            continue;
        if (!has_base_) {
            state_.events().emit(
                at, traces::DoorbellIgnored{slot, 0, "command doorbell before the command queue's address"});
            continue;
        }
        if (waiting_mask_ & bit)
            continue;
        if (waiting_.empty())
            due_ = std::max(due_, at) + latency();
        waiting_.push_back(slot);
        waiting_mask_ |= bit;
        causes_[slot] = state_.events().cause();
    }
    if (waiting_.empty())
        return;
    if (state_.config().timed)
        clock_.wake_at(due_);
    else
        wake(at);
}

void CommandQueue::wake(Time now) {
    if (is_executing_) // a memory write of the command that is being executed has led back here
        return;
    is_executing_ = true;
    while (!waiting_.empty() && (due_ <= now || !state_.config().timed)) {
        const auto slot = waiting_.front();
        waiting_.pop_front();
        waiting_mask_ &= ~(1u << slot);
        const traces::Cause cause(state_.events(), causes_[slot]);
        due_ = std::max(due_, execute(slot, due_)) + (waiting_.empty() ? Time{} : latency());
    }
    is_executing_ = false;
    if (!waiting_.empty())
        clock_.wake_at(due_);
}

Time CommandQueue::execute(unsigned slot, Time at) {
    Entry entry;
    const auto read = dma_.read(slot_address(slot), entry.bytes, at);
    if (!read.is_ok()) {
        state_.events().emit(at, traces::DoorbellIgnored{slot, 0, "the command queue's memory cannot be read"});
        return at;
    }
    at = std::max(at, read.done);
    if (entry.view().get<"owner">() == 0) {
        state_.events().emit(at, traces::DoorbellIgnored{slot, 0, "the command queue entry belongs to software"});
        return at;
    }
    // An event is written when the event queue exists before the command and after it: drivers poll for the commands
    // that create and destroy the queue.
    const auto event_queue = state_.command_eq;
    // DISABLE_HCA resets the capability, but the driver still checks the signature of its answer.
    const bool is_signed = checks_signatures();
    auto status = check_entry(entry.bytes, is_signed);
    if (status == DeliveryStatus::ok) {
        const auto delivery = deliver(entry.view(), at);
        status = delivery.status;
        at = delivery.done;
    }
    if (status != DeliveryStatus::ok) {
        const abi::ConstView<prm::CommandIn> header(
            std::span(entry.bytes).subspan(CommandQueueEntry::field<"input">::offset));
        state_.events().emit(at, traces::CommandExecuted{
                                     .opcode = static_cast<std::uint16_t>(header.get<"opcode">()),
                                     .op_mod = static_cast<std::uint16_t>(header.get<"op_mod">()),
                                     .status = static_cast<std::uint8_t>(prm::Status::internal_error),
                                     .syndrome = 0,
                                     .command = prm::name(header.get<"opcode">()),
                                     .why = prm::name(status),
                                     .delivery = static_cast<std::uint8_t>(status),
                                 });
    }
    at = give_back(entry, slot, status, is_signed || checks_signatures(), at);
    if (event_queue && state_.command_eq == event_queue)
        state_.hca.event_queues().write(
            *event_queue, prm::EventType::command, 0, 1u << slot, at,
            [slot](abi::View<prm::Eqe> eqe) { prm::event_data<prm::CommandEventData>(eqe).set<"vector">(1u << slot); });
    return at;
}

/// Reads the input, executes the command, writes the output.
CommandQueue::Delivery CommandQueue::deliver(abi::View<CommandQueueEntry> entry, Time at) {
    const std::size_t in_length = entry.get<"input_length">(), out_length = entry.get<"output_length">();
    const auto inline_input = entry.bytes().subspan(CommandQueueEntry::field<"input">::offset).first(inline_bytes);
    const auto inline_output = entry.bytes().subspan(output_offset).first(inline_bytes);
    const abi::ConstView<prm::CommandIn> header(inline_input);
    std::ranges::fill(inline_output, std::byte{});
    if (const auto refusal = check_command(state_, header, in_length, out_length)) {
        refuse_command(state_, header, refusal, inline_output, at);
        return {DeliveryStatus::ok, at};
    }
    const auto& command = *find_command(header.get<"opcode">());

    const bool checks = checks_signatures();
    const Chain input{entry.get<"input_mailbox">(), entry.get<"token">(), checks};
    const Chain output{entry.get<"output_mailbox">(), entry.get<"token">(), checks};
    std::vector<std::byte> in(inline_input.begin(), inline_input.end());
    if (in_length > inline_bytes) {
        const auto rest = read_chain(dma_, input, in_length - inline_bytes, at);
        at = rest.done;
        if (rest.status != DeliveryStatus::ok)
            return {rest.status, at};
        in.insert(in.end(), rest.bytes.begin(), rest.bytes.end());
    }
    // A command whose answer cannot be written has no effect.
    const auto room = std::min(out_length, command.out_max);
    const auto opened = open_chain(dma_, output, beyond_inline(room), at);
    at = opened.done;
    if (opened.status != DeliveryStatus::ok)
        return {opened.status, at};

    std::vector<std::byte> out(command.out_bytes(room));
    run_command(state_, command, in, out, room, at);
    // Memory that the command took from the device may get another owner once it is answered: what was lent of it is
    // given back, and what the device writes there goes out before.
    dma_.loans().drain(model::port::Giver::command);
    at = std::max(at, dma_.all_issued());

    out.resize(std::max(room, inline_bytes));
    std::copy_n(out.begin(), inline_bytes, inline_output.begin());
    const auto written = write_chain(dma_, output, opened.blocks, std::span(out).subspan(inline_bytes), at);
    return {written.is_ok() ? DeliveryStatus::ok : DeliveryStatus::internal_error, written.done};
}

/// Writes the answer into the entry and then, alone and last, the byte that hands the slot back. Returns when that byte
/// is written.
Time CommandQueue::give_back(Entry& entry, unsigned slot, DeliveryStatus status, bool is_signed, Time at) {
    const auto write = [&](std::size_t offset, std::size_t count) {
        const auto bytes = std::span(entry.bytes).subspan(offset, count);
        at = std::max(at, dma_.write(slot_address(slot) + offset, bytes, at).done);
    };
    const auto view = entry.view();
    view.set<"delivery_status">(status).set<"owner">(0);
    if (status == DeliveryStatus::ok)
        write(output_offset, inline_bytes);
    if (is_signed) {
        view.set<"signature">(0);
        view.set<"signature">(static_cast<std::uint8_t>(~prm::xor_of(entry.bytes)));
        write(signature_offset, 1);
    }
    // answer before ownership: software reads the answer as soon as it owns the slot
    write(prm::status_own_offset, 1);
    return at;
}

} // namespace firmware
