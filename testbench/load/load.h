// A load on a platform: its nodes brought up and connected, its cores run, what has arrived looked at, all of it let go
// again. Everything is called by threads of the simulation but the constructor.
#pragma once

#include "platform/topology/platform_module.h"
#include "testbench/harness/host_functions.h"
#include "testbench/load/ledger.h"
#include "testbench/load/node.h"
#include "testbench/load/plan.h"
#include "testbench/load/stage.h"
#include "testbench/load/worker.h"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>

namespace load {

class Load : public Stage {
public:
    Load(platform::topology::Platform& platform, const Plan& plan, Ledger& ledger);

    std::uint64_t verified() const override { return shared_.verified; }
    std::uint64_t unposted() const override { return shared_.unposted; }
    std::uint64_t arrived() const override { return arrived_; }

private:
    void conduct() override;
    void act(std::size_t node, std::uint32_t core) override;
    void open();
    void look();
    void close();
    /// A ping-pong of messages that the other side can answer.
    bool is_answered() const;

    /// What the drivers hold.
    struct Held {
        std::map<std::size_t, std::unique_ptr<harness::HostFunctions>> hosts{}; ///< by number
        std::deque<Node> nodes{};
        std::deque<End> ends{};
    };

    platform::topology::Platform& platform_;
    const Plan& plan_;
    Shared shared_;
    Held* held_ = nullptr;
    std::uint64_t arrived_ = 0;
};

} // namespace load
