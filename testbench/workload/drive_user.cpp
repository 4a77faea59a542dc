#include "testbench/workload/drive_user.h"

#include "model/tlm/kernel_clock.h"
#include "testbench/harness/must.h"

#include <fmt/format.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

namespace workload {

using harness::must;
using model::tlm::kernel_now;

bool DriveShared::meet(const std::function<void()>& met) {
    if (++come_ == plan.users) {
        come_ = 0;
        ++meetings_;
        if (met && failure.empty())
            met();
        model::tlm::notify_now(changed);
        return failure.empty();
    }
    for (const auto mine = meetings_; mine == meetings_ && failure.empty();)
        sc_core::wait(changed);
    return failure.empty();
}

DriveUser::DriveUser(const DriveMachine& machine, const DriveHca& hca, const UserMemory& memory, std::size_t user,
                     DriveShared& shared)
    : machine_(machine), hca_(hca), memory_(memory), user_(user), shared_(shared) {
    for (const auto& route : shared.plan.routes)
        if (route.user == user)
            links_.push_back({.route = &route});
}

/// Words lie with the target until it looks.
sw::nvmf::Host::Carrier DriveUser::carrier_to(std::size_t target) {
    return {
        .connect = [this, target](const sw::nvmf::ConnectionRequest& request) -> sw::Result<sw::nvmf::ConnectionReply> {
            const auto word = std::make_shared<DriveWord>(DriveWord{.request = request});
            shared_.words[target].push_back(word);
            for (; !word->reply; machine_.hca->relax())
                if (!shared_.failure.empty())
                    return sw::failure(ECANCELED, machine_.name + ": nobody answers any more");
            return *word->reply;
        },
        .disconnect =
            [this, target](const sw::mlx::Peer& self) {
                shared_.words[target].push_back(
                    std::make_shared<DriveWord>(DriveWord{.request = {.peer = self}, .is_goodbye = true}));
            }};
}

const std::string& DriveUser::name_of(const Link& link) const { return shared_.plan.drives[link.route->target].name; }

void DriveUser::connect() {
    for (auto& link : links_) {
        sw::nvmf::HostOptions options{.queues = queues(), .entries = shared_.plan.load.work.depth + 1};
        options.name += fmt::format(":{}", user_);
        options.identifier.front() = static_cast<std::byte>(user_ + 1);
        options.identifier[1] = static_cast<std::byte>((user_ + 1) >> 8);
        auto host = sw::nvmf::Host::connect(hca_.port, carrier_to(link.route->target), options);
        if (!host)
            throw std::runtime_error(
                fmt::format("{}: connecting to {}: {}", machine_.name, name_of(link), host.error().what));
        link.host = std::move(*host);
        if (link.host->queues() != queues())
            throw std::runtime_error(fmt::format("{} was given {} queues for {}, and asked for {}", machine_.name,
                                                 link.host->queues(), name_of(link), queues()));
        const auto numbers = must(link.host->active_namespaces());
        if (numbers.empty())
            throw std::runtime_error(fmt::format("{}: the drive has no namespace", name_of(link)));
        link.space.emplace(must(link.host->open_namespace(numbers.front())));
        for (unsigned i = 0; i < queues(); ++i)
            link.commands.emplace_back(link.host->queue(i).entries());
    }
}

void DriveUser::disconnect() {
    for (auto& link : links_) {
        must(link.host->shut_down());
        link.host.reset();
    }
}

void DriveUser::submit(std::size_t number, unsigned queue, const DriveCommand& command) {
    auto& link = links_[number];
    const auto scale = drive_block_bytes / link.space->block_bytes();
    const sw::nvme::Blocks blocks{(link.route->first + command.blocks.first) * scale,
                                  std::uint64_t{command.blocks.count} * scale};
    auto entry = command.is_write ? link.space->write(blocks) : link.space->read(blocks);
    const auto id = must(link.host->queue(queue).submit(entry, memory_.data(command.place, command.blocks.bytes())));
    link.commands[queue][id] = command;
    ++under_way_, ++shared_.under_way;
}

std::size_t DriveUser::poll(const std::function<void(std::size_t link, unsigned queue, const DriveCommand&)>& ended) {
    ended_.clear(), done_.clear();
    std::array<sw::nvmf::Response, 16> found;
    for (std::size_t number = 0; number < links_.size(); ++number)
        for (unsigned queue = 0; queue < queues(); ++queue) {
            auto& link = links_[number];
            auto& from = link.host->queue(queue);
            const auto count = from.poll(found);
            if (count == 0)
                continue;
            (void)machine_.hca->now(); // what the driver has spent passes
            for (const auto& one : std::span(found).first(count)) {
                if (!one.is_ok())
                    throw std::runtime_error(fmt::format("{}: a command of {} has ended with: {}{}{}", machine_.name,
                                                         name_of(link), sw::nvme::describe(one),
                                                         from.is_connected() ? "" : ": ", from.why()));
                const auto& command = link.commands[queue][one.id];
                ended_.push_back({number, queue, command});
                done_.push_back({.flow = link.route->flow,
                                 .verb = command.is_write ? load::Verb::write : load::Verb::read,
                                 .bytes = command.blocks.bytes(),
                                 .since = command.since,
                                 .at = kernel_now()});
                auto& moved = shared_.moved[link.route->target];
                (command.is_write ? moved.written : moved.read) += command.blocks.bytes();
            }
        }
    under_way_ -= ended_.size(), shared_.under_way -= ended_.size();
    if (!done_.empty())
        shared_.ledger.add(done_);
    for (const auto& one : ended_)
        ended(one.link, one.queue, one.command);
    return ended_.size();
}

void DriveUser::flush(std::size_t number) {
    auto& link = links_[number];
    auto command = link.space->flush();
    const auto done = must(link.host->queue(0).execute(command));
    if (!done.is_ok())
        throw std::runtime_error(
            fmt::format("{}: Flush of {}: {}", machine_.name, name_of(link), sw::nvme::describe(done)));
}

void DriveUser::rest(model::port::Time begin, bool has_moved) {
    shared_.ledger.add_work(user_, kernel_now() - begin);
    if (has_moved) {
        shared_.last_progress = kernel_now();
        return;
    }
    shared_.look_for_progress(shared_.plan.load.work, shared_.under_way);
    machine_.hca->relax();
}

void DriveUser::check(std::size_t number, const DrivePart& part, const DriveCommand& command) {
    shared_.checked += command.blocks.count;
    const auto wrong = part.find_foreign(command.blocks, memory_.bytes(command.place, command.blocks.bytes()));
    if (!wrong)
        return;
    const auto& link = links_[number];
    shared_.fail(fmt::format("{}: byte {} of block {} of {} (blocks of {} bytes) is not {}", machine_.name,
                             wrong->offset, link.route->first + wrong->block, name_of(link), drive_block_bytes,
                             part.has_written(wrong->block)
                                 ? "what was last written there"
                                 : "zero, and nobody has written it; a drive with a file begins with what is there"));
}

} // namespace workload
