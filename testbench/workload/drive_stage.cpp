#include "testbench/workload/drive_stage.h"

#include "abi/nvme/command.h"
#include "model/tlm/kernel_clock.h"
#include "model/tlm/time.h"
#include "testbench/harness/must.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace workload {

using harness::must;
using model::tlm::kernel_now;
using platform::topology::StorageMemory;

namespace {

sw::mlx::ConnectOptions options_of(const load::Work& work) {
    return {.path_mtu = mtu_of(work.mtu),
            .reads = static_cast<std::uint8_t>(work.how.reads),
            .ack_timeout = static_cast<std::uint8_t>(work.how.ack_timeout),
            .retry_count = static_cast<std::uint8_t>(work.how.retry_count)};
}

} // namespace

void DriveStage::conduct() {
    Held held;
    held_ = &held;
    perform([&] { open(); }, [&] { look(); }, [&] { close(); });
    held_ = nullptr;
}

void DriveStage::open() {
    const auto connection = options_of(plan_.load.work);
    for (std::size_t node = 0; node < plan_.load.nodes.size(); ++node) {
        const auto& planned = plan_.load.nodes[node];
        auto& functions = held_->hosts[planned.hca.host];
        if (!functions)
            functions = must(harness::HostFunctions::open(*platform_.machines()[planned.hca.host].host));
        const bool is_user = node < plan_.users;
        const auto target = node - plan_.users;
        auto& machine = held_->machines.emplace_back(must(DriveMachine::open(
            platform_, *functions,
            {planned.hca, planned.gpu, is_user ? std::nullopt : std::optional(plan_.drives[target].at)},
            planned.name)));
        if (is_user) {
            auto& hca = held_->hcas.emplace_back(must(DriveHca::open(machine, connection)));
            const auto needs = needs_of(node);
            held_->memories.push_back(must(UserMemory::make(machine, hca, needs.bytes, needs.is_vram)));
            continue;
        }
        const auto queues = static_cast<std::uint32_t>(plan_.routes_of_target(target)) * plan_.queues;
        held_->servers.push_back(must(DriveServer::open(machine, {.memory = plan_.memory,
                                                                  .command_bytes = plan_.command_bytes,
                                                                  .queue_depth = plan_.load.work.depth,
                                                                  .queues = queues,
                                                                  .connection = connection})));
    }
}

void DriveStage::act(std::size_t node, std::uint32_t) {
    if (node >= plan_.users)
        return serve(node - plan_.users);
    guard([&] { take_part(node); });
    --shared_.users_left;
    model::tlm::notify_now(shared_.changed); // whoever waits for this one sees what has become of it
}

void DriveStage::listen(std::size_t target) {
    auto& words = shared_.words[target];
    auto& server = held_->servers[target]->target();
    while (!words.empty()) {
        const auto word = words.front();
        words.pop_front();
        if (word->is_goodbye)
            server.disconnect(word->request.peer);
        else
            word->reply = server.accept(word->request);
    }
}

/// Until the last user has let go, or something has gone wrong.
void DriveStage::serve(std::size_t target) {
    auto& server = held_->servers[target]->target();
    auto& hca = *held_->machines[plan_.users + target].hca;
    while (shared_.failure.empty()) {
        const auto begin = kernel_now();
        const bool are_gone = shared_.users_left == 0; // and what they have said is there
        listen(target);
        const bool has_moved = server.poll();
        if (has_moved)
            (void)hca.now(); // what its drivers have spent passes
        shared_.ledger.add_work(plan_.users + target, kernel_now() - begin);
        if (are_gone)
            break;
        if (!has_moved)
            hca.relax();
    }
}

void DriveStage::take_part(std::size_t number) {
    DriveUser user(held_->machines[number], held_->hcas[number], held_->memories[number], number, shared_);
    user.connect();
    const auto all_connected = [&] {
        shared_.last_progress = kernel_now();
        in_hosts_ = payload_in_hosts();
        begin();
    };
    if (!shared_.meet(all_connected))
        return;
    use(number, user);
    const auto all_done = [&] {
        for (const auto& [host, bytes] : payload_in_hosts())
            in_hosts_[host] = bytes - in_hosts_[host];
    };
    if (shared_.meet(all_done))
        user.disconnect();
}

/// Of hosts of targets that are no users. Capsules are no payload: they lie in memory of hosts wherever the data are.
std::map<std::size_t, std::uint64_t> DriveStage::payload_in_hosts() const {
    std::map<std::size_t, std::uint64_t> bytes;
    for (std::size_t target = 0; target < plan_.targets; ++target) {
        const auto host = plan_.load.nodes[plan_.users + target].hca.host;
        const auto is_used = std::ranges::any_of(plan_.load.nodes.begin(),
                                                 plan_.load.nodes.begin() + static_cast<std::ptrdiff_t>(plan_.users),
                                                 [&](const auto& node) { return node.hca.host == host; });
        if (is_used)
            continue;
        const auto [at, is_new] = bytes.try_emplace(host, 0);
        if (is_new)
            at->second = host_bytes(host);
        at->second -= held_->servers[target]->target().counters().capsules * abi::nvme::command_bytes;
    }
    return bytes;
}

void DriveStage::look() {
    for (std::size_t target = 0; target < plan_.targets; ++target) {
        const auto& counters = held_->servers[target]->target().counters();
        const auto& name = plan_.drives[target].name;
        const auto& users = shared_.moved[target];
        if (counters.read.bytes != users.read || counters.written.bytes != users.written)
            shared_.fail(fmt::format("{} has read {} bytes and written {}, and for its users these were {} and {}",
                                     name, counters.read.bytes, counters.written.bytes, users.read, users.written));
    }
    if (plan_.memory == StorageMemory::host)
        return;
    for (const auto& [host, bytes] : in_hosts_)
        if (bytes != 0)
            shared_.fail(fmt::format("{} bytes of payload went through memory of host {}, none should", bytes,
                                     platform_.description().hosts[host].name));
}

/// Targets go before the machines that they are on, and so do users' memories.
void DriveStage::close() {
    for (std::size_t target = 0; target < held_->servers.size(); ++target) {
        auto& server = held_->servers[target];
        drives_[target] = {server->target().counters().read, server->target().counters().written};
        if (const auto done = server->close(); !done)
            shared_.fail(done.error().what);
        server.reset();
    }
    held_->memories.clear();
    held_->hcas.clear();
    held_->machines.clear();
    held_->hosts.clear();
}

} // namespace workload
