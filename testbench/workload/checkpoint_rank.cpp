#include "testbench/workload/checkpoint_rank.h"

#include "model/tlm/kernel_clock.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace workload {

using model::tlm::kernel_now;

namespace {

constexpr std::uint64_t most_read_back = 16; ///< commands

} // namespace

CheckpointRank::CheckpointRank(const CheckpointPlan& plan, CheckpointState& state, DriveUser& drives,
                               DriveShared& shared)
    : plan_(plan), state_(state), drives_(drives), shared_(shared),
      part_(drives.route(0).flow, drives.route(0).blocks) {}

void CheckpointRank::run() {
    const auto all_have_come = [&] {
        state_ = {.goes_on = !shared_.ledger.is_over(), .begun = kernel_now(), .done = 0};
    };
    while (shared_.meet(all_have_come) && state_.goes_on) {
        write();
        if (shared_.failure.empty() && ++state_.done == plan_.drives.users)
            shared_.ledger.add_operation(0, state_.begun, kernel_now());
    }
    if (shared_.failure.empty())
        read_back();
}

BlockRange CheckpointRank::blocks_of(std::uint64_t command) const {
    const std::uint64_t most = plan_.drives.command_bytes / drive_block_bytes, first = command * most;
    return {first, static_cast<std::uint32_t>(std::min(most, plan_.blocks() - first))};
}

/// The state is another one each time; that it changes costs no time here.
void CheckpointRank::write() {
    part_.begin(all(), true);
    part_.fill(all(), drives_.memory().bytes(0, plan_.bytes));
    drives_.memory().note_filled(0, plan_.bytes);
    std::vector<std::uint64_t> commands(plan_.commands());
    std::iota(commands.begin(), commands.end(), 0);
    carry_out(true, commands);
    if (shared_.failure.empty())
        drives_.flush(0);
    part_.end(all(), true);
}

/// Into the place where the state was, of which nothing is left before.
void CheckpointRank::read_back() {
    std::ranges::fill(drives_.memory().bytes(0, plan_.bytes), std::byte{});
    drives_.memory().note_filled(0, plan_.bytes);
    carry_out(false, sample_of(plan_.commands(), most_read_back));
}

void CheckpointRank::carry_out(bool is_write, const std::vector<std::uint64_t>& commands) {
    const auto ended = [&](std::size_t link, unsigned, const DriveCommand& command) {
        if (!is_write)
            drives_.check(link, part_, command);
    };
    for (std::size_t next = 0; shared_.failure.empty();) {
        const auto begin = kernel_now();
        const auto before = next;
        for (bool has_room = true; has_room;) {
            has_room = false;
            for (unsigned queue = 0; queue < drives_.queues() && next < commands.size(); ++queue) {
                if (!drives_.has_room(0, queue))
                    continue;
                const auto blocks = blocks_of(commands[next++]);
                drives_.submit(0, queue,
                               {.is_write = is_write,
                                .blocks = blocks,
                                .place = blocks.first * drive_block_bytes,
                                .since = kernel_now()});
                has_room = true;
            }
        }
        const auto found = drives_.poll(ended);
        if (next == commands.size() && drives_.under_way() == 0)
            break;
        drives_.rest(begin, next != before || found != 0);
    }
}

} // namespace workload
