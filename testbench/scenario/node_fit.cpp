#include "testbench/scenario/node_fit.h"

#include "platform/topology/keys.h"
#include "platform/topology/names.h"
#include "sw/mlx/queue/send_size.h"
#include "sw/simple/verbs_face.h"
#include "testbench/scenario/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <ranges>

namespace scenario {

using platform::topology::Config;
using platform::topology::Description;
using platform::topology::HcaModel;
using platform::topology::PartKind;
using Error = std::unexpected<std::string>;

namespace {

constexpr std::size_t most_queue_pairs = 1 << 18;

std::string print_size(std::uint64_t bytes) {
    return platform::topology::print(platform::topology::Kind::size, static_cast<std::int64_t>(bytes));
}

/// Sizes that both models have, each under keys of its own.
struct Limits {
    std::uint32_t log_max_message, log_max_qp, log_max_key;
    std::string_view keys; ///< the key that says how many memory keys there are
};
Limits limits_of(const platform::topology::HcaPart& hca) {
    if (hca.model == HcaModel::simple)
        return {model::simple::log_max_message, hca.simple.log_max_qp, hca.simple.log_max_region,
                "simple.log_max_region"};
    return {hca.core.log_max_message, hca.core.log_max_qp, hca.core.log_max_mkey, "hca.log_max_mkey"};
}

std::expected<void, std::string> model_fits(const Config& config, const NodeNeeds& needs, const NodeKeys& keys) {
    constexpr auto can = sw::simple::architecture;
    if (!can.has_blue_flame && config.traffic.has_blue_flame)
        return refuse_for_model(config, "traffic.blue_flame", "doorbells with work requests");
    if (!can.has_dmabuf && needs.uses_vram)
        return refuse_for_model(config, keys.memory, "way into VRAM");
    return {};
}

/// Queues of the ConnectX driver, and the interrupts that it takes: one for completions, one for the rest.
std::expected<void, std::string> queues_fit(const Config& config, const model::hca::HcaConfig& hca,
                                            std::string_view name, const NodeNeeds& needs) {
    if (hca.msix_vectors < 2)
        return refuse(config, "hca.msix_vectors",
                      fmt::format("{} has no vector for completions beside that for the rest: choose 2 or more", name));
    if (needs.completions > std::uint64_t{1} << hca.log_max_cq_size)
        return refuse(
            config, "hca.log_max_cq_size",
            fmt::format("{} needs a completion queue of {} entries and has at most {}: choose {}, or a smaller "
                        "scenario.queue_depth or scenario.qps",
                        name, needs.completions, 1ull << hca.log_max_cq_size, std::bit_width(needs.completions - 1)));
    const auto wqe_bytes = sw::mlx::send_wqe_bytes(1, needs.inline_bytes);
    if (wqe_bytes > hca.max_wqe_size_sq)
        return refuse(config, "traffic.inline",
                      fmt::format("makes work requests of {} bytes, and {} takes {} at most", wqe_bytes, name,
                                  hca.max_wqe_size_sq));
    const auto blocks = std::max(sw::mlx::send_queue_blocks(needs.sends, wqe_bytes), std::uint64_t{needs.receives});
    if (blocks > std::uint64_t{1} << hca.log_max_qp_size)
        return refuse(config, "hca.log_max_qp_size",
                      fmt::format("a queue pair of {} needs {} blocks and has at most {}: choose {}, or a smaller "
                                  "scenario.queue_depth or traffic.inline",
                                  name, blocks, 1ull << hca.log_max_qp_size, std::bit_width(blocks - 1)));
    return {};
}

} // namespace

Error refuse_for_model(const Config& config, std::string_view path, std::string_view what) {
    return refuse(config, path, fmt::format("hca.model={} has no {}", sw::simple::architecture.model, what));
}

Error refuse(const Config& config, std::string_view path, std::string_view why) {
    std::string where = config.file;
    for (const auto& given : config.given)
        if (given.path == path)
            where = given.where;
    const auto* key = platform::topology::find_key(path);
    const auto value = platform::topology::print(key->kind, key->get(config));
    return Error(fmt::format("{}: '{}' = {}: {}", where, path, value.empty() ? "none" : value, why));
}

std::expected<std::vector<std::size_t>, std::string> hcas_of(const Description& described, std::string_view text) {
    std::vector<std::size_t> found;
    for (const auto word : platform::topology::words_of(text)) {
        const auto names = platform::topology::expand_each(word);
        if (!names)
            return Error(names.error());
        for (const auto& one : *names) {
            auto part = described.find(one);
            if (const auto host = described.find_host(one))
                part = first_parts(described, *host).hca;
            if (!part || described.part(*part).kind != PartKind::hca)
                return Error(fmt::format(
                    "{} is no HCA of this platform, and no host that has one; `hcasim show` draws it", one));
            const auto number = described.part(*part).hca().number;
            if (std::ranges::find(found, number) != found.end())
                return Error(fmt::format("{} is there twice", one));
            found.push_back(number);
        }
    }
    return found;
}

std::expected<std::vector<std::uint64_t>, std::string> count_queue_pairs(const Config& config, const load::Plan& plan) {
    std::vector<std::uint64_t> queue_pairs(plan.nodes.size());
    for (const auto& connection : plan.connections)
        for (const auto node : {connection.first, connection.second})
            queue_pairs[node] += plan.work.queue_pairs;
    if (std::accumulate(queue_pairs.begin(), queue_pairs.end(), std::uint64_t{0}) > most_queue_pairs)
        return refuse(config, "scenario.qps", fmt::format("makes more than {} queue pairs", most_queue_pairs));
    return queue_pairs;
}

std::expected<void, std::string> node_fits(const Config& config, const Description& described,
                                           const load::PlannedNode& node, const NodeNeeds& needs,
                                           const NodeKeys& keys) {
    const auto& hca = described.part(node.hca).hca();
    const auto limits = limits_of(hca);
    if (hca.model == HcaModel::simple)
        if (const auto can = model_fits(config, needs, keys); !can)
            return can;
    if (const auto ours = is_driven_here(described, node.hca); !ours)
        return ours;
    if (hca.model == HcaModel::connectx)
        if (const auto can = queues_fit(config, hca.core, node.name, needs); !can)
            return can;
    if (needs.message > 1ull << limits.log_max_message)
        return refuse(config, keys.message,
                      fmt::format("a message of {} is larger than {} sends", needs.message, node.name));
    // The driver's own queue pair, and what the device keeps for itself.
    if (needs.queue_pairs + 4 > 1ull << limits.log_max_qp)
        return refuse(
            config, "scenario.qps",
            fmt::format("{} needs {} queue pairs and has {}", node.name, needs.queue_pairs, 1ull << limits.log_max_qp));
    constexpr std::uint64_t of_the_driver = 16;
    if (needs.memory_keys + of_the_driver > 1ull << limits.log_max_key)
        return refuse(config, keys.memory_keys,
                      fmt::format("{} needs {} memory keys and {} for its driver, and has {} ('{}')", node.name,
                                  needs.memory_keys, of_the_driver, 1ull << limits.log_max_key, limits.keys));
    if (needs.uses_vram && !node.gpu)
        return refuse(config, keys.memory, fmt::format("the host of {} has no GPU", node.name));
    const auto has = needs.uses_vram ? described.part(*node.gpu).gpu().vram_bytes
                                     : described.hosts[node.hca.host].memory.memory_bytes;
    if (needs.bytes > has / 2)
        return refuse(config, keys.bytes,
                      fmt::format("{} needs {} of memory for messages, and half of what it has is {}", node.name,
                                  print_size(needs.bytes), print_size(has / 2)));
    return {};
}

} // namespace scenario
