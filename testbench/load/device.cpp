#include "testbench/load/device.h"

#include "sw/mlx/verbs_face.h"
#include "sw/simple/verbs_face.h"
#include "testbench/harness/cable_address.h"
#include "testbench/harness/must.h"

namespace load {

using harness::must;
using platform::topology::TrafficMemory;

namespace {

constexpr abi::Psn first_psn{1};

sw::verbs::ConnectOptions options_of(const Work& work) {
    return {.mtu_bytes = work.mtu,
            .reads = static_cast<std::uint8_t>(work.how.reads),
            .ack_timeout = static_cast<std::uint8_t>(work.how.ack_timeout),
            .retry_count = static_cast<std::uint8_t>(work.how.retry_count)};
}

} // namespace

sw::verbs::Gid gid_of(const platform::topology::Description& described, const platform::topology::PartAt& hca) {
    const auto& part = described.part(hca).hca();
    const bool is_ipv6 = described.cables[part.cable].link.encapsulation == model::port::Encapsulation::roce_v2_ipv6;
    return harness::cable_address(static_cast<unsigned>(part.number), is_ipv6);
}

Device::Device(platform::topology::Platform& platform, harness::HostFunctions& functions, const PlannedNode& planned,
               const Work& work)
    : planned_(planned), work_(work), platform_(platform) {
    auto& card = platform.card(planned.hca);
    hca_ = must(functions.function(card.bdf()));
    context_ = must(card.is_hca(platform::topology::HcaModel::simple) ? sw::simple::open_verbs(*hca_)
                                                                      : sw::mlx::open_verbs(*hca_));
    pd_ = must(context_->alloc_pd());
    path_ = must(context_->open_port(gid_of(platform.description(), planned.hca)));
    if (planned.gpu) {
        gpu_function_ = must(functions.function(platform.card(*planned.gpu).bdf()));
        gpu_.emplace(must(sw::gpu::Gpu::open(*gpu_function_)));
    }
}

Memory Device::make_memory(TrafficMemory kind, std::uint32_t regions, std::uint64_t region_bytes,
                           std::uint64_t page_bytes, std::uint64_t stride) {
    RegionSource source{.context = *context_, .pd = pd_};
    if (kind == TrafficMemory::vram)
        source.gpu = &*gpu_, source.gpu_card = &platform_.card(*planned_.gpu);
    return {source, regions, region_bytes, page_bytes, stride};
}

Core& Device::add_core(std::uint32_t sent, std::uint32_t received) {
    auto& core = cores_.emplace_back();
    core.eyes = std::make_unique<platform::bridge::InProcessTransport>(*platform_.machines()[planned_.hca.host].host,
                                                                       platform_.card(planned_.hca).bdf());
    core.sent = must(context_->create_cq(sent));
    core.received = must(context_->create_cq(received));
    core.doorbell_page = work_.how.has_blue_flame ? must(context_->alloc_doorbell_page()) : nullptr;
    return core;
}

std::unique_ptr<sw::verbs::QueuePair> Device::make_queue_pair(const Core& core, const QueueSizes& sizes) {
    return must(context_->create_qp({.pd = pd_,
                                     .send_cq = core.sent.get(),
                                     .receive_cq = core.received.get(),
                                     .max_send = sizes.send,
                                     .max_receive = sizes.receive,
                                     .max_inline = sizes.inline_bytes,
                                     .doorbell_page = core.doorbell_page}));
}

void Device::connect(sw::verbs::QueuePair& qp, const Device& peer, const sw::verbs::QueuePair& peer_qp) {
    auto far = peer.as_peer();
    far.qpn = peer_qp.number();
    connect(qp, far);
}

sw::verbs::Peer Device::as_peer() const {
    return {.path = path_, .qpn = {}, .psn = first_psn, .reads = context_->reads_answered(options_of(work_))};
}

void Device::connect(sw::verbs::QueuePair& qp, const sw::verbs::Peer& peer) {
    must(context_->connect(qp, peer, first_psn, options_of(work_)));
}

} // namespace load
