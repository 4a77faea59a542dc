// GPU programs with one of their fences or flushes left out, each time under one interleaving: what each of them is
// there for, and where it could be missing. An interleaving is a world (who answers loads, in which order stores
// arrive) and a seed of whatever is drawn in it.
#pragma once

#include "platform/topology/config.h"
#include "sw/gpu/fences.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace scenario::fences {

/// What a program is run without.
struct Removal {
    std::string_view name;
    std::optional<sw::gpu::Fence> fence{};
    bool is_flush = false; ///< of GL2, by somebody beside the program, again and again
    /// Why this program cannot meet what the fence is against where loads are done in their order; empty: it can.
    std::string_view moot{};
    bool is_nothing() const { return !fence && !is_flush; }
};

/// What is against a program, beside what is drawn.
struct World {
    std::string_view name;
    std::uint32_t profile = 0;    ///< of the GPU
    bool reorders_stores = false; ///< of a thread, on their way to memory, and does its loads early (StoreOrder)
    bool reads_plainly = false;   ///< what is read behind an acquire has no bits that pass GL0 and GL1
};
std::span<const World> worlds();

struct Setup {
    const Removal* removal = nullptr;
    const World* world = nullptr;
    std::uint64_t seed = 1;
};

struct Outcome {
    std::string end;         ///< "correct", "stuck", "wrong data", "error", ...
    std::string explanation; ///< of any other end than the first
    /// There was what the removed one is against: stores that overtook others, lines in caches that answered.
    bool has_met = false;
    bool is_correct() const { return end == "correct"; }
};

class Program {
public:
    virtual ~Program() = default;
    virtual std::string_view name() const = 0;
    /// The first one is nothing.
    virtual std::span<const Removal> removals() const = 0;
    /// Its platform, as a configuration.
    virtual std::string_view platform() const = 0;
    /// Keys of each of its GPUs: "A.gpu0".
    virtual std::span<const std::string_view> gpus() const = 0;
    /// Builds its platform: once in a process.
    virtual Outcome run(const platform::topology::Config& config, const Setup& setup) const = 0;
};
std::span<const Program* const> programs();

/// Why it may be that nothing is lost without it in this world; empty: only since nothing was.
std::string_view why_redundant(const Removal& removal, const World& world);

} // namespace scenario::fences
