#include "sw/mlx/device/device.h"

#include "abi/prm/access_register.h"
#include "abi/prm/adapter.h"
#include "abi/prm/uar_pd.h"
#include "sw/mlx/memory/pager.h"
#include "sw/mlx/memory/umr.h"
#include "sw/mlx/port/port.h"
#include "sw/transport/function.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace sw::mlx {

using namespace abi::prm;
using namespace std::chrono_literals;

namespace {

constexpr unsigned log_page_fault_eq_size = 12;

/// Runs a command whose answer is only its status.
template <class Out, class In> Result<void> tell(CommandChannel& commands, const Input<In>& in) {
    if (const auto out = run<Out>(commands, in); !out)
        return std::unexpected(out.error());
    return {};
}

} // namespace

Device::Device(transport::Transport& transport, DeviceOptions options)
    : transport_(transport), options_(options), segment_(transport, bar, 0), health_(transport, bar),
      doorbell_records_(transport) {}

Device::~Device() { (void)close(); }

Result<std::unique_ptr<Device>> Device::open(transport::Transport& transport, DeviceOptions options) {
    std::unique_ptr<Device> device(new Device(transport, options));
    if (auto up = device->bring_up(); !up)
        return failure(up.error().code, "open HCA: " + up.error().what); // the destructor undoes what was done
    return device;
}

Result<void> Device::bring_up() {
    // The stock driver's order. Each step adds what undoes it.
    for (const auto step : {&Device::start_function, &Device::start_commands, &Device::enable, &Device::negotiate_issi,
                            &Device::supply_boot_pages, &Device::set_host_endianness, &Device::choose_capabilities,
                            &Device::supply_init_pages, &Device::initialize, &Device::query_adapter,
                            &Device::allocate_uar, &Device::start_events, &Device::start_port})
        if (auto done = (this->*step)(); !done)
            return done;
    return {};
}

Result<void> Device::start_function() {
    const auto id = transport::enable_function(transport_);
    if (!id)
        return std::unexpected(id.error());
    if (id->vendor != pci_vendor)
        return failure(ENODEV, fmt::format("function {:04x}:{:04x} is not ours, vendor {:04x} expected", id->vendor,
                                           id->device, pci_vendor));
    if (transport_.bar_size(bar) < InitialSegment::size)
        return failure(ENODEV, fmt::format("BAR 0 of {:#x} bytes does not hold the initialization segment",
                                           transport_.bar_size(bar)));
    add_undo("disable function", [this]() -> Result<void> {
        transport::disable_function(transport_); // nothing writes our memory any more
        return {};
    });
    return health_.look();
}

Result<void> Device::wait_initialized(std::chrono::nanoseconds timeout) {
    if (transport::poll_until(transport_, timeout, [this] { return segment_.get<"initializing">() == 0; }))
        return {};
    return failure(ETIMEDOUT, fmt::format("device still initializing after {} s",
                                          std::chrono::duration_cast<std::chrono::seconds>(timeout).count()));
}

Result<void> Device::start_commands() {
    if (auto ready = wait_initialized(options_.initialize_timeout); !ready)
        return ready;
    auto channel = CommandChannel::open(transport_, bar, options_.command);
    if (!channel)
        return std::unexpected(std::move(channel.error()));
    commands_ = std::move(*channel);
    pages_ = std::make_unique<PageSupply>(transport_, *commands_);
    commands_->set_watch([this] { return health_.look_now_and_then(); });
    return wait_initialized(2s);
}

Result<void> Device::enable() {
    if (auto enabled = tell<EnableHcaOut>(*commands_, Input<EnableHcaIn>(Opcode::enable_hca)); !enabled)
        return enabled;
    add_undo("DISABLE_HCA", [this] {
        commands_->verify_signatures(false); // what was agreed upon ends with this command
        return tell<DisableHcaOut>(*commands_, Input<DisableHcaIn>(Opcode::disable_hca));
    });
    return {};
}

Result<void> Device::negotiate_issi() {
    const auto supported = run<QueryIssiOut>(*commands_, Input<QueryIssiIn>(Opcode::query_issi));
    if (!supported)
        return supported.error().code == EINVAL ? Result<void>{} // older than the command: ISSI 0
                                                : std::unexpected(supported.error());
    constexpr unsigned wanted = 1;
    if (!(supported->get<"supported_issi_dw0">() >> wanted & 1))
        return {};
    Input<SetIssiIn> in(Opcode::set_issi);
    in.view().set<"current_issi">(wanted);
    if (auto set = tell<SetIssiOut>(*commands_, in); !set)
        return set;
    issi_ = wanted;
    return {};
}

Result<void> Device::supply_boot_pages() {
    add_undo("reclaim pages", [this] { return pages_->reclaim_all(); });
    return pages_->supply(PageQuery::boot);
}

Result<void> Device::supply_init_pages() { return pages_->supply(PageQuery::init); }

Result<void> Device::set_host_endianness() {
    Input<AccessRegIn> in(Opcode::access_reg, static_cast<std::uint16_t>(RegisterAction::write),
                          RegisterHostEndianness::size);
    in.view().set<"register_id">(static_cast<std::uint32_t>(RegisterId::host_endianness));
    abi::View<RegisterHostEndianness>(in.tail()).set<"he">(0);
    if (const auto out = run<AccessRegOut>(*commands_, in, RegisterHostEndianness::size); !out)
        return std::unexpected(out.error());
    return {};
}

Result<void> Device::choose_capabilities() {
    return mlx::choose_capabilities(*commands_, {options_.log_max_qp, options_.command.signatures});
}

Result<void> Device::initialize() {
    if (auto initialized = tell<InitHcaOut>(*commands_, Input<InitHcaIn>(Opcode::init_hca)); !initialized)
        return initialized;
    add_undo("TEARDOWN_HCA",
             [this] { return tell<TeardownHcaOut>(*commands_, Input<TeardownHcaIn>(Opcode::teardown_hca)); });
    auto capabilities = query_capabilities(*commands_);
    if (!capabilities)
        return std::unexpected(std::move(capabilities.error()));
    capabilities_ = std::move(*capabilities);
    commands_->verify_signatures(capabilities_.get<"cmdif_checksum">() != 0);
    return {};
}

Result<void> Device::query_adapter() {
    const auto out = run<QueryAdapterOut>(*commands_, Input<QueryAdapterIn>(Opcode::query_adapter));
    if (!out)
        return std::unexpected(out.error());
    std::ranges::copy(out->view().sub<"query_adapter_struct">().bytes(), adapter_.bytes.begin());
    return {};
}

Result<void> Device::allocate_uar() {
    const auto added = add_uar();
    return added ? Result<void>{} : std::unexpected(added.error());
}

Result<Uar*> Device::add_uar() {
    const auto out = run<AllocUarOut>(*commands_, Input<AllocUarIn>(Opcode::alloc_uar));
    if (!out)
        return std::unexpected(out.error());
    const auto index = out->get<"uar">();
    add_undo("DEALLOC_UAR", [this, index] {
        Input<DeallocUarIn> in(Opcode::dealloc_uar);
        in.view().set<"uar">(index);
        return tell<DeallocUarOut>(*commands_, in);
    });
    if ((std::uint64_t{index} + 1) * uar_page_bytes > transport_.bar_size(bar))
        return failure(EPROTO, fmt::format("ALLOC_UAR: page {:#x} lies outside BAR 0", index));
    return &uars_.emplace_back(transport_, bar, index, 1u << capabilities_.get<"log_bf_reg_size">());
}

Result<void> Device::add_event_queue(const std::string& name, EqOptions options, EventQueue*& queue) {
    options.log_size = std::min<unsigned>(options.log_size, capabilities_.get<"log_max_eq_sz">());
    auto created = EventQueue::create(transport_, *commands_, uar(), options);
    if (!created)
        return failure(created.error().code, name + " event queue: " + created.error().what);
    queue = created->get();
    eqs_.push_back(std::move(*created));
    add_undo("destroy " + name + " event queue", [queue] { return queue->destroy(); });
    return {};
}

Result<void> Device::start_events() {
    const bool has_pager = options_.page_faults && capabilities_.get<"pg">() != 0;
    const auto vectors = 1 + options_.completion_vectors + has_pager;
    if (auto enabled = transport_.enable_interrupts(vectors); !enabled)
        return enabled;
    add_undo("disable interrupts", [this]() -> Result<void> {
        transport_.disable_interrupts();
        return {};
    });

    if (auto made = add_event_queue(
            "command", {.log_size = 8, .vector = command_vector, .events = {EventType::command}}, command_eq_);
        !made)
        return made;
    command_eq_->arm();
    if (options_.command_events) {
        commands_->use_events([this](std::chrono::nanoseconds left) {
            wait_events(command_vector, std::min<std::chrono::nanoseconds>(left, 1s));
        });
        // Undone before the queue is destroyed: its DESTROY_EQ is polled.
        add_undo("poll commands", [this]() -> Result<void> {
            commands_->use_polling();
            return {};
        });
    }
    EventQueue* queue = nullptr;
    const EqOptions async{.log_size = options_.log_async_eq_size,
                          .vector = command_vector,
                          .events = {EventType::path_migrated, EventType::communication_established,
                                     EventType::sq_drained, EventType::cq_error, EventType::wq_catastrophic_error,
                                     EventType::path_migration_failed, EventType::internal_error,
                                     EventType::port_change, EventType::wq_invalid_request, EventType::wq_access_error,
                                     EventType::srq_catastrophic_error, EventType::srq_last_wqe, EventType::srq_limit}};
    if (auto made = add_event_queue("asynchronous", async, async_eq_); !made)
        return made;
    async_eq_->arm();
    if (!capabilities_.get<"page_request_disable">()) {
        if (auto made = add_event_queue(
                "page request", {.log_size = 8, .vector = command_vector, .events = {EventType::page_request}}, queue);
            !made)
            return made;
        queue->arm();
    }
    for (unsigned i = 0; i < options_.completion_vectors; ++i) {
        if (auto made =
                add_event_queue(fmt::format("completion {}", i),
                                {.log_size = options_.log_completion_eq_size, .vector = 1 + i, .events = {}}, queue);
            !made)
            return made;
        completion_eqs_.push_back(queue);
        queue->arm();
    }
    if (has_pager) {
        const auto vector = vectors - 1;
        if (auto made = add_event_queue(
                "page fault", {.log_size = log_page_fault_eq_size, .vector = vector, .events = {EventType::page_fault}},
                queue);
            !made)
            return made;
        pager_ = std::make_unique<Pager>(*this, vector);
        queue->arm();
    }
    return {};
}

Result<void> Device::start_port() {
    if (!capabilities_.is_ethernet() || !capabilities_.get<"roce">())
        return {};
    add_undo("disable RoCE", [this] { return enable_roce(*commands_, false); });
    return enable_roce(*commands_, true);
}

Result<void> Device::close() {
    Result<void> first = drop_umr();
    while (!steps_.empty()) {
        const auto step = std::move(steps_.back());
        steps_.pop_back();
        if (auto undone = step.undo(); !undone && first)
            first = failure(undone.error().code, fmt::format("close HCA: {}: {}", step.name, undone.error().what));
    }
    pager_.reset();
    abandoned_.clear();
    eqs_.clear();
    completion_eqs_.clear();
    command_eq_ = async_eq_ = nullptr;
    return first;
}

Result<UmrQueue*> Device::umr() {
    if (!umr_) {
        auto made = UmrQueue::create(*this);
        if (!made)
            return failure(made.error().code, "make the queue for UMRs: " + made.error().what);
        if (!umr_) // another thread may have been faster
            umr_ = std::move(*made);
    }
    return umr_.get();
}

Result<void> Device::drop_umr() {
    const auto queue = std::move(umr_);
    return queue ? queue->destroy() : Result<void>{};
}

} // namespace sw::mlx
