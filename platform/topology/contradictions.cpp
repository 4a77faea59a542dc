#include "platform/topology/contradictions.h"

#include "model/net/credits.h"
#include "model/pcie/posted_credits.h"
#include "platform/topology/value.h"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace platform::topology {
namespace {

/// A cache whose sets are no power of two would have fewer entries than it was given.
void check_cache(std::vector<std::string>& faults, std::string_view entries_key, std::uint32_t entries,
                 std::string_view ways_key, std::uint32_t ways) {
    if (entries >= ways && (entries % ways != 0 || !std::has_single_bit(entries / ways)))
        faults.push_back(fmt::format("'{}' = {} is no power of two of sets of '{}' = {}; the next lower is {}",
                                     entries_key, entries, ways_key, ways, std::bit_floor(entries / ways) * ways));
}

/// A receiver has room for a largest packet at least (PCIe 6.0 §2.6.1, minimum advertisement).
void check_credits(std::vector<std::string>& faults, std::string_view name, const PcieLinkConfig& link) {
    const auto needed = model::pcie::posted_credits(link.mps_bytes);
    if (link.posted_credits != 0 && link.posted_credits < needed)
        faults.push_back(fmt::format("'{0}.posted_credits' = {1} is neither 0 nor room for '{0}.mps', {2}", name,
                                     link.posted_credits, needed));
    if (link.completion_credits != 0 && link.completion_credits < needed)
        faults.push_back(fmt::format("'{0}.completion_credits' = {1} is neither 0 nor room for '{0}.mps', {2}", name,
                                     link.completion_credits, needed));
}

/// " (p2p.toml:12)": where a key was set last; empty where nobody has said.
std::string where_of(const Config& config, std::string_view path) {
    std::string where;
    for (const auto& given : config.given)
        if (given.path == path)
            where = fmt::format(" ({})", given.where);
    return where;
}

/// Two keys say which congestion control there is.
void check_congestion_control(std::vector<std::string>& faults, const Config& config) {
    using model::hca::congestion::Algorithm;
    const auto control = config.said_control;
    const auto is_dcqcn = config.said_dcqcn;
    if (control && is_dcqcn && *is_dcqcn != (*control == Algorithm::dcqcn))
        faults.push_back(fmt::format("'hca.congestion_control' = {}{} and 'hca.dcqcn.enabled' = {}{} contradict each "
                                     "other: leave out the second",
                                     model::hca::congestion::algorithms.at(static_cast<std::size_t>(*control)),
                                     where_of(config, "hca.congestion_control"), *is_dcqcn,
                                     where_of(config, "hca.dcqcn.enabled")));
}

} // namespace

std::vector<std::string> contradictions(const Config& config) {
    const bool is_ethernet = config.link.encapsulation != model::port::Encapsulation::infiniband;
    std::vector<std::string> faults;
    const bool is_simple = config.hca_model == HcaModel::simple;
    if (is_simple && config.fabric.is_managed)
        faults.push_back("'hca.model' = simple has no agent that answers a subnet manager: 'fabric.managed' has to be "
                         "false");
    if (is_simple && config.scenario.queue_pairs > 1U << config.simple.log_max_qp)
        faults.push_back(
            fmt::format("'scenario.qps' is larger than 2^'simple.log_max_qp' = {}", 1U << config.simple.log_max_qp));
    if (!is_simple && config.scenario.message_bytes > 1ULL << config.hca.log_max_message)
        faults.push_back(
            fmt::format("'scenario.message' is larger than the HCA's messages, 2^'hca.log_max_message' = {}",
                        print(Kind::size, std::int64_t{1} << config.hca.log_max_message)));
    if (!is_simple && config.scenario.queue_depth > 1U << config.hca.log_max_qp_size)
        faults.push_back(fmt::format("'scenario.queue_depth' is larger than a send queue, 2^'hca.log_max_qp_size' = {}",
                                     1U << config.hca.log_max_qp_size));
    if (!is_simple && config.scenario.queue_pairs > 1U << config.hca.log_max_qp)
        faults.push_back(
            fmt::format("'scenario.qps' is larger than 2^'hca.log_max_qp' = {}", 1U << config.hca.log_max_qp));
    check_congestion_control(faults, config);
    const auto& buffer = config.fabric.buffer;
    if (buffer.has_ecn && buffer.ecn_min > buffer.ecn_max)
        faults.push_back("'fabric.switch_ecn_min' is more than 'fabric.switch_ecn_max'");
    if (config.fabric.is_managed && is_ethernet)
        faults.push_back(
            "'fabric.managed': a RoCE port has no subnet manager; 'link.encapsulation' has to be infiniband");
    constexpr double least_rate = 0.001; // at less than this a packet takes longer than any timer waits
    if (config.link.rate_gbps > 0 && config.link.rate_gbps < least_rate)
        faults.push_back(
            fmt::format("'link.rate_gbps' = {} is neither 0 nor at least {}", config.link.rate_gbps, least_rate));
    if (config.link.credit_blocks != 0 && config.link.credit_blocks < model::net::Credits::largest_packet)
        faults.push_back(fmt::format("'link.credit_blocks' = {} is neither 0 nor room for a packet, {}",
                                     config.link.credit_blocks, model::net::Credits::largest_packet));
    check_credits(faults, "pcie.device", config.device_link);
    check_credits(faults, "pcie.upstream", config.upstream_link);
    check_cache(faults, "hca.qp_cache_entries", config.hca.qp_cache_entries, "hca.cache_ways", config.hca.cache_ways);
    check_cache(faults, "hca.mkey_cache_entries", config.hca.mkey_cache_entries, "hca.cache_ways",
                config.hca.cache_ways);
    check_cache(faults, "hca.mtt_cache_entries", config.hca.mtt_cache_entries, "hca.cache_ways", config.hca.cache_ways);
    check_cache(faults, "hca.device_tlb_entries", config.hca_ats.entries, "hca.device_tlb_ways", config.hca_ats.ways);
    check_cache(faults, "iommu.iotlb_entries", config.iommu.unit.iotlb.entries, "iommu.iotlb_ways",
                config.iommu.unit.iotlb.ways);
    return faults;
}

} // namespace platform::topology
