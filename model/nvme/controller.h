// An NVMe controller with its drive: registers and doorbells in BAR 0, commands from queues, completions and
// interrupts. Namespaces, data and I/O commands are rooms of their own, as are the queues and the admin commands; what
// is here is the life of the controller: enabled, ready, shut down, failed, reset. NVMe base 2.0 "Controller
// Initialization", "Controller Level Reset", "Shutdown Processing".
#pragma once

#include "abi/nvme/registers.h"
#include "model/nvme/admin/admin.h"
#include "model/nvme/config.h"
#include "model/nvme/controller_memory.h"
#include "model/nvme/flash/flash.h"
#include "model/nvme/io/io.h"
#include "model/nvme/queue/in_flight.h"
#include "model/nvme/queue/queues.h"
#include "model/nvme/space/namespaces.h"
#include "model/pcie/device.h"
#include "model/pcie/endpoint_space.h"
#include "model/time/server.h"

#include <bit>

namespace model::nvme {

class Controller final : public pcie::Device, public port::Grantor, private QueueListener {
public:
    /// Throws where a medium of the configuration cannot be made.
    Controller(const NvmeConfig& config, const pcie::DevicePorts& ports, traces::Events events = {});
    static pcie::FunctionConfig function_config(const NvmeConfig& config);

    Namespaces& namespaces() { return spaces_; }
    /// A mistake on purpose: see InFlight.
    void plant_missing_drains() { in_flight_.plant_missing_drains(); }

    // Device
    port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, port::Time at) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, port::Time at) override;
    std::span<std::byte> direct(unsigned bar, std::uint64_t offset) override;
    /// Of the memory buffer, where the BAR shows no more than there is.
    int file(unsigned bar) const override {
        return bar == 2 && std::has_single_bit(config_.memory_buffer) ? dma_.file() : -1;
    }
    void reset(port::Time at) override;
    void wake(port::Time now) override;
    void accounts(std::vector<time::Account>& rows) const override;
    bool is_quiet() const override;
    // Grantor
    void set_watch(port::GrantWatch* watch) override { grants_.set_watch(watch); }

private:
    /// `stopping`: a shutdown is under way. What was fetched ends, nothing more is.
    enum class State : std::uint8_t { disabled, starting, running, stopping, stopped, failed };

    // QueueListener
    void fatal(traces::ControllerFailure why, std::uint64_t address, port::Time at) override;
    void bad_doorbell(const Doorbell& doorbell, traces::DoorbellMistake why, port::Time at) override;

    abi::View<abi::nvme::Registers> registers() { return registers_.view(); }
    void write_dword(std::uint64_t offset, std::uint32_t value, port::Time at);
    void configure(std::uint32_t value, port::Time at);
    void start(port::Time at);
    bool can_start();
    void become_ready(port::Time now);
    void shut_down(port::Time at);
    void end_halves(port::Time at);
    void end_shutdown(port::Time at);
    /// What the drive has counted outlives the process as it is now.
    void keep_counters(port::Time at);
    void stop(port::Time at);
    void show_memory();
    void set_capabilities();

    /// There is somebody to post completions to.
    bool has_queues() const { return state_ == State::running || state_ == State::stopping; }
    /// When a processor is done with a command that was fetched at `at`, and its work begins.
    port::Time begin_of_command(port::Time at) {
        return config_.command_latency == port::Time{} ? at : processors_.use(at).done;
    }
    /// For commands that are fetched now.
    Queues::Room room() const;
    void run(port::Time now);
    using Sqe = Io::Sqe;
    void execute(std::uint16_t sqid, Sqe entry, port::Time at, port::Time now);
    void execute_io(std::uint16_t sqid, Sqe entry, port::Time at, port::Time now);
    void begin(std::uint16_t sqid, Sqe entry, port::Time at, port::Time now);
    std::uint64_t emit_fetched(std::uint16_t sqid, abi::ConstView<abi::nvme::Command> command, port::Time at) const;
    void complete(std::uint16_t sqid, abi::ConstView<abi::nvme::Command> command, const Outcome& outcome,
                  port::Time now);
    void explain(std::uint16_t sqid, abi::ConstView<abi::nvme::Command> command, const Outcome& outcome,
                 port::Time at) const;
    void count(abi::ConstView<abi::nvme::Command> command);
    void post_due(port::Time now);
    void report_events(port::Time at);
    /// Asks for the next wake: the clock keeps only the earliest one.
    void schedule();
    void wake_at(port::Time& what, port::Time at);

    NvmeConfig config_;
    pcie::DevicePorts ports_;
    traces::Events events_;
    ControllerMemory dma_;
    time::Server processors_;
    Flash flash_;
    CommandGrants grants_;
    Namespaces spaces_;
    Io io_;
    Health health_;
    Queues queues_;
    InFlight in_flight_;
    Admin admin_;
    abi::Block<abi::nvme::Registers> registers_;
    State state_ = State::disabled;
    bool is_running_ = false; ///< run() is not entered twice
    port::Time ready_at_ = port::never, run_at_ = port::never, interrupt_at_ = port::never, stopped_at_ = port::never;
};

} // namespace model::nvme
