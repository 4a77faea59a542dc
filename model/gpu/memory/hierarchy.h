// The caches of the graphics block over memory: GL0 of each CU, the scalar cache of each WGP, GL1 of each shader array,
// one GL2. They hold bytes, and nobody tells them what PCIe writes behind them, unless the profile probes. Takes
// physical addresses; pieces never leave a line.
#pragma once

#include "model/gpu/memory/below.h"
#include "model/gpu/memory/host_path.h"
#include "model/time/line.h"
#include "model/time/window.h"

#include <optional>

namespace model::gpu::memory {

/// What the page says of an access, beside where it goes, and what the instruction says.
struct Manner {
    Mtype mtype = Mtype::nc;
    bool is_noalloc = false; ///< of the PTE: MALL does not allocate
    Modifiers modifiers{};
    bool is_scalar = false;

    bool is_kept() const { return mtype == Mtype::nc || mtype == Mtype::cc; } ///< GL2 keeps the line
    bool allocates_mall() const { return !is_noalloc && !modifiers.dlc; }
};

/// An atomic operation on one value of 4 or 8 bytes.
struct AtomicOperation {
    AtomicOp op;
    unsigned bytes;
    std::uint64_t operand, compare;
};
/// The value after it.
std::uint64_t apply(const AtomicOperation& operation, std::uint64_t old);

/// A line of GL2 with bytes that memory does not have yet.
struct DirtyLine {
    Physical address;
    unsigned bytes = 0;
    port::Time since{};
};

class Hierarchy {
public:
    Hierarchy(const MemoryConfig& config, std::span<std::byte> vram, port::Dma& dma);

    // The waves of CU `unit`:
    Outcome load(unsigned unit, Physical from, std::span<std::byte> into, const Manner& manner, port::Time at);
    Outcome store(unsigned unit, Physical to, std::span<const std::byte> from, const Manner& manner, port::Time at);
    Outcome atomic(unsigned unit, Physical where, const AtomicOperation& operation, std::uint64_t& old,
                   const Manner& manner, port::Time at);
    /// By another client of GL2 than waves, a copy engine: no cache above is asked, or told.
    Below::Answer read_by_client(Physical from, std::span<std::byte> into, Mtype mtype, port::Purpose purpose,
                                 port::Time at);
    Below::Answer write_by_client(Physical to, std::span<const std::byte> from, Mtype mtype, port::Purpose purpose,
                                  port::Time at);
    /// The stores of the wave are ordered before what follows: those that were delayed go.
    void order_stores(port::Time at) { below_.drain(at); }
    void invalidate_gl0(unsigned unit, bool both_of_wgp);
    void invalidate_gl1(unsigned unit);
    void invalidate_scalar(unsigned unit);
    void invalidate_upper(); ///< all of the three

    /// See MemoryView::watch.
    bool watch(unsigned unit, const Outcome& outcome, std::span<const std::byte> found, Watcher& watcher);

    // Who speaks for the whole GL2:
    /// Writes all dirty bytes back; lines stay, clean. Returns when the last one is there.
    port::Time write_back(port::Time at);
    /// Writes back and takes out all lines.
    port::Time rinse(port::Time at);
    /// ACQUIRE_MEM: which caches, by GCR_CNTL. A profile may delay it.
    port::Time acquire(std::uint32_t gcr_cntl, port::Time at);

    // PCIe, towards VRAM; ranges are inside of it, and times those of arrival, which may lie ahead. advance() brings
    // about what they change:
    port::Time inbound_read(std::uint64_t offset, std::span<std::byte> into, port::Time at);
    void inbound_write(std::uint64_t offset, std::span<const std::byte> from, port::Time at);
    void flush_host_path(port::Time at) { host_path_.flush(at); }

    /// Brings about all that was delayed until `now`.
    void advance(port::Time now);
    port::Time next_due() const;
    /// All caches lose what they hold.
    void reset();

    /// What GL2 holds back, doorbells of other devices among it.
    std::vector<DirtyLine> dirty_lines();
    const HostPath& host_path() const { return host_path_; }
    const MemoryConfig& config() const { return config_; }
    Below& below() { return below_; }
    std::uint64_t rinses() const { return rinses_; }
    /// The resources of GL2 and what is below it.
    void accounts(std::vector<time::Account>& rows) const;

private:
    using Line = cache::Line;
    using Cache = cache::Cache;
    struct Eviction {
        port::Time due;
        std::uint64_t address;
    };

    /// Calls `visit(begin, length)` for the pieces of [address, +length) that are in one line of GL2 each.
    template <class Visit> void each_line(std::uint64_t address, std::size_t length, Visit&& visit) {
        for (std::size_t i = 0; i < length;) {
            const auto n = std::min<std::size_t>(length - i, gl2_.line_bytes() - (address + i) % gl2_.line_bytes());
            visit(i, n);
            i += n;
        }
    }
    Cache& first_level(unsigned unit, bool is_scalar) { return is_scalar ? scalar_[unit / 2] : gl0_[unit]; }
    Cache& gl1_of(unsigned unit) { return gl1_[unit / config_.units_per_array]; }
    /// The cache at the level of GL2 that loads of this manner may hit, or nullptr: they go to memory.
    Cache* shared_cache(Physical where, const Manner& manner);
    // A reader is a CU, which sees its own stores that are under way, or Below::nobody.
    /// Reads by GL2, or around it.
    Outcome read_shared(unsigned reader, Physical from, std::span<std::byte> into, const Manner& manner, port::Time at);
    /// The line with all of `wanted` valid; nullptr: memory did not answer.
    Line* fill_shared(unsigned reader, Cache& cache, Physical line, const cache::ByteMask& wanted, const Manner& manner,
                      port::Time at, Outcome& outcome);
    /// Whether these bytes are what memory has, or this GPU is to write there.
    bool is_latest(unsigned reader, Physical where, std::span<const std::byte> bytes);
    /// Whether what a cache has given is older than what memory, or GL2, has; and who changed it.
    void judge(unsigned reader, Outcome& outcome, const Line& line, Physical from, std::span<const std::byte> given);
    Outcome hit(unsigned reader, Cache& cache, Line& line, Level level, Physical from, std::span<std::byte> into,
                port::Time latency, port::Time at);
    Outcome store_shared(unsigned unit, Physical to, std::span<const std::byte> from, const Manner& manner,
                         port::Time at);
    /// Memory got these bytes: what lines that stay have of them is as old, or takes part.
    void update_shared(Physical to, std::span<const std::byte> from);
    void drop_upper(unsigned unit, Physical where, bool drops_gl0, std::span<const std::byte> from);
    void write_back(Line& line, port::Time at, port::Time& done);
    void apply_inbound(std::uint64_t offset, std::span<const std::byte> from, port::Time at);
    port::Time acquire_now(std::uint32_t gcr_cntl, port::Time at);
    void schedule_eviction(Physical line, port::Time at);
    /// When a request that is at GL2 at `at` has its channel.
    port::Time enter_channel(Physical where, std::size_t bytes, port::Time at) {
        return config_.timed ? channels_[where.value / gl2_.line_bytes() % channels_.size()].use(at, bytes).begin : at;
    }
    /// A read by GL2, or around it, as soon as one more may be outstanding.
    Below::Answer read_below(unsigned reader, Physical from, std::span<std::byte> into, const Manner& manner,
                             port::Time at);
    port::Time after(port::Time at, port::Time latency) const { return config_.timed ? at + latency : at; }

    MemoryConfig config_;
    std::mt19937_64 random_;
    Below below_;
    HostPath host_path_;
    std::vector<time::Line> channels_; ///< of GL2
    time::Window misses_;
    std::vector<Cache> gl0_, scalar_, gl1_;
    Cache gl2_;
    Cache unnamed_; ///< of mechanism m3
    std::vector<Eviction> evictions_;
    std::optional<std::pair<port::Time, std::uint32_t>> acquire_; ///< an ACQUIRE_MEM that has not begun
    std::uint64_t rinses_ = 0;
};

} // namespace model::gpu::memory
