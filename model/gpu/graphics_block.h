// The graphics block as far as memory concerns it: caches, address spaces, and what resets or flushes them as a whole.
// Makes the views through which waves reach memory.
#pragma once

#include "model/gpu/memory/hierarchy.h"
#include "model/gpu/translation/address_space.h"
#include "model/port/clock.h"

#include <array>
#include <memory>
#include <vector>

namespace model::gpu {

/// Pieces of accesses, each within one line, by who answered them.
struct MemoryCounters {
    std::array<std::uint64_t, static_cast<std::size_t>(memory::Level::bus) + 1> loads{}, stores{};
    std::uint64_t stale_loads = 0, atomics = 0;

    std::uint64_t loads_from(memory::Level level) const { return loads[static_cast<std::size_t>(level)]; }
    std::uint64_t stores_to(memory::Level level) const { return stores[static_cast<std::size_t>(level)]; }
};

class GraphicsBlock {
public:
    GraphicsBlock(const memory::MemoryConfig& config, std::span<std::byte> vram, port::Dma& dma, port::Clock& clock)
        : caches_(config, vram, dma), spaces_(caches_.below()), clock_(clock) {}

    /// Memory as a wave on CU `unit` in address space `vmid` sees it. The block outlives it.
    std::unique_ptr<memory::MemoryView> make_view(unsigned unit, unsigned vmid);
    unsigned units() const { return caches_.config().arrays * caches_.config().units_per_array; }

    /// A request to invalidation engine `engine` of the graphics hub, which arrives at `at` and takes the time that the
    /// configuration gives it. Until its end translations and caches are what they were.
    void invalidate(unsigned engine, abi::gpu::InvalidateRequest request, port::Time at);
    /// Whether the engine's last request has ended by then, and what it has written back is in memory.
    bool is_invalidated(unsigned engine, port::Time at) const;
    /// ACQUIRE_MEM of a submission, this program's or another's: what it does to the caches, by GCR_CNTL.
    port::Time acquire(std::uint32_t gcr_cntl, port::Time at);
    /// Is told by what accesses go to the bus; nullptr: nobody.
    void set_watch(port::GrantWatch* watch) {
        spaces_.set_watch(watch);
        caches_.below().set_watch(watch);
    }
    /// Asks to be woken when something that is held back is due; wake() brings it about.
    void arm();
    void wake(port::Time now);
    /// When something that is held back is due, or an invalidation ends.
    port::Time next_due() const;
    /// Brings about all that was delayed until `now`.
    void advance(port::Time now);
    /// What is due by now is brought about: requests from PCIe are handed over before the time at which they arrive.
    void catch_up() { wake(clock_.now()); }
    /// The caches lose what they hold, contexts are off, and the views of before are not valid any more. VRAM keeps its
    /// content, and what the host data path holds comes out.
    void reset(port::Time at);

    memory::Hierarchy& caches() { return caches_; }
    const memory::Hierarchy& caches() const { return caches_; }
    translation::AddressSpaces& spaces() { return spaces_; }
    const memory::MemoryConfig& config() const { return caches_.config(); }
    const MemoryCounters& counters() const { return counters_; }
    /// The caches of waves, by who answered them, and the resources behind.
    void accounts(std::vector<time::Account>& rows) const;
    std::uint64_t resets() const { return resets_; }
    unsigned running_kernels() const { return running_; }

private:
    class View;
    struct Invalidation { ///< that has not ended
        port::Time due;
        unsigned engine;
        abi::gpu::InvalidateRequest request;
    };
    bool rinses(const Invalidation& one) const;

    memory::Hierarchy caches_;
    translation::AddressSpaces spaces_;
    port::Clock& clock_;
    std::vector<Invalidation> invalidations_;
    std::array<port::Time, abi::gpu::engines> invalidated_{}; ///< when each engine's last request ended
    MemoryCounters counters_;
    std::uint64_t resets_ = 0;
    unsigned running_ = 0; ///< kernels that have begun and not ended
};

} // namespace model::gpu
