#include "testbench/scenario/storage_fit.h"

#include "abi/nvme/completion.h"
#include "abi/nvme/registers.h"
#include "abi/nvme/command.h"
#include "model/nvme/config.h"
#include "platform/topology/keys.h"
#include "testbench/scenario/node_fit.h"
#include "testbench/scenario/runs.h"
#include "testbench/scenario/workload_nodes.h"
#include "testbench/workload/storage_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace scenario {

using platform::topology::Config;
using platform::topology::Description;
using platform::topology::StorageMemory;
using workload::CheckpointPlan;
using workload::drive_block_bytes;
using workload::DrivePlan;
using workload::StoragePlan;
using Error = std::unexpected<std::string>;
using Fit = std::expected<void, std::string>;

namespace {

/// Who is to blame for what.
struct DriveKeys {
    std::string_view targets, users, command, part, memory, user_memory;
};
constexpr DriveKeys storage_keys{"storage.targets", "storage.clients", "storage.sizes",
                                 "storage.span",    "storage.memory",  "scenario.queue_depth"};
constexpr DriveKeys checkpoint_keys{"checkpoint.targets", "checkpoint.ranks",  "scenario.message",
                                    "checkpoint.bytes",   "checkpoint.memory", "checkpoint.bytes"};

/// Of commands that say where their data are in three bytes of length; and of queues, whose entries have two.
constexpr std::uint64_t most_command_bytes = 8 << 20, most_depth = 4095;

std::string print_bytes(std::uint64_t bytes) {
    return platform::topology::print(platform::topology::Kind::size, static_cast<std::int64_t>(bytes));
}

const model::nvme::NvmeConfig& drive_of(const Description& described, const workload::PlannedDrive& drive) {
    return described.part(drive.at).other().as<model::nvme::NvmeConfig>();
}

/// Targets: who is named, or all that have a drive. Users: who is named, or all others.
Fit find_nodes(const Config& config, const Description& described, const DriveKeys& keys, const std::string& targets,
               const std::string& users, DrivePlan& plan) {
    auto offer = ranks_of(config, described, keys.targets, targets);
    if (!offer)
        return Error(offer.error());
    if (targets.empty())
        std::erase_if(*offer, [&](auto hca) { return !part_beside(described, described.hcas[hca], is_drive); });
    if (offer->empty())
        return refuse(config, keys.targets,
                      "no host has an HCA and a drive: parts such as \"root0.sw0.hca0\" and \"root0.sw0.nvme0\"");
    for (const auto hca : *offer) {
        const auto drive = part_beside(described, described.hcas[hca], is_drive);
        if (!drive)
            return refuse(config, keys.targets,
                          fmt::format("the host of {} has no drive for it: each HCA of a target needs one",
                                      described.name_of(described.hcas[hca])));
        plan.drives.push_back({*drive, described.name_of(*drive)});
    }
    auto use = ranks_of(config, described, keys.users, users);
    if (!use)
        return Error(use.error());
    const auto is_target = [&](std::size_t hca) { return std::ranges::find(*offer, hca) != offer->end(); };
    for (const auto hca : *use)
        if (!users.empty() && is_target(hca))
            return refuse(config, keys.users,
                          fmt::format("{} is a target, too", described.name_of(described.hcas[hca])));
    std::erase_if(*use, is_target);
    if (use->empty())
        return refuse(config, keys.users, "nobody is left to use the drives");
    plan.users = use->size();
    plan.targets = offer->size();
    for (const auto* hcas : {&*use, &*offer})
        add_nodes(described, *hcas, plan.load);
    return {};
}

/// Memory of its own that data pass, where it is to have some.
Fit has_memory(const Config& config, const Description& described, const DriveKeys& keys, DrivePlan& plan,
               std::size_t target) {
    auto& node = plan.load.nodes[plan.users + target];
    const auto& drive = plan.drives[target];
    if (plan.memory == StorageMemory::vram)
        node.gpu = part_beside(described, node.hca, is_gpu); // where there is none, node_fits() says so
    if (plan.memory != StorageMemory::drive)
        return {};
    const auto& own = drive_of(described, drive);
    constexpr std::uint32_t data = static_cast<std::uint32_t>(abi::nvme::MemoryUse::data_to_host) |
                                   static_cast<std::uint32_t>(abi::nvme::MemoryUse::data_from_host);
    if ((own.memory_buffer_uses & data) != data)
        return refuse(config, keys.memory,
                      fmt::format("memory of {} is for no data of Reads and Writes (its key memory_buffer_uses = {})",
                                  drive.name, own.memory_buffer_uses));
    if (own.memory_buffer < std::bit_ceil(plan.command_bytes))
        return refuse(config, keys.memory,
                      fmt::format("{} has {} of its own (its key memory_buffer) for commands of {}", drive.name,
                                  print_bytes(own.memory_buffer), print_bytes(std::bit_ceil(plan.command_bytes))));
    return {};
}

Fit look_at_drive(const Config& config, const Description& described, const DriveKeys& keys, const DrivePlan& plan,
                  std::size_t target) {
    const auto& [at, name] = plan.drives[target];
    const auto& drive = drive_of(described, plan.drives[target]);
    const auto queues = plan.routes_of_target(target) * plan.queues;
    if (queues >= drive.queue_pairs) // one is the target's own
        return refuse(config, "scenario.qps",
                      fmt::format("{} queues of {} users are more than {} has for them, which is {} (its key "
                                  "queue_pairs, less one)",
                                  queues, plan.routes_of_target(target), name, drive.queue_pairs - 1));
    if (const auto most = std::min<std::uint64_t>(most_depth, drive.queue_entries - 1); plan.load.work.depth > most)
        return refuse(config, "scenario.queue_depth",
                      fmt::format("a queue of {} holds {} commands at most", name, most));
    const auto most = drive.io.max_transfer_bytes == 0 ? most_command_bytes
                                                       : std::min(drive.io.max_transfer_bytes, most_command_bytes);
    if (std::bit_ceil(plan.command_bytes) > most)
        return refuse(config, keys.command, fmt::format("a command of {} moves {} at most", name, print_bytes(most)));
    std::uint64_t blocks = 0;
    for (const auto& route : plan.routes)
        if (route.target == target)
            blocks = std::max(blocks, route.first + route.blocks);
    if (blocks > drive.space.namespaces.front().bytes / drive_block_bytes)
        return refuse(config, keys.part,
                      fmt::format("parts of {} users have {} together, and {} has {}", plan.routes_of_target(target),
                                  print_bytes(blocks * drive_block_bytes), name,
                                  print_bytes(drive.space.namespaces.front().bytes)));
    return {};
}

Fit look_at_nodes(const Config& config, const Description& described, const DriveKeys& keys, const DrivePlan& plan,
                  const std::function<std::uint64_t(std::size_t user)>& memory_of) {
    const auto queue_pairs = count_queue_pairs(config, plan.load);
    if (!queue_pairs)
        return Error(queue_pairs.error());
    constexpr std::uint32_t admin_entries = 32;
    const auto entries = std::max(admin_entries, plan.load.work.depth + 1);
    for (std::size_t node = 0; node < plan.load.nodes.size(); ++node) {
        const bool is_user = node < plan.users;
        const auto& planned = plan.load.nodes[node];
        const auto routes = is_user ? plan.routes_of_user(node) : plan.routes_of_target(node - plan.users);
        // Each queue has a key for its capsules; beside these are pages for admin commands, and the memory of data.
        NodeNeeds needs{.queue_pairs = (*queue_pairs)[node],
                        .message = plan.command_bytes,
                        .memory_keys = routes * (plan.queues + 2) + 2,
                        .uses_vram = is_user && planned.gpu.has_value(),
                        .completions = (is_user ? 3 : 4) * std::uint64_t{entries},
                        .sends = (is_user ? 2 : 3) * entries,
                        .receives = entries,
                        .inline_bytes = is_user ? static_cast<std::uint32_t>(abi::nvme::command_bytes)
                                                : static_cast<std::uint32_t>(abi::nvme::response_bytes)};
        if (is_user)
            needs.bytes = memory_of(node);
        else if (plan.memory != StorageMemory::drive) // of which there is as much as there is
            needs.bytes = std::bit_ceil(std::uint64_t{plan.command_bytes}) * plan.load.work.depth * plan.queues *
                          std::uint64_t{routes};
        needs.uses_vram |= plan.memory == StorageMemory::vram && !is_user;
        const NodeKeys blamed{.message = keys.command,
                              .memory_keys = "scenario.qps",
                              .bytes = is_user ? keys.user_memory : "scenario.queue_depth",
                              .memory = keys.memory};
        if (const auto done = node_fits(config, described, planned, needs, blamed); !done)
            return done;
    }
    return {};
}

Fit look_at_all(const Config& config, const Description& described, const DriveKeys& keys, DrivePlan& plan,
                const std::function<std::uint64_t(std::size_t user)>& memory_of) {
    for (std::size_t target = 0; target < plan.targets; ++target) {
        if (const auto done = has_memory(config, described, keys, plan, target); !done)
            return done;
        if (const auto done = look_at_drive(config, described, keys, plan, target); !done)
            return done;
    }
    return look_at_nodes(config, described, keys, plan, memory_of);
}

Fit is_whole(const Config& config, std::string_view path, std::uint64_t bytes) {
    if (bytes != 0 && bytes % drive_block_bytes == 0)
        return {};
    return refuse(config, path, fmt::format("is not whole blocks of {} bytes", drive_block_bytes));
}

} // namespace

std::expected<StoragePlan, std::string> plan_storage(const Config& config) {
    const auto described = platform::topology::describe(config).value(); // which read_config has tried
    StoragePlan plan;
    plan.how = config.storage;
    plan.drives.load.work = work_of(config);
    plan.drives.memory = config.storage.memory;
    plan.drives.queues = config.scenario.queue_pairs;
    const auto sizes = load::Sizes::read(config.storage.sizes);
    if (!sizes)
        return refuse(config, "storage.sizes", sizes.error());
    plan.sizes = *sizes;
    if (!plan.sizes.are_whole(drive_block_bytes))
        return refuse(config, "storage.sizes", fmt::format("is not whole blocks of {} bytes", drive_block_bytes));
    plan.drives.command_bytes = plan.sizes.most();
    if (const auto done = is_whole(config, "storage.span", plan.how.span); !done)
        return Error(done.error());
    if (plan.how.span < plan.sizes.most())
        return refuse(
            config, "storage.span",
            fmt::format("a command of {} ('storage.sizes') has no room there", print_bytes(plan.sizes.most())));
    if (const auto done = find_nodes(config, described, storage_keys, plan.how.targets, plan.how.clients, plan.drives);
        !done)
        return Error(done.error());
    workload::plan_routes(plan);
    plan.drives.load.operations = load::Operations{.kinds = {"read", "write"},
                                                   .warm_up = plan.how.warm_up * plan.drives.users,
                                                   .measured = plan.how.operations * plan.drives.users};
    const auto memory_of = [&](std::size_t user) {
        return workload::StorageClient::memory_bytes(plan, plan.drives.routes_of_user(user));
    };
    if (const auto done = look_at_all(config, described, storage_keys, plan.drives, memory_of); !done)
        return Error(done.error());
    return plan;
}

std::expected<CheckpointPlan, std::string> plan_checkpoint(const Config& config) {
    const auto described = platform::topology::describe(config).value();
    const auto& how = config.checkpoint;
    CheckpointPlan plan;
    plan.drives.load.work = work_of(config);
    plan.drives.memory = how.memory;
    plan.drives.queues = config.scenario.queue_pairs;
    plan.bytes = how.bytes;
    for (const auto& [path, bytes] :
         {std::pair<std::string_view, std::uint64_t>{"checkpoint.bytes", how.bytes},
          std::pair<std::string_view, std::uint64_t>{"scenario.message", config.scenario.message_bytes}})
        if (const auto done = is_whole(config, path, bytes); !done)
            return Error(done.error());
    if (config.scenario.message_bytes > most_command_bytes)
        return refuse(config, "scenario.message",
                      fmt::format("a command moves {} at most", print_bytes(most_command_bytes)));
    plan.drives.command_bytes = static_cast<std::uint32_t>(config.scenario.message_bytes);
    if (const auto done = find_nodes(config, described, checkpoint_keys, how.targets, how.ranks, plan.drives); !done)
        return Error(done.error());
    if (const auto ranks = plan.drives.users; plan.drives.targets > ranks) {
        if (!how.targets.empty())
            return refuse(config, "checkpoint.targets",
                          fmt::format("{} drives are more than there are ranks: {} rank{}", plan.drives.targets, ranks,
                                      ranks == 1 ? "" : "s"));
        plan.drives.targets = ranks; // the others have nothing to do
        plan.drives.drives.resize(ranks);
        plan.drives.load.nodes.resize(2 * ranks);
    }
    for (std::size_t rank = 0; rank < plan.drives.users; ++rank) {
        auto& node = plan.drives.load.nodes[rank];
        node.gpu = part_beside(described, node.hca, is_gpu);
    }
    workload::plan_routes(plan);
    plan.drives.load.operations =
        load::Operations{.kinds = {"checkpoint"}, .warm_up = how.warm_up, .measured = how.operations};
    const auto memory_of = [&](std::size_t) { return plan.bytes; };
    if (const auto done = look_at_all(config, described, checkpoint_keys, plan.drives, memory_of); !done)
        return Error(done.error());
    return plan;
}

Fit storage_fits(const Config& config, std::uint64_t) {
    if (const auto plan = plan_storage(config); !plan)
        return Error(plan.error());
    return {};
}

Fit checkpoint_fits(const Config& config, std::uint64_t) {
    if (const auto plan = plan_checkpoint(config); !plan)
        return Error(plan.error());
    return {};
}

} // namespace scenario
