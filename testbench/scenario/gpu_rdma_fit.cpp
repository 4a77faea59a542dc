#include "testbench/scenario/gpu_rdma_fit.h"

#include "testbench/scenario/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace scenario {

using platform::topology::Description;
using platform::topology::PartAt;
using platform::topology::PartKind;

std::vector<RdmaNodeParts> gpu_rdma_nodes(const Description& described) {
    std::vector<RdmaNodeParts> nodes;
    for (std::size_t host = 0; host < described.hosts.size(); ++host) {
        std::optional<PartAt> gpu, hca;
        for (std::size_t part = 0; part < described.hosts[host].parts.size(); ++part) {
            const auto& one = described.hosts[host].parts[part];
            if (one.kind == PartKind::hca && !hca)
                hca = PartAt{host, part};
            if (one.kind == PartKind::device && one.other().kind().name == "caching_gpu" && !gpu)
                gpu = PartAt{host, part};
        }
        if (gpu && hca)
            nodes.push_back({*gpu, *hca});
    }
    return nodes;
}

std::expected<void, std::string> gpu_rdma_fits(const platform::topology::Config& config, std::uint64_t payload_bytes) {
    const auto described = platform::topology::describe(config).value();
    const auto nodes = gpu_rdma_nodes(described);
    if (nodes.size() < 2)
        return std::unexpected(std::string("fewer than two hosts have both a GPU with caches and an HCA: parts such as "
                                           "{ path = \"root0.sw0.gpu0\", kind = \"caching_gpu\" } and "
                                           "\"root0.sw0.hca0\""));
    for (const auto& node : nodes)
        if (const auto ours = is_driven_here(described, node.hca); !ours)
            return ours;
    constexpr std::uint32_t most_threads = 64;
    if (config.scenario.queue_pairs > most_threads)
        return std::unexpected(fmt::format("scenario.qps = {} is more than the {} threads of this scenario",
                                           config.scenario.queue_pairs, most_threads));
    if (payload_bytes == 0)
        return std::unexpected(std::string("the payload is empty"));
    const auto& omitted = config.scenario.omit;
    if (!omitted.empty() && std::ranges::find(rdma_fences, sw::gpu::find_fence(omitted)) == rdma_fences.end()) {
        std::string known;
        for (const auto fence : rdma_fences)
            known += fmt::format("{}{}", known.empty() ? "" : ", ", sw::gpu::name(fence));
        return std::unexpected(
            fmt::format("scenario.omit = \"{}\" is no fence of these programs; there are {}", omitted, known));
    }
    return {};
}

} // namespace scenario
