#include "testbench/scenario/roles.h"

#include "platform/topology/names.h"
#include "platform/topology/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace scenario {

using platform::topology::Config;
using platform::topology::Description;
using platform::topology::PartAt;
using platform::topology::PartKind;

namespace {

using Found = std::expected<PartAt, std::string>;

/// How many words the paths of two parts have in common: as near as they are in the tree.
std::size_t nearness(const Description& platform, const PartAt& one, const PartAt& other) {
    if (one.host != other.host)
        return 0;
    const auto first = platform::topology::split_path(platform.part(one).path);
    const auto second = platform::topology::split_path(platform.part(other).path);
    const auto [end, unused] = std::ranges::mismatch(first, second);
    return 1 + static_cast<std::size_t>(end - first.begin());
}

class Finder {
public:
    Finder(const Config& config, const Description& platform)
        : config_(config), platform_(platform), islands_(platform::topology::find_islands(platform)) {}
    std::expected<Roles, std::string> find();

private:
    struct Source {
        PartAt from, through;
    };
    std::expected<Source, std::string> source() const;
    Found named(std::string_view key, const std::string& name, PartKind kind) const;
    Found gpu(std::string_view key, const std::string& name,
              const std::function<bool(const PartAt&)>& is_welcome) const;
    std::optional<PartAt> nearest_hca(const PartAt& gpu, const std::function<bool(const PartAt&)>& is_welcome) const;
    std::size_t island(const PartAt& hca) const { return islands_[platform_.part(hca).hca().number]; }

    const Config& config_;
    const Description& platform_;
    std::vector<std::size_t> islands_;
};

Found Finder::named(std::string_view key, const std::string& name, PartKind kind) const {
    const auto what = kind == PartKind::hca ? "an HCA" : "a GPU";
    const auto at = platform_.find(name);
    if (!at || platform_.part(*at).kind != kind) {
        std::vector<std::string> known;
        for (std::size_t h = 0; h < platform_.hosts.size(); ++h)
            for (std::size_t p = 0; p < platform_.hosts[h].parts.size(); ++p)
                if (platform_.hosts[h].parts[p].kind == kind)
                    known.push_back(platform_.name_of(PartAt{h, p}));
        const auto meant = platform::topology::did_you_mean(name, known);
        return std::unexpected(fmt::format("{} = {} is not {} of this platform{}", key, name, what,
                                           meant.empty() ? "; `hcasim show` draws it" : meant));
    }
    if (platform_.hosts[at->host].is_served)
        return std::unexpected(fmt::format("{} = {}: host {} is served, its drivers are elsewhere", key, name,
                                           platform_.hosts[at->host].name));
    return *at;
}

/// The one that is named, else the first that is welcome.
Found Finder::gpu(std::string_view key, const std::string& name,
                  const std::function<bool(const PartAt&)>& is_welcome) const {
    if (!name.empty())
        return named(key, name, PartKind::gpu);
    for (std::size_t h = 0; h < platform_.hosts.size(); ++h)
        for (std::size_t p = 0; p < platform_.hosts[h].parts.size(); ++p)
            if (const PartAt at{h, p};
                platform_.part(at).kind == PartKind::gpu && !platform_.hosts[h].is_served && is_welcome(at))
                return at;
    return std::unexpected(
        fmt::format("{}: no host that is simulated has a GPU for it, with an HCA that is connected", key));
}

std::optional<PartAt> Finder::nearest_hca(const PartAt& gpu,
                                          const std::function<bool(const PartAt&)>& is_welcome) const {
    std::optional<PartAt> best;
    for (const auto& at : platform_.hcas)
        if (at.host == gpu.host && is_welcome(at) &&
            (!best || nearness(platform_, at, gpu) > nearness(platform_, *best, gpu)))
            best = at;
    return best;
}

/// The GPU that has the payload and its HCA. Who names the HCA alone has said which host it is.
std::expected<Finder::Source, std::string> Finder::source() const {
    const auto& names = config_.scenario;
    const auto any = [](const PartAt&) { return true; };
    if (names.through.empty()) {
        const auto from =
            gpu("scenario.from", names.from, [&](const PartAt& at) { return nearest_hca(at, any).has_value(); });
        if (!from)
            return std::unexpected(from.error());
        if (const auto near = nearest_hca(*from, any))
            return Source{*from, *near};
        return std::unexpected(fmt::format("scenario.from = {}: its host has no HCA", platform_.name_of(*from)));
    }
    const auto through = named("scenario.through", names.through, PartKind::hca);
    if (!through)
        return std::unexpected(through.error());
    const auto from = gpu("scenario.from", names.from, [&](const PartAt& at) { return at.host == through->host; });
    if (!from && names.from.empty())
        return std::unexpected(
            fmt::format("scenario.through = {}: its host has no GPU; choose an HCA of a host that has one",
                        platform_.name_of(*through)));
    if (!from)
        return std::unexpected(from.error());
    if (from->host != through->host)
        return std::unexpected(fmt::format("scenario.through = {} is in another host than {}",
                                           platform_.name_of(*through), platform_.name_of(*from)));
    return Source{*from, *through};
}

std::expected<Roles, std::string> Finder::find() {
    const auto& names = config_.scenario;
    const auto found = source();
    if (!found)
        return std::unexpected(found.error());
    const auto& [from, through] = *found;
    const auto is_reached = [&](const PartAt& at) { return at != through && island(at) == island(through); };
    // Another host's, if there is one; else another one of the same host.
    auto to = gpu("scenario.to", names.to,
                  [&](const PartAt& at) { return at.host != from.host && nearest_hca(at, is_reached).has_value(); });
    if (!to && names.to.empty())
        to = gpu("scenario.to", names.to,
                 [&](const PartAt& at) { return at != from && nearest_hca(at, is_reached).has_value(); });
    if (!to)
        return std::unexpected(to.error());
    if (*to == from)
        return std::unexpected(
            fmt::format("scenario.to = {} is scenario.from: choose another GPU", platform_.name_of(*to)));
    Found to_through = *to;
    if (!names.to_through.empty())
        to_through = named("scenario.to_through", names.to_through, PartKind::hca);
    else if (const auto near = nearest_hca(*to, is_reached))
        to_through = *near;
    else
        to_through = std::unexpected(fmt::format("scenario.to = {}: its host has no HCA that {} is connected to",
                                                 platform_.name_of(*to), platform_.name_of(through)));
    if (!to_through)
        return std::unexpected(to_through.error());
    if (to->host != to_through->host)
        return std::unexpected(fmt::format("scenario.to_through = {} is in another host than {}",
                                           platform_.name_of(*to_through), platform_.name_of(*to)));
    if (*to_through == through)
        return std::unexpected(
            fmt::format("scenario.to_through = {} is scenario.through: a program has an HCA of its own",
                        platform_.name_of(through)));
    if (!is_reached(*to_through))
        return std::unexpected(fmt::format("scenario.to_through = {}: no cable leads there from {}",
                                           platform_.name_of(*to_through), platform_.name_of(through)));
    return Roles{{through, *to_through}, {from, *to}};
}

} // namespace

std::expected<Roles, std::string> find_roles(const Config& config, const Description& platform) {
    return Finder(config, platform).find();
}

Config seen_by(std::size_t side, const Config& config, const Description& platform, const Roles& roles) {
    auto seen = config;
    const auto& hca = platform.part(roles.hcas[side]).hca();
    const auto& host = platform.hosts[roles.hcas[side].host];
    seen.hca = hca.core;
    seen.hca_ats = hca.ats;
    seen.gpu = platform.part(roles.gpus[side]).gpu();
    seen.iommu = host.iommu;
    seen.peers = host.peers;
    seen.link = platform.cables[hca.cable].link;
    for (std::size_t i = 0; i < 2; ++i)
        seen.hosts[i] = platform.hosts[roles.hcas[i].host].memory;
    return seen;
}

bool is_ipv6(const Description& platform, const PartAt& hca) {
    return platform.cables[platform.part(hca).hca().cable].link.encapsulation ==
           model::port::Encapsulation::roce_v2_ipv6;
}

} // namespace scenario
