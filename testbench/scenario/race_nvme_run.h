// One run of a race of NVMe (race_nvme.h): a drive moves blocks to or from memory, an action begins at its point, and
// everything is looked at afterwards. race_nvme_run.cpp goes through it, race_nvme_checks.cpp has what must be true.
#pragma once

#include "sw/gpu/gpu.h"
#include "sw/nvme/namespace.h"
#include "testbench/harness/function_reset.h"
#include "testbench/harness/host_functions.h"
#include "testbench/harness/device_mapping.h"
#include "testbench/scenario/race_content.h"
#include "testbench/scenario/race_moment.h"
#include "testbench/scenario/race_nvme.h"
#include "testbench/scenario/race_platform.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace scenario::race {

class NvmeRace {
public:
    NvmeRace(const Ground& ground, const Setup& setup, Outcome& outcome);
    ~NvmeRace();
    NvmeRace(const NvmeRace&) = delete;
    NvmeRace& operator=(const NvmeRace&) = delete;

    void run();

    // For actions (race_nvme.cpp), which may be two at once:
    void violate(std::string what) { outcome_.violations.push_back(std::move(what)); }
    void release_memory();
    void revoke_buffer();
    void delete_queue();
    void reset_controller();
    void reset_function();
    /// The controller does not reach the memory any more, as far as this is known.
    bool is_memory_gone() const { return is_memory_gone_; }
    /// The queue ends without a word about what was under way.
    bool is_queue_gone() const { return is_queue_gone_; }

private:
    using Bytes = std::vector<std::byte>;
    struct Command {
        std::uint64_t begin = 0; ///< of its bytes in the memory
        std::optional<std::uint16_t> id{};
        std::optional<sw::nvme::Completion> completion{};
        bool is_done() const { return completion && completion->is_ok(); }
    };

    // --- race_nvme_run.cpp ---
    void set_up();
    void make_memory();
    void make_drive();
    void post();
    void await();
    void let_it_end();
    void give_back(std::string_view who);
    void measure();
    bool is_touch(const traces::Stamp& stamp, const traces::Event& event) const;
    /// Of the whole drive, by a queue that is made for it.
    Bytes read_blocks();
    void write_blocks(unsigned kind);
    void take_down();
    /// While it is held the queue stays.
    template <class Body> void with_queue(Body&& body);
    // --- race_nvme_checks.cpp ---
    void check_status();
    void check_memory();
    void check_blocks();
    void check_around();

    bool brings_bytes() const { return operation_.to_memory; }
    bool is_in_vram() const { return setup_.victim == &nvme_rows::vram; }
    bool has(const Action& action) const;
    unsigned next_content() const { return setup_.has_alike_owner ? sent : after; }
    std::uint64_t total() const { return size_ * commands; }
    std::span<std::byte> memory() const { return all_.subspan(offset_, total()); }
    void fill(unsigned kind);
    static constexpr unsigned commands = 4;

    const platform::observe::Sources& sources_;
    const Setup& setup_;
    Outcome& outcome_;
    const NvmeOperation& operation_;
    std::uint64_t size_; ///< of a command
    platform::topology::Machine& machine_;
    platform::topology::PlacedCard &drive_card_, &gpu_card_;

    std::unique_ptr<harness::HostFunctions> functions_;
    std::unique_ptr<sw::transport::Transport> drive_function_, gpu_function_;
    std::optional<sw::gpu::Gpu> gpu_;
    std::optional<sw::gpu::VramBuffer> buffer_;
    std::optional<harness::DeviceMapping> mapping_;
    std::optional<sw::transport::DmaMemory> host_, next_; ///< the drive's; what the next owner has
    std::unique_ptr<sw::nvme::Controller> controller_;
    std::optional<sw::nvme::Namespace> space_;
    std::unique_ptr<sw::nvme::QueuePair> queue_;
    std::uint64_t bus_ = 0;    ///< of the memory, as the drive has it
    std::uint64_t offset_ = 0; ///< of it in what lies around
    std::span<std::byte> all_; ///< of what lies around
    Bytes around_, snapshot_;  ///< all of it at the start; the memory when it was given back, or at the end
    std::vector<Command> commands_;

    std::optional<harness::FunctionReset> reset_;
    Moment moment_;
    bool is_busy_ = false, is_memory_gone_ = false, is_queue_gone_ = false, is_given_back_ = false;
};

} // namespace scenario::race
