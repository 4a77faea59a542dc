#include "sw/nvmf/target_queue.h"

#include "abi/nvme/completion.h"
#include "sw/nvmf/io_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sw::nvmf {

using abi::nvme::command_bytes;
using abi::nvme::IoOpcode;
using abi::nvme::Status;
using mlx::SendOperation;

namespace {

constexpr std::uint32_t sends_a_command = 3; // READ, WRITE, SEND
constexpr std::uint32_t dword = 4;           // what PRP entries can begin at

bool is_fabrics(abi::ConstView<abi::nvme::Command> command) {
    return command.get<"opcode">() == static_cast<std::uint8_t>(abi::nvme::AdminOpcode::fabrics);
}

} // namespace

Result<std::unique_ptr<TargetQueue>> TargetQueue::make(const RdmaPort& port, TargetQueueOwner& owner,
                                                       nvme::Controller& drive, PayloadPool& admin,
                                                       PayloadPool& payload, TargetCounters& counters,
                                                       std::uint16_t number, std::uint32_t entries,
                                                       std::uint32_t in_capsule_bytes) {
    std::unique_ptr<TargetQueue> queue(
        new TargetQueue(owner, drive, admin, payload, counters, number, entries, in_capsule_bytes));
    auto channel = Channel::make(port, {.sends = sends_a_command * entries,
                                        .receives = entries,
                                        .capsule_bytes = static_cast<std::uint32_t>(command_bytes) + in_capsule_bytes,
                                        .max_inline = abi::nvme::response_bytes});
    if (!channel)
        return std::unexpected(channel.error());
    queue->channel_ = std::move(*channel);
    const auto mapped = drive.transport().map_memory(queue->channel_->memory());
    if (!mapped)
        return std::unexpected(mapped.error());
    queue->capsules_for_drive_ = *mapped, queue->is_mapped_ = true;
    return queue;
}

bool TargetQueue::poll() {
    bool has_moved = poll_channel();
    has_moved |= poll_drive();
    has_moved |= go_on();
    return has_moved;
}

bool TargetQueue::poll_channel() {
    std::array<Channel::Ended, 16> found;
    const auto count = is_over() ? 0 : channel_->poll(found);
    for (const auto& one : std::span(found).first(count)) {
        if (is_over())
            return true;
        if (!one.is_ok()) {
            end(fmt::format("a request ended with {}", mlx::name(one.status)));
            return true;
        }
        switch (one.purpose) {
        case Channel::Purpose::receive: came(one.number, one.bytes); break;
        case Channel::Purpose::fetch:
            channel_->ended(1);
            if (is_for_drive(slots_[one.number]))
                counters_.fetched.ends(slots_[one.number].bytes, now());
            carry_out(one.number);
            break;
        case Channel::Purpose::send:
            // Its number is that of the piece that was written to the host before it, plus one.
            channel_->ended(one.number == 0 ? 1 : 2);
            if (one.number != 0) {
                (number_ == 0 ? admin_ : payload_).give(one.number - 1);
                if (number_ != 0)
                    counters_.sent.end = now();
            }
            break;
        }
    }
    return count != 0;
}

bool TargetQueue::poll_drive() {
    if (is_over() || !drive_queue_)
        return false;
    std::array<nvme::Completion, 16> found;
    const auto count = drive_queue_->poll(found);
    for (const auto& one : std::span(found).first(count)) {
        const auto number = slot_of_[one.id];
        auto& slot = slots_[number];
        if (slot.flow != Flow::none && one.is_ok())
            (slot.flow == Flow::to_controller ? counters_.written : counters_.read).ends(slot.bytes, now());
        answer(number, {.status = one.status,
                        .do_not_retry = one.do_not_retry,
                        .dw0 = one.result,
                        .bytes = one.is_ok() && slot.flow == Flow::from_controller ? slot.bytes : 0});
        if (is_over())
            break;
    }
    return count != 0;
}

/// Each kind in its order, so that none is passed over for ever. Answers first: they have memory that commands wait
/// for.
bool TargetQueue::go_on() {
    bool has_moved = false;
    const auto go_through = [&](std::deque<std::uint32_t>& numbers, bool (TargetQueue::*step)(std::uint32_t)) {
        while (!is_over() && !numbers.empty() && (this->*step)(numbers.front()) && !is_over()) {
            numbers.pop_front();
            has_moved = true;
        }
    };
    go_through(answers_, &TargetQueue::send_answer);
    go_through(waiting_, &TargetQueue::prepare);
    return has_moved;
}

void TargetQueue::came(std::uint32_t number, std::uint32_t bytes) {
    if (bytes < command_bytes)
        return end(fmt::format("a capsule of {} bytes is no command", bytes));
    ++counters_.capsules;
    counters_.in_capsule_bytes += bytes - command_bytes;
    head_ = static_cast<std::uint16_t>(head_ + 1u == entries_ ? 0 : head_ + 1u);
    auto& slot = slots_[number];
    slot = {};
    std::ranges::copy(channel_->capsule(number).first(command_bytes), slot.command.bytes.begin());
    if (const auto refused = check(slot, bytes))
        return answer(number, *refused);
    slot.state = State::waiting;
    if (!waiting_.empty() || !prepare(number))
        waiting_.push_back(number);
}

bool TargetQueue::is_for_drive(const Slot& slot) const {
    return number_ != 0 && !is_fabrics(abi::ConstView<abi::nvme::Command>(slot.command.bytes));
}

std::optional<Answer> TargetQueue::check(Slot& slot, std::uint32_t capsule_bytes) {
    const abi::ConstView<abi::nvme::Command> command(slot.command.bytes);
    slot.flow = flow_of(command);
    if (slot.flow != Flow::none) {
        const auto data = data_of(command, capsule_bytes - command_bytes);
        if (!data)
            return Answer::refuse(data.error());
        if (data->is_in_capsule && slot.flow == Flow::from_controller)
            return Answer::refuse(Status::invalid_sgl_type);
        slot.data = *data, slot.bytes = data->bytes;
        if (slot.bytes == 0) // Set Features, for one, has data for some features only
            slot.flow = Flow::none;
    }
    const abi::ConstView<abi::nvme::FabricsCommand> fabrics(slot.command.bytes);
    const bool is_connect =
        is_fabrics(command) && fabrics.get<"fctype">() == static_cast<std::uint8_t>(abi::nvme::FabricsType::connect);
    if (is_connect == (controller_ != 0))
        return Answer::refuse(Status::command_sequence_error);
    if (is_for_drive(slot))
        return check_io(slot);
    if (number_ != 0 && !is_connect) // properties are the admin queue's
        return Answer::refuse(Status::invalid_opcode);
    if (slot.bytes > admin_.piece_bytes())
        return Answer::refuse(Status::invalid_data_sgl_length);
    return std::nullopt;
}

std::optional<Answer> TargetQueue::check_io(Slot& slot) {
    const abi::ConstView<abi::nvme::Command> command(slot.command.bytes);
    const auto nsid = command.get<"nsid">();
    const auto* space = owner_.find(nsid);
    const bool is_of_all =
        command.get<"opcode">() == static_cast<std::uint8_t>(IoOpcode::flush) && nsid == abi::nvme::all_namespaces;
    if (space == nullptr && !is_of_all)
        return Answer::refuse(Status::invalid_namespace);
    if (command.get<"fuse">() != 0)
        return Answer::refuse(Status::invalid_field);
    const auto wanted = wanted_by(command, is_of_all ? 0 : space->block_bytes());
    if (!wanted)
        return Answer::refuse(Status::invalid_opcode);
    if (wanted->bytes > payload_.piece_bytes())
        return Answer::refuse(Status::invalid_field); // more than MDTS
    if (slot.bytes < wanted->bytes || (slot.bytes > wanted->bytes && !wanted->may_be_longer))
        return Answer::refuse(Status::invalid_data_sgl_length);
    if (slot.data.is_in_capsule && slot.data.offset % dword != 0)
        return Answer::refuse(Status::invalid_sgl_offset);
    slot.bytes = static_cast<std::uint32_t>(wanted->bytes);
    return std::nullopt;
}

bool TargetQueue::prepare(std::uint32_t number) {
    auto& slot = slots_[number];
    // Data in the capsule are used where they are.
    if (slot.flow != Flow::none && !slot.data.is_in_capsule && !slot.piece) {
        slot.piece = pool(slot).take(this);
        if (!slot.piece)
            return false;
    }
    if (slot.flow == Flow::to_controller && !slot.data.is_in_capsule)
        return fetch(number);
    carry_out(number);
    return true;
}

bool TargetQueue::fetch(std::uint32_t number) {
    if (channel_->room() == 0)
        return false;
    auto& slot = slots_[number];
    const auto sge = pool(slot).for_hca(*slot.piece, slot.bytes);
    const auto posted = channel_->post({.wr_id = Channel::tag(Channel::Purpose::fetch, number),
                                        .sge = &sge,
                                        .sge_count = 1,
                                        .operation = SendOperation::read,
                                        .flags = mlx::send_flag::signaled,
                                        .rkey = slot.data.memory.key,
                                        .remote_address = slot.data.memory.address},
                                       1);
    if (!posted) {
        end(posted.error().what);
        return true;
    }
    if (is_for_drive(slot))
        counters_.fetched.starts(now());
    slot.state = State::fetching;
    return true;
}

/// The data are there, wherever that is.
void TargetQueue::carry_out(std::uint32_t number) {
    auto& slot = slots_[number];
    if (is_for_drive(slot))
        return submit(number);
    answer(number, execute(slot, channel_->capsule(number).subspan(command_bytes)));
}

Answer TargetQueue::execute(Slot& slot, std::span<std::byte> in_capsule) {
    const abi::ConstView<abi::nvme::Command> command(slot.command.bytes);
    AdminData data;
    if (slot.piece)
        data = {admin_.bytes(*slot.piece).first(slot.bytes), admin_.for_drive(*slot.piece, slot.bytes)};
    else if (slot.data.is_in_capsule)
        data.bytes = in_capsule.subspan(slot.data.offset, slot.bytes);
    if (controller_ == 0) // check() has let nothing else pass
        return owner_.connect(*this, abi::ConstView<abi::nvme::Connect>(slot.command.bytes), data.bytes);
    return owner_.administer(*this, command, data);
}

void TargetQueue::submit(std::uint32_t number) {
    auto& slot = slots_[number];
    auto command = slot.command;
    command.view().set<"mptr">(0).set<"prp1">(0).set<"prp2">(0).set<"psdt">(abi::nvme::DataPointerType::prp);
    std::array<nvme::Segment, 1> segment{};
    if (slot.piece)
        segment[0] = payload_.for_drive(*slot.piece, slot.bytes);
    else if (slot.data.is_in_capsule)
        segment[0] = {capsules_for_drive_ + channel_->capsule_offset(number) + command_bytes + slot.data.offset,
                      slot.bytes};
    const auto id = drive_queue_->submit(command, std::span(segment).first(slot.flow == Flow::none ? 0 : 1));
    if (!id)
        return answer(number, Answer{.status = Status::internal_error});
    slot_of_[*id] = number;
    slot.state = State::at_drive;
    if (slot.flow != Flow::none)
        (slot.flow == Flow::to_controller ? counters_.written : counters_.read).starts(now());
    drive_queue_->ring();
}

void TargetQueue::answer(std::uint32_t number, const Answer& answer) {
    auto& slot = slots_[number];
    slot.answer = answer;
    if (is_over())
        return; // the command itself has ended the connection
    if (answer.is_parked) {
        slot.state = State::parked;
        return;
    }
    slot.state = State::answering;
    if (answer.bytes == 0)
        give_piece(slot);
    if (!answers_.empty() || !send_answer(number))
        answers_.push_back(number);
}

void TargetQueue::give_piece(Slot& slot) {
    if (slot.piece)
        pool(slot).give(*slot.piece);
    slot.piece.reset();
}

/// False: the send queue has no room.
bool TargetQueue::send_answer(std::uint32_t number) {
    auto& slot = slots_[number];
    const auto& answer = slot.answer;
    const std::uint32_t count = slot.piece ? 2 : 1;
    if (channel_->room() < count)
        return false;
    // The capsule's memory before the response: the host sends its next command as soon as it has that.
    if (const auto posted = channel_->expect(number); !posted) {
        end(posted.error().what);
        return true;
    }
    abi::Block<abi::nvme::Completion> response;
    response.view()
        .set<"dw0">(answer.dw0)
        .set<"dw1">(answer.dw1)
        .set<"sqhd">(head_)
        .set<"cid">(abi::ConstView<abi::nvme::Command>(slot.command.bytes).get<"cid">())
        .set<"status">(answer.status)
        .set<"dnr">(answer.do_not_retry);
    const mlx::Sge capsule{reinterpret_cast<std::uintptr_t>(response.bytes.data()), abi::nvme::response_bytes, 0};
    const mlx::SendRequest send{.wr_id = Channel::tag(Channel::Purpose::send, slot.piece ? *slot.piece + 1 : 0),
                                .sge = &capsule,
                                .sge_count = 1,
                                .operation = SendOperation::send,
                                .flags = mlx::send_flag::signaled | mlx::send_flag::inline_data};
    mlx::Sge data{};
    mlx::SendRequest write{.wr_id = send.wr_id,
                           .next = &send,
                           .sge = &data,
                           .sge_count = 1,
                           .operation = SendOperation::write,
                           .rkey = slot.data.memory.key,
                           .remote_address = slot.data.memory.address};
    if (slot.piece) {
        // One queue pair sends in order: the host has its data when it has the response.
        data = pool(slot).for_hca(*slot.piece, answer.bytes);
        if (is_for_drive(slot)) {
            counters_.sent.starts(now());
            counters_.sent.ends(answer.bytes, now());
        }
    }
    if (const auto posted = channel_->post(slot.piece ? write : send, count); !posted) {
        end(posted.error().what);
        return true;
    }
    ++counters_.answers;
    counters_.refused += answer.status != Status::success;
    slot.piece.reset(); // it goes back when the response has left
    slot.state = State::expected;
    return true;
}

std::size_t TargetQueue::under_way() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(slots_, [](const Slot& slot) { return slot.state != State::expected; }));
}

void TargetQueue::abort_parked() {
    for (std::uint32_t number = 0; number < slots_.size(); ++number)
        if (slots_[number].state == State::parked)
            answer(number, {.status = Status::abort_requested});
}

void TargetQueue::end(const std::string& why) {
    if (is_over())
        return;
    why_ = why;
    counters_.dropped += under_way();
    // The queue pair first: when it is gone, the HCA reaches none of this memory; then the drive's queue, whose
    // commands end before it does.
    channel_->close();
    if (drive_queue_)
        owner_.release(std::move(drive_queue_));
    if (is_mapped_)
        drive_.transport().unmap_memory(capsules_for_drive_, channel_->memory().size);
    channel_.reset();
    waiting_.clear();
    answers_.clear();
    slots_.assign(slots_.size(), {});
    admin_.give_all(this);
    payload_.give_all(this);
}

} // namespace sw::nvmf
