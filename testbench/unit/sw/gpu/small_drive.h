// As much of an NVMe controller as a queue needs: takes entries up to the tail, answers each with its CDW10 as result,
// in memory that both sides see. Counts what no correct owner of a queue does.
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/completion.h"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace testbench {

class SmallDrive {
public:
    /// A command that nobody wrote has another opcode: memory is zeroed.
    static constexpr std::uint8_t opcode = 0x02;

    SmallDrive(std::span<std::byte> submissions, std::span<std::byte> completions, std::uint32_t entries)
        : submissions_(submissions), completions_(completions), entries_(entries) {}

    void ring_tail(std::uint32_t tail) {
        ++rings;
        mistakes += tail >= entries_;
        for (; tail < entries_ && head_ != tail; head_ = (head_ + 1) % entries_) {
            const abi::ConstView<abi::nvme::Command> command(submissions_.subspan(head_ * 64ull, 64));
            waiting_.push_back({command.get<"cid">(), command.get<"cdw10">()});
            fetched.push_back(command.get<"cdw10">());
            mistakes += command.get<"opcode">() != opcode;
        }
    }
    void ring_head(std::uint32_t head) {
        ++head_rings;
        mistakes += head >= entries_;
        completion_head_ = head;
    }
    bool has_work() const { return !waiting_.empty() && next(completion_tail_) != completion_head_; }
    /// Posts one completion.
    void complete(abi::nvme::Status status = abi::nvme::Status::success) {
        const abi::View<abi::nvme::Completion> cqe(completions_.subspan(completion_tail_ * 16ull, 16));
        cqe.set<"dw0">(waiting_.front().result);
        cqe.set<"sqhd">(static_cast<std::uint16_t>(head_));
        cqe.set<"status">(status).set<"dnr">(status != abi::nvme::Status::success);
        cqe.set<"cid">(waiting_.front().cid).set<"p">(phase_);
        waiting_.pop_front();
        completion_tail_ = next(completion_tail_);
        phase_ ^= completion_tail_ == 0;
    }

    unsigned rings = 0, head_rings = 0;
    unsigned mistakes = 0;              ///< doorbells out of range, entries that were not written yet
    std::vector<std::uint32_t> fetched; ///< CDW10 of each

private:
    struct Waiting {
        std::uint16_t cid;
        std::uint32_t result;
    };
    std::uint32_t next(std::uint32_t index) const { return (index + 1) % entries_; }

    std::span<std::byte> submissions_, completions_;
    std::uint32_t entries_, head_ = 0, completion_head_ = 0, completion_tail_ = 0;
    bool phase_ = true;
    std::deque<Waiting> waiting_;
};

/// A read with a number in CDW10, which comes back as result.
inline abi::Block<abi::nvme::Command> numbered(std::uint16_t cid, std::uint32_t number) {
    abi::Block<abi::nvme::Command> command;
    command.view().set<"opcode">(SmallDrive::opcode).set<"cid">(cid).set<"cdw10">(number);
    return command;
}

} // namespace testbench
