#include "testbench/scenario/workload_nodes.h"

#include "testbench/scenario/node_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace scenario {

using platform::topology::Config;
using platform::topology::Description;
using platform::topology::PartAt;
using platform::topology::PartKind;

load::Work work_of(const Config& config) {
    load::Work work;
    work.how.memory = work.how.remote_memory = config.traffic.memory;
    work.how.page_bytes = config.traffic.page_bytes;
    work.how.reads = config.traffic.reads;
    work.how.ack_timeout = config.traffic.ack_timeout;
    work.how.retry_count = config.traffic.retry_count;
    work.how.intervals = config.traffic.intervals;
    work.how.verifies = config.traffic.verifies;
    work.how.messages = 0;
    work.depth = config.scenario.queue_depth;
    work.mtu = config.scenario.mtu_bytes;
    work.seed = config.scenario.seed;
    return work;
}

std::expected<std::vector<std::size_t>, std::string> ranks_of(const Config& config, const Description& described,
                                                              std::string_view path, const std::string& text) {
    std::vector<std::size_t> all(described.hcas.size());
    std::iota(all.begin(), all.end(), 0);
    if (text.empty())
        return all;
    auto named = hcas_of(described, text);
    if (!named)
        return refuse(config, path, named.error());
    return named;
}

std::optional<PartAt> part_beside(const Description& described, const PartAt& hca,
                                  bool (*is_wanted)(const platform::topology::Part& part)) {
    const auto& parts = described.hosts[hca.host].parts;
    const auto number = std::count_if(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(hca.part),
                                      [](const auto& part) { return part.kind == PartKind::hca; });
    std::ptrdiff_t found = 0;
    for (std::size_t part = 0; part < parts.size(); ++part)
        if (is_wanted(parts[part]) && found++ == number)
            return PartAt{hca.host, part};
    return std::nullopt;
}

bool is_gpu(const platform::topology::Part& part) { return part.kind == PartKind::gpu; }

void add_nodes(const Description& described, const std::vector<std::size_t>& hcas, load::Plan& plan) {
    for (const auto number : hcas) {
        const auto& at = described.hcas[number];
        plan.nodes.push_back({.hca = at, .gpu = {}, .name = described.name_of(at)});
    }
}

std::expected<void, std::string> add_gpus(const Config& config, const Description& described, load::Plan& plan) {
    for (auto& node : plan.nodes) {
        node.gpu = part_beside(described, node.hca, is_gpu);
        if (!node.gpu)
            return refuse(config, "traffic.memory",
                          fmt::format("the host of {} has no GPU for it: each HCA needs one", node.name));
    }
    return {};
}

} // namespace scenario
