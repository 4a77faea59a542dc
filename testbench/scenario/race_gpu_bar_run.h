// One run of a race of a revoked BAR (race_gpu_bar.h): the processor submits commands to a drive, threads of a GPU ring
// for them one by one, and the BAR is taken back at its point. Afterwards each doorbell is accounted for, and each
// block of the drive.
#pragma once

#include "sw/memory/mmio_export.h"
#include "sw/nvme/namespace.h"
#include "testbench/harness/function_reset.h"
#include "testbench/scenario/race_content.h"
#include "testbench/scenario/race_gpu.h"
#include "testbench/scenario/race_gpu_bar.h"
#include "testbench/scenario/race_moment.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace scenario::race {

class GpuBarRace {
public:
    GpuBarRace(const Ground& ground, const Setup& setup, Outcome& outcome);
    GpuBarRace(const GpuBarRace&) = delete;
    GpuBarRace& operator=(const GpuBarRace&) = delete;

    void run();

    // For actions (race_gpu_bar.cpp):
    void revoke();
    void disable();
    void reset_function();

private:
    /// A queue, whose doorbell one thread rings.
    struct Ringer {
        std::unique_ptr<sw::nvme::QueuePair> queue{};
        std::uint64_t doorbell = 0;         ///< in BAR 0
        std::vector<std::uint32_t> tails{}; ///< what is written there, one behind the other
        std::size_t rung = 0;               ///< of them, as the thread knows
        model::gpu::wave::Record record{};
    };
    void set_up();
    void open_drive();
    void submit(Ringer& ringer, std::uint64_t first_page);
    void ring();
    model::gpu::wave::Task<> ring(model::gpu::wave::Thread& thread, Ringer& ringer);
    model::gpu::wave::Task<> count(model::gpu::wave::Thread& thread);
    bool is_touch(const traces::Stamp& stamp, const traces::Event& event) const;
    void check_ends();
    void check_doorbells();
    void check_drive();
    void check_blocks(bool is_complete);
    bool has_completed(Ringer& ringer, std::size_t count);
    void take_down();
    void violate(std::string what) { outcome_.violations.push_back(std::move(what)); }
    bool is_reset() const { return outcome_.is_reached && setup_.actions[0] == &bar_rows::flr; }

    static constexpr unsigned threads = 3;           ///< that ring; one more has nothing to do with the drive
    static constexpr std::uint64_t last_count = 500; ///< of that one

    harness::EventLog& log_;
    const platform::observe::Sources& sources_;
    platform::topology::Machine& machine_;
    const Setup& setup_;
    Outcome& outcome_;
    std::size_t commands_; ///< of each queue, a page each
    platform::topology::PlacedCard& drive_card_;
    GpuSide side_;
    std::unique_ptr<sw::transport::Transport> drive_;
    std::unique_ptr<sw::nvme::Controller> controller_;
    std::optional<sw::nvme::Namespace> space_;
    std::unique_ptr<sw::nvme::QueuePair> queue_; ///< of the processor
    sw::memory::Buffer data_;                    ///< what is written, and what is read back
    std::vector<Ringer> ringers_;
    std::optional<sw::memory::MmioExport> export_;
    std::optional<harness::FunctionReset> reset_;
    std::optional<sw::gpu::VramBuffer> counter_;
    std::uint64_t bar_ = 0, counter_address_ = 0; ///< in the GPU's address space
    std::uint64_t bar_bus_ = 0;                   ///< as the GPU's requests have it
    Moment moment_;
};

} // namespace scenario::race
