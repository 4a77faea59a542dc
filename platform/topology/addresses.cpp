#include "platform/topology/addresses.h"

#include "abi/pcie/config_space.h"
#include "platform/topology/device_config.h"
#include "model/gpu/vram.h"
#include "model/pcie/endpoint_space.h"
#include "model/pcie/root_complex.h"
#include "platform/topology/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace platform::topology {
namespace {

using abi::pcie::window_granule;

/// Space that is needed in one piece.
struct Need {
    std::uint64_t size = 0, alignment = 1;
};

/// As enumeration packs: the one of the greatest alignment first.
Need packed(std::vector<Need> needs) {
    std::ranges::stable_sort(needs, std::ranges::greater{}, &Need::alignment);
    Need all;
    for (const auto& need : needs) {
        all.size = (all.size + need.alignment - 1) / need.alignment * need.alignment + need.size;
        all.alignment = std::max(all.alignment, need.alignment);
    }
    return all;
}

/// The same behind a bridge.
Need window(std::vector<Need> needs) {
    auto all = packed(std::move(needs));
    if (all.size == 0)
        return {};
    all.size = (all.size + window_granule - 1) / window_granule * window_granule;
    all.alignment = std::max(all.alignment, window_granule);
    return all;
}

card::DeviceConfig device_of(const Part& part) {
    if (part.kind == PartKind::hca)
        return device_config(part.hca());
    if (part.kind == PartKind::gpu)
        return model::gpu::VramConfig{.bytes = part.gpu().vram_bytes};
    return part.other();
}

/// What the windows below a part need, or below the root complex.
std::vector<Need> needs_below(const DescribedHost& host, std::optional<std::size_t> parent, bool high) {
    std::vector<Need> needs;
    for (std::size_t i = 0; i < host.parts.size(); ++i) {
        const auto& part = host.parts[i];
        if (part.parent != parent)
            continue;
        std::vector<Need> inside;
        if (!part.is_card())
            inside = needs_below(host, i, high);
        else
            for (const auto& function : device_of(part).functions())
                for (const auto& bar : function.bars)
                    if (bar.size != 0 && (bar.is_64bit && bar.is_prefetchable) == high)
                        inside.push_back({bar.size, bar.size});
        if (const auto need = window(std::move(inside)); need.size != 0)
            needs.push_back(need);
    }
    return needs;
}

} // namespace

std::vector<Fault> without_addresses(const Description& platform) {
    const model::pcie::MemoryMap map;
    std::vector<Fault> faults;
    for (const auto& host : platform.hosts) {
        if (host.is_served)
            continue;
        for (const bool high : {true, false}) {
            const auto& there = high ? map.high_mmio : map.low_mmio;
            const auto need = packed(needs_below(host, std::nullopt, high)).size;
            if (need <= there.end - there.begin)
                continue;
            const auto print_size = [](std::uint64_t bytes) {
                return print(Kind::size, Value(static_cast<std::int64_t>(bytes)));
            };
            faults.push_back(
                {host.where, fmt::format("{}-bit BARs in host {} need {} of bus addresses, there are {}: "
                                         "{}fewer devices",
                                         high ? 64 : 32, host.name, print_size(need),
                                         print_size(there.end - there.begin), high ? "less VRAM or " : "")});
        }
    }
    return faults;
}

} // namespace platform::topology
