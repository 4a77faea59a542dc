// What is below GL2: VRAM behind MALL, and PCIe. Reads and writes physical addresses; stores that a profile delays wait
// here, and who wrote is noted. Caches of the graphics block are not known here.
#pragma once

#include "model/gpu/cache/cache.h"
#include "model/gpu/memory/config.h"
#include "model/gpu/memory/watchers.h"
#include "model/gpu/memory/writers.h"
#include "model/port/dma.h"
#include "model/port/grant.h"
#include "model/time/line.h"

#include <algorithm>
#include <random>
#include <span>
#include <vector>

namespace model::gpu::memory {

/// A physical address of the GPU: an offset in VRAM, or an address on the bus.
struct Physical {
    static constexpr std::uint64_t bus_bit = std::uint64_t{1} << 63;
    std::uint64_t value = 0;

    static constexpr Physical vram(std::uint64_t offset) { return {within(offset)}; }
    static constexpr Physical bus(std::uint64_t address) { return {within(address) | bus_bit}; }
    constexpr bool is_bus() const { return (value & bus_bit) != 0; }
    constexpr std::uint64_t address() const { return value & ~bus_bit; }
    constexpr Physical operator+(std::uint64_t offset) const { return {value + offset}; }

private:
    /// No packet and no table names the other kind by an address that has this bit: it leads to the last address of its
    /// own kind, where nothing is.
    static constexpr std::uint64_t within(std::uint64_t address) {
        return (address & bus_bit) == 0 ? address : bus_bit - 1;
    }
};

class Below {
public:
    Below(const MemoryConfig& config, std::span<std::byte> vram, port::Dma& dma, std::mt19937_64& random);

    struct Answer {
        bool is_ok = true;
        port::Time done{};
        Level level = Level::vram;
    };
    static constexpr unsigned nobody = ~0u; ///< a reader or a writer that is not a CU
    /// A read by the graphics block. A failed one gives ones. A CU sees its own stores that are delayed.
    Answer read(Physical from, std::span<std::byte> into, bool allocates, port::Time at, unsigned reader = nobody,
                port::Purpose purpose = port::Purpose::control);
    /// A posted write to PCIe. Not ok: this function may send nothing.
    Answer send(Physical to, std::span<const std::byte> from, port::Purpose purpose, port::Time at);
    /// Writes now; to PCIe it is posted.
    port::Time write(Physical to, std::span<const std::byte> from, port::Time at);
    /// A store to a page that GL2 does not keep: may be delayed. Returns when it is acknowledged.
    port::Time store(Physical to, std::span<const std::byte> from, port::Time at, unsigned writer);
    struct Units {
        unsigned begin, end;
    };
    /// Whether a delayed store of one of these CUs goes there.
    bool is_awaited(Physical where, std::size_t length, Units writers) const {
        return std::ranges::any_of(delayed_, [&](const Delayed& store) {
            return store.writer >= writers.begin && store.writer < writers.end &&
                   store.to.value < where.value + length && where.value < store.to.value + store.length;
        });
    }

    /// Whether there is memory, as far as this GPU knows: of PCIe it knows nothing.
    bool exists(Physical where, std::size_t length) const { return where.is_bus() || is_in_vram(where, length); }
    /// Is told what bytes that were kept go to the bus by; nullptr: nobody.
    void set_watch(port::GrantWatch* watch) { watch_ = watch; }
    /// The next write is of a line that has been kept since then: its page may have gone meanwhile.
    void write_kept(Physical line, port::Time since) const {
        if (watch_ == nullptr || !line.is_bus()) [[likely]]
            return;
        const port::Allowance allowance{
            .grant = {.kind = port::GrantKind::gpu_line, .object = line.address(), .since = since},
            .address = line.address(),
            .length = cache::ByteMask::bytes};
        watch_->use(port::Purpose::control, {&allowance, 1});
    }

    /// By the host data path: memory as it is, without what the graphics block holds.
    void read_vram(std::uint64_t offset, std::span<std::byte> into) const;
    void write_vram(std::uint64_t offset, std::span<const std::byte> from, port::Time at);
    /// So many bytes cross the interface of VRAM, from `at` on; returns when the last one has.
    port::Time cross(std::uint64_t bytes, port::Time at) { return config_.timed ? vram_line_.use(at, bytes).done : at; }
    const time::Line& vram_line() const { return vram_line_; }

    /// Whether VRAM has other bytes at `from` than `bytes`, for who sees its own stores; unknown, and so false, of
    /// PCIe.
    bool differs(Physical from, std::span<const std::byte> bytes, unsigned reader) const;
    const Writers& writers() const { return writers_; }
    Watchers& watchers() { return watchers_; }

    void drain(port::Time at) { drain_until(port::never, at); } ///< all delayed stores
    void advance(port::Time now) { drain_until(now, now); }     ///< those whose time has come
    port::Time next_due() const;
    void reset(); ///< delayed stores are lost

private:
    struct Delayed {
        Physical to;
        port::Time due, since;
        std::uint32_t length;
        unsigned writer;
        std::array<std::byte, cache::ByteMask::bytes> bytes;
    };
    static constexpr std::size_t max_delayed = 64;

    bool is_in_vram(Physical where, std::size_t length) const {
        return !where.is_bus() && where.value <= vram_.size() && length <= vram_.size() - where.value;
    }
    Answer read_vram_line(Physical from, std::span<std::byte> into, bool allocates, port::Time at);
    /// What this CU has stored and memory does not have yet comes over what memory has.
    void add_own_stores(unsigned reader, Physical from, std::span<std::byte> into) const;
    void update_mall(std::uint64_t offset, std::span<const std::byte> from);
    void drain_until(port::Time due, port::Time at);

    const MemoryConfig& config_;
    std::span<std::byte> vram_;
    port::Dma& dma_;
    port::GrantWatch* watch_ = nullptr;
    std::mt19937_64& random_;
    time::Line vram_line_;
    cache::Cache mall_;
    Writers writers_;
    Watchers watchers_;
    std::vector<Delayed> delayed_; ///< in the order of the stores
};

} // namespace model::gpu::memory
