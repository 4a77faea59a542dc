#include "testbench/scenario/gpu_rdma.h"

#include "abi/prm/doorbell.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace scenario {

using abi::gpu::Mtype;
using sw::failure;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint32_t first_psn = 0xffff00; // sequence numbers wrap early in every run
constexpr std::uint64_t whole(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

} // namespace

ArenaLayout ArenaLayout::of(std::uint64_t tensor_bytes, unsigned nodes, unsigned threads) {
    ArenaLayout layout{.nodes = nodes, .threads = threads};
    layout.tensor_bytes = whole(tensor_bytes, load_bytes * nodes * threads);
    const auto behind = [](std::uint64_t end) { return whole(end, page); };
    layout.received = behind(layout.tensor_bytes);
    layout.staging = behind(layout.received + layout.tensor_bytes);
    layout.flags = behind(layout.staging + layout.chunk_bytes() * threads * (nodes - 1));
    layout.source = behind(layout.flags + std::uint64_t{threads} * (layout.steps() + 1) * flag_bytes);
    layout.bytes = layout.source + page;
    return layout;
}

sw::Result<std::unique_ptr<GpuRdmaNode>> GpuRdmaNode::open(const GpuAndHca& parts, const ArenaLayout& layout,
                                                           std::uint32_t depth) {
    std::unique_ptr<GpuRdmaNode> node(new GpuRdmaNode(parts));
    if (auto done = node->bring_up(layout, depth); !done)
        return failure(done.error().code, fmt::format("{}: {}", parts.name, done.error().what));
    return node;
}

GpuRdmaNode::~GpuRdmaNode() { (void)close(); }

sw::Result<void> GpuRdmaNode::close() {
    queues_.clear();
    receive_cq_.reset();
    region_.reset();
    rings_ = {};
    space_.reset();
    uar_.reset();
    arena_.reset();
    if (!context_)
        return {};
    const auto closed = context_->close();
    context_.reset();
    return closed;
}

sw::Result<void> GpuRdmaNode::bring_up(const ArenaLayout& layout, std::uint32_t depth) {
    layout_ = layout;
    depth_ = std::bit_ceil(std::max(depth, 2u));
    auto context = sw::mlx::Context::open(parts_.hca);
    if (!context)
        return std::unexpected(context.error());
    context_ = std::move(*context);
    auto gpu = sw::gpu::Gpu::open(parts_.gpu, model::gpu::Gpu::vram_bar);
    if (!gpu)
        return std::unexpected(gpu.error());
    gpu_.emplace(std::move(*gpu));
    auto space =
        sw::gpu::AddressSpace::create(*gpu_, {.register_bar = model::gpu::Gpu::register_bar, .accepts_foreign = true});
    if (!space)
        return std::unexpected(space.error());
    space_ = std::move(*space);
    const auto pd = context_->alloc_pd();
    if (!pd)
        return std::unexpected(pd.error());
    pd_ = *pd;
    const auto path = context_->open_port(parts_.gid);
    if (!path)
        return std::unexpected(path.error());
    path_ = *path;

    // The page of doorbells, and no other register of the HCA.
    const auto uar_offset = std::uint64_t{context_->device().uar().index()} * abi::prm::uar_page_bytes;
    auto uar = sw::memory::MmioExport::create(parts_.hca, sw::mlx::Device::bar, uar_offset, abi::prm::uar_page_bytes);
    if (!uar)
        return std::unexpected(uar.error());
    uar_.emplace(std::move(*uar));
    const auto imported = space_->import(uar_->buffer(), Mtype::uc);
    if (!imported)
        return std::unexpected(imported.error());
    uar_address_ = *imported;

    auto arena = gpu_->allocate(layout_.bytes);
    if (!arena)
        return std::unexpected(arena.error());
    arena_.emplace(std::move(*arena));
    if (arena_->ranges().size() != 1)
        return failure(ENOMEM, fmt::format("VRAM is in pieces: none has {} bytes", layout_.bytes));
    auto handle = gpu_->export_buffer(*arena_);
    if (!handle)
        return std::unexpected(handle.error());
    auto region = context_->reg_vram_mr(pd_, std::move(*handle), 0, layout_.bytes, {.access = sw::mlx::all_access});
    if (!region)
        return std::unexpected(region.error());
    region_.emplace(std::move(*region));
    const auto mapped = space_->map(*arena_, Mtype::uc);
    if (!mapped)
        return std::unexpected(mapped.error());
    arena_address_ = *mapped;
    std::ranges::fill(this->arena(), std::byte{});
    this->arena()[layout_.source] = std::byte{1};
    return make_queues();
}

sw::Result<GpuRdmaNode::Shared> GpuRdmaNode::share(std::uint64_t bytes) {
    auto buffer = gpu_->allocate(bytes);
    if (!buffer)
        return std::unexpected(buffer.error());
    auto mapping = harness::DeviceMapping::make(*gpu_, *buffer, parts_.hca, nullptr, "HCA driver");
    if (!mapping)
        return std::unexpected(mapping.error());
    const auto mapped = space_->map(*buffer, Mtype::uc);
    if (!mapped)
        return std::unexpected(mapped.error());
    const auto bus = mapping->bus();
    return Shared{.buffer = std::move(*buffer), .mapping = std::move(*mapping), .bus = bus, .gpu = *mapped};
}

/// For each thread a page of records, its send queue and its completion queue; then one completion queue for what only
/// receives, which has nothing to say.
sw::Result<void> GpuRdmaNode::make_queues() {
    const auto sends = whole(depth_ * abi::prm::wqe_bb_bytes, page),
               completions = whole(depth_ * abi::prm::Cqe64::size, page);
    const auto each = page + sends + completions;
    auto rings = share(each * layout_.threads);
    if (!rings)
        return std::unexpected(rings.error());
    rings_ = std::move(*rings);
    auto receive_cq = context_->create_cq({.entries = 64});
    if (!receive_cq)
        return std::unexpected(receive_cq.error());
    receive_cq_ = std::move(*receive_cq);
    // Apart by a line each: the HCA reads one while the GPU writes the other.
    constexpr std::uint64_t completion_record = 128;
    for (unsigned i = 0; i < layout_.threads; ++i) {
        const auto bus = rings_.bus + i * each, gpu = rings_.gpu + i * each;
        Queue queue;
        auto cq = context_->create_cq(
            {.entries = depth_,
             .place = {.ring = bus + page + sends, .ring_bytes = completions, .record = bus + completion_record}});
        if (!cq)
            return std::unexpected(cq.error());
        queue.cq = std::move(*cq);
        auto sender = context_->create_qp({.pd = pd_,
                                           .send_cq = queue.cq.get(),
                                           .receive_cq = receive_cq_.get(),
                                           .max_send = depth_,
                                           .max_receive = 0,
                                           .place = {.ring = bus + page, .ring_bytes = sends, .record = bus}});
        if (!sender)
            return std::unexpected(sender.error());
        queue.sender = std::move(*sender);
        auto receiver = context_->create_qp({.pd = pd_,
                                             .send_cq = receive_cq_.get(),
                                             .receive_cq = receive_cq_.get(),
                                             .max_send = 1,
                                             .max_receive = 0});
        if (!receiver)
            return std::unexpected(receiver.error());
        queue.receiver = std::move(*receiver);
        queue.rings = {.sends = gpu + page,
                       .completions = gpu + page + sends,
                       .send_record = gpu,
                       .completion_record = gpu + completion_record,
                       .doorbell = uar_address_ + abi::prm::uar_bfreg,
                       .blocks = queue.sender->send_blocks(),
                       .entries = queue.cq->entries(),
                       .qpn = queue.sender->number().value};
        queues_.push_back(std::move(queue));
    }
    return clear_rings();
}

/// Records at zero, and no entry valid until the HCA has written it.
sw::Result<void> GpuRdmaNode::clear_rings() {
    std::vector<std::byte> bytes(rings_.buffer->size());
    for (const auto& queue : queues_)
        for (std::uint32_t i = 0; i < queue.rings.entries; ++i)
            bytes[queue.rings.completions - rings_.gpu + i * abi::prm::Cqe64::size + abi::prm::cqe_op_own_offset] =
                std::byte{0xf0};
    TRY(gpu_->upload(*rings_.buffer, 0, bytes));
    space_->flush_host_path();
    return {};
}

sw::Result<void> GpuRdmaNode::connect(GpuRdmaNode& next, std::uint32_t mtu_bytes) {
    const sw::mlx::ConnectOptions options{.path_mtu = static_cast<abi::prm::Mtu>(std::countr_zero(mtu_bytes) - 7),
                                          .ack_timeout = 10}; // 4 ms
    for (unsigned i = 0; i < layout_.threads; ++i) {
        auto &sender = *queues_[i].sender, &receiver = *next.queues_[i].receiver;
        TRY(next.context_->connect(receiver, {.path = path_, .qpn = sender.number(), .psn = abi::Psn{first_psn}},
                                   abi::Psn{first_psn}, options));
        TRY(context_->connect(sender, {.path = next.path_, .qpn = receiver.number(), .psn = abi::Psn{first_psn}},
                              abi::Psn{first_psn}, options));
    }
    return {};
}

std::span<std::byte> GpuRdmaNode::arena() const {
    return parts_.device.bytes().subspan(arena_->ranges().front().offset, layout_.bytes);
}

RdmaPlan GpuRdmaNode::plan(unsigned number, const GpuRdmaNode& next, std::uint32_t message_bytes,
                           const testbench::GpuQueueRules& rules) const {
    RdmaPlan plan{.layout = layout_,
                  .node = number,
                  .arena = arena_address_,
                  .local = {region_->iova().value, region_->lkey()},
                  .next = {next.region_->iova().value, next.region_->rkey()},
                  .message_bytes = message_bytes,
                  .rules = rules,
                  .rings = {},
                  .tallies = std::vector<RdmaTally>(layout_.threads),
                  .at_work = layout_.threads};
    for (const auto& queue : queues_)
        plan.rings.push_back(queue.rings);
    return plan;
}

} // namespace scenario
