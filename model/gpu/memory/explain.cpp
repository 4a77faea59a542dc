#include "model/gpu/memory/explain.h"

#include <algorithm>
#include <charconv>

namespace model::gpu::memory {

namespace {

std::string hex(std::uint64_t value) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    return "0x" + std::string(digits.data(), end);
}
std::string at(port::Time time) { return std::to_string(port::to_nanoseconds(time)) + " ns"; }

std::string place(Physical address) {
    return (address.is_bus() ? "PCIe address " : "VRAM offset ") + hex(address.address());
}

/// What takes a line out of a cache of this level.
std::string_view release_of(Level level, const MemoryConfig& config) {
    switch (level) {
    case Level::gl0:
    case Level::gl1: return "a load with glc, or an acquire fence of the agent's scope";
    case Level::scalar: return "s_dcache_inv, or the start of a kernel";
    case Level::unnamed: return "a heavy flush by engine 17 of the graphics hub";
    default:
        return config.rinses_on_heavy
                   ? "ACQUIRE_MEM with GL2_INV, a heavy flush by engine 17 of the graphics hub, or eviction"
                   : "ACQUIRE_MEM with GL2_INV, or eviction";
    }
}

} // namespace

std::string_view name(Profile profile) {
    switch (profile) {
    case Profile::rdna3_text: return "rdna3_text";
    case Profile::coherent: return "coherent";
    case Profile::adversarial: return "adversarial";
    }
    return {};
}

std::string_view name(Mechanism mechanism) {
    switch (mechanism) {
    case Mechanism::m1: return "M1";
    case Mechanism::m2: return "M2";
    case Mechanism::m3: return "M3";
    }
    return {};
}

std::string explain(const Outcome& outcome, const MemoryConfig& config) {
    if (!outcome.is_stale)
        return {};
    std::string text = "the line of " + place({outcome.stale_address}) + " was in " +
                       std::string(name(outcome.stale_level)) + " since " + at(outcome.filled);
    switch (outcome.overtaken_by) {
    case Writer::inbound: text += "; PCIe wrote memory behind it at " + at(outcome.overtaken_at); break;
    case Writer::gpu: text += "; another part of the GPU wrote memory behind it at " + at(outcome.overtaken_at); break;
    case Writer::nobody: text += "; somebody has changed memory behind it"; break;
    }
    if (outcome.mtype == Mtype::uc && outcome.stale_level >= Level::gl2)
        text += "; the page is UC, and mechanism " + std::string(name(config.mechanism)) + " lets its loads hit";
    return text + "; released by " + std::string(release_of(outcome.stale_level, config));
}

std::string explain_held(Hierarchy& caches, port::Time now) {
    auto lines = caches.dirty_lines();
    std::ranges::stable_partition(lines, [](const DirtyLine& line) { return line.address.is_bus(); });
    std::string text;
    for (const auto& line : lines)
        text += "GL2 holds " + std::to_string(line.bytes) + " bytes for " + place(line.address) + " back, since " +
                at(line.since) + " (for " + at(now - line.since) + ")\n";
    return text;
}

} // namespace model::gpu::memory
