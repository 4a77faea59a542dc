#include "testbench/scenario/gpu_nvme.h"

#include "model/tlm/time.h"
#include "testbench/scenario/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace scenario {

using abi::gpu::Mtype;
using model::gpu::wave::End;
using model::gpu::wave::Grid;
using model::gpu::wave::GridConfig;
using model::gpu::wave::State;
using model::tlm::kernel_now;
using sw::failure;
using sw::nvme::QueueMemory;
using namespace std::chrono_literals;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

constexpr auto patience = std::chrono::nanoseconds{1s}; ///< for the answer to a command that a GPU program rang for
constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + drive_page - 1) / drive_page * drive_page; }

} // namespace

/// The queue pairs of all threads, as the drive, the processor and the GPU have them.
struct GpuNvme::Rings {
    std::vector<sw::gpu::NvmeRings> rings;
    std::vector<std::unique_ptr<sw::nvme::QueuePair>> queues;
    std::vector<Shared> vram;
    std::vector<sw::memory::Buffer> host;
    std::uint64_t lists = 0, lists_bus = 0;
    Mtype submissions{}, completions{}, doorbells{};
};

/// What the next import of a BAR becomes.
Mtype GpuNvme::next_import() { return static_cast<Mtype>(parts_.device.block().config().mtype_of_import(imports_++)); }

sw::Result<std::unique_ptr<GpuNvme>> GpuNvme::open(const GpuAndDrive& parts, unsigned queue_pairs) {
    std::unique_ptr<GpuNvme> made(new GpuNvme(parts));
    TRY(made->begin(queue_pairs));
    return made;
}

GpuNvme::~GpuNvme() {
    if (doorbells_)
        (void)doorbells_->revoke(); // before the drive is let go
    if (controller_)
        (void)controller_->close();
}

sw::Result<void> GpuNvme::begin(unsigned queue_pairs) {
    auto gpu = sw::gpu::Gpu::open(parts_.gpu, model::gpu::Gpu::vram_bar);
    if (!gpu)
        return std::unexpected(gpu.error());
    gpu_.emplace(std::move(*gpu));
    auto controller = sw::nvme::Controller::open(parts_.drive, {.queue_pairs = queue_pairs, .has_interrupts = false});
    if (!controller)
        return std::unexpected(controller.error());
    controller_ = std::move(*controller);
    const auto numbers = controller_->active_namespaces();
    if (!numbers)
        return std::unexpected(numbers.error());
    if (numbers->empty())
        return failure(ENODEV, "the drive has no namespace");
    auto space = sw::nvme::Namespace::open(*controller_, numbers->front());
    if (!space)
        return std::unexpected(space.error());
    space_.emplace(*space);
    auto doorbells = sw::memory::MmioExport::create(parts_.drive, 0, 0, parts_.drive.bar_size(0));
    if (!doorbells)
        return std::unexpected(doorbells.error());
    doorbells_.emplace(std::move(*doorbells));
    return {};
}

sw::Result<std::unique_ptr<sw::gpu::AddressSpace>> GpuNvme::make_address_space(bool accepts_foreign) {
    return sw::gpu::AddressSpace::create(
        *gpu_, {.register_bar = model::gpu::Gpu::register_bar, .accepts_foreign = accepts_foreign});
}

sw::Result<GpuNvme::Shared> GpuNvme::share(std::uint64_t bytes) {
    auto buffer = gpu_->allocate(whole_pages(bytes));
    if (!buffer)
        return std::unexpected(buffer.error());
    return share(std::move(*buffer), false);
}

sw::Result<GpuNvme::Shared> GpuNvme::share(sw::gpu::VramBuffer buffer, bool makes_uncached) {
    gpu_->make_exports_uncached(makes_uncached);
    auto mapping = harness::DeviceMapping::make(*gpu_, buffer, parts_.drive, parts_.drive_space, "NVMe driver");
    gpu_->make_exports_uncached(false);
    if (!mapping)
        return std::unexpected(mapping.error());
    if (buffer.ranges().size() != 1) // which the processor addresses as one
        return failure(ENOMEM, fmt::format("VRAM is in pieces: none has {} bytes", buffer.size()));
    return Shared{std::move(buffer), std::move(*mapping)};
}

sw::Result<std::vector<std::byte>> GpuNvme::identify_by_gpu() {
    const auto space = make_address_space();
    if (!space)
        return std::unexpected(space.error());
    const auto result = share(abi::nvme::identify_bytes);
    if (!result)
        return std::unexpected(result.error());
    const auto bar = (*space)->import(doorbells_->buffer(), next_import());
    if (!bar)
        return std::unexpected(bar.error());

    auto& admin = controller_->admin_queue();
    sw::nvme::QueuePair::Command command;
    command.view().set<"opcode">(static_cast<std::uint8_t>(abi::nvme::AdminOpcode::identify));
    abi::View<abi::nvme::Identify>(command.bytes).set<"cns">(static_cast<std::uint8_t>(abi::nvme::Cns::controller));
    const std::array data{sw::nvme::Segment{result->bus(), abi::nvme::identify_bytes}};
    const auto id = admin.submit(command, data);
    if (!id)
        return std::unexpected(id.error());
    const auto doorbell = *bar + controller_->doorbell_offset(0, false);
    const auto tail = admin.let_ring();

    const Views views(parts_.device.block(), (*space)->vmid());
    Grid grid({}, views.pointers(), [&](model::gpu::wave::Thread& thread) -> model::gpu::wave::Task<> {
        co_await thread.store<std::uint32_t>(doorbell, tail, model::gpu::memory::volatile_store);
    });
    run_grid(grid);
    if (grid.record(0).end != End::returned)
        return failure(EFAULT, fmt::format("the GPU program cannot reach the doorbell at {:#x}", doorbell));
    std::array<sw::nvme::Completion, 1> done;
    if (admin.wait(done, patience) == 0)
        return failure(ETIMEDOUT, "Identify, for which a GPU program rang, has not ended");
    if (!done[0].is_ok())
        return failure(EIO, fmt::format("Identify: {}", sw::nvme::describe(done[0])));
    std::vector<std::byte> bytes(abi::nvme::identify_bytes);
    TRY(gpu_->download(result->buffer, 0, bytes));
    return bytes;
}

sw::Result<GpuNvme::Rings> GpuNvme::make_rings(sw::gpu::AddressSpace& space, const IoSize& size, const IoSetup& setup) {
    Rings made;
    const auto entries = std::max(size.depth + 1, 2u);
    made.doorbells = setup.doorbells ? *setup.doorbells : next_import();
    const auto bar = space.import(doorbells_->buffer(), made.doorbells);
    if (!bar)
        return std::unexpected(bar.error());
    /// Memory of one kind of queue for all threads: how the GPU addresses it, and each thread's part for the driver.
    struct Memory {
        std::uint64_t gpu = 0;
        Mtype mtype{};
        std::vector<QueueMemory> parts{};
    };
    const auto make = [&](std::uint64_t entry_bytes, Mtype mtype) -> sw::Result<Memory> {
        const auto each = whole_pages(entries * entry_bytes);
        Memory memory{.mtype = mtype};
        if (setup.on_host) {
            auto buffer = sw::memory::Buffer::allocate(parts_.drive, each * size.threads);
            if (!buffer)
                return std::unexpected(buffer.error());
            const auto bus = parts_.gpu.map_memory(buffer->memory());
            if (!bus)
                return std::unexpected(bus.error());
            const auto mapped = space.map_host(*bus, each * size.threads, mtype);
            if (!mapped)
                return std::unexpected(mapped.error());
            memory.gpu = *mapped;
            for (unsigned i = 0; i < size.threads; ++i)
                memory.parts.push_back(
                    {.bus = buffer->bus() + i * each, .size = each, .data = buffer->data() + i * each});
            made.host.push_back(std::move(*buffer));
            return memory;
        }
        auto buffer = gpu_->allocate(each * size.threads);
        if (!buffer)
            return std::unexpected(buffer.error());
        const bool is_mapped_first = setup.uncached == Uncached::after_mapping;
        auto mapped = is_mapped_first ? space.map(*buffer, mtype) : 0;
        auto shared = share(*buffer, setup.uncached != Uncached::never);
        if (!shared)
            return std::unexpected(shared.error());
        if (!is_mapped_first)
            mapped = space.map(*buffer, mtype);
        if (!mapped)
            return std::unexpected(mapped.error());
        memory.gpu = *mapped;
        if (setup.uncached != Uncached::never)
            if (const auto entry = space.entry(memory.gpu))
                memory.mtype = entry->get<"mtype">();
        for (unsigned i = 0; i < size.threads; ++i)
            memory.parts.push_back({.bus = shared->bus() + i * each,
                                    .size = each,
                                    .function = &parts_.gpu,
                                    .bar = gpu_->vram_bar(),
                                    .offset = shared->offset() + i * each});
        made.vram.push_back(std::move(*shared));
        return memory;
    };
    const auto submissions = make(abi::nvme::command_bytes, setup.submissions);
    if (!submissions)
        return std::unexpected(submissions.error());
    const auto completions = make(abi::nvme::Completion::size, setup.completions);
    if (!completions)
        return std::unexpected(completions.error());
    made.submissions = submissions->mtype, made.completions = completions->mtype;
    auto lists = share(std::uint64_t{size.threads} * size.depth * drive_page);
    if (!lists)
        return std::unexpected(lists.error());
    const auto lists_mapped = space.map(lists->buffer, Mtype::uc);
    if (!lists_mapped)
        return std::unexpected(lists_mapped.error());
    made.lists = *lists_mapped;
    made.lists_bus = lists->bus();
    made.vram.push_back(std::move(*lists));
    for (unsigned i = 0; i < size.threads; ++i) {
        auto queue = controller_->create_queue_pair(
            {.entries = entries, .submissions = submissions->parts[i], .completions = completions->parts[i]});
        if (!queue)
            return std::unexpected(queue.error());
        const auto number = (*queue)->number();
        made.rings.push_back({.submissions = submissions->gpu + i * submissions->parts[i].size,
                              .completions = completions->gpu + i * completions->parts[i].size,
                              .submission_doorbell = *bar + controller_->doorbell_offset(number, false),
                              .completion_doorbell = *bar + controller_->doorbell_offset(number, true),
                              .entries = (*queue)->entries()});
        made.queues.push_back(std::move(*queue));
    }
    space.flush_host_path(); // zeros of the driver that are on their way would come over the first commands
    return made;
}

sw::Result<IoReport> GpuNvme::move(const PayloadSource& payload, const IoSize& asked, const IoSetup& setup,
                                   Flusher& flusher) {
    auto size = asked;
    const auto block = space_->block_bytes();
    const auto bytes = whole_pages(payload.size());
    size.threads =
        static_cast<unsigned>(std::min<std::uint64_t>({size.threads, controller_->queue_pairs(), bytes / drive_page}));
    size.depth = std::min({size.depth, most_commands, controller_->facts().largest_queue - 1});
    auto command = std::min(whole_pages(size.command_bytes), largest_command);
    if (const auto most = controller_->facts().largest_transfer; most != 0)
        command = std::min(command, most / drive_page * drive_page);
    if (bytes / block > space_->blocks())
        return failure(ENOSPC, fmt::format("the payload of {} bytes does not fit into a namespace of {}",
                                           payload.size(), space_->blocks() * block));

    const auto space = make_address_space();
    if (!space)
        return std::unexpected(space.error());
    const auto from = share(bytes), to = share(bytes);
    if (!from || !to)
        return std::unexpected(!from ? from.error() : to.error());
    const auto vram = parts_.device.bytes();
    const auto source = vram.subspan(from->offset(), bytes);
    if (const auto filled = payload.read(0, source.first(payload.size())); !filled)
        return failure(EIO, filled.error());
    std::ranges::fill(source.subspan(payload.size()), std::byte{});
    std::ranges::fill(vram.subspan(to->offset(), bytes), std::byte{0xee});

    auto rings = make_rings(**space, size, setup);
    if (!rings)
        return std::unexpected(rings.error());
    const auto seen = setup.looks_at_data ? share(bytes) : sw::Result<Shared>(std::unexpect, sw::Error{});
    Slice look{};
    if (setup.looks_at_data) {
        if (!seen)
            return std::unexpected(seen.error());
        const auto data = (*space)->map(to->buffer, Mtype::nc), left = (*space)->map(seen->buffer, Mtype::uc);
        if (!data || !left)
            return std::unexpected(!data ? data.error() : left.error());
        look.data = *data, look.seen = *left;
    }
    IoPlan plan{.space = *space_, .command_blocks = command / block, .rules = setup.rules};
    const auto pages = bytes / drive_page, per_page = drive_page / block;
    for (std::uint64_t i = 0; i < size.threads; ++i) {
        const auto first = pages * i / size.threads, end = pages * (i + 1) / size.threads;
        plan.slices.push_back({.rings = rings->rings[i],
                               .lists = rings->lists + i * size.depth * drive_page,
                               .lists_bus = rings->lists_bus + i * size.depth * drive_page,
                               .from_bus = from->bus() + first * drive_page,
                               .to_bus = to->bus() + first * drive_page,
                               .blocks = {first * per_page, (end - first) * per_page},
                               .depth = size.depth});
        if (setup.looks_at_data) {
            plan.slices.back().data = look.data + first * drive_page;
            plan.slices.back().seen = look.seen + first * drive_page;
            plan.slices.back().data_bytes = (end - first) * drive_page;
        }
    }
    plan.tallies.resize(size.threads);
    auto report = carry_out(payload, plan, setup, flusher, **space, setup.looks_at_data ? *seen : *to);
    if (!report)
        return report;
    report->submissions = rings->submissions, report->completions = rings->completions;
    report->doorbells = rings->doorbells;
    if (report->verdict != Verdict::correct) {
        TRY(recover(report->verdict));
        return report;
    }
    for (auto& queue : rings->queues)
        TRY(controller_->destroy(std::move(queue)));
    return report;
}

sw::Result<IoReport> GpuNvme::carry_out(const PayloadSource& payload, IoPlan& plan, const IoSetup& setup,
                                        Flusher& flusher, sw::gpu::AddressSpace& space, const Shared& read_back) {
    const Views views(parts_.device.block(), space.vmid());
    const auto& config = parts_.device.block().config();
    Grid grid({.threads = static_cast<unsigned>(plan.slices.size()),
               .wave_size = 1,
               .seed = config.seed,
               .stuck_after = 2 * config.hold_max,
               .stores = {.is_adversarial = setup.reorders_stores.value_or(config.is_adversarial)}},
              views.pointers(), [&](model::gpu::wave::Thread& thread) { return write_and_read(thread, plan); });
    IoReport report;
    const auto begun = kernel_now();
    flusher.begin(setup.flush, parts_.gpu, parts_.device);
    run_grid(grid);
    flusher.end();
    report.met = resistance(grid, parts_.device.block());
    report.took = std::chrono::nanoseconds(model::port::to_nanoseconds(kernel_now() - begun));
    for (const auto& tally : plan.tallies) {
        report.commands += tally.commands;
        report.errors += tally.errors;
    }
    switch (grid.state()) {
    case State::gpu_reset: report.verdict = Verdict::gpu_reset; break;
    case State::stuck: report.verdict = Verdict::stuck; break;
    default:
        for (unsigned i = 0; i < grid.threads(); ++i)
            if (grid.record(i).end == End::page_fault)
                report.verdict = Verdict::page_fault;
        if (report.verdict == Verdict::correct) {
            // What the drive has written may rest in front of VRAM, even when its completions lie elsewhere.
            space.flush_host_path();
            std::vector<std::byte> expected(1 << 20);
            const auto found = parts_.device.bytes().subspan(read_back.offset(), payload.size());
            bool is_equal = report.errors == 0;
            for (std::uint64_t done = 0; is_equal && done < payload.size(); done += expected.size()) {
                const auto part = std::span(expected).first(std::min(expected.size(), payload.size() - done));
                if (const auto read = payload.read(done, part); !read)
                    return failure(EIO, read.error());
                is_equal = std::ranges::equal(part, found.subspan(done, part.size()));
            }
            report.sha256 = sha256(found);
            report.verdict = is_equal ? Verdict::correct : Verdict::wrong_data;
        }
    }
    if (report.verdict != Verdict::correct)
        report.explanation = explain(grid, plan, setup, report.verdict);
    return report;
}

/// What was stuck in the caches comes out, as at the next submission; then the drive forgets the queues.
sw::Result<void> GpuNvme::recover(Verdict verdict) {
    if (verdict == Verdict::stuck) {
        const auto control = abi::gpu::CacheControl{}.set<"gl2_inv">(true).set<"gl2_wb">(true).value();
        const auto done = parts_.device.block().acquire(static_cast<std::uint32_t>(control), kernel_now());
        sc_core::wait(model::tlm::to_sc(std::max(done - kernel_now(), model::port::Time{}) + 1ms));
    }
    return controller_->reset();
}

} // namespace scenario
