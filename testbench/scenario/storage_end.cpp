#include "testbench/scenario/storage_end.h"

#include <bit>

namespace scenario {

using sw::failure;
using sw::mlx::SendOperation;
using sw::nvme::Blocks;
using sw::nvme::Segment;
using namespace std::chrono_literals;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

constexpr std::uint32_t first_psn = 0xffff00;      // sequence numbers wrap early in every run
constexpr std::chrono::nanoseconds patience = 60s; ///< for one command

} // namespace

sw::Result<void> StorageEnd::open() {
    auto gpu = sw::gpu::Gpu::open(machine_.gpu);
    if (!gpu)
        return std::unexpected(gpu.error());
    gpu_.emplace(std::move(*gpu));
    auto slots = gpu_->allocate(options_.slots * chunk());
    if (!slots)
        return std::unexpected(slots.error());
    slots_.emplace(std::move(*slots));
    TRY(open_drive());
    return open_hca();
}

sw::Result<void> StorageEnd::open_drive() {
    auto mapping = harness::DeviceMapping::make(*gpu_, *slots_, machine_.drive, nullptr, "NVMe driver");
    if (!mapping)
        return std::unexpected(mapping.error());
    for_drive_.emplace(std::move(*mapping));
    auto drive = sw::nvme::Controller::open(machine_.drive, {.queue_pairs = 1, .has_interrupts = false});
    if (!drive)
        return std::unexpected(drive.error());
    drive_ = std::move(*drive);
    if (const auto most = drive_->facts().largest_transfer; most != 0 && chunk() > most)
        return failure(EINVAL, fmt::format("{}: a command of the drive moves {} bytes at most, and a chunk has {}",
                                           machine_.name, most, chunk()));
    const auto numbers = drive_->active_namespaces();
    if (!numbers)
        return std::unexpected(numbers.error());
    if (numbers->empty())
        return failure(ENODEV, fmt::format("{}: the drive has no namespace", machine_.name));
    const auto space = sw::nvme::Namespace::open(*drive_, numbers->front());
    if (!space)
        return std::unexpected(space.error());
    space_.emplace(*space);
    if (const auto room = space_->blocks() * space_->block_bytes(); options_.payload.size() > room)
        return failure(ENOSPC, fmt::format("{}: the payload of {} bytes does not fit into a namespace of {}",
                                           machine_.name, options_.payload.size(), room));
    auto queue = drive_->create_queue_pair({.entries = options_.slots + 1, .largest_transfer = chunk()});
    if (!queue)
        return std::unexpected(queue.error());
    queue_ = std::move(*queue);
    chunk_of_command_.resize(queue_->entries());
    return {};
}

sw::Result<void> StorageEnd::open_hca() {
    auto context = sw::mlx::Context::open(machine_.hca);
    if (!context)
        return std::unexpected(context.error());
    context_ = std::move(*context);
    const auto pd = context_->alloc_pd();
    if (!pd)
        return std::unexpected(pd.error());
    pd_ = *pd;
    const auto path = context_->open_port(machine_.gid);
    if (!path)
        return std::unexpected(path.error());
    path_ = *path;
    auto handle = gpu_->export_buffer(*slots_);
    if (!handle)
        return std::unexpected(handle.error());
    auto region =
        context_->reg_vram_mr(pd_, std::move(*handle), 0, options_.slots * chunk(), {.access = sw::mlx::all_access});
    if (!region)
        return std::unexpected(region.error());
    region_.emplace(std::move(*region));
    auto cq = context_->create_cq({.entries = 4 * options_.slots});
    if (!cq)
        return std::unexpected(cq.error());
    cq_ = std::move(*cq);
    auto qp = context_->create_qp({.pd = pd_,
                                   .send_cq = cq_.get(),
                                   .receive_cq = cq_.get(),
                                   .max_send = 2 * options_.slots,
                                   .max_receive = 2 * options_.slots});
    if (!qp)
        return std::unexpected(qp.error());
    qp_ = std::move(*qp);
    return {};
}

sw::Result<void> StorageEnd::connect() {
    machine_.peer.send_value(Hello{.path = path_,
                                   .address = region_->iova().value,
                                   .rkey = region_->rkey(),
                                   .qpn = qp_->number().value,
                                   .slots = options_.slots});
    if (!machine_.peer.receive_value(remote_) || remote_.slots != options_.slots)
        return failure(EPROTO, machine_.name + ": the peer does not run the same scenario");
    TRY(context_->connect(*qp_, {.path = remote_.path, .qpn = abi::Qpn{remote_.qpn}, .psn = abi::Psn{first_psn}},
                          abi::Psn{first_psn},
                          {.path_mtu = static_cast<abi::prm::Mtu>(std::countr_zero(options_.mtu_bytes) - 7)}));
    for (std::uint32_t i = 0; i < 2 * options_.slots; ++i)
        TRY(expect_message());
    machine_.peer.send_value('C');
    char go = 0;
    if (!machine_.peer.receive_value(go))
        return failure(EPIPE, machine_.name + ": the peer has gone");
    return {};
}

sw::Result<void> StorageEnd::close() {
    TRY(drive_->destroy(std::move(queue_)));
    TRY(drive_->close());
    TRY(qp_->destroy());
    qp_.reset();
    cq_.reset();
    region_.reset();
    return context_->close();
}

sw::Result<void> StorageEnd::begin(bool is_write, std::uint64_t number, std::uint64_t slot) {
    const auto block = space_->block_bytes();
    const Blocks blocks{number * chunk() / block, length(number) / block};
    auto command = is_write ? space_->write(blocks) : space_->read(blocks);
    const std::array data{Segment{for_drive_->bus() + slot * chunk(), length(number)}};
    const auto id = queue_->submit(command, data);
    if (!id)
        return std::unexpected(id.error());
    chunk_of_command_[*id] = number;
    queue_->ring();
    return {};
}

sw::Result<void> StorageEnd::carry_out(bool is_write, std::uint64_t number, std::uint64_t slot) {
    TRY(begin(is_write, number, slot));
    bool is_done = false;
    for (const auto deadline = now() + patience; !is_done && now() < deadline; relax())
        TRY(poll_drive([&](std::uint64_t) -> sw::Result<void> {
            is_done = true;
            return {};
        }));
    return is_done ? sw::Result<void>{} : failure(ETIMEDOUT, machine_.name + ": a command of the drive has not ended");
}

sw::Result<void> StorageEnd::write_to_peer(std::uint64_t number) {
    const auto offset = slot_of(number) * chunk();
    const sw::mlx::Sge sge{region_->iova().value + offset, static_cast<std::uint32_t>(length(number)), region_->lkey()};
    return qp_->post_send({.wr_id = number,
                           .sge = &sge,
                           .sge_count = 1,
                           .operation = SendOperation::write_imm,
                           .flags = sw::mlx::send_flag::signaled,
                           .immediate = static_cast<std::uint32_t>(number),
                           .rkey = remote_.rkey,
                           .remote_address = remote_.address + offset});
}

sw::Result<void> StorageEnd::tell_peer(std::uint32_t value) {
    return qp_->post_send(
        {.operation = SendOperation::send_imm, .flags = sw::mlx::send_flag::signaled, .immediate = value});
}

/// A receive without memory: messages here are their immediates.
sw::Result<void> StorageEnd::expect_message() { return qp_->post_receive({.wr_id = 0}); }

} // namespace scenario
