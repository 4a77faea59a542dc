// What decides who sees which bytes on a GPU, as knobs; and the three profiles that are sets of them: `rdna3_text` does
// what was observed on a card of that generation, `coherent` what one whose caches are probed does, `adversarial` the
// worst that the documents allow.
#pragma once

#include "model/gpu/cache/cache.h"
#include "model/gpu/memory/access.h"

namespace model::gpu::memory {

enum class Profile : std::uint8_t { rdna3_text, coherent, adversarial };

/// What held the bytes in the observations that no document explains. `m1`: loads from UC pages hit lines of GL2, and
/// leave some. `m2`: nothing of the sort; the doorbell stays in GL2, since the import of a BAR made it NC. `m3`: a
/// buffer without a name, in front of memory, does what GL2 does under m1.
enum class Mechanism : std::uint8_t { m1, m2, m3 };

/// Times from the instruction to the answer of each level. Starting points, not measured.
struct Latencies {
    port::Time gl0 = std::chrono::nanoseconds{30}, gl1 = std::chrono::nanoseconds{60},
               gl2 = std::chrono::nanoseconds{110}, mall = std::chrono::nanoseconds{170},
               vram = std::chrono::nanoseconds{260};

    bool operator==(const Latencies&) const = default;
};

struct MemoryConfig {
    bool timed = true;
    Profile profile = Profile::rdna3_text;
    Mechanism mechanism = Mechanism::m1;
    bool probes_gl2 = false;        ///< inbound accesses look into GL2: writes update its lines, reads see dirty bytes
    bool probes_upper = false;      ///< inbound writes take their lines out of GL0, GL1 and the scalar caches, too
    bool keeps_uc_upper = true;     ///< GL0 and GL1 keep lines of UC pages in VRAM; no document says
    bool rinses_on_heavy = true;    ///< a heavy invalidation by engine 17 of the graphics hub rinses GL2
    bool rinse_takes_upper = false; ///< and takes GL1 and GL0 along; no document says
    bool resets_on_control = true;  ///< a change of GCR_GENERAL_CNTL or GCVM_L2_CNTL2 under a kernel resets the GPU
    bool has_pcie_atomics = false;  ///< the root complex executes them; no BAR does
    bool is_wgp_mode = true;        ///< a fence of a work-group concerns both CUs of a WGP
    bool is_adversarial = false;    ///< order and time of what is held are drawn from `seed`
    bool mall_lies = false;         ///< no document allows it: MALL keeps old bytes over an inbound write
    Mtype import_mtype = Mtype::uc; ///< of an imported BAR of another device
    bool draws_import = false;      ///< instead, each import is NC or UC, as `seed` says
    port::Time hdp_hold{};          ///< how long inbound writes may rest in the host data path
    port::Time store_hold{};        ///< how long stores to UC pages may rest on their way; adversarial
    port::Time rinse_hold{};        ///< how long ACQUIRE_MEM may take to begin; adversarial
    port::Time invalidation{};      ///< how long an invalidation takes, and is not acknowledged
    port::Time evict_hold{};        ///< lines of GL2 are evicted within this time, if at all; zero: by capacity alone
    port::Time hold_max = std::chrono::milliseconds{10}; ///< what has not moved by then is stuck
    std::uint64_t seed = 1;
    unsigned arrays = 12, units_per_array = 8; ///< shader arrays, and CUs of each
    cache::Geometry gl0{.bytes = 32 << 10}, scalar{.bytes = 16 << 10, .ways = 4, .line = 64}, gl1{.bytes = 256 << 10},
        gl2{.bytes = 6 << 20}, mall{.bytes = 96 << 20};
    Latencies latencies;
    // What shares of memory give at the same time; what waits for them takes longer than its latency:
    std::uint64_t vram_bytes_per_second = 960'000'000'000;        ///< at most 10^12
    unsigned gl2_channels = 32;                                   ///< by address, line after line
    std::uint64_t gl2_channel_bytes_per_second = 160'000'000'000; ///< of each
    unsigned gl2_misses = 512;                                    ///< outstanding at a time

    /// The knobs of a profile. Under rdna3_text the mechanism also says what an imported BAR becomes.
    static MemoryConfig of(Profile profile, Mechanism mechanism = Mechanism::m1);
    bool operator==(const MemoryConfig&) const = default;
    /// What the pages of an imported BAR become, by the number of the import.
    Mtype mtype_of_import(std::uint64_t number) const;
};

/// Refuses a configuration that cannot be built; static text, or nullptr.
const char* find_fault(const MemoryConfig& config);

} // namespace model::gpu::memory
