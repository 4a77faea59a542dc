#include "testbench/workload/storage_client.h"

#include "model/tlm/kernel_clock.h"

namespace workload {

using model::tlm::kernel_now;

std::uint64_t StorageClient::memory_bytes(const StoragePlan& plan, std::size_t routes) {
    const auto& drives = plan.drives;
    return std::uint64_t{routes} * drives.queues * drives.load.work.depth * drives.command_bytes;
}

StorageClient::StorageClient(const StoragePlan& plan, DriveUser& drives, DriveShared& shared)
    : plan_(plan), drives_(drives), shared_(shared), free_(drives.routes()) {
    const std::uint64_t commands = std::uint64_t{plan.drives.queues} * plan.drives.load.work.depth;
    for (std::size_t link = 0; link < drives.routes(); ++link) {
        const auto& route = drives.route(link);
        parts_.emplace_back(route.flow, route.blocks);
        draws_.emplace_back(plan, route.flow);
        for (auto i = commands; i-- != 0;)
            free_[link].push_back((link * commands + i) * plan.drives.command_bytes);
    }
}

void StorageClient::run() {
    while (shared_.failure.empty()) {
        const auto begin = kernel_now();
        const bool has_started = !shared_.is_over() && start_all();
        const auto found = drives_.poll(
            [&](std::size_t link, unsigned queue, const DriveCommand& command) { end(link, queue, command); });
        if (shared_.is_over() && drives_.under_way() == 0)
            break;
        drives_.rest(begin, has_started || found != 0);
    }
}

/// One on each queue in turn, until all are full.
bool StorageClient::start_all() {
    bool has_started = false;
    for (bool has_room = true; has_room;) {
        has_room = false;
        for (std::size_t link = 0; link < drives_.routes(); ++link)
            for (unsigned queue = 0; queue < drives_.queues(); ++queue)
                has_room |= drives_.has_room(link, queue) && start(link, queue);
        has_started |= has_room;
    }
    return has_started;
}

bool StorageClient::start(std::size_t link, unsigned queue) {
    const auto drawn = draws_[link].take(parts_[link]);
    if (!drawn)
        return false;
    const DriveCommand command{
        .is_write = drawn->is_write, .blocks = drawn->blocks, .place = free_[link].back(), .since = kernel_now()};
    free_[link].pop_back();
    parts_[link].begin(command.blocks, command.is_write);
    if (command.is_write) {
        parts_[link].fill(command.blocks, drives_.memory().bytes(command.place, command.blocks.bytes()));
        drives_.memory().note_filled(command.place, command.blocks.bytes());
    }
    drives_.submit(link, queue, command);
    return true;
}

void StorageClient::end(std::size_t link, unsigned, const DriveCommand& command) {
    if (!command.is_write)
        drives_.check(link, parts_[link], command);
    parts_[link].end(command.blocks, command.is_write);
    free_[link].push_back(command.place);
    const auto kind = command.is_write ? StorageKind::write : StorageKind::read;
    shared_.ledger.add_operation(static_cast<std::size_t>(kind), command.since, kernel_now());
}

} // namespace workload
