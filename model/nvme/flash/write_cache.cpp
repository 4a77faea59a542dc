#include "model/nvme/flash/write_cache.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace model::nvme {

using port::Time;

namespace {
unsigned places_of(const FlashConfig& config) {
    return static_cast<unsigned>(std::max<std::uint64_t>(1, config.cache_bytes / config.page_bytes));
}
} // namespace

WriteCache::WriteCache(const FlashConfig& config, Dies& dies)
    : dies_(dies), page_sectors_(config.page_bytes / sector_bytes), window_("write cache", places_of(config)),
      pages_(window_.places()), free_(window_.places()), open_(dies.count()),
      residents_(std::bit_ceil(2 * window_.places() * page_sectors_)) {
    std::iota(free_.rbegin(), free_.rend(), 0u); // the lowest number is taken first
    dies.set_listener(*this);
}

bool WriteCache::has(std::uint64_t sector, Time at) const {
    const auto& one = resident(sector);
    return one.sector == sector && one.until > at;
}

/// When all places are taken by pages that nobody has begun to program, one is begun.
std::uint32_t WriteCache::open(Time at) {
    auto begin = window_.enter(at);
    while (begin == port::never) {
        if (!dies_.begin_next_program())
            close_all(at);
        begin = window_.enter(at);
    }
    const auto number = free_.back();
    free_.pop_back();
    pages_[number].begin = begin, pages_[number].last = std::max(at, begin);
    return number;
}

void WriteCache::close(unsigned die, Time at) {
    const auto number = *std::exchange(open_[die], std::nullopt);
    dies_.program(die, number, std::max(at, pages_[number].last));
}

void WriteCache::close_all(Time at) {
    for (unsigned die = 0; die < open_.size(); ++die)
        if (open_[die])
            close(die, at);
}

void WriteCache::programmed(std::uint32_t number, Time done) {
    auto& page = pages_[number];
    window_.leave(page.begin, done);
    for (const auto sector : page.sectors)
        if (auto& one = resident(sector); one.sector == sector)
            one.until = done;
    page.sectors.clear();
    free_.push_back(number);
}

Time WriteCache::take(unsigned die, std::uint64_t first, std::uint64_t end, Time at) {
    dies_.begin_programs(at); // a page whose program has begun takes nothing more
    auto done = at;
    for (auto sector = first; sector < end; ++sector) {
        auto& one = resident(sector);
        const bool is_there = one.sector == sector && one.until == port::never;
        if (!is_there && !open_[die])
            open_[die] = open(at);
        // Written again before its page is programmed it stays where it is.
        const auto number = is_there ? one.page : *open_[die];
        auto& page = pages_[number];
        page.last = std::max(page.last, at);
        done = std::max(done, page.begin);
        if (is_there)
            continue;
        page.sectors.push_back(sector);
        one = {sector, port::never, number};
        if (page.sectors.size() == page_sectors_)
            close(die, at);
    }
    return done;
}

Time WriteCache::flush(unsigned die, Time at) {
    if (open_[die])
        close(die, at);
    return dies_.finish_programs(die);
}

Time WriteCache::flush(Time at) {
    close_all(at);
    return dies_.finish_programs();
}

} // namespace model::nvme
