#include "model/nvme/flash/mapping.h"

#include "model/nvme/flash/write_cache.h"

#include <algorithm>

namespace model::nvme {

using port::Time;

namespace {
constexpr std::uint64_t line_bytes = HostBuffer::line_entries * WriteCache::sector_bytes; ///< of the drive
constexpr unsigned ways = 8;
/// More lines than this at once are not written one by one into the host's memory: that is forgotten instead.
constexpr std::uint64_t most_lines_written = 256;

/// Numbers of all units of so many bytes that have some of these.
Extent units(Extent bytes, std::uint64_t unit) { return {bytes.begin / unit, (bytes.end + unit - 1) / unit}; }

std::optional<time::Cache> make_cache(const FlashConfig& config, std::uint64_t capacity) {
    const auto table = capacity / line_bytes * HostBuffer::line_bytes;
    if (config.map_memory == 0 || config.map_memory >= table)
        return std::nullopt;
    return std::optional<time::Cache>(
        std::in_place, "map cache",
        time::CacheConfig{.entries = static_cast<unsigned>(config.map_memory / HostBuffer::line_bytes),
                          .ways = ways,
                          .misses = config.map_misses});
}
} // namespace

Mapping::Mapping(const FlashConfig& config, std::uint64_t capacity, Dies& dies, HostBuffer& lent)
    : config_(config), dies_(dies), lent_(lent), table_("map", 1, config.map_latency),
      lines_(make_cache(config, capacity)) {}

Time Mapping::find(std::uint64_t line, Time at) {
    const auto looked_up = table_.use(at).done;
    return lines_ ? lines_->use(line, looked_up, [&](Time begin) { return fill(line, begin); }) : looked_up;
}

Time Mapping::fill(std::uint64_t line, Time at) {
    const auto found = lent_.read(line, at);
    if (found.is_good)
        return found.done;
    const auto done = dies_.read(dies_.die_of(line), WriteCache::sector_bytes, found.done);
    // Nobody waits for it; requests on the bus are in order, and those that come before the die is read would.
    lent_.write(line * HostBuffer::line_entries, (line + 1) * HostBuffer::line_entries, found.done);
    return done;
}

void Mapping::write(Extent sectors, Time at) {
    if (!lent_.is_on())
        return lent_.forget(); // it could be returned, and would not know of these
    for (auto sector = sectors.begin; sector < sectors.end;) {
        const auto end = std::min(sectors.end, (sector / HostBuffer::line_entries + 1) * HostBuffer::line_entries);
        lent_.write(sector, end, at);
        sector = end;
    }
}

Time Mapping::look_up(Extent bytes, Time at) {
    auto done = at;
    const auto lines = units(bytes, line_bytes);
    for (auto line = lines.begin; line < lines.end; ++line)
        done = std::max(done, find(line, at));
    return done;
}

Time Mapping::update(Extent bytes, Time at) {
    const auto done = look_up(bytes, at);
    write(units(bytes, WriteCache::sector_bytes), done);
    return done;
}

Time Mapping::clear(Extent bytes, Time at) {
    const auto lines = units(bytes, line_bytes);
    const auto count = lines.end - lines.begin;
    auto done = at;
    if (bytes.begin % line_bytes != 0 || count == 1)
        done = find(lines.begin, at);
    if (count > 1 && bytes.end % line_bytes != 0)
        done = std::max(done, find(lines.end - 1, at));
    if (count > 2)
        done = std::max(done, table_.use(at, static_cast<std::int64_t>(count - 2) * config_.map_latency).done);
    if (count <= most_lines_written)
        write(units(bytes, WriteCache::sector_bytes), done);
    else
        lent_.forget();
    return done;
}

void Mapping::accounts(std::vector<time::Account>& rows) const {
    rows.push_back(table_.account());
    if (!lines_)
        return;
    rows.push_back(lines_->account());
    rows.push_back(lines_->misses().account());
    rows.push_back(lent_.account());
}

} // namespace model::nvme
