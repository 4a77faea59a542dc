#include "testbench/scenario/race_gpu_pages_run.h"

#include <fmt/format.h>

#include <algorithm>

namespace scenario::race {

using namespace pages_rows;

/// What was taken away may not be accessed; of what has moved, only stores fault, while it is on its way.
bool GpuPagesRace::may_fault() const { return outcome_.is_reached && (has(pages_rows::unmap) || operation_.to_memory); }

void GpuPagesRace::note_end(bool has_faulted, std::string mistake) {
    has_faulted_ = has_faulted_ || has_faulted;
    outcome_.completion = has_faulted_ ? "page fault" : "success";
    if (!mistake.empty())
        violate(std::move(mistake));
}

void GpuPagesRace::check_ends(std::span<const model::gpu::wave::Record> records) {
    for (std::size_t i = 0; i < records.size(); ++i) {
        auto mistake = find_fault(records[i], may_fault(), operation_.to_memory, address_ + margin, total_);
        const bool has_returned = records[i].end == model::gpu::wave::End::returned;
        note_end(!has_returned, mistake.empty() ? std::string{} : fmt::format("thread {} {}", i, mistake));
    }
}

void GpuPagesRace::check_engine() {
    note_end(has_faulted_, is_whole_       ? std::string{}
                           : !has_faulted_ ? std::string("the copy has no end")
                           : side_.device().copy_engine(1).halt_reason() != model::gpu::sdma::Halt::page_fault
                               ? std::string("the engine has halted for another reason than a page fault")
                           : !may_fault() ? std::string("the engine has a page fault")
                                          : std::string{});
}

/// The first bytes of the slice, at least so many and at most so many, are what was moved, the others what was there.
bool GpuPagesRace::has_part(std::span<const std::byte> bytes, const Slice& slice, std::uint64_t least,
                            std::uint64_t most) {
    std::uint64_t moved = 0;
    while (moved < slice.bytes && bytes[slice.begin + moved] == content(sent, slice.begin + moved))
        ++moved;
    if (moved < least || moved > most)
        return false;
    for (auto i = slice.begin + moved; i < slice.begin + slice.bytes; ++i)
        if (bytes[i] != content(before, i))
            return false;
    return true;
}

void GpuPagesRace::check_memory() {
    const auto now = middle(place_);
    for (std::uint64_t i = 0; i < total_ && is_given_back_; ++i)
        if (now[i] != content(next_content(), i))
            return violate(fmt::format("byte {} of the memory was written after the action had returned", i));
    const bool is_gone = is_given_back_ && has(pages_rows::unmap);
    const auto held = is_gone ? std::span<const std::byte>(snapshot_)
                              : std::span<const std::byte>(is_given_back_ ? middle(other_) : now);
    for (const auto& slice : slices_) {
        const bool is_whole = !operation_.to_memory || is_whole_;
        const auto done = is_gone ? slice.done_then : slice.done;
        const auto least = is_whole ? slice.bytes : done;
        // One store may have been under way when the memory was given back.
        const auto most = is_whole || operation_.by_engine ? slice.bytes : done + (is_gone ? chunk : 0);
        if (!has_part(held, slice, least, most))
            return violate(fmt::format("the memory does not hold the {} bytes from {} on that were stored there", least,
                                       slice.begin));
    }
}

/// What came out is what the memory held, and never what its next owner has there.
void GpuPagesRace::check_peer() {
    const auto bytes = middle(peer_);
    for (const auto& slice : slices_) {
        const bool is_whole = operation_.to_memory || is_whole_;
        const auto most = is_whole || operation_.by_engine ? slice.bytes : slice.done;
        if (has_part(bytes, slice, is_whole ? slice.bytes : slice.done, most))
            continue;
        for (auto i = slice.begin; i < slice.begin + slice.bytes; ++i)
            if (!setup_.has_alike_owner && bytes[i] == content(after, i))
                return violate(fmt::format("byte {} at the other end is the next owner's", i));
        return violate(fmt::format("the other end does not have the {} bytes from {} on that were loaded", slice.done,
                                   slice.begin));
    }
}

/// Nothing beside the memory has changed.
void GpuPagesRace::check_around() {
    const auto is_touched = [](std::byte byte) { return byte != untouched; };
    for (const auto* place : {&place_, &other_, &peer_}) {
        const bool is_unused = place == &other_ && !(is_given_back_ && has(pages_rows::move));
        const auto behind = is_unused ? margin : margin + total_;
        if (std::ranges::any_of(place->all.first(margin), is_touched) ||
            std::ranges::any_of(place->all.subspan(behind), is_touched))
            return violate("memory around what is moved was written");
    }
}

} // namespace scenario::race
