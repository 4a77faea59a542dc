#include "testbench/calibrate/side.h"

#include "testbench/harness/cable_address.h"
#include "testbench/harness/must.h"

#include <algorithm>
#include <bit>

namespace calibrate {

using harness::must;
using platform::topology::Machine;

namespace {

platform::topology::PlacedCard& hca_of(Machine& machine) {
    return *std::ranges::find(machine.cards, platform::topology::PartKind::hca, &platform::topology::PlacedCard::kind);
}

/// Messages, and counters of atomics with the results beside them. In pages of 4 KiB, as memory of programs is.
std::uint64_t memory_of(const Traffic& traffic) {
    return std::max({traffic.span, std::uint64_t{traffic.bytes}, traffic.counters * traffic.counter_stride}) + 4096;
}

sw::mlx::ConnectOptions options_of(const Traffic& traffic) {
    return {.path_mtu = static_cast<abi::prm::Mtu>(std::countr_zero(traffic.mtu) - 7),
            .reads = traffic.reads,
            .ack_timeout = traffic.ack_timeout,
            .retry_count = traffic.retry_count};
}

} // namespace

Side::Side(Machine& machine, const Traffic& traffic, unsigned number)
    : hca_(*machine.host, hca_of(machine).bdf()), context_(must(sw::mlx::Context::open(hca_))),
      pd_(must(context_->alloc_pd())), path_(must(context_->open_port(harness::cable_address(number, false)))),
      buffer_(must(context_->allocate(memory_of(traffic)))),
      region_(must(context_->reg_mr(pd_, buffer_.memory(), 0, buffer_.size(),
                                    {.access = sw::mlx::all_access, .log_page_size = 12}))) {
    for (std::uint32_t i = 0; i < traffic.cores; ++i)
        cores_.push_back(make_core(machine, traffic, (traffic.queue_pairs + i) / traffic.cores));
}

Core Side::make_core(Machine& machine, const Traffic& traffic, std::uint32_t queue_pairs) {
    Core core;
    core.eyes = std::make_unique<platform::bridge::InProcessTransport>(*machine.host, hca_of(machine).bdf());
    const auto entries = std::max(64u, traffic.depth * std::max(1u, queue_pairs));
    core.sent = must(context_->create_cq({.entries = entries}));
    core.received = must(context_->create_cq({.entries = 2 * entries}));
    auto* const uar = traffic.has_blue_flame ? must(context_->alloc_uar()) : nullptr;
    const bool receives = traffic.verb == Verb::send || traffic.is_ping_pong;
    for (std::uint32_t i = 0; i < queue_pairs; ++i)
        core.qps.push_back(must(context_->create_qp(
            {.pd = pd_,
             .send_cq = core.sent.get(),
             .receive_cq = core.received.get(),
             .max_send = traffic.depth,
             .max_receive = receives ? 2 * traffic.depth : 1,
             .max_inline = traffic.is_inline ? traffic.bytes : 0,
             .doorbell = traffic.has_blue_flame ? sw::mlx::DoorbellStyle::blueflame : sw::mlx::DoorbellStyle::one_store,
             .uar = uar})));
    return core;
}

void Side::connect(const Side& peer, const Traffic& traffic) {
    const auto options = options_of(traffic);
    constexpr abi::Psn first{1};
    for (std::size_t i = 0; i < cores_.size(); ++i)
        for (std::size_t k = 0; k < cores_[i].qps.size(); ++k)
            must(context_->connect(*cores_[i].qps[k],
                                   {.path = peer.path_,
                                    .qpn = peer.cores_[i].qps[k]->number(),
                                    .psn = first,
                                    .reads = peer.context_->reads_answered(options)},
                                   first, options));
}

} // namespace calibrate
