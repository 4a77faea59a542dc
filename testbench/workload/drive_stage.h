// Drives that are used over the wire, on a platform: targets and users brought up, connected, run, looked at and let
// go. A thread for each; what a user does, a class of its own says.
#pragma once

#include "platform/topology/platform_module.h"
#include "testbench/harness/host_functions.h"
#include "testbench/load/ledger.h"
#include "testbench/load/stage.h"
#include "testbench/workload/drive_server.h"
#include "testbench/workload/drive_user.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace workload {

/// What a target's drive has moved in the whole run.
struct DriveMoved {
    sw::nvmf::Stage read{}, written{};
};

class DriveStage : public load::Stage {
public:
    DriveStage(platform::topology::Platform& platform, const DrivePlan& plan, load::Ledger& ledger)
        : Stage(shared_, plan.load.nodes.size(), 1), platform_(platform), plan_(plan), shared_(plan, ledger),
          drives_(plan.targets) {}

    std::uint64_t verified() const override { return shared_.checked; }
    /// By target, when the run is over.
    const std::vector<DriveMoved>& moved() const { return drives_; }

    /// Bytes of payload that cards of a host have moved from and to its memory, until now. To be set.
    std::function<std::uint64_t(std::size_t host)> host_bytes{};

protected:
    /// Bytes of memory that a user needs for the data of its commands, and whether they are in VRAM.
    struct Needs {
        std::uint64_t bytes = 0;
        bool is_vram = false;
    };
    virtual Needs needs_of(std::size_t user) const = 0;
    /// What a user does when all are connected, until nothing of it is under way.
    virtual void use(std::size_t user, DriveUser& drives) = 0;
    DriveShared& shared() { return shared_; }

private:
    bool begins_when_open() const override { return false; } // users connect first, which is not measured
    void conduct() override;
    void act(std::size_t node, std::uint32_t core) override;
    void open();
    void serve(std::size_t target);
    void listen(std::size_t target);
    void take_part(std::size_t user);
    void look();
    void close();
    std::map<std::size_t, std::uint64_t> payload_in_hosts() const;

    /// What the drivers hold.
    struct Held {
        std::map<std::size_t, std::unique_ptr<harness::HostFunctions>> hosts{}; ///< by number
        std::deque<DriveMachine> machines{};                                    ///< by node
        std::deque<DriveHca> hcas{};                                            ///< by user
        std::deque<UserMemory> memories{};                                      ///< by user
        std::vector<std::unique_ptr<DriveServer>> servers{};                    ///< by target
    };

    platform::topology::Platform& platform_;
    const DrivePlan& plan_;
    DriveShared shared_;
    std::vector<DriveMoved> drives_;
    std::map<std::size_t, std::uint64_t> in_hosts_; ///< when users began; when they were done
    Held* held_ = nullptr;
};

} // namespace workload
