// A load on a platform: its nodes brought up and connected, its cores run, what has arrived looked at, all of it let go
// again. Everything is called by threads of the simulation but the constructor.
#pragma once

#include "platform/topology/platform_module.h"
#include "testbench/harness/host_functions.h"
#include "testbench/load/ledger.h"
#include "testbench/load/node.h"
#include "testbench/load/plan.h"
#include "testbench/load/worker.h"

#include <systemc>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace load {

class Load {
public:
    Load(platform::topology::Platform& platform, const Plan& plan, Ledger& ledger);

    /// The threads that the load needs, to be started before the simulation runs, each with a name for people. The
    /// first one brings the nodes up, waits for the others and lets the nodes go.
    void for_each_thread(const std::function<void(std::string name, std::function<void()> body)>& add);

    /// Nodes are connected, and the cores begin now; called before they do. May be empty.
    std::function<void()> on_begin{};
    /// The last core has come to its end, and the nodes are still there. May be empty.
    std::function<void()> on_end{};

    /// What went wrong first, for a person; empty: nothing.
    const std::string& failure() const { return shared_.failure; }
    /// Messages whose bytes were looked at where they had arrived.
    std::uint64_t verified() const { return shared_.verified; }
    std::uint64_t unposted() const { return shared_.unposted; }
    /// Messages of open loops that were to be posted.
    std::uint64_t arrived() const { return arrived_; }

private:
    void conduct();
    void open();
    void close();
    void core(std::size_t node, std::uint32_t number);
    void guard(const std::function<void()>& body);
    void look_at_counters();
    /// A ping-pong of messages that the other side can answer.
    bool is_answered() const;

    /// What the drivers hold. It is on the stack of the first thread: a simulation that was stopped in the middle can
    /// let nothing go any more.
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
    sc_core::sc_event opened_, ended_;
    bool is_open_ = false;
    std::size_t running_ = 0;
};

} // namespace load
