#include "testbench/scenario/registry.h"

#include "platform/topology/description.h"
#include "testbench/scenario/collective_fit.h"
#include "testbench/scenario/collective_run.h"
#include "testbench/scenario/dmabuf_fit.h"
#include "testbench/scenario/dmabuf_run.h"
#include "testbench/scenario/gpudirect_fit.h"
#include "testbench/scenario/gpudirect_run.h"
#include "testbench/scenario/gpu_nvme_run.h"
#include "testbench/scenario/gpu_rdma_fit.h"
#include "testbench/scenario/gpu_rdma_run.h"
#include "testbench/scenario/kv_fit.h"
#include "testbench/scenario/kv_run.h"
#include "testbench/scenario/nvme_run.h"
#include "testbench/scenario/remote_storage_run.h"
#include "testbench/scenario/storage_fit.h"
#include "testbench/scenario/storage_run.h"
#include "testbench/scenario/storage_stream_run.h"
#include "testbench/scenario/traffic_fit.h"
#include "testbench/scenario/traffic_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace scenario {

std::span<const Scenario> scenarios() {
    static const std::vector<Scenario> table{
        {"gpudirect", "a file from GPU to GPU by RDMA: WRITE there, READ back, SEND again", run_gpudirect, fits},
        {"dmabuf", "VRAM as a dma-buf: registered pinned, revocable and on demand; revoked and migrated in the middle",
         run_dmabuf, [](const platform::topology::Config& config, std::uint64_t) { return dmabuf_fits(config); },
         false},
        {"nvme", "a file onto a drive and back: written, flushed, read, and read again here and there", run_nvme,
         nvme_fits, true, false, false, false},
        {"gpu_nvme", "a GPU drives a drive: Identify, a file there and back, which caches let that work", run_gpu_nvme,
         gpu_nvme_fits, true, false, false, false},
        {"gpu_rdma", "GPUs drive their HCAs: tensors from each to the next, and an all-reduce in a ring", run_gpu_rdma,
         gpu_rdma_fits},
        {"storage_stream", "from drive to drive of two hosts, by way of VRAM and the wire", run_storage_stream,
         storage_stream_fits},
        {"remote_storage", "a file onto the drive of another host and back, over RDMA (NVMe over Fabrics)",
         run_remote_storage, remote_storage_fits},
        {"traffic", "messages between HCAs as [traffic] has them: rates, latencies, fairness, what held them back",
         run_traffic, traffic_fits, false, true},
        {"allreduce", "hosts add up their data, or those of their GPUs, in a ring or in trees: time, bandwidths",
         run_collective, collective_fits, false, true, true},
        {"alltoall", "each has a block for each: pairwise exchange", run_collective, collective_fits, false, true,
         true},
        {"kv", "a key-value store: GETs by READ, or by SEND and answer, and PUTs", run_kv, kv_fits, false, true},
        {"storage", "clients read and write drives of other hosts (NVMe over Fabrics), and compare what they read",
         run_storage, storage_fits, false},
        {"checkpoint", "ranks write their state to drives of other hosts, all at once: time, bytes a second",
         run_checkpoint, checkpoint_fits, false},
        {"parameter_server", "workers push what servers add up, and READ the sums", run_collective, collective_fits,
         false, true, true},
    };
    return table;
}

std::expected<void, std::string> look_at(const Scenario& scenario, const platform::topology::Config& config,
                                         std::uint64_t payload_bytes) {
    const auto described = platform::topology::describe(config).value(); // which read_config has tried
    for (const auto& at : described.hcas)
        if (const auto model = described.part(at).hca().model;
            !scenario.runs_on_every_model && model != platform::topology::HcaModel::connectx)
            return std::unexpected(
                fmt::format("{}: {} is of hca.model = {}, for which the scenario '{}' has no driver; 'traffic', 'kv' "
                            "and the collective operations run on each model",
                            config.file, described.name_of(at), to_string(model), scenario.name));
    if (scenario.uses_wire && config.fabric.is_managed && !described.hcas.empty())
        return std::unexpected(fmt::format(
            "{}: the ports wait for a subnet manager (fabric.managed = true), and `hcasim run` has none: no "
            "port has a LID or a route. Choose fabric.managed=false, where the platform gives both; or boot "
            "drivers on it and let one of them run opensm: ./dev guest platform/configs/fabric.toml -- "
            "'opensm -B; sleep 3; ibnetdiscover'",
            config.file));
    return scenario.fits != nullptr ? scenario.fits(config, payload_bytes) : std::expected<void, std::string>{};
}

const Scenario* find_scenario(std::string_view name) {
    const auto all = scenarios();
    const auto found = std::ranges::find(all, name, &Scenario::name);
    return found == all.end() ? nullptr : &*found;
}

} // namespace scenario
