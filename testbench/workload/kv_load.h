// A key-value store on a platform: its clients and servers brought up and connected, run, and let go.
#pragma once

#include "platform/topology/platform_module.h"
#include "testbench/harness/host_functions.h"
#include "testbench/load/ledger.h"
#include "testbench/load/stage.h"
#include "testbench/workload/kv_link.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace workload {

class KvLoad : public load::Stage {
public:
    KvLoad(platform::topology::Platform& platform, const KvPlan& plan, load::Ledger& ledger);

    std::uint64_t verified() const override { return shared_.verified; }
    std::uint64_t repeated() const { return shared_.repeated; }
    /// Mean of the values of a kind of operation, of the whole run.
    std::uint64_t mean_bytes(KvKind kind) const {
        const auto i = static_cast<std::size_t>(kind);
        return shared_.operations[i] == 0 ? 0 : shared_.bytes[i] / shared_.operations[i];
    }

private:
    void conduct() override;
    void act(std::size_t node, std::uint32_t core) override;
    void open();
    void open_node(std::size_t node);
    void fill_values(std::size_t server, const load::Memory& values);
    void close();

    struct NodeMemory {
        load::Memory out{}, received{}, landing{}; ///< landing: of a server its values
    };
    struct Held {
        std::map<std::size_t, std::unique_ptr<harness::HostFunctions>> hosts{}; ///< by number
        std::deque<load::Device> devices{};
        std::deque<NodeMemory> memories{};
        std::deque<KvLink> links{};
        std::vector<std::vector<KvLink*>> of_nodes{};
    };

    platform::topology::Platform& platform_;
    const KvPlan& plan_;
    KvShared shared_;
    Held* held_ = nullptr;
};

} // namespace workload
