#include "testbench/scenario/race_nvme_run.h"

#include <fmt/format.h>

#include <algorithm>

namespace scenario::race {

/// What a driver must be told: of data that cannot be reached a transfer error, and of a queue that is gone nothing.
void NvmeRace::check_status() {
    using abi::nvme::Status;
    for (const auto& command : commands_) {
        const auto said = command.completion ? sw::nvme::describe(*command.completion) : std::string{};
        if (!command.is_done() || outcome_.completion.empty())
            outcome_.completion = command.completion ? std::string(abi::nvme::name(command.completion->status)) : "";
        const bool is_right =
            command.completion
                ? command.is_done() || (is_memory_gone_ && command.completion->status == Status::data_transfer_error)
                : is_queue_gone_;
        if (!is_right)
            violate(command.completion ? fmt::format("the completion is {}", said) : "there is no completion");
    }
}

void NvmeRace::check_memory() {
    if (is_given_back_) {
        const auto now = memory();
        for (std::uint64_t i = 0; i < now.size(); ++i)
            if (now[i] != content(next_content(), i))
                return violate(fmt::format("byte {} of the memory was written after the action had returned", i));
    }
    for (const auto& command : commands_)
        for (auto i = command.begin; i < command.begin + size_ && !snapshot_.empty(); ++i) {
            const bool is_old = snapshot_[i] == content(before, i), is_new = snapshot_[i] == content(sent, i);
            const bool must_be_new = !brings_bytes() || (command.is_done() && !is_given_back_);
            if (must_be_new ? !is_new : !is_old && !is_new)
                return violate(fmt::format("byte {} of the memory is {:#04x}, which nobody {}", i,
                                           static_cast<unsigned>(snapshot_[i]), brings_bytes() ? "sent" : "put there"));
        }
}

/// What the drive has is what was there, or what was sent, and never what the memory's next owner has.
void NvmeRace::check_blocks() {
    const auto blocks = read_blocks();
    for (const auto& command : commands_)
        for (auto i = command.begin; i < command.begin + size_; ++i) {
            const bool is_old = blocks[i] == content(before, i), is_new = blocks[i] == content(sent, i);
            if (brings_bytes() || command.is_done() ? !is_new : !is_old && !is_new)
                return violate(fmt::format("byte {} on the drive is {:#04x}{}", i, static_cast<unsigned>(blocks[i]),
                                           blocks[i] == content(after, i) ? ", which is the next owner's" : ""));
        }
}

/// Nothing beside the memory has changed.
void NvmeRace::check_around() {
    auto expected = around_;
    std::ranges::copy(memory(), expected.begin() + static_cast<std::ptrdiff_t>(offset_));
    if (const auto [was, is] = std::ranges::mismatch(expected, all_); was != expected.end())
        violate(fmt::format("byte {:#x} around the memory was written", was - expected.begin()));
}

} // namespace scenario::race
