// A copy engine: a function that moves bytes from one bus address to another. Software writes both and a length, rings
// the doorbell, and gets an interrupt when the copy has ended. The smallest device that has registers, DMA, time and an
// interrupt, and so an example of one. Keeps one copy at a time and no queue.
#pragma once

#include "model/copy/registers.h"
#include "model/pcie/device.h"
#include "model/pcie/endpoint_space.h"
#include "model/pcie/setting.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace model::copy {

struct CopyEngineConfig {
    bool timed = true;
    port::Time start_latency = std::chrono::nanoseconds{500}; ///< from the doorbell to the first read
    std::uint32_t piece_bytes = 4096;                         ///< read and written at a time

    std::vector<pcie::Setting> settings();
    bool operator==(const CopyEngineConfig&) const = default;
};

class CopyEngine final : public pcie::Device {
public:
    CopyEngine(const CopyEngineConfig& config, const pcie::DevicePorts& ports);
    static pcie::FunctionConfig function_config(const CopyEngineConfig& config);

    // Device
    port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, port::Time at) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, port::Time at) override;
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(port::Time at) override;
    void wake(port::Time now) override;
    bool is_quiet() const override { return step_ == Step::none; }

private:
    /// What time is waited for.
    enum class Step : std::uint8_t { none, start, move, end };
    void wait(Step step, port::Time until);
    void move(port::Time now);
    void end(port::Time now);

    pcie::DevicePorts ports_;
    port::Time start_latency_;
    std::vector<std::byte> piece_;
    abi::Block<Registers> registers_;
    Step step_ = Step::none;
    port::Time until_ = port::never;
    // Of the copy under way:
    State outcome_ = State::idle;
    std::uint64_t copied_ = 0;
    port::Time landed_{}; ///< when the last write so far is there
};

} // namespace model::copy
