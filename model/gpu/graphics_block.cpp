#include "model/gpu/graphics_block.h"

#include <algorithm>

namespace model::gpu {

using memory::Manner;
using memory::Modifiers;
using memory::Order;
using memory::Outcome;
using memory::Scope;
using memory::Status;
using translation::Kind;

namespace {
/// The engine whose heavy flush the observations found to have an effect on data.
constexpr unsigned rinsing_engine = 17;

/// Adds the outcome of a piece to that of the access.
void merge(Outcome& all, const Outcome& piece, bool is_first) {
    if (all.is_ok())
        all.status = piece.status;
    all.done = std::max(all.done, piece.done);
    if (is_first)
        all.physical = piece.physical;
    if (piece.level >= all.level) {
        all.level = piece.level;
        all.mtype = piece.mtype;
    }
    if (piece.is_stale && !all.is_stale) {
        all.is_stale = true;
        all.stale_level = piece.stale_level;
        all.stale_address = piece.stale_address;
        all.filled = piece.filled;
        all.overtaken_by = piece.overtaken_by;
        all.overtaken_at = piece.overtaken_at;
    } else if (!all.is_stale) {
        all.filled = piece.filled;
    }
}
} // namespace

class GraphicsBlock::View final : public memory::MemoryView {
public:
    View(GraphicsBlock& block, unsigned unit, unsigned vmid)
        : block_(block), unit_(unit), vmid_(vmid), reset_(block.resets_) {}
    ~View() override { leave(); }
    View(const View&) = delete;
    View& operator=(const View&) = delete;

    bool is_valid() const override { return reset_ == block_.resets_; }

    Outcome load(std::uint64_t address, std::span<std::byte> into, Modifiers modifiers, port::Time at) override {
        return load(address, into, modifiers, false, at);
    }
    Outcome scalar_load(std::uint64_t address, std::span<std::byte> into, Modifiers modifiers, port::Time at) override {
        return load(address, into, modifiers, true, at);
    }

    Outcome store(std::uint64_t address, std::span<const std::byte> from, Modifiers modifiers, port::Time at) override {
        const auto outcome =
            each_piece(address, from.size(), Kind::write, block_.config().gl0.line, modifiers, at,
                       [&](const translation::Page& page, const Manner& manner, std::size_t begin, std::size_t length) {
                           if (page.is_prt)
                               return Outcome{.done = at};
                           const auto piece =
                               block_.caches_.store(unit_, page.physical, from.subspan(begin, length), manner, at);
                           ++block_.counters_.stores[static_cast<std::size_t>(piece.level)];
                           return piece;
                       });
        stores_done_ = std::max(stores_done_, outcome.done);
        block_.arm(); // what is delayed goes when it is due, whatever the waves do meanwhile
        return outcome;
    }

    Outcome atomic(memory::AtomicOp op, std::uint64_t address, unsigned bytes, std::uint64_t operand,
                   std::uint64_t compare, std::uint64_t& old, Modifiers modifiers, port::Time at) override {
        old = 0;
        // Neither another width nor an address off its width exists; the queue reports a memory violation.
        if ((bytes != 4 && bytes != 8) || address % bytes != 0)
            return {.status = Status::page_fault, .done = at};
        const auto outcome = each_piece(
            address, bytes, Kind::atomic, block_.config().gl2.line, modifiers, at,
            [&](const translation::Page& page, const Manner& manner, std::size_t, std::size_t) {
                if (page.is_prt)
                    return Outcome{.done = at};
                return block_.caches_.atomic(unit_, page.physical, {op, bytes, operand, compare}, old, manner, at);
            });
        stores_done_ = std::max(stores_done_, outcome.done);
        if (bytes == 4)
            old &= 0xffff'ffff;
        return outcome;
    }

    port::Time fence(Order order, Scope scope, port::Time at) override {
        if (!is_valid())
            return at;
        // A wait for stores makes none of them arrive earlier.
        const auto done = order != Order::acquire ? std::max(at, stores_done_) : at;
        if (order == Order::release)
            return done;
        // GL1 first: GL0 would be filled from an old GL1 again.
        if (scope != Scope::workgroup)
            block_.caches_.invalidate_gl1(unit_);
        if (scope != Scope::workgroup || block_.config().is_wgp_mode)
            block_.caches_.invalidate_gl0(unit_, block_.config().is_wgp_mode);
        return done;
    }

    port::Time invalidate_gl0(port::Time at) override {
        if (is_valid())
            block_.caches_.invalidate_gl0(unit_, block_.config().is_wgp_mode);
        return at;
    }
    port::Time invalidate_gl1(port::Time at) override {
        if (is_valid())
            block_.caches_.invalidate_gl1(unit_);
        return at;
    }
    port::Time invalidate_scalar(port::Time at) override {
        if (is_valid())
            block_.caches_.invalidate_scalar(unit_);
        return at;
    }

    bool watch(const Outcome& outcome, std::span<const std::byte> found, memory::Watcher& watcher) override {
        return is_valid() && outcome.is_ok() && block_.caches_.watch(unit_, outcome, found, watcher);
    }

    port::Time begin_kernel(Scope acquire, port::Time at) override {
        if (!is_valid())
            return at;
        block_.advance(at);
        if (!is_running_)
            ++block_.running_;
        is_running_ = true;
        block_.caches_.invalidate_upper();
        return acquire == Scope::system ? block_.caches_.rinse(at) : at;
    }
    port::Time end_kernel(Scope release, port::Time at) override {
        if (!is_valid())
            return at;
        block_.advance(at);
        leave();
        block_.caches_.order_stores(at);
        const auto done = std::max(at, stores_done_);
        return release == Scope::system ? block_.caches_.write_back(done) : done;
    }

private:
    void leave() {
        if (is_running_ && is_valid())
            --block_.running_;
        is_running_ = false;
    }

    Outcome load(std::uint64_t address, std::span<std::byte> into, Modifiers modifiers, bool is_scalar, port::Time at) {
        const auto& config = block_.config();
        const auto outcome =
            each_piece(address, into.size(), Kind::read, is_scalar ? config.scalar.line : config.gl0.line, modifiers,
                       at, [&](const translation::Page& page, Manner manner, std::size_t begin, std::size_t length) {
                           const auto piece = into.subspan(begin, length);
                           if (page.is_prt) {
                               std::ranges::fill(piece, std::byte{});
                               return Outcome{.done = at};
                           }
                           manner.is_scalar = is_scalar;
                           const auto answer = block_.caches_.load(unit_, page.physical, piece, manner, at);
                           ++block_.counters_.loads[static_cast<std::size_t>(answer.level)];
                           block_.counters_.stale_loads += answer.is_stale;
                           return answer;
                       });
        if (outcome.status == Status::page_fault || outcome.status == Status::gpu_reset)
            std::ranges::fill(into, std::byte{});
        return outcome;
    }

    /// Calls `visit(page, manner, begin, length)` for each piece that is in one line. Ends at the first fault.
    template <class Visit>
    Outcome each_piece(std::uint64_t address, std::size_t length, Kind kind, unsigned line, Modifiers modifiers,
                       port::Time at, Visit&& visit) {
        if (!is_valid())
            return {.status = Status::gpu_reset, .done = at};
        block_.advance(at);
        Outcome all{.done = at};
        for (std::size_t i = 0; i < length;) {
            const auto page = block_.spaces_.translate(vmid_, address + i, kind, at);
            if (!page) {
                all.status = Status::page_fault;
                return all;
            }
            const Manner manner{.mtype = page->mtype, .is_noalloc = page->is_noalloc, .modifiers = modifiers};
            const auto n = std::min({length - i, static_cast<std::size_t>(page->left),
                                     static_cast<std::size_t>(line - page->physical.value % line)});
            auto piece = visit(*page, manner, i, n);
            piece.mtype = page->mtype;
            piece.physical = page->physical.value;
            merge(all, piece, i == 0);
            i += n;
        }
        block_.arm();
        return all;
    }

    GraphicsBlock& block_;
    unsigned unit_, vmid_;
    std::uint64_t reset_;      ///< number of resets when it was made
    port::Time stores_done_{}; ///< all stores so far are acknowledged
    bool is_running_ = false;
};

std::unique_ptr<memory::MemoryView> GraphicsBlock::make_view(unsigned unit, unsigned vmid) {
    assert(unit < units() && vmid < abi::gpu::contexts);
    return std::make_unique<View>(*this, unit, vmid);
}

void GraphicsBlock::accounts(std::vector<time::Account>& rows) const {
    using memory::Level;
    auto below = counters_.loads_from(Level::unnamed) + counters_.loads_from(Level::mall) +
                 counters_.loads_from(Level::vram) + counters_.loads_from(Level::bus);
    const auto add = [&](std::string_view name, std::uint64_t hits) {
        rows.push_back({.name = name,
                        .kind = time::Kind::cache,
                        .usage = {.uses = hits + below},
                        .cache = {.hits = hits, .misses = below}});
        below += hits;
    };
    const auto first = rows.size();
    add("gl2", counters_.loads_from(Level::gl2));
    add("gl1", counters_.loads_from(Level::gl1));
    add("gl0", counters_.loads_from(Level::gl0) + counters_.loads_from(Level::scalar));
    std::reverse(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end());
    caches_.accounts(rows);
}

/// Observed of one engine and one type alone, with any bit of the mask, whatever else the request says.
bool GraphicsBlock::rinses(const Invalidation& one) const {
    return one.engine == rinsing_engine && one.request.get<"flush_type">() == abi::gpu::heavy_flush &&
           one.request.get<"per_vmid_invalidate_req">() != 0 && config().rinses_on_heavy;
}

void GraphicsBlock::invalidate(unsigned engine, abi::gpu::InvalidateRequest request, port::Time at) {
    invalidations_.push_back({config().timed ? at + config().invalidation : at, engine, request});
    advance(clock_.now());
    arm();
}

/// Of one that rinses it is known only when it ends.
bool GraphicsBlock::is_invalidated(unsigned engine, port::Time at) const {
    return std::ranges::none_of(
               invalidations_,
               [&](const Invalidation& one) { return one.engine == engine && (one.due > at || rinses(one)); }) &&
           invalidated_[engine] <= at;
}

void GraphicsBlock::advance(port::Time now) {
    while (!invalidations_.empty()) {
        const auto first = std::ranges::min_element(invalidations_, {}, &Invalidation::due);
        if (first->due > now)
            break;
        const auto one = *first;
        invalidations_.erase(first);
        caches_.advance(one.due);
        spaces_.invalidate(one.request);
        caches_.below().watchers().tell_all(one.due); // what they look at may be elsewhere now
        invalidated_[one.engine] = rinses(one) ? caches_.rinse(one.due) : one.due;
    }
    caches_.advance(now);
}

port::Time GraphicsBlock::next_due() const {
    auto due = caches_.next_due();
    for (const auto& one : invalidations_)
        due = std::min(due, one.due);
    return due;
}

port::Time GraphicsBlock::acquire(std::uint32_t gcr_cntl, port::Time at) {
    advance(at);
    const auto done = caches_.acquire(gcr_cntl, at);
    arm();
    return done;
}

void GraphicsBlock::arm() {
    if (const auto due = next_due(); due != port::never)
        clock_.wake_at(due);
}

void GraphicsBlock::wake(port::Time now) {
    advance(now);
    arm();
}

void GraphicsBlock::reset(port::Time at) {
    caches_.flush_host_path(at);
    caches_.advance(at);
    caches_.reset();
    invalidations_.clear();
    invalidated_ = {};
    spaces_.reset();
    caches_.below().watchers().tell_all(at);
    ++resets_;
    running_ = 0;
}

} // namespace model::gpu
