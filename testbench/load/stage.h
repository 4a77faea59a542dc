// The threads of a load: the first one brings its nodes up, waits until each core of each node has done its work, and
// lets the nodes go. What nodes and cores are, a class of its own says.
#pragma once

#include "testbench/load/progress.h"

#include <systemc>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace load {

class Stage {
public:
    /// `nodes` with so many cores each. Keeps the reference.
    Stage(Progress& progress, std::size_t nodes, std::uint32_t cores)
        : progress_(progress), nodes_(nodes), cores_(cores) {}
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    virtual ~Stage() = default;

    /// The threads that the load needs, to be started before the simulation runs, each with a name for people.
    virtual void for_each_thread(const std::function<void(std::string name, std::function<void()> body)>& add);

    /// Nodes are connected, and what is measured begins now. May be empty.
    std::function<void()> on_begin{};
    /// The last core has come to its end, and the nodes are still there. May be empty.
    std::function<void()> on_end{};

    /// What went wrong first, for a person; empty: nothing.
    const std::string& failure() const { return progress_.failure; }
    /// Messages whose bytes were looked at where they had arrived.
    virtual std::uint64_t verified() const = 0;
    /// Messages of open loops that were to be posted, and those of them that were not.
    virtual std::uint64_t arrived() const { return 0; }
    virtual std::uint64_t unposted() const { return 0; }

protected:
    /// What the first thread does: calls perform(). What drivers hold is on its stack: a simulation that was stopped in
    /// the middle can let nothing go any more.
    virtual void conduct() = 0;
    /// What a core of a node does. It need not look whether something has gone wrong before.
    virtual void act(std::size_t node, std::uint32_t core) = 0;
    /// `open`, then the cores, then `look` unless something has gone wrong, then `close`.
    void perform(const std::function<void()>& open, const std::function<void()>& look,
                 const std::function<void()>& close);

    /// Whether what is measured begins as soon as nodes are open; else a core says when, by begin().
    virtual bool begins_when_open() const { return true; }
    void begin() {
        if (on_begin)
            on_begin();
    }
    void guard(const std::function<void()>& body);

private:
    Progress& progress_;
    std::size_t nodes_;
    std::uint32_t cores_;
    sc_core::sc_event opened_, ended_;
    bool is_open_ = false;
    std::size_t running_ = 0;
};

} // namespace load
