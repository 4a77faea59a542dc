// One HCA from cold to ready and back: the bring-up recipe of the stock driver, events and who they go to, teardown in
// reverse. Gives commands, capabilities, doorbells and event queues to the objects of this folder; knows nothing of
// queue pairs' work. One thread at a time uses a device and everything made with it.
#pragma once

#include "abi/layout.h"
#include "abi/prm/adapter.h"
#include "abi/prm/eqe.h"
#include "abi/prm/init_segment.h"
#include "abi/types.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/memory/iova.h"
#include "sw/mlx/command/command.h"
#include "sw/mlx/device/capabilities.h"
#include "sw/mlx/device/health.h"
#include "sw/mlx/device/number_table.h"
#include "sw/mlx/device/pages.h"
#include "sw/mlx/doorbell/doorbell_record.h"
#include "sw/mlx/doorbell/uar.h"
#include "sw/mlx/event/eq.h"
#include "sw/transport/mmio.h"
#include "sw/transport/transport.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sw::mlx {

class CompletionQueue;
class QueuePair;
class UmrQueue;
class Pager;

struct DeviceOptions {
    CommandOptions command{};
    std::chrono::nanoseconds initialize_timeout = std::chrono::seconds{120};
    unsigned log_max_qp = 18;             ///< asked of the device, at most
    bool command_events = true;           ///< else commands are polled for good
    unsigned completion_vectors = 1;      ///< event queues for completions; 0: they share vector 0
    unsigned log_completion_eq_size = 11; ///< at most: a device may have smaller queues only
    unsigned log_async_eq_size = 13;
    bool page_faults = false; ///< regions on demand: a vector and an event queue more, and a thread for pager()
};

/// Something happened that no work request asked for.
struct AsyncEvent {
    abi::prm::EventType type{};
    std::uint32_t number = 0; ///< of the queue, or the port
    std::uint8_t detail = 0;  ///< syndrome of a CQ error, PortChange of a port
};

class Device {
public:
    static constexpr unsigned bar = 0;

    /// Takes the function behind `transport` from reset to ready. On failure everything done so far is undone.
    static Result<std::unique_ptr<Device>> open(transport::Transport& transport, DeviceOptions options = {});
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device();

    /// Undoes open(); all objects made with the device must be gone. The first refusal is returned, the rest is undone
    /// all the same.
    Result<void> close();

    transport::Transport& transport() { return transport_; }
    CommandChannel& commands() { return *commands_; }
    const Capabilities& capabilities() const { return capabilities_; }
    const abi::Block<abi::prm::QueryAdapterParamBlock>& adapter() const { return adapter_; }
    Uar& uar() { return uars_.front(); }
    /// One more page, for a thread that rings by itself: the lines of two threads' BlueFlame bursts must not meet in
    /// one register. There until close().
    Result<Uar*> add_uar();
    DoorbellRecords& doorbell_records() { return doorbell_records_; }
    memory::IovaSpace& iova_space() { return iova_space_; }
    Health& health() { return health_; }
    PageSupply& pages() { return *pages_; }
    unsigned issi() const { return issi_; }
    /// The variant, bits 7..0, for the next memory key: a key deleted and made again shall not look the same.
    std::uint8_t next_key_variant() { return key_variant_++; }

    /// The queue that changes keys; made by the first who asks, there until close().
    Result<UmrQueue*> umr();
    /// Takes it down early; the next who asks makes a new one.
    Result<void> drop_umr();

    /// Who brings pages on demand; nullptr when the device cannot wait for pages, or nobody asked for it.
    Pager* pager() { return pager_.get(); }

    /// Event queue for completions number `i`; with none of their own, the one that also takes asynchronous events.
    EventQueue& completion_eq(unsigned i);
    /// Keeps the memory of an object that the device did not release, until the device cannot write any more.
    void keep_until_closed(memory::Buffer memory) { abandoned_.push_back(std::move(memory)); }
    NumberTable<CompletionQueue>& cqs() { return cqs_; }
    NumberTable<QueuePair>& qps() { return qps_; }

    /// Takes what the event queues of `vector` hold and gives it to its owners. Returns how many events there were.
    unsigned service_events(unsigned vector);
    /// The same, after waiting for the vector's interrupt if there is nothing yet.
    unsigned wait_events(unsigned vector, std::chrono::nanoseconds timeout);
    /// The next completion queue that had an event, in order; nullptr when none came in time.
    CompletionQueue* wait_completion_event(unsigned i, std::chrono::nanoseconds timeout);
    std::optional<AsyncEvent> wait_async_event(std::chrono::nanoseconds timeout);
    /// Events of no known type, or for no known queue.
    std::uint64_t unexpected_events() const { return unexpected_events_; }
    /// Drops what a queue that is going away has waiting.
    void forget_completion_events(abi::Cqn cqn);

private:
    static constexpr unsigned command_vector = 0; ///< MSI-X vector of all events but completions and page faults
    struct Step {
        std::string name;
        std::function<Result<void>()> undo;
    };

    Device(transport::Transport& transport, DeviceOptions options);

    Result<void> bring_up();
    Result<void> start_function();
    Result<void> start_commands();
    Result<void> enable();
    Result<void> negotiate_issi();
    Result<void> supply_boot_pages();
    Result<void> supply_init_pages();
    Result<void> choose_capabilities();
    Result<void> set_host_endianness();
    Result<void> initialize();
    Result<void> query_adapter();
    Result<void> allocate_uar();
    Result<void> start_events();
    Result<void> start_port();
    Result<void> add_event_queue(const std::string& name, EqOptions options, EventQueue*& queue);
    Result<void> wait_initialized(std::chrono::nanoseconds timeout);
    void add_undo(std::string name, std::function<Result<void>()> undo) {
        steps_.push_back({std::move(name), std::move(undo)});
    }
    void dispatch(abi::ConstView<abi::prm::Eqe> event);
    void add_async(AsyncEvent event);
    unsigned completion_vector(unsigned i) const;

    transport::Transport& transport_;
    DeviceOptions options_;
    transport::Registers<abi::prm::InitialSegment> segment_;
    Health health_;
    DoorbellRecords doorbell_records_;
    memory::IovaSpace iova_space_;
    std::unique_ptr<CommandChannel> commands_;
    std::unique_ptr<PageSupply> pages_;
    Capabilities capabilities_;
    abi::Block<abi::prm::QueryAdapterParamBlock> adapter_;
    std::deque<Uar> uars_; ///< the first one is everybody's
    std::vector<std::unique_ptr<EventQueue>> eqs_;
    EventQueue* command_eq_ = nullptr;
    EventQueue* async_eq_ = nullptr;
    std::vector<EventQueue*> completion_eqs_;
    std::unique_ptr<UmrQueue> umr_;
    std::unique_ptr<Pager> pager_;
    NumberTable<CompletionQueue> cqs_;
    NumberTable<QueuePair> qps_;
    std::deque<abi::Cqn> completion_events_;
    std::deque<AsyncEvent> async_events_;
    std::uint64_t unexpected_events_ = 0;
    unsigned issi_ = 0;
    std::uint8_t key_variant_ = 1;
    std::vector<memory::Buffer> abandoned_;
    std::vector<Step> steps_; // done so far; undone last to first
};

} // namespace sw::mlx
