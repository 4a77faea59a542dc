// A collective operation on a platform, again and again: its ranks brought up and connected, run, looked at, let go.
// Each host is brought up by a thread of its own, and hosts tell each other out of band what they have to know, so that
// they may be in several processes.
#pragma once

#include "platform/ranks/partition.h"
#include "platform/topology/platform_module.h"
#include "testbench/harness/host_functions.h"
#include "testbench/load/ledger.h"
#include "testbench/load/meeting.h"
#include "testbench/load/stage.h"
#include "testbench/workload/participant.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace workload {

class CollectiveLoad : public load::Stage {
public:
    /// `here`: what of the platform is in this process; `post`: to the other ones, nullptr: there are none.
    CollectiveLoad(platform::topology::Platform& platform, const CollectivePlan& plan, load::Ledger& ledger,
                   const platform::ranks::Share& here = {}, platform::ranks::Post* post = nullptr);

    void for_each_thread(const std::function<void(std::string name, std::function<void()> body)>& add) override;
    std::uint64_t verified() const override { return shared_.verified; }
    /// Something has gone wrong elsewhere.
    void fail(std::string why) { shared_.fail(std::move(why)); }

private:
    /// What drivers hold of a rank.
    struct HeldOfRank {
        std::unique_ptr<load::Device> device{};
        RankMemory memory{};
        std::vector<std::unique_ptr<sw::verbs::QueuePair>> queue_pairs{};
    };
    /// And of a host. On the stack of its thread, as Stage::conduct() has it: only there can it be let go.
    struct Held {
        std::unique_ptr<harness::HostFunctions> functions{};
        std::deque<HeldOfRank> ranks{};
    };
    /// A host of this process, and the ranks of it.
    struct Host {
        std::size_t number = 0;
        std::vector<Rank> ranks{};
        std::size_t running = 0; ///< of its cores
        sc_core::sc_event ended{};
    };

    void conduct() override {} // each host has a thread of its own instead
    void act(std::size_t node, std::uint32_t core) override;
    void plan_links();
    void conduct(Host& host);
    void open(Held& held, const Host& host);
    void open(Held& held, Rank rank);
    platform::ranks::Bytes words_of(const Host& host) const;
    void hear(unsigned number, const std::vector<platform::ranks::Bytes>& words);
    bool hear(platform::ranks::Reader& words);
    void connect(const Host& host);
    void close(Held& held, const Host& host);

    platform::topology::Platform& platform_;
    const CollectivePlan& plan_;
    CollectiveShared shared_;
    load::Meeting meeting_;
    sc_core::sc_event opened_;
    bool is_open_ = false;
    std::deque<Host> hosts_;
    std::vector<HeldOfRank*> held_;      ///< by rank; nullptr: of another process, or let go
    std::vector<FarRank> far_;           ///< by rank, as told
    std::vector<std::uint64_t> places_;  ///< by rank
    std::vector<std::uint32_t> windows_; ///< by rank
    std::deque<Link> links_;             ///< two of each channel, of all ranks
    std::vector<std::vector<Link*>> of_ranks_;
    std::vector<std::vector<std::uint32_t>> channels_; ///< of these
};

} // namespace workload
