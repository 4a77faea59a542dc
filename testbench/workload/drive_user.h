// One who uses drives over the wire: its HCA, memory for the data of its commands, and for each drive a controller with
// I/O queues. What it asks for is the caller's. Belongs to one thread of the simulation; what goes wrong is thrown.
#pragma once

#include "model/port/time.h"
#include "sw/nvme/namespace.h"
#include "sw/nvmf/host.h"
#include "testbench/load/ledger.h"
#include "testbench/load/progress.h"
#include "testbench/workload/drive_machine.h"
#include "testbench/workload/drive_part.h"
#include "testbench/workload/drive_plan.h"

#include <systemc>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace workload {

/// What a user tells a target beside RDMA: that it wants to connect a queue, and later that the queue has gone.
struct DriveWord {
    sw::nvmf::ConnectionRequest request{}; ///< of one who goes: its end, and nothing else
    bool is_goodbye = false;
    std::optional<sw::nvmf::ConnectionReply> reply{};
};
/// What has been said to a target, and not been heard.
using DriveWords = std::deque<std::shared_ptr<DriveWord>>;

/// What all users and targets share.
struct DriveShared : load::Progress {
    DriveShared(const DrivePlan& all, load::Ledger& who_counts)
        : plan(all), ledger(who_counts), words(all.targets), moved(all.targets), users_left(all.users) {}

    const DrivePlan& plan;
    load::Ledger& ledger;
    std::vector<DriveWords> words; ///< by target
    struct Moved {
        std::uint64_t read = 0, written = 0; ///< bytes of commands that have ended well
    };
    std::vector<Moved> moved; ///< by target
    std::size_t users_left;   ///< who have not let go
    std::uint64_t under_way = 0, checked = 0;

    /// Waits until all users have come; the last one calls `met`, which may be empty, before they go on. False: go on
    /// with nothing, something has gone wrong.
    bool meet(const std::function<void()>& met);
    sc_core::sc_event changed; ///< a meeting is over, or something has gone wrong

    bool is_over() const { return !failure.empty() || ledger.is_over(); }

private:
    std::size_t come_ = 0;
    std::uint64_t meetings_ = 0;
};

/// A command of a user, as it was submitted.
struct DriveCommand {
    bool is_write = false;
    BlockRange blocks{};     ///< of the route's part
    std::uint64_t place = 0; ///< of its data in the user's memory, in bytes
    model::port::Time since{};
};

class DriveUser {
public:
    /// Keeps the references. `routes`: those of this user.
    DriveUser(const DriveMachine& machine, const DriveHca& hca, const UserMemory& memory, std::size_t user,
              DriveShared& shared);

    /// Connects all queues of all routes, one after the other.
    void connect();
    /// What was written is durable, and all queues have gone.
    void disconnect();

    std::size_t routes() const { return links_.size(); }
    const DriveRoute& route(std::size_t link) const { return *links_[link].route; }
    unsigned queues() const { return shared_.plan.queues; }
    bool has_room(std::size_t link, unsigned queue) { return links_[link].host->queue(queue).room() != 0; }
    void submit(std::size_t link, unsigned queue, const DriveCommand& command);
    /// Commands that have ended, all well: told to the ledger, then to `ended`. How many.
    std::size_t poll(const std::function<void(std::size_t link, unsigned queue, const DriveCommand&)>& ended);
    /// What was written by way of that route is durable; nothing else is under way.
    void flush(std::size_t link);
    std::uint64_t under_way() const { return under_way_; }

    /// A loop's turn is over that began then: what it spent is the core's work; where nothing `has_moved`, time passes.
    void rest(model::port::Time begin, bool has_moved);
    /// Of what a Read has brought: a byte that is not as `part` has it fails the load.
    void check(std::size_t link, const DrivePart& part, const DriveCommand& command);
    const UserMemory& memory() const { return memory_; }

private:
    struct Link {
        const DriveRoute* route = nullptr;
        std::unique_ptr<sw::nvmf::Host> host{};
        std::optional<sw::nvme::Namespace> space{};
        std::vector<std::vector<DriveCommand>> commands{}; ///< by queue and identifier
    };
    sw::nvmf::Host::Carrier carrier_to(std::size_t target);
    const std::string& name_of(const Link& link) const;

    const DriveMachine& machine_;
    const DriveHca& hca_;
    const UserMemory& memory_;
    std::size_t user_;
    DriveShared& shared_;
    std::vector<Link> links_;
    struct Ended {
        std::size_t link;
        unsigned queue;
        DriveCommand command;
    };
    std::vector<Ended> ended_;
    std::vector<load::Done> done_;
    std::uint64_t under_way_ = 0;
};

} // namespace workload
