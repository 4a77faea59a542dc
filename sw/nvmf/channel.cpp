#include "sw/nvmf/channel.h"

#include <algorithm>
#include <array>

namespace sw::nvmf {

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

bool is_same_end(const mlx::Peer& one, const mlx::Peer& other) {
    return one.qpn == other.qpn && one.path.remote_gid == other.path.remote_gid &&
           one.path.remote_lid == other.path.remote_lid;
}

Result<std::unique_ptr<Channel>> Channel::make(const RdmaPort& port, const Options& options) {
    std::unique_ptr<Channel> channel(new Channel(port, options));
    auto& context = *port.context;
    auto memory = context.allocate(channel->received_bytes() + options.sent_bytes);
    if (!memory)
        return std::unexpected(memory.error());
    channel->memory_ = std::move(*memory);
    auto region = context.reg_mr(port.pd, channel->memory_, mlx::Access::local_write);
    if (!region)
        return std::unexpected(region.error());
    channel->region_.emplace(std::move(*region));
    auto cq = context.create_cq({.entries = options.sends + options.receives});
    if (!cq)
        return std::unexpected(cq.error());
    channel->cq_ = std::move(*cq);
    auto qp = context.create_qp({.pd = port.pd,
                                 .send_cq = channel->cq_.get(),
                                 .receive_cq = channel->cq_.get(),
                                 .max_send = options.sends,
                                 .max_receive = options.receives,
                                 .max_send_sge = options.send_elements,
                                 .max_inline = options.max_inline});
    if (!qp)
        return std::unexpected(qp.error());
    channel->qp_ = std::move(*qp);
    return channel;
}

mlx::Peer Channel::self() const {
    // Numbers of packets begin with the queue pair's: they differ from those of the connection before.
    return {.path = port_.path,
            .qpn = qp_->number(),
            .psn = abi::Psn{qp_->number().value},
            .reads = port_.context->reads_answered(port_.options)};
}

Result<void> Channel::connect(const mlx::Peer& peer) {
    TRY(port_.context->connect(*qp_, peer, self().psn, port_.options));
    for (std::uint32_t i = 0; i < options_.receives; ++i)
        TRY(expect(i));
    return {};
}

Result<void> Channel::expect(std::uint32_t number) {
    const mlx::Sge sge{region_->iova().value + capsule_offset(number), options_.capsule_bytes, region_->lkey()};
    return qp_->post_receive({.wr_id = tag(Purpose::receive, number), .sge = &sge, .sge_count = 1});
}

Result<void> Channel::post(const mlx::SendRequest& first, std::uint32_t count) {
    TRY(qp_->post_send(&first));
    under_way_ += count;
    return {};
}

std::size_t Channel::poll(std::span<Ended> into) {
    std::array<mlx::Completion, 16> found;
    const auto count = cq_->poll(std::span(found).first(std::min(found.size(), into.size())));
    for (std::size_t i = 0; i < count; ++i)
        into[i] = {.purpose = static_cast<Purpose>(found[i].wr_id >> 32),
                   .number = static_cast<std::uint32_t>(found[i].wr_id),
                   .status = found[i].status,
                   .bytes = found[i].byte_count};
    return count;
}

} // namespace sw::nvmf
