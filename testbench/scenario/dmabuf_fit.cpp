#include "testbench/scenario/dmabuf_fit.h"

#include "platform/topology/value.h"
#include "testbench/scenario/dmabuf_memory.h"
#include "testbench/scenario/gpudirect_fit.h"

#include <fmt/format.h>

namespace scenario {

using platform::topology::Config;
using platform::topology::Kind;

namespace {

template <class... Args> std::expected<void, std::string> refuse(fmt::format_string<Args...> format, Args&&... args) {
    return std::unexpected(fmt::format(format, std::forward<Args>(args)...));
}

std::string size(std::uint64_t bytes) {
    return platform::topology::print(Kind::size, static_cast<std::int64_t>(bytes));
}

/// As one of the two programs sees it.
std::expected<void, std::string> side_fits(const Config& config) {
    const auto& scenario = config.scenario;
    if (!config.timed)
        return refuse("timed = false: where nothing takes time a transfer has no middle in which its memory can be "
                      "taken back; leave "
                      "timed at true");
    if (!config.hca.on_demand_paging)
        return refuse("hca.on_demand_paging = false: this scenario registers memory on demand, too; leave it at true");
    if (config.hca.msix_vectors < 3)
        return refuse("hca.msix_vectors = {}: page faults have a vector of their own here; choose 3 or more",
                      config.hca.msix_vectors);
    const auto message = scenario.message_bytes;
    constexpr std::uint64_t least_packets = 64,
                            most = 8 << 20; // which a processor still copies while a requester waits
    if (message < least_packets * scenario.mtu_bytes || message > most)
        return refuse(
            "scenario.message = {}: a transfer of this scenario has {} packets of scenario.mtu = {} or more, so that "
            "it has a middle, and at most {}; choose {} to {}",
            size(message), least_packets, scenario.mtu_bytes, size(most), size(least_packets * scenario.mtu_bytes),
            size(most));
    if (message > std::uint64_t{1} << config.hca.log_max_message)
        return refuse("scenario.message = {} is more than hca.log_max_message = {} allows in one message; choose less, "
                      "or a larger "
                      "hca.log_max_message",
                      size(message), config.hca.log_max_message);
    if (ExportedPart::vram_bytes(message) > config.gpu.vram_bytes)
        return refuse("scenario.message = {} and what lies around it do not fit into gpu.vram = {}; choose less or a "
                      "larger gpu.vram",
                      size(message), size(config.gpu.vram_bytes));
    if (scenario.queue_pairs != 1)
        return refuse("scenario.qps = {}: this scenario looks at one connection; leave the key out",
                      scenario.queue_pairs);
    return {};
}

} // namespace

std::expected<void, std::string> dmabuf_fits(const Config& config) {
    const auto platform = platform::topology::describe(config).value();
    const auto roles = find_roles(config, platform);
    if (!roles)
        return std::unexpected(roles.error());
    for (std::size_t side = 0; side < 2; ++side)
        if (const auto fit = side_fits(seen_by(side, config, platform, *roles)); !fit)
            return fit;
    return queues_fit(config, platform, *roles);
}

} // namespace scenario
