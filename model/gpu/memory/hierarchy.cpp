#include "model/gpu/memory/hierarchy.h"

#include "abi/gpu/registers.h"

#include <algorithm>
#include <cstring>

namespace model::gpu::memory {

using cache::ByteMask;
using cache::Insert;

namespace {

template <class T> std::vector<cache::Cache> make_caches(T count, const cache::Geometry& geometry) {
    std::vector<cache::Cache> caches;
    caches.reserve(count);
    for (T i = 0; i < count; ++i)
        caches.emplace_back(geometry);
    return caches;
}

/// What is not valid of a whole line.
ByteMask missing(const cache::Line* line, unsigned line_bytes) {
    ByteMask mask{0, line_bytes};
    if (line != nullptr)
        mask.remove(line->valid);
    return mask;
}

} // namespace

Hierarchy::Hierarchy(const MemoryConfig& config, std::span<std::byte> vram, port::Dma& dma)
    : config_(config), random_(config.seed), below_(config_, vram, dma, random_), host_path_(config_, random_),
      channels_(config.gl2_channels, time::Line("gl2.channel", config.gl2_channel_bytes_per_second)),
      misses_("gl2.misses", config.gl2_misses), gl0_(make_caches(config.arrays * config.units_per_array, config.gl0)),
      scalar_(make_caches(config.arrays * config.units_per_array / 2, config.scalar)),
      gl1_(make_caches(config.arrays, config.gl1)), gl2_(config.gl2), unnamed_(config.gl2) {}

Outcome Hierarchy::load(unsigned unit, Physical from, std::span<std::byte> into, const Manner& manner, port::Time at) {
    auto& first = first_level(unit, manner.is_scalar);
    // Scalar loads see no store before it is acknowledged: their cache has no part in those, and serves two CUs.
    const auto reader = manner.is_scalar ? Below::nobody : unit;
    auto& gl1 = gl1_of(unit);
    // Registers of another device stand behind UC pages of PCIe: nothing above keeps those.
    const bool may_keep = manner.is_kept() || (!from.is_bus() && config_.keeps_uc_upper);
    if (manner.modifiers.glc || !may_keep) { // MISS_EVICT
        for (auto* cache : {&first, &gl1})
            if (auto* line = cache->peek(from.value); line != nullptr)
                Cache::drop(*line);
        return read_shared(reader, from, into, manner, at);
    }

    const auto wanted_in = [&](const Cache& cache) {
        return ByteMask{static_cast<unsigned>(from.value % cache.line_bytes()), static_cast<unsigned>(into.size())};
    };
    auto* line = first.find(from.value);
    if (line != nullptr && line->valid.has(wanted_in(first))) {
        const auto outcome = hit(reader, first, *line, manner.is_scalar ? Level::scalar : Level::gl0, from, into,
                                 config_.latencies.gl0, at);
        if (manner.modifiers.slc) // HIT_EVICT
            Cache::drop(*line);
        return outcome;
    }
    // The line of the first level comes from GL1, and GL1's from below.
    std::array<std::byte, ByteMask::bytes> bytes;
    const auto fetched = std::span(bytes).first(first.line_bytes());
    const Physical begin{from.value & ~std::uint64_t{first.line_bytes() - 1}};
    Outcome outcome;
    // A copy is as old as what it was copied from.
    const auto keep = [&](Cache& cache, Line* held, std::span<const std::byte> content) {
        auto& kept = held != nullptr ? *held : cache.allocate(from.value, Insert::most_recent, at, [](Line&) {});
        kept.fill(0, content);
        kept.filled = outcome.filled;
    };
    auto* lower = gl1.find(from.value);
    if (lower != nullptr && lower->valid.has(wanted_in(gl1))) {
        outcome = hit(reader, gl1, *lower, Level::gl1, from, into, config_.latencies.gl1, at);
        lower->read(static_cast<unsigned>(begin.value % gl1.line_bytes()), fetched);
        if (manner.modifiers.slc) // HIT_EVICT here, too
            Cache::drop(*lower);
    } else {
        std::array<std::byte, ByteMask::bytes> whole;
        const auto all = std::span(whole).first(gl1.line_bytes());
        const Physical line_begin{from.value & ~std::uint64_t{gl1.line_bytes() - 1}};
        outcome = read_shared(reader, line_begin, all, manner, at);
        std::memcpy(fetched.data(), all.data() + (begin.value - line_begin.value), fetched.size());
        if (!outcome.is_ok()) {
            std::ranges::fill(into, std::byte{0xff});
            return outcome;
        }
        outcome.is_stale = false; // it was judged by the whole line; what counts is what was asked for
        if (auto* shared = shared_cache(from, manner); shared != nullptr && outcome.level >= Level::gl2)
            if (const auto* source = shared->peek(from.value); source != nullptr && outcome.filled < at)
                judge(reader, outcome, *source, from, all.subspan(from.value - line_begin.value, into.size()));
        // GL1 serves other CUs, which do not see a store of this one before it is acknowledged.
        const auto array = unit / config_.units_per_array * config_.units_per_array;
        if (!manner.modifiers.slc &&
            !below_.is_awaited(line_begin, all.size(), {array, array + config_.units_per_array}))
            keep(gl1, lower, all);
    }
    if (!manner.modifiers.slc)
        keep(first, line, fetched);
    std::memcpy(into.data(), fetched.data() + (from.value - begin.value), into.size());
    return outcome;
}

Outcome Hierarchy::hit(unsigned reader, Cache& cache, Line& line, Level level, Physical from, std::span<std::byte> into,
                       port::Time latency, port::Time at) {
    const auto begin = static_cast<unsigned>(from.value % cache.line_bytes());
    line.read(begin, into);
    Outcome outcome{.done = after(at, latency), .level = level};
    judge(reader, outcome, line, from, into);
    return outcome;
}

void Hierarchy::judge(unsigned reader, Outcome& outcome, const Line& line, Physical from,
                      std::span<const std::byte> given) {
    outcome.filled = line.filled;
    outcome.is_stale = !is_latest(reader, from, given);
    if (!outcome.is_stale)
        return;
    outcome.stale_level = outcome.level;
    outcome.stale_address = line.address;
    const auto last = below_.writers().find(from.value, line.filled);
    outcome.overtaken_by = last.writer;
    outcome.overtaken_at = last.at;
}

bool Hierarchy::is_latest(unsigned reader, Physical where, std::span<const std::byte> bytes) {
    // Newer than memory is what this GPU has written itself and GL2 still holds, unless PCIe has written since.
    const auto begin = static_cast<unsigned>(where.value % gl2_.line_bytes());
    ByteMask elsewhere{begin, static_cast<unsigned>(bytes.size())};
    bool is_latest = true;
    if (const auto* line = gl2_.peek(where.value); line != nullptr) {
        auto newest = line->dirty.common(elsewhere);
        newest.remove(line->overtaken);
        elsewhere.remove(newest);
        newest.each_run([&](unsigned at, unsigned length) {
            is_latest &= std::memcmp(&line->data[at], &bytes[at - begin], length) == 0;
        });
    }
    elsewhere.each_run([&](unsigned at, unsigned length) {
        is_latest &= !below_.differs(where + (at - begin), bytes.subspan(at - begin, length), reader);
    });
    return is_latest;
}

Hierarchy::Cache* Hierarchy::shared_cache(Physical where, const Manner& manner) {
    if (manner.is_kept())
        return &gl2_;
    if (where.is_bus())
        return nullptr;
    switch (config_.mechanism) {
    case Mechanism::m1: return &gl2_;
    case Mechanism::m3: return &unnamed_;
    case Mechanism::m2: break;
    }
    return nullptr;
}

Outcome Hierarchy::read_shared(unsigned reader, Physical from, std::span<std::byte> into, const Manner& manner,
                               port::Time at) {
    auto* cache = shared_cache(from, manner);
    at = enter_channel(from, into.size(), at);
    if (cache == nullptr) {
        const auto answer = read_below(reader, from, into, manner, at);
        return {.status = answer.is_ok ? Status::ok : Status::bus_error,
                .done = answer.done,
                .level = answer.level,
                .filled = at};
    }
    const auto begin = static_cast<unsigned>(from.value % cache->line_bytes());
    const ByteMask wanted{begin, static_cast<unsigned>(into.size())};
    Outcome outcome;
    if (auto* line = cache->find(from.value); line != nullptr && line->valid.has(wanted))
        return hit(reader, *cache, *line, cache == &gl2_ ? Level::gl2 : Level::unnamed, from, into,
                   config_.latencies.gl2, at);
    auto* line = fill_shared(reader, *cache, from, wanted, manner, at, outcome);
    if (line == nullptr)
        std::ranges::fill(into, std::byte{0xff});
    else
        line->read(begin, into);
    return outcome;
}

Below::Answer Hierarchy::read_below(unsigned reader, Physical from, std::span<std::byte> into, const Manner& manner,
                                    port::Time at) {
    if (!config_.timed)
        return below_.read(from, into, manner.allocates_mall(), at, reader);
    const auto begin = misses_.enter(at);
    const auto answer = below_.read(from, into, manner.allocates_mall(), begin, reader);
    misses_.leave(begin, answer.done);
    return answer;
}

cache::Line* Hierarchy::fill_shared(unsigned reader, Cache& cache, Physical where, const ByteMask& wanted,
                                    const Manner& manner, port::Time at, Outcome& outcome) {
    auto* line = cache.find(where.value);
    if (line != nullptr && line->valid.has(wanted)) {
        outcome = {.done = after(at, config_.latencies.gl2), .level = Level::gl2};
        return line;
    }
    const Physical first{where.value & ~std::uint64_t{cache.line_bytes() - 1}};
    std::array<std::byte, ByteMask::bytes> bytes;
    const auto fetched = std::span(bytes).first(cache.line_bytes());
    // A line that GL2 keeps serves everybody, and nobody else sees the stores that the reader has under way.
    const auto answer = read_below(manner.is_kept() ? Below::nobody : reader, first, fetched, manner, at);
    line = cache.peek(where.value); // a device that was read may have made this GPU rinse
    outcome = {.status = answer.is_ok ? Status::ok : Status::bus_error,
               .done = answer.done,
               .level = answer.level,
               .filled = at};
    if (!answer.is_ok)
        return nullptr;
    if (line == nullptr) {
        const auto insert = manner.modifiers.slc ? Insert::least_recent : Insert::most_recent;
        port::Time done{};
        line = &cache.allocate(first.value, insert, at, [&](Line& out) { write_back(out, at, done); });
        schedule_eviction(first, at);
    }
    missing(line, cache.line_bytes()).each_run([&](unsigned begin, unsigned length) {
        line->fill(begin, fetched.subspan(begin, length));
    });
    line->filled = at;
    return line;
}

Outcome Hierarchy::store(unsigned unit, Physical to, std::span<const std::byte> from, const Manner& manner,
                         port::Time at) {
    drop_upper(unit, to, manner.modifiers.glc, from);
    return store_shared(unit, to, from, manner, at);
}

Outcome Hierarchy::store_shared(unsigned unit, Physical to, std::span<const std::byte> from, const Manner& manner,
                                port::Time at) {
    at = enter_channel(to, from.size(), at);
    if (!manner.is_kept()) {
        update_shared(to, from);
        return {.done = below_.store(to, from, at, unit), .level = to.is_bus() ? Level::bus : Level::vram};
    }
    auto* line = gl2_.find(to.value);
    if (line == nullptr) { // allocated without its other bytes: what is dirty is known byte by byte
        const auto insert = manner.modifiers.slc ? Insert::least_recent : Insert::most_recent;
        port::Time done{};
        line = &gl2_.allocate(to.value, insert, at, [&](Line& out) { write_back(out, at, done); });
        schedule_eviction(to, at);
    }
    line->write(static_cast<unsigned>(to.value % gl2_.line_bytes()), from, at);
    below_.watchers().tell(to.value, from.size(), at);
    return {.done = after(at, config_.latencies.gl2), .level = Level::gl2};
}

void Hierarchy::drop_upper(unsigned unit, Physical where, bool drops_gl0, std::span<const std::byte> from) {
    if (auto* line = gl0_[unit].peek(where.value); line != nullptr) {
        if (drops_gl0)
            Cache::drop(*line);
        else
            line->fill(static_cast<unsigned>(where.value % gl0_[unit].line_bytes()), from);
    }
    if (auto* line = gl1_of(unit).peek(where.value); line != nullptr) // stores bypass GL1
        Cache::drop(*line);
}

void Hierarchy::update_shared(Physical to, std::span<const std::byte> from) {
    const auto update = [&](Cache& cache) {
        if (auto* line = cache.peek(to.value); line != nullptr)
            line->fill(static_cast<unsigned>(to.value % cache.line_bytes()), from);
    };
    // A GL2 that lets loads from UC pages hit must let their stores through to the same line.
    if (config_.probes_gl2 || config_.mechanism == Mechanism::m1)
        update(gl2_);
    if (config_.mechanism == Mechanism::m3)
        update(unnamed_);
}

Outcome Hierarchy::atomic(unsigned unit, Physical where, const AtomicOperation& operation, std::uint64_t& old,
                          const Manner& manner, port::Time at) {
    drop_upper(unit, where, true, {});
    at = enter_channel(where, operation.bytes, at);
    std::array<std::byte, 8> bytes{};
    const auto value = std::span(bytes).first(operation.bytes);
    const auto compute = [&] {
        std::memcpy(&old, bytes.data(), sizeof old); // the model runs on little endian machines, as GPUs are
        const auto result = apply(operation, old);
        std::memcpy(bytes.data(), &result, sizeof result);
    };
    if (manner.is_kept()) {
        Outcome outcome;
        const auto begin = static_cast<unsigned>(where.value % gl2_.line_bytes());
        auto* line = fill_shared(Below::nobody, gl2_, where, {begin, operation.bytes}, manner, at, outcome);
        if (line == nullptr) {
            old = ~std::uint64_t{0};
            return outcome;
        }
        line->read(begin, value);
        compute();
        line->write(begin, value, at);
        below_.watchers().tell(where.value, value.size(), at);
        return outcome;
    }
    if (where.is_bus() && !config_.has_pcie_atomics) { // a completer without AtomicOp support: UR (PCIe 6.0 §6.15)
        old = ~std::uint64_t{0};
        return {.status = Status::bus_error, .done = at, .level = Level::bus};
    }
    below_.drain(at);
    const auto answer = read_below(Below::nobody, where, value, manner, at);
    if (!answer.is_ok) {
        old = ~std::uint64_t{0};
        return {.status = Status::bus_error, .done = answer.done, .level = answer.level};
    }
    compute();
    update_shared(where, value);
    return {.done = std::max(answer.done, below_.write(where, value, at)), .level = answer.level};
}

} // namespace model::gpu::memory
