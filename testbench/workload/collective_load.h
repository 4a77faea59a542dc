// A collective operation on a platform, again and again: its ranks brought up and connected, run, looked at, let go.
#pragma once

#include "platform/topology/platform_module.h"
#include "testbench/harness/host_functions.h"
#include "testbench/load/ledger.h"
#include "testbench/load/stage.h"
#include "testbench/workload/participant.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace workload {

class CollectiveLoad : public load::Stage {
public:
    CollectiveLoad(platform::topology::Platform& platform, const CollectivePlan& plan, load::Ledger& ledger);

    std::uint64_t verified() const override { return shared_.verified; }

private:
    void conduct() override;
    void act(std::size_t node, std::uint32_t core) override;
    void open();
    void close();

    struct Held {
        std::map<std::size_t, std::unique_ptr<harness::HostFunctions>> hosts{}; ///< by number
        std::deque<load::Device> devices{};
        std::deque<RankMemory> memories{};
        std::deque<Link> links{};
        std::vector<std::vector<Link*>> of_ranks{};
        std::vector<std::vector<std::uint32_t>> channels{}; ///< of these
    };

    platform::topology::Platform& platform_;
    const CollectivePlan& plan_;
    CollectiveShared shared_;
    Held* held_ = nullptr;
};

} // namespace workload
