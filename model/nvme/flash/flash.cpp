#include "model/nvme/flash/flash.h"

#include <algorithm>

namespace model::nvme {

using port::Time;

namespace {
constexpr auto sector = WriteCache::sector_bytes;

/// What takes no time at all, where time plays no part.
FlashConfig settled(FlashConfig config) {
    if (!config.timed) {
        config.channel_rate = config.host_rate = 0;
        config.read = config.program = config.erase = config.map_latency = Time{};
    }
    return config;
}
} // namespace

Flash::Flash(const FlashConfig& config, std::uint64_t capacity, std::uint64_t identity, port::Dma& dma)
    : config_(settled(config)), dies_(config_), host_buffer_(dma, config.least_host_buffer(), identity),
      mapping_(config_, capacity, dies_, host_buffer_), cache_(config_, dies_), to_host_("to host", config_.host_rate),
      from_host_("from host", config_.host_rate) {}

/// A page is read once, whatever part of it is asked for; its sectors that are asked for cross the channel.
Time Flash::read(Extent bytes, Time at) {
    if (is_paid_)
        return at;
    const auto known = mapping_.look_up(bytes, at);
    if (!config_.timed)
        return known;
    auto done = known;
    each_page(bytes, [&](unsigned die, Extent part) {
        std::uint64_t on_die = 0;
        for (auto one = part.begin / sector; one * sector < part.end; ++one)
            on_die += cache_.has(one, known) ? 0 : sector;
        const auto here = on_die == 0 ? known : dies_.read(die, on_die, known);
        done = std::max(done, to_host_.use(here, part.end - part.begin).done);
    });
    return done;
}

Time Flash::write(Extent bytes, Durability durability, Time at) {
    const auto known = mapping_.update(bytes, at);
    if (!config_.timed)
        return known;
    auto done = known;
    each_page(bytes, [&](unsigned die, Extent part) {
        const auto here = from_host_.use(known, part.end - part.begin).done;
        done = std::max(done, cache_.take(die, part.begin / sector, (part.end + sector - 1) / sector, here));
    });
    if (durability == Durability::durable)
        each_page(bytes, [&](unsigned die, Extent) { done = std::max(done, cache_.flush(die, done)); });
    return done;
}

Time Flash::discard(Extent bytes, Time at) { return mapping_.clear(bytes, at); }

Time Flash::flush(Time at) { return config_.timed ? std::max(at, cache_.flush(at)) : at; }

void Flash::accounts(std::vector<time::Account>& rows) const {
    mapping_.accounts(rows);
    dies_.accounts(rows);
    cache_.accounts(rows);
    rows.push_back(from_host_.account());
    rows.push_back(to_host_.account());
}

} // namespace model::nvme
