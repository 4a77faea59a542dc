// The GPU programs of the scenario `gpu_nvme`: each thread has a queue pair of the drive and a slice of the payload,
// writes it to the drive, flushes, and reads it back to other memory. It knows addresses, and neither who made them nor
// what caches they pass.
#pragma once

#include "model/gpu/wave/thread.h"
#include "sw/gpu/queue.h"
#include "sw/nvme/namespace.h"
#include "testbench/scenario/gpu_queue_memory.h"

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace scenario {

inline constexpr std::uint64_t drive_page = sw::nvme::page_bytes;
/// Commands of a thread under way: each has a page for its PRP list.
inline constexpr unsigned most_commands = 64;
/// What one page of PRP entries leads to, beside the first entry in the command.
inline constexpr std::uint64_t largest_command = drive_page / 8 * drive_page;

/// One thread's part.
struct Slice {
    sw::gpu::NvmeRings rings; ///< by GPU virtual addresses
    /// Pages for PRP lists, one for each command: as the GPU writes them, as the drive reads them.
    std::uint64_t lists = 0, lists_bus = 0;
    std::uint64_t from_bus = 0, to_bus = 0; ///< what is written, and where it is read to: addresses of the drive
    sw::nvme::Blocks blocks;                ///< on the drive
    unsigned depth = 1;                     ///< commands under way
    /// Where the program looks at what was read, and where it leaves what it has seen; 0: it does not look.
    std::uint64_t data = 0, seen = 0;
    std::uint64_t data_bytes = 0;
};

/// What became of one thread's commands.
struct Tally {
    std::uint64_t commands = 0, errors = 0;
    sw::gpu::NvmeResult first_error{};
};

struct IoPlan {
    const sw::nvme::Namespace& space;
    std::uint64_t command_blocks = 1;
    testbench::GpuQueueRules rules{};
    std::vector<Slice> slices{};
    std::vector<Tally> tallies{}; ///< as many as slices
};

/// The data pointer of a command over memory that is one piece for the drive: two entries, or one and a list.
template <class Queue>
model::gpu::wave::Task<> point_to(Queue& queue, typename Queue::Command& command, const Slice& slice, unsigned slot,
                                  std::uint64_t bus, std::uint64_t bytes) {
    auto view = command.view();
    view.template set<"prp1">(bus);
    const auto pages = (bytes + drive_page - 1) / drive_page;
    if (pages <= 2) {
        view.template set<"prp2">(pages == 2 ? bus + drive_page : 0);
        co_return;
    }
    view.template set<"prp2">(slice.lists_bus + slot * drive_page);
    constexpr std::uint64_t at_once = model::gpu::wave::Thread::max_bytes / 8;
    for (std::uint64_t i = 1; i < pages; i += at_once) {
        std::array<std::byte, model::gpu::wave::Thread::max_bytes> entries{};
        const auto count = std::min(at_once, pages - i);
        for (std::uint64_t k = 0; k < count; ++k)
            abi::store<std::uint64_t, abi::Endian::little>(&entries[8 * k], bus + (i + k) * drive_page);
        co_await queue.memory().write(slice.lists + slot * drive_page + (i - 1) * 8,
                                      std::span<const std::byte>(entries).first(8 * count));
    }
}

/// Moves the slice in one direction, as many commands under way as it may have. Stops at the first that fails.
template <class Queue>
model::gpu::wave::Task<> move_slice(Queue& queue, const IoPlan& plan, const Slice& slice, bool is_write, Tally& tally) {
    std::uint64_t free = ~std::uint64_t{0} >> (most_commands - slice.depth);
    std::uint64_t next = 0;
    const auto block = plan.space.block_bytes();
    while (tally.errors == 0 && (next < slice.blocks.count || queue.under_way() != 0)) {
        bool has_pushed = false;
        while (next < slice.blocks.count && free != 0 && !queue.is_full()) {
            const auto slot = static_cast<unsigned>(std::countr_zero(free));
            const auto count = std::min(plan.command_blocks, slice.blocks.count - next);
            const sw::nvme::Blocks blocks{slice.blocks.first + next, count};
            auto command = is_write ? plan.space.write(blocks) : plan.space.read(blocks);
            command.view().template set<"cid">(static_cast<std::uint16_t>(slot));
            co_await point_to(queue, command, slice, slot, (is_write ? slice.from_bus : slice.to_bus) + next * block,
                              count * block);
            co_await queue.push(command);
            free &= ~(std::uint64_t{1} << slot);
            next += count;
            has_pushed = true;
        }
        if (has_pushed)
            co_await queue.ring();
        const sw::gpu::NvmeResult result = co_await queue.wait();
        free |= std::uint64_t{1} << result.cid % most_commands;
        ++tally.commands;
        if (!result.is_ok() && tally.errors++ == 0)
            tally.first_error = result;
    }
}

/// Reads all data of the slice, and leaves them where `keeps` says so.
inline model::gpu::wave::Task<> look_at_data(model::gpu::wave::Thread& thread, const Slice& slice, bool keeps) {
    std::array<std::byte, model::gpu::wave::Thread::max_bytes> bytes{};
    for (std::uint64_t done = 0; done < slice.data_bytes; done += bytes.size()) {
        co_await thread.load(slice.data + done, std::span(bytes));
        if (keeps)
            co_await thread.store(slice.seen + done, std::span<const std::byte>(bytes));
    }
}

inline model::gpu::wave::Task<> write_and_read(model::gpu::wave::Thread& thread, IoPlan& plan) {
    const auto& slice = plan.slices[thread.index()];
    co_await look_at_data(thread, slice, false);
    auto& tally = plan.tallies[thread.index()];
    sw::gpu::NvmeQueue queue(testbench::GpuQueueMemory(thread, plan.rules), slice.rings);
    // An empty queue is looked at first: the worst for what follows, since caches have its entries then.
    sw::gpu::NvmeResult nothing;
    co_await queue.poll(nothing);
    co_await move_slice(queue, plan, slice, true, tally);
    if (tally.errors != 0)
        co_return;
    auto flush = plan.space.flush();
    const sw::gpu::NvmeResult flushed = co_await queue.execute(flush);
    ++tally.commands;
    if (!flushed.is_ok()) {
        ++tally.errors;
        tally.first_error = flushed;
        co_return;
    }
    co_await move_slice(queue, plan, slice, false, tally);
    co_await thread.fence(model::gpu::memory::Order::acquire);
    co_await look_at_data(thread, slice, true);
}

} // namespace scenario
