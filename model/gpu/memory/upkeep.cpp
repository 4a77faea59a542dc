// What happens to the caches without a wave: invalidations, write-backs and rinses, traffic from PCIe, and what the
// profile has delayed.
#include "abi/gpu/registers.h"
#include "model/gpu/memory/hierarchy.h"

#include <algorithm>

namespace model::gpu::memory {

namespace {
constexpr std::size_t max_evictions = 256;
} // namespace

std::uint64_t apply(const AtomicOperation& operation, std::uint64_t old) {
    const auto operand = operation.operand;
    switch (operation.op) {
    case AtomicOp::swap: return operand;
    case AtomicOp::compare_swap:
        return ((old ^ operation.compare) & (operation.bytes == 4 ? 0xffff'ffff : ~std::uint64_t{0})) == 0 ? operand
                                                                                                           : old;
    case AtomicOp::add: return old + operand;
    case AtomicOp::subtract: return old - operand;
    case AtomicOp::bit_and: return old & operand;
    case AtomicOp::bit_or: return old | operand;
    case AtomicOp::bit_xor: return old ^ operand;
    case AtomicOp::minimum: return std::min(old, operand);
    case AtomicOp::maximum: return std::max(old, operand);
    }
    return old;
}

void Hierarchy::invalidate_gl0(unsigned unit, bool both_of_wgp) {
    gl0_[unit].drop_all();
    if (both_of_wgp)
        gl0_[unit ^ 1u].drop_all();
}

void Hierarchy::invalidate_gl1(unsigned unit) { gl1_of(unit).drop_all(); }

void Hierarchy::invalidate_scalar(unsigned unit) { scalar_[unit / 2].drop_all(); }

void Hierarchy::invalidate_upper() {
    for (auto* caches : {&gl0_, &scalar_, &gl1_})
        for (auto& cache : *caches)
            cache.drop_all();
}

void Hierarchy::write_back(Line& line, port::Time at, port::Time& done) {
    // Clean before it is written: a device that gets the bytes may come back at once, and rinse this line again.
    while (line.is_dirty()) {
        const auto [begin, length] = line.dirty.first_run();
        line.clean({begin, length});
        below_.write_kept(Physical{line.address}, line.dirtied);
        const auto bytes = std::span<const std::byte>(line.data).subspan(begin, length);
        done = std::max(done, below_.write(Physical{line.address} + begin, bytes, at));
    }
}

port::Time Hierarchy::write_back(port::Time at) {
    below_.drain(at); // older stores to the same lines stay before them
    auto done = at;
    if (!config_.is_adversarial) {
        gl2_.each([&](Line& line) { write_back(line, at, done); });
        return done;
    }
    std::vector<Line*> dirty;
    gl2_.each([&](Line& line) {
        if (line.is_dirty())
            dirty.push_back(&line);
    });
    std::ranges::shuffle(dirty, random_);
    for (auto* line : dirty)
        write_back(*line, at, done);
    return done;
}

port::Time Hierarchy::rinse(port::Time at) {
    const auto done = write_back(at);
    gl2_.drop_all();
    unnamed_.drop_all();
    evictions_.clear();
    if (config_.rinse_takes_upper)
        invalidate_upper();
    ++rinses_;
    below_.watchers().tell_all(at);
    return done;
}

port::Time Hierarchy::acquire(std::uint32_t gcr_cntl, port::Time at) {
    if (!config_.is_adversarial || config_.rinse_hold == port::Time{})
        return acquire_now(gcr_cntl, at);
    if (acquire_) { // one that waits does the work of both
        acquire_->second |= gcr_cntl;
        return acquire_->first;
    }
    const auto delay = random_() % static_cast<std::uint64_t>(config_.rinse_hold.count() + 1);
    acquire_ = {at + port::Time{static_cast<std::int64_t>(delay)}, gcr_cntl};
    return acquire_->first;
}

port::Time Hierarchy::acquire_now(std::uint32_t gcr_cntl, port::Time at) {
    const abi::gpu::CacheControl control{gcr_cntl};
    auto done = at;
    if (control.get<"gl2_discard">()) {
        gl2_.drop_all();
        unnamed_.drop_all();
        below_.watchers().tell_all(at);
    } else if (control.get<"gl2_inv">()) { // dirty bytes are not lost by an invalidation
        done = rinse(at);
    } else if (control.get<"gl2_wb">()) {
        done = write_back(at);
    }
    const auto drop = [](bool asked, std::vector<Cache>& caches) {
        for (auto& cache : caches)
            if (asked)
                cache.drop_all();
    };
    drop(control.get<"glv_inv">(), gl0_);
    drop(control.get<"glk_inv">(), scalar_);
    drop(control.get<"gl1_inv">(), gl1_);
    return done;
}

Below::Answer Hierarchy::read_by_client(Physical from, std::span<std::byte> into, Mtype mtype, port::Purpose purpose,
                                        port::Time at) {
    const Manner manner{.mtype = mtype};
    if (!below_.exists(from, into.size()))
        return {.is_ok = false, .done = at};
    if (from.is_bus() && !manner.is_kept())
        return below_.read(from, into, false, at, Below::nobody, purpose);
    Below::Answer answer{.done = at};
    each_line(from.value, into.size(), [&](std::size_t begin, std::size_t length) {
        const auto piece = read_shared(Below::nobody, from + begin, into.subspan(begin, length), manner, at);
        answer.is_ok &= piece.is_ok();
        answer.done = std::max(answer.done, piece.done);
        answer.level = std::max(answer.level, piece.level);
    });
    return answer;
}

Below::Answer Hierarchy::write_by_client(Physical to, std::span<const std::byte> from, Mtype mtype,
                                         port::Purpose purpose, port::Time at) {
    const Manner manner{.mtype = mtype};
    if (!below_.exists(to, from.size()))
        return {.is_ok = false, .done = at};
    Below::Answer answer{.done = at, .level = to.is_bus() ? Level::bus : Level::vram};
    const bool is_whole = to.is_bus() && !manner.is_kept();
    each_line(to.value, from.size(), [&](std::size_t begin, std::size_t length) {
        const auto piece = from.subspan(begin, length);
        if (is_whole)
            update_shared(to + begin, piece);
        else
            answer.done = std::max(answer.done, store_shared(Below::nobody, to + begin, piece, manner, at).done);
    });
    if (is_whole)
        return below_.send(to, from, purpose, at);
    return answer;
}

port::Time Hierarchy::inbound_read(std::uint64_t offset, std::span<std::byte> into, port::Time at) {
    below_.read_vram(offset, into);
    if (config_.probes_gl2)
        for (std::size_t i = 0; i < into.size();) {
            const auto begin = static_cast<unsigned>((offset + i) % gl2_.line_bytes());
            const auto n = std::min<std::size_t>(into.size() - i, gl2_.line_bytes() - begin);
            if (const auto* line = gl2_.peek(offset + i); line != nullptr)
                line->dirty.each_run([&](unsigned run, unsigned length) {
                    const auto from = std::max(run, begin);
                    const auto to = std::min<std::size_t>(run + length, begin + n);
                    if (from < to)
                        line->read(from, into.subspan(i + from - begin, to - from));
                });
            i += n;
        }
    // PCIe 6.0 §2.4.1: a read does not pass the posted writes before it, and those come over the bytes of GL2, too.
    host_path_.read(offset, into, at);
    return after(below_.cross(into.size(), at), config_.latencies.vram);
}

void Hierarchy::inbound_write(std::uint64_t offset, std::span<const std::byte> from, port::Time at) {
    if (config_.timed)
        host_path_.write(offset, from, at);
    else
        apply_inbound(offset, from, at);
}

void Hierarchy::apply_inbound(std::uint64_t offset, std::span<const std::byte> from, port::Time at) {
    below_.write_vram(offset, from, at);
    below_.cross(from.size(), at);
    each_line(offset, from.size(), [&](std::size_t i, std::size_t n) {
        auto* line = gl2_.peek(offset + i);
        const auto begin = static_cast<unsigned>((offset + i) % gl2_.line_bytes());
        if (line != nullptr && config_.probes_gl2)
            line->fill(begin, from.subspan(i, n));
        else if (line != nullptr)
            line->overtaken.add(line->dirty.common({begin, static_cast<unsigned>(n)}));
    });
    if (config_.probes_upper)
        for (auto* caches : {&gl0_, &scalar_, &gl1_})
            for (auto& cache : *caches)
                for (auto where = offset; where < offset + from.size();
                     where = (where / cache.line_bytes() + 1) * cache.line_bytes())
                    if (auto* line = cache.peek(where); line != nullptr)
                        Cache::drop(*line);
}

bool Hierarchy::watch(unsigned unit, const Outcome& outcome, std::span<const std::byte> found, Watcher& watcher) {
    const Physical where{outcome.physical};
    // Of the bus nobody tells, and a line that is old stays so until its own cache loses it.
    if (where.is_bus() || outcome.level < Level::gl2 || outcome.is_stale ||
        found.size() > gl2_.line_bytes() - where.value % gl2_.line_bytes() || !is_latest(unit, where, found))
        return false;
    below_.watchers().add(watcher, where.value, found.size());
    return true;
}

void Hierarchy::advance(port::Time now) {
    host_path_.advance(now, [&](auto where, auto bytes, port::Time when) { apply_inbound(where, bytes, when); });
    below_.advance(now);
    const auto is_due = [&](const Eviction& one) { return one.due <= now; };
    for (auto due = std::ranges::find_if(evictions_, is_due); due != evictions_.end();
         due = std::ranges::find_if(evictions_, is_due)) {
        const auto address = due->address;
        evictions_.erase(due); // before the write, by which a device may make this GPU rinse
        if (auto* line = gl2_.peek(address); line != nullptr) {
            auto done = now;
            write_back(*line, now, done);
            Cache::drop(*line);
        }
    }
    if (acquire_ && acquire_->first <= now) {
        const auto [when, control] = *acquire_;
        acquire_.reset();
        acquire_now(control, when);
    }
}

port::Time Hierarchy::next_due() const {
    auto due = std::min(host_path_.next_due(), below_.next_due());
    for (const auto& eviction : evictions_)
        due = std::min(due, eviction.due);
    return acquire_ ? std::min(due, acquire_->first) : due;
}

void Hierarchy::schedule_eviction(Physical line, port::Time at) {
    if (!config_.is_adversarial || config_.evict_hold == port::Time{} || evictions_.size() == max_evictions ||
        random_() % 4 != 0)
        return;
    const auto delay = random_() % static_cast<std::uint64_t>(config_.evict_hold.count() + 1);
    evictions_.push_back({at + port::Time{static_cast<std::int64_t>(delay)}, line.value});
}

void Hierarchy::reset() {
    invalidate_upper();
    gl2_.drop_all();
    unnamed_.drop_all();
    below_.reset();
    evictions_.clear();
    acquire_.reset();
}

void Hierarchy::accounts(std::vector<time::Account>& rows) const {
    rows.push_back(time::sum("gl2.channels", channels_));
    rows.push_back(misses_.account());
    rows.push_back(below_.vram_line().account());
}

std::vector<DirtyLine> Hierarchy::dirty_lines() {
    std::vector<DirtyLine> lines;
    gl2_.each([&](const Line& line) {
        if (line.is_dirty())
            lines.push_back({.address = {line.address}, .bytes = line.dirty.count(), .since = line.dirtied});
    });
    return lines;
}

} // namespace model::gpu::memory
