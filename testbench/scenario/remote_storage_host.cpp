// Host B's program: it uses a drive that is elsewhere.
#include "testbench/scenario/remote_storage.h"

#include "abi/nvme/completion.h"
#include "sw/nvmf/host.h"
#include "testbench/scenario/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

namespace scenario {

using sw::failure;
using namespace std::chrono_literals;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::chrono::nanoseconds patience = 60s; ///< without any answer

class RemoteUser {
public:
    RemoteUser(const RemoteMachine& machine, const RemoteOptions& options, RemoteReport& report)
        : machine_(machine), options_(options), report_(report),
          slots_(std::uint64_t{options.queue_depth} * options.queues), begun_(slots_) {}

    sw::Result<void> run() {
        TRY(open());
        TRY(connect());
        Sha256 source, target;
        TRY(transfer(RemotePhase::write, source));
        report_.source_sha256 = source.finish();
        for (std::uint64_t slot = 0; slot < slots_; ++slot) { // nothing of it is left here
            std::ranges::fill(bytes(slot), std::byte{});
            filled(slot);
        }
        TRY(transfer(RemotePhase::read, target));
        report_.target_sha256 = target.finish();
        return close();
    }

private:
    std::uint64_t chunk() const { return options_.command_bytes; }
    std::uint64_t chunks() const { return (options_.payload.size() + chunk() - 1) / chunk(); }
    std::uint64_t bytes_before(std::uint64_t number) const {
        return std::min(number * chunk(), options_.payload.size());
    }
    std::uint64_t used(std::uint64_t number) const { return bytes_before(number + 1) - bytes_before(number); }
    /// Of chunk `number`, in whole pages.
    std::uint32_t length(std::uint64_t number) const {
        return static_cast<std::uint32_t>((used(number) + page_bytes - 1) / page_bytes * page_bytes);
    }
    std::span<std::byte> bytes(std::uint64_t slot) const { return memory_->bytes(slot * chunk(), chunk()); }
    void filled(std::uint64_t slot) const { memory_->note_filled(slot * chunk(), chunk()); }

    sw::Result<void> open();
    sw::Result<void> connect();
    sw::Result<void> transfer(RemotePhase phase, Sha256& digest);
    sw::Result<void> load(std::uint64_t number, Sha256& digest);
    sw::Result<void> submit(RemotePhase phase, std::uint64_t number, sw::nvmf::HostQueue& queue);
    sw::Result<bool> take(RemotePhase phase, std::vector<bool>& is_done);
    sw::Result<void> close();
    void tell_boundary(RemotePhase phase, bool is_over);

    const RemoteMachine& machine_;
    const RemoteOptions& options_;
    RemoteReport& report_;
    std::uint64_t slots_;
    std::vector<std::chrono::nanoseconds> begun_; ///< when the command of each slot was submitted
    std::optional<workload::DriveHca> hca_;
    std::optional<workload::UserMemory> memory_; ///< in VRAM where there is a GPU
    std::unique_ptr<sw::nvmf::Host> host_;
    std::optional<sw::nvme::Namespace> space_;
    std::vector<std::vector<std::uint64_t>> chunk_of_; ///< by queue and identifier
};

sw::Result<void> RemoteUser::open() {
    auto hca = workload::DriveHca::open(machine_.cards, {.path_mtu = workload::mtu_of(options_.mtu_bytes)});
    if (!hca)
        return std::unexpected(hca.error());
    hca_.emplace(std::move(*hca));
    auto memory = workload::UserMemory::make(machine_.cards, *hca_, slots_ * chunk(), machine_.cards.gpu != nullptr);
    if (!memory)
        return std::unexpected(memory.error());
    memory_.emplace(std::move(*memory));
    return {};
}

sw::Result<void> RemoteUser::connect() {
    sw::nvmf::Host::Carrier carrier;
    carrier.connect = [this](const sw::nvmf::ConnectionRequest& request) -> sw::Result<sw::nvmf::ConnectionReply> {
        machine_.peer.send_value(RemoteMessage{.kind = RemoteMessage::Kind::connect, .request = request});
        sw::nvmf::ConnectionReply reply;
        if (!machine_.peer.receive_value(reply))
            return failure(EPIPE, machine_.cards.name + ": the peer has gone");
        return reply;
    };
    carrier.disconnect = [this](const sw::mlx::Peer& self) {
        machine_.peer.send_value(RemoteMessage{.kind = RemoteMessage::Kind::disconnect, .request = {.peer = self}});
    };
    auto host = sw::nvmf::Host::connect(hca_->port, std::move(carrier),
                                        {.queues = options_.queues, .entries = options_.queue_depth + 1});
    if (!host)
        return failure(host.error().code, fmt::format("{}: {}", machine_.cards.name, host.error().what));
    host_ = std::move(*host);
    const auto numbers = host_->active_namespaces();
    if (!numbers)
        return std::unexpected(numbers.error());
    if (numbers->empty())
        return failure(ENODEV, machine_.cards.name + ": the target has no namespace");
    const auto space = host_->open_namespace(numbers->front());
    if (!space)
        return std::unexpected(space.error());
    space_.emplace(*space);
    if (const auto room = space_->blocks() * space_->block_bytes(); options_.payload.size() > room)
        return failure(ENOSPC, fmt::format("{}: the payload of {} bytes does not fit into a namespace of {}",
                                           machine_.cards.name, options_.payload.size(), room));
    for (unsigned i = 0; i < host_->queues(); ++i)
        chunk_of_.emplace_back(host_->queue(i).entries());
    return {};
}

sw::Result<void> RemoteUser::load(std::uint64_t number, Sha256& digest) {
    const auto into = bytes(number % slots_);
    if (const auto read = options_.payload.read(number * chunk(), into.first(used(number))); !read)
        return failure(EIO, read.error());
    std::ranges::fill(into.subspan(used(number)), std::byte{});
    filled(number % slots_);
    digest.add(into.first(used(number)));
    return {};
}

sw::Result<void> RemoteUser::submit(RemotePhase phase, std::uint64_t number, sw::nvmf::HostQueue& queue) {
    const auto block = space_->block_bytes();
    const sw::nvme::Blocks blocks{number * chunk() / block, length(number) / block};
    auto command = phase == RemotePhase::write ? space_->write(blocks) : space_->read(blocks);
    const auto data = memory_->data(number % slots_ * chunk(), length(number));
    const auto id = queue.submit(command, data);
    if (!id)
        return std::unexpected(id.error());
    chunk_of_[queue.number() - 1u][*id] = number;
    begun_[number % slots_] = queue.transport().now();
    report_.used[static_cast<std::size_t>(phase)].starts(begun_[number % slots_]);
    return {};
}

/// What has been answered. Whether there was anything.
sw::Result<bool> RemoteUser::take(RemotePhase phase, std::vector<bool>& is_done) {
    bool has_moved = false;
    std::array<sw::nvmf::Response, 16> found;
    for (unsigned i = 0; i < host_->queues(); ++i) {
        auto& queue = host_->queue(i);
        for (const auto& one : std::span(found).first(queue.poll(found))) {
            if (!one.is_ok())
                return failure(EIO,
                               fmt::format("{}: the remote drive: {}{}{}", machine_.cards.name, sw::nvme::describe(one),
                                           queue.is_connected() ? "" : ": ", queue.why()));
            const auto number = chunk_of_[i][one.id];
            is_done[number] = true;
            const auto now = queue.transport().now();
            report_.used[static_cast<std::size_t>(phase)].ends(length(number), now);
            report_.latency[static_cast<std::size_t>(phase)].add(now - begun_[number % slots_]);
            has_moved = true;
        }
    }
    return has_moved;
}

sw::Result<void> RemoteUser::transfer(RemotePhase phase, Sha256& digest) {
    const bool is_write = phase == RemotePhase::write;
    tell_boundary(phase, false);
    std::vector<bool> is_done(chunks());
    std::uint64_t next = 0, finished = 0; // all before that are done
    auto last = machine_.cards.hca->now();
    while (finished < chunks()) {
        for (bool has_room = true; has_room && next < chunks() && next < finished + slots_;) {
            has_room = false;
            for (unsigned i = 0; i < host_->queues() && next < chunks() && next < finished + slots_; ++i) {
                if (host_->queue(i).room() == 0)
                    continue;
                if (is_write)
                    TRY(load(next, digest));
                TRY(submit(phase, next++, host_->queue(i)));
                has_room = true;
            }
        }
        const auto has_moved = take(phase, is_done);
        if (!has_moved)
            return std::unexpected(has_moved.error());
        for (; finished < chunks() && is_done[finished]; ++finished)
            if (!is_write)
                digest.add(bytes(finished % slots_).first(used(finished)));
        if (*has_moved)
            last = machine_.cards.hca->now();
        else if (machine_.cards.hca->now() - last > patience)
            return failure(ETIMEDOUT, machine_.cards.name + ": the remote drive does not answer");
        if (options_.progress)
            options_.progress(is_write ? "write" : "read", bytes_before(finished), options_.payload.size());
        machine_.cards.hca->relax();
    }
    if (is_write) {
        auto flush = space_->flush();
        const auto done = host_->queue(0).execute(flush);
        if (!done)
            return std::unexpected(done.error());
        if (!done->is_ok())
            return failure(EIO, fmt::format("{}: Flush: {}", machine_.cards.name, sw::nvme::describe(*done)));
    }
    tell_boundary(phase, true);
    return {};
}

void RemoteUser::tell_boundary(RemotePhase phase, bool is_over) {
    if (report_.target != nullptr)
        report_.capsule_bytes_a = report_.target->counters().capsules * abi::nvme::command_bytes;
    report_.capsule_bytes_b = 0;
    for (unsigned i = 0; i <= host_->queues(); ++i) {
        const auto& queue = i == 0 ? host_->admin() : host_->queue(i - 1);
        report_.capsule_bytes_b += queue.responses() * abi::nvme::response_bytes + queue.sent_from_memory();
    }
    if (options_.boundary)
        options_.boundary(phase, is_over);
}

sw::Result<void> RemoteUser::close() {
    TRY(host_->shut_down());
    host_.reset();
    memory_.reset();
    return {};
}

} // namespace

sw::Result<void> use_remote_drive(const RemoteMachine& machine, const RemoteOptions& options, RemoteReport& report) {
    return RemoteUser(machine, options, report).run();
}

} // namespace scenario
