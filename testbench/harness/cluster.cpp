#include "testbench/harness/cluster.h"

#include "model/tlm/agenda.h"
#include "model/tlm/time.h"
#include "platform/record/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <set>
#include <systemc>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace harness {

using sw::mlx::Completion;
using sw::mlx::CompletionQueue;

namespace {

constexpr std::byte guard_byte{0xa5};
constexpr std::size_t body_stack_bytes = 1 << 20;
constexpr std::uint32_t first_ipv4 = 0x0a000001;          // 10.0.0.1 and .2
constexpr std::uint64_t ipv6_prefix = 0x20010db800000000; // 2001:db8::1 and ::2

sc_core::sc_time to_time(std::chrono::nanoseconds time) { return model::tlm::to_sc(time); }

} // namespace

// --- memory ---------------------------------------------------------------------------------------------------------

RegisteredMemory::~RegisteredMemory() {
    if (region_)
        (void)region_->destroy();
    if (!bytes_.empty() && !has_guards())
        side_.find(fmt::format("bytes beside the {} at {:#x} were written", length_, region_ ? address() : 0));
}

void RegisteredMemory::set_guards() {
    std::ranges::fill(around().first(guard), guard_byte);
    std::ranges::fill(around().last(guard), guard_byte);
}

bool RegisteredMemory::has_guards() const {
    const auto is_untouched = [](std::byte b) { return b == guard_byte; };
    return std::ranges::all_of(around().first(guard), is_untouched) &&
           std::ranges::all_of(around().last(guard), is_untouched);
}

void RegisteredMemory::fill(unsigned seed) {
    auto state = seed * 0x9e3779b97f4a7c15 + 1;
    for (auto& byte : bytes_) {
        state = state * 6364136223846793005 + 1442695040888963407;
        byte = static_cast<std::byte>(state >> 56);
    }
}

// --- one host -------------------------------------------------------------------------------------------------------

void Side::find(std::string what) { cluster_.findings_.push_back(fmt::format("{}: {}", name(), what)); }

void Side::open(sw::mlx::DeviceOptions options) {
    if (!hca_function) {
        functions = must(HostFunctions::open(*machine.host, cluster_.unit_options));
        hca_function = must(functions->function(hca_card.bdf()));
        gpu_function = must(functions->function(gpu_card.bdf()));
        gpu = must(sw::gpu::Gpu::open(*gpu_function));
    }
    dram_before_ = machine.host->memory().allocated_bytes();
    first_event_ = cluster_.log.entries.size();
    context = must(sw::mlx::Context::open(*hca_function, options));
    if (context->device().pager() != nullptr)
        pages = std::make_unique<PageService>(context->device());
    pd = must(context->alloc_pd());
    send_cq = must(context->create_cq({.entries = cq_entries, .verify_signatures = true}));
    receive_cq = must(context->create_cq({.entries = cq_entries, .verify_signatures = true}));
    const auto port = must(context->query_port());
    path = {};
    path.is_ethernet = port.is_ethernet;
    if (port.is_ethernet) {
        const bool is_ipv6 = cluster_.platform.config().link.encapsulation == model::port::Encapsulation::roce_v2_ipv6;
        const auto number = static_cast<std::uint32_t>(hca_card.number);
        path.remote_gid =
            is_ipv6 ? sw::mlx::gid_of(ipv6_prefix, number + 1) : sw::mlx::gid_of_ipv4(first_ipv4 + number);
        path.remote_mac = port.mac;
        must(context->set_roce_address(0, {.gid = path.remote_gid, .mac = port.mac}));
    } else {
        path.remote_lid = port.lid;
    }
}

void Side::close() {
    std::array<Completion, 1> extra;
    for (auto* cq : {&send_cq, &receive_cq}) {
        while ((*cq)->poll(extra) != 0)
            find(fmt::format("a completion nobody asked for: QP {:#x} work request {}, {}", extra[0].qpn.value,
                             extra[0].wr_id, sw::mlx::name(extra[0].status)));
        if ((*cq)->unknown_completions() != 0 || (*cq)->bad_signatures() != 0)
            find(fmt::format("{} completions for no queue pair, {} with a wrong signature",
                             (*cq)->unknown_completions(), (*cq)->bad_signatures()));
        if (const auto gone = (*cq)->destroy(); !gone)
            find(gone.error().what);
        cq->reset();
    }
    while (const auto event = context->get_async_event(std::chrono::nanoseconds{0}))
        find(fmt::format("an event nobody asked for: {} of {:#x}", abi::prm::name(event->type), event->number));
    if (context->device().unexpected_events() != 0)
        find(fmt::format("{} events for nobody", context->device().unexpected_events()));
    if (const auto gone = context->dealloc_pd(pd); !gone)
        find(gone.error().what);
    if (const auto gone = context->device().drop_umr(); !gone) // the driver's own, which would count as left behind
        find(gone.error().what);
    check_objects();
    pages.reset();
    if (const auto closed = context->close(); !closed)
        find(closed.error().what);
    context.reset();
    check_commands(first_event_);
    if (const auto now = machine.host->memory().allocated_bytes(); now != dram_before_)
        find(fmt::format("{} bytes of DMA memory were not given back", now - dram_before_));
    if (const auto spurious = machine.host->interrupts().spurious(); spurious != 0)
        find(fmt::format("{} interrupts with no vector behind them", spurious));
}

void Side::abandon() {
    pages.reset();
    send_cq.reset();
    receive_cq.reset();
    context.reset();
}

void Side::let_go() {
    gpu.reset();
    gpu_function.reset();
    hca_function.reset();
    if (functions && functions->unit() && !cluster_.expects_faults)
        for (const auto& fault : functions->unit()->take_faults())
            find("the remapping unit refused: " + to_string(fault));
    functions.reset();
    if (machine.ownership && !cluster_.expects_stale_mappings)
        for (const auto& finding : machine.ownership->take_findings())
            find(to_string(finding));
}

void Side::leak() {
    static auto& kept = *new std::vector<const void*>; // where a leak checker finds them
    kept.insert(kept.end(), {send_cq.release(), receive_cq.release(), context.release(), gpu_function.release(),
                             hca_function.release(), functions.release(), pages.release()});
}

/// What the firmware still has, shortly before the driver leaves.
void Side::check_objects() {
    const auto& state = firmware().state();
    // The driver's own event queues and UAR pages go last.
    for (const auto& kind : state.registry.counts())
        if (kind.objects != 0 && kind.kind != firmware::Kind::eq && kind.kind != firmware::Kind::uar)
            find(fmt::format("{} {} left in the device", kind.objects, kind.name));
    if (const auto ranges = context->device().iova_space().used_ranges(); ranges != 0)
        find(fmt::format("{} address ranges left in the driver", ranges));
}

/// Every command since the side was opened: accepted, and what was made was taken away, up to pages and event queues.
void Side::check_commands(std::size_t first_event) {
    constexpr std::array pairs{std::pair{"ENABLE_HCA", "DISABLE_HCA"},   std::pair{"INIT_HCA", "TEARDOWN_HCA"},
                               std::pair{"CREATE_EQ", "DESTROY_EQ"},     std::pair{"ALLOC_UAR", "DEALLOC_UAR"},
                               std::pair{"CREATE_CQ", "DESTROY_CQ"},     std::pair{"CREATE_QP", "DESTROY_QP"},
                               std::pair{"CREATE_MKEY", "DESTROY_MKEY"}, std::pair{"ALLOC_PD", "DEALLOC_PD"}};
    std::map<std::string_view, std::size_t> done;
    for (const auto& [stamp, event] : std::span(cluster_.log.entries).subspan(first_event)) {
        const auto* command = std::get_if<traces::CommandExecuted>(&event);
        if (command == nullptr || cluster_.sources.name(stamp.source) != source())
            continue;
        if (command->status == 0)
            ++done[command->command];
        else if (!cluster_.expects_refusals)
            find(fmt::format("{} was refused: {}", command->command, command->why));
    }
    for (const auto& [make, take] : pairs)
        if (done[make] != done[take])
            find(fmt::format("{} times {}, {} times {}", done[make], make, done[take], take));
    if (const auto& state = firmware().state(); state.phase() != firmware::Phase::disabled || state.pages.given() != 0)
        find(fmt::format("the device keeps {} pages", state.pages.given()));
}

std::unique_ptr<RegisteredMemory> Side::dram(std::uint64_t length, const sw::mlx::RegionOptions& options,
                                             abi::Pd owner) {
    constexpr auto offset = RegisteredMemory::offset_in_buffer;
    std::unique_ptr<RegisteredMemory> memory(new RegisteredMemory(*this, length));
    memory->dram_ = must(context->allocate(length + 2 * offset));
    memory->bytes_ = memory->dram_->bytes().subspan(offset, length);
    memory->set_guards();
    memory->region_ = must(context->reg_mr(owner, memory->dram_->memory(), offset, length, options));
    return memory;
}

std::unique_ptr<RegisteredMemory> Side::vram(std::uint64_t length, sw::mlx::Access access) {
    constexpr auto offset = RegisteredMemory::offset_in_buffer;
    std::unique_ptr<RegisteredMemory> memory(new RegisteredMemory(*this, length));
    memory->vram_ = must(gpu->allocate(length + 2 * offset));
    memory->bytes_ = gpu_card.vram().bytes().subspan(memory->vram_->ranges().front().offset + offset, length);
    std::ranges::fill(memory->bytes_, std::byte{});
    memory->set_guards();
    memory->region_ =
        must(context->reg_vram_mr(pd, must(gpu->export_buffer(*memory->vram_)), offset, length, {.access = access}));
    return memory;
}

std::unique_ptr<sw::mlx::QueuePair> Side::make_qp(sw::mlx::QpOptions options) {
    if (options.pd == abi::Pd{})
        options.pd = pd;
    if (options.send_cq == nullptr)
        options.send_cq = send_cq.get();
    if (options.receive_cq == nullptr)
        options.receive_cq = receive_cq.get();
    return must(context->create_qp(options));
}

std::vector<Completion> Side::wait(CompletionQueue& cq, std::size_t count, std::chrono::nanoseconds timeout) {
    std::vector<Completion> found;
    std::array<Completion, 32> batch;
    for (const auto deadline = hca_function->now() + timeout; found.size() != count;) {
        const auto now = cq.poll(std::span(batch).first(std::min(batch.size(), count - found.size())));
        found.insert(found.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(now));
        if (now == 0 && hca_function->now() >= deadline)
            break;
        if (now == 0)
            hca_function->relax();
    }
    return found;
}

Completion Side::next(CompletionQueue& cq) {
    const auto found = wait(cq, 1);
    if (found.empty())
        throw std::runtime_error(fmt::format("{}: no completion within a second", name()));
    return found.front();
}

sw::mlx::AsyncEvent Side::event() {
    const auto event = context->get_async_event(std::chrono::seconds{1});
    if (!event)
        throw std::runtime_error(fmt::format("{}: no asynchronous event within a second", name()));
    return *event;
}

bool Side::is_quiet() {
    return wait(*send_cq, 1, std::chrono::nanoseconds{0}).empty() &&
           wait(*receive_cq, 1, std::chrono::nanoseconds{0}).empty();
}

// --- both -----------------------------------------------------------------------------------------------------------

platform::topology::Config Cluster::untimed() {
    platform::topology::Config config;
    config.timed = false;
    return config;
}

namespace {
platform::topology::Config with_detector(platform::topology::Config config, bool detects) {
    config.observe.has_ownership = detects;
    return config;
}
platform::observe::Fanout both(traces::Sink& log, const Records& records) {
    platform::observe::Fanout sinks;
    sinks.add(log);
    const auto* const given = std::get_if<platform::record::Recording*>(&records);
    if (auto* recording = given != nullptr ? *given : nullptr; recording != nullptr && recording->events() != nullptr)
        sinks.add(*recording->events());
    return sinks;
}
} // namespace

platform::record::Recording* Cluster::recording_of(const Records& records, const platform::topology::Config& config) {
    if (const auto* recording = std::get_if<platform::record::Recording*>(&records))
        return *recording;
    if (std::holds_alternative<Unmonitored>(records))
        return nullptr;
    return &monitored_.emplace(config).recording();
}

Cluster::Cluster(const platform::topology::Config& config, bool detects_stale_mappings, Records records)
    : sinks(both(log, records)), platform(with_detector(config, detects_stale_mappings), &sinks, sources,
                                          platform::topology::Served::as_described, recording_of(records, config)),
      a(platform.seat("A.hca", "A.gpu"), *this), b(platform.seat("B.hca", "B.gpu"), *this) {}

[[gnu::noinline]] void forget_left_frames() {
#ifdef __SANITIZE_ADDRESS__
    constexpr std::size_t reach = 256 << 10;
    auto* here = static_cast<char*>(__builtin_frame_address(0));
    __asan_unpoison_memory_region(here - reach, reach);
#endif
}

void Cluster::run(std::function<void(Side& a, Side& b)> body, std::chrono::seconds limit) {
    bool is_over = false;
    std::exception_ptr failure; // exceptions do not cross the kernel
    sc_core::sc_spawn_options options;
    options.set_stack_size(static_cast<int>(body_stack_bytes));
    sc_core::sc_spawn(
        [&] {
            try {
                a.open(device_options);
                b.open(device_options);
                body(a, b);
                for (auto* side : {&a, &b})
                    if (side->context)
                        side->close();
            } catch (...) {
                failure = std::current_exception();
                for (auto* side : {&a, &b}) // here: taking them down takes simulated time
                    side->abandon();
            }
            for (auto* side : {&a, &b})
                side->let_go();
            is_over = true;
            sc_core::sc_pause();
        },
        "body", &options);
    model::tlm::run_for(limit);
    if (failure) {
        forget_left_frames();
        std::rethrow_exception(failure);
    }
    if (!is_over) { // the body's stack is lost, and with it what must go before these
        for (auto* side : {&a, &b})
            side->leak();
        throw std::runtime_error(
            fmt::format("the test's body still waits after {} s of simulated time", limit.count()));
    }
    check_rules();
    if (findings_.empty())
        return;
    forget_left_frames();
    throw std::runtime_error(fmt::format("{}", fmt::join(findings_, "\n")));
}

void Cluster::check_rules() {
    if (!monitored_)
        return;
    std::set<std::string_view> as_said;
    for (const auto& violation : monitored_->finish(Monitored::End::quiet)) {
        const auto of = std::ranges::find(broken_, violation.rule.name, &Broken::rule);
        if (of == broken_.end())
            findings_.push_back(violation.text());
        else
            as_said.insert(of->rule);
    }
    for (const auto& broken : broken_)
        if (!as_said.contains(broken.rule))
            findings_.push_back(
                fmt::format("nothing breaks the rule '{}', which was to be: {}", broken.rule, broken.why));
}

Connection Cluster::connect(const sw::mlx::ConnectOptions& options, sw::mlx::QpOptions first,
                            sw::mlx::QpOptions second) {
    Connection connection{a.make_qp(first), b.make_qp(second)};
    connect(connection, options, options);
    return connection;
}

void Cluster::connect(Connection& connection, const sw::mlx::ConnectOptions& a_options,
                      const sw::mlx::ConnectOptions& b_options) {
    must(a.context->connect(*connection.a, {.path = b.path, .qpn = connection.b->number(), .psn = first_psn_b},
                            first_psn_a, a_options));
    must(b.context->connect(*connection.b, {.path = a.path, .qpn = connection.a->number(), .psn = first_psn_a},
                            first_psn_b, b_options));
}

void Cluster::let(std::chrono::nanoseconds time) { sc_core::wait(to_time(time)); }

} // namespace harness
