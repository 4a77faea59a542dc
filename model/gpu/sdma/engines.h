// The copy engines of a GPU with their registers and doorbells.
#pragma once

#include "model/gpu/sdma/engine.h"

#include <array>
#include <optional>

namespace model::gpu::sdma {

class Engines {
public:
    static constexpr unsigned count = abi::gpu::sdma::engines;

    Engines(const EngineConfig& config, Memory& memory, port::Clock& clock, port::Interrupts& interrupts)
        : engines_{Engine{0, config, memory, clock, interrupts}, Engine{1, config, memory, clock, interrupts}} {}

    /// The register at this offset of the register BAR; nothing: it is none of theirs.
    std::optional<std::uint32_t> read(std::uint32_t offset) const;
    /// Returns whether it was one of theirs.
    bool write(std::uint32_t offset, std::uint32_t value, port::Time at);
    /// A store to the doorbell BAR.
    void ring(std::uint64_t offset, std::span<const std::byte> from, port::Time at) {
        for (auto& engine : engines_)
            engine.ring(offset, from, at);
    }
    void wake(port::Time now) {
        for (auto& engine : engines_)
            engine.wake(now);
    }
    port::Time next_due() const { return std::min(engines_[0].next_due(), engines_[1].next_due()); }
    void reset() {
        for (auto& engine : engines_)
            engine.reset();
    }
    Engine& engine(unsigned number) { return engines_[number]; }
    const Engine& engine(unsigned number) const { return engines_[number]; }

private:
    struct Found {
        unsigned engine, queue;
        abi::gpu::sdma::QueueRegister which;
    };
    static std::optional<Found> find(std::uint32_t offset);

    std::array<Engine, count> engines_;
};

} // namespace model::gpu::sdma
