// An NVMe controller as its driver has it: found and enabled, asked what it is, with queue pairs that are created,
// deleted, and gone after a reset (NVMe base 2.0 "Controller Initialization"). Commands of namespaces are in
// namespace.h. Not for several threads at once.
#pragma once

#include "abi/nvme/feature.h"
#include "abi/nvme/identify.h"
#include "abi/nvme/opcode.h"
#include "abi/nvme/registers.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/nvme/queue_pair.h"
#include "sw/transport/mmio.h"
#include "sw/transport/transport.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sw::nvme {

struct ControllerOptions {
    std::uint32_t admin_entries = 32;
    unsigned queue_pairs = 4;      ///< for I/O, asked for; fewer may be granted
    bool has_interrupts = true;    ///< a vector for the admin queue and one for each I/O queue; else all are polled
    bool shadow_doorbells = false; ///< for I/O queues, where the controller has them
    unsigned arbitration = 0;      ///< CC.AMS
    std::chrono::nanoseconds admin_timeout = std::chrono::seconds{10};
};

/// What the controller says of itself, as far as this driver uses it.
struct ControllerFacts {
    std::uint32_t version = 0;
    std::uint32_t largest_queue = 0;    ///< entries
    std::uint64_t largest_transfer = 0; ///< bytes; 0: no limit
    bool has_sgl = false, has_shadow_doorbells = false;
    std::uint32_t namespaces = 0; ///< NN: the largest number of one
    std::string serial, model, firmware;
};

/// The controller memory buffer, when it is switched on.
struct MemoryBuffer {
    QueueMemory memory; ///< all of it
    bool takes_submissions = false, takes_completions = false, takes_data = false;
};

class Controller {
public:
    using Command = QueuePair::Command;

    /// Enables the function and the controller. The transport outlives it.
    static Result<std::unique_ptr<Controller>> open(transport::Transport& transport,
                                                    const ControllerOptions& options = {});
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;
    /// As close(), without a word about what failed.
    ~Controller();

    /// Controller Reset: disabled and enabled again. All I/O queue pairs are gone; what they had under way never ends.
    Result<void> reset();
    /// Normal shutdown: all data that were written are durable when it returns. Only reset() comes after it.
    Result<void> shutdown();
    /// Shutdown, and the function masters the bus no more.
    Result<void> close();

    /// A queue pair that the controller knows. Numbers are the lowest free ones. It goes by destroy(), or by itself
    /// after a reset or with the controller.
    Result<std::unique_ptr<QueuePair>> create_queue_pair(QueueOptions options = {});
    /// Whatever became of it, the controller uses its memory no more: when it does not answer, it is disabled.
    Result<void> destroy(std::unique_ptr<QueuePair> queue);

    /// An admin command. A status that is no success is no failure of this call.
    Result<Completion> execute(Command& command, std::span<const Segment> data = {});
    /// The same; any other status than success is EIO, with what the command was.
    Result<std::uint32_t> succeed(Command& command, std::span<const Segment> data = {});
    Result<std::vector<std::byte>> identify(abi::nvme::Cns cns, std::uint32_t nsid = 0, std::uint8_t command_set = 0);
    Result<std::vector<std::byte>> log_page(std::uint8_t page, std::size_t bytes,
                                            std::uint32_t nsid = abi::nvme::all_namespaces);
    Result<std::uint32_t> set_feature(abi::nvme::Feature feature, std::uint32_t value, std::uint32_t nsid = 0);
    Result<std::uint32_t> get_feature(abi::nvme::Feature feature, std::uint32_t nsid = 0);
    /// Numbers of the namespaces that are attached, ascending.
    Result<std::vector<std::uint32_t>> active_namespaces();
    /// Switches the controller memory buffer on at the address of its BAR. ENODEV: there is none.
    Result<MemoryBuffer> enable_memory_buffer();

    const ControllerFacts& facts() const { return facts_; }
    unsigned queue_pairs() const { return granted_; } ///< that can be created
    bool has_shadow_doorbells() const { return shadow_.doorbells != nullptr; }
    transport::Transport& transport() { return *transport_; }
    /// For whoever gives admin commands in another way than execute(): nothing of execute() is under way then.
    QueuePair& admin_queue() { return *admin_; }
    const QueuePair& admin_queue() const { return *admin_; }
    /// Where in BAR 0 a doorbell stands.
    std::uint64_t doorbell_offset(std::uint32_t queue, bool is_completion) const {
        return abi::nvme::doorbells_offset + abi::nvme::doorbell_offset(queue, is_completion, stride_);
    }

private:
    using Registers = transport::Registers<abi::nvme::Registers>;
    Controller(transport::Transport& transport, const ControllerOptions& options)
        : transport_(&transport), options_(options), registers_(transport, 0, 0) {}
    Result<void> begin();
    Result<void> disable();
    Result<void> enable();
    Result<void> learn();
    Result<void> set_up_queues();
    Result<void> configure_shadow_doorbells();
    Result<void> create(const QueuePair& queue);
    std::chrono::nanoseconds ready_timeout() const;

    transport::Transport* transport_;
    ControllerOptions options_;
    Registers registers_;
    unsigned stride_ = 0;
    ControllerFacts facts_;
    std::unique_ptr<QueuePair> admin_;
    memory::Buffer page_;         ///< for data of admin commands
    memory::Buffer shadow_pages_; ///< doorbells, event indexes
    ShadowDoorbells shadow_;
    unsigned granted_ = 0;
    std::vector<bool> is_used_; ///< numbers of I/O queues, from 1
    bool is_open_ = false;
};

} // namespace sw::nvme
