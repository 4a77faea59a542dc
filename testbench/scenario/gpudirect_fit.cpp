#include "testbench/scenario/gpudirect_fit.h"

#include "firmware/state.h"
#include "platform/topology/value.h"
#include "testbench/scenario/endpoint.h"
#include "testbench/scenario/gpudirect.h"
#include "testbench/scenario/roles.h"

#include <fmt/format.h>

#include <bit>

namespace scenario {

namespace {

using platform::topology::Config;
using platform::topology::Kind;

using Fit = std::expected<void, std::string>;

template <class... Args> Fit refuse(fmt::format_string<Args...> format, Args&&... args) {
    return std::unexpected(fmt::format(format, std::forward<Args>(args)...));
}

std::string size(std::uint64_t bytes) {
    return platform::topology::print(Kind::size, static_cast<std::int64_t>(bytes));
}

GpuDirectOptions options_of(const Config& config, std::uint64_t payload) {
    return {.payload = {payload, nullptr},
            .message_bytes = config.scenario.message_bytes,
            .queue_depth = config.scenario.queue_depth,
            .queue_pairs = config.scenario.queue_pairs};
}

Fit payload_fits(const Config& config, std::uint64_t payload) {
    if (payload == 0)
        return refuse("the payload is empty: there is nothing to move");
    // The initiator holds the source and what it reads back.
    const auto message = config.scenario.message_bytes;
    if (const auto piece = options_of(config, payload).largest_piece_bytes(); piece > config.gpu.vram_bytes / 2)
        return piece == payload ? refuse("the payload, {} bytes, does not fit twice into gpu.vram = {}; choose a "
                                         "smaller --payload or a larger gpu.vram",
                                         payload, size(config.gpu.vram_bytes))
                                : refuse("a piece of the payload, {} bytes, does not fit twice into gpu.vram = {}; "
                                         "choose a larger gpu.vram, or a "
                                         "smaller --payload or scenario.message",
                                         piece, size(config.gpu.vram_bytes));
    if (const auto messages = (payload + message - 1) / message; messages > max_messages)
        return refuse("the payload, {} bytes, makes {} messages of scenario.message = {}, more than {}; choose a "
                      "smaller --payload or "
                      "a scenario.message of {} bytes or more",
                      payload, messages, size(message), max_messages, (payload + max_messages - 1) / max_messages);
    return {};
}

Fit numbers_fit(const Config& config, const Endpoint::Needed& needed) {
    const auto& scenario = config.scenario;
    if (const auto most = firmware::queue_pairs_of(config.hca.log_max_qp); scenario.queue_pairs > most)
        return refuse("scenario.qps = {} is more than the {} queue pairs of hca.log_max_qp = {}; choose fewer or a "
                      "larger hca.log_max_qp",
                      scenario.queue_pairs, most, config.hca.log_max_qp);
    if (config.hca.msix_vectors < 2)
        return refuse("hca.msix_vectors = {} leaves none for completions, the driver of this scenario uses one for "
                      "them and one for "
                      "the rest; choose 2 or more",
                      config.hca.msix_vectors);
    const auto completions = needed.completions;
    if (completions > std::uint64_t{1} << config.hca.log_max_cq_size)
        return refuse("scenario.queue_depth = {} on scenario.qps = {} needs a completion queue of {} entries, "
                      "hca.log_max_cq_size = {} allows {}; "
                      "choose less or a hca.log_max_cq_size of {}",
                      scenario.queue_depth, scenario.queue_pairs, completions, config.hca.log_max_cq_size,
                      1ULL << config.hca.log_max_cq_size, std::bit_width(completions - 1));
    return {};
}

/// What a person sets for more memory.
std::string memory_key(const platform::topology::Description& platform, std::size_t host) {
    return fmt::format("{}{}.memory", platform.is_pair ? "host." : "", platform.hosts[host].name);
}

/// Rings and completion queues live in DRAM; the rest of a driver's memory is small beside the least DRAM there is.
Fit memory_fits(const Config& config, const Endpoint::Needed& needs, const platform::topology::Description& platform,
                const Roles& roles) {
    constexpr std::uint64_t page = 4096, rest = 8 << 20;
    constexpr std::uint64_t send_bytes = 64, receive_bytes = 16, completion_bytes = 64, record_bytes = 64;
    const auto& scenario = config.scenario;
    const auto ring = std::bit_ceil(std::uint64_t{needs.depth}) * (send_bytes + receive_bytes);
    const auto completions = std::bit_ceil(needs.completions);
    const auto needed = scenario.queue_pairs * ((ring + page - 1) / page * page + record_bytes) +
                        2 * completions * completion_bytes + rest;
    for (unsigned i = 0; i < config.hosts.size(); ++i)
        if (const auto memory = config.hosts[i].memory_bytes; needed > memory)
            return refuse("scenario.queue_depth = {} on scenario.qps = {} needs {} MiB of DRAM, {} is {}; "
                          "choose less or more memory",
                          scenario.queue_depth, scenario.queue_pairs, needed >> 20,
                          memory_key(platform, roles.hcas[i].host), size(memory));
    return {};
}

} // namespace

Fit fits(const Config& config, std::uint64_t payload_bytes) {
    const auto platform = platform::topology::describe(config).value();
    const auto roles = find_roles(config, platform);
    if (!roles)
        return std::unexpected(roles.error());
    for (std::size_t side = 0; side < 2; ++side)
        if (const auto fit = payload_fits(seen_by(side, config, platform, *roles), payload_bytes); !fit)
            return fit;
    return queues_fit(config, platform, *roles, payload_bytes);
}

Fit queues_fit(const Config& config, const platform::topology::Description& platform, const Roles& roles,
               std::uint64_t payload_bytes) {
    const auto needed = Endpoint::needed(options_of(config, payload_bytes));
    for (std::size_t side = 0; side < 2; ++side) {
        const auto seen = seen_by(side, config, platform, roles);
        if (const auto fit = numbers_fit(seen, needed); !fit)
            return fit;
        if (const auto fit = memory_fits(seen, needed, platform, roles); !fit)
            return fit;
    }
    return {};
}

} // namespace scenario
