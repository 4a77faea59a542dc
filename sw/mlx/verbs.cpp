#include "sw/mlx/verbs.h"

#include "abi/prm/uar_pd.h"

#include <algorithm>

namespace sw::mlx {

using namespace abi::prm;

namespace {
std::uint8_t at_most(std::uint8_t wanted, unsigned log_limit) {
    return static_cast<std::uint8_t>(std::min<unsigned>(wanted, 1u << std::min(log_limit, 7u)));
}
} // namespace

Result<std::unique_ptr<Context>> Context::open(transport::Transport& transport, DeviceOptions options) {
    auto device = Device::open(transport, options);
    if (!device)
        return std::unexpected(std::move(device.error()));
    return std::unique_ptr<Context>(new Context(std::move(*device)));
}

Result<abi::Block<QuerySpecialContextsOut>> Context::query_special_contexts() {
    auto out = run<QuerySpecialContextsOut>(device_->commands(),
                                            Input<QuerySpecialContextsIn>(Opcode::query_special_contexts));
    if (!out)
        return std::unexpected(out.error());
    abi::Block<QuerySpecialContextsOut> block;
    std::ranges::copy(out->bytes(), block.bytes.begin());
    return block;
}

Result<AddressPath> Context::open_port(const Gid& gid) {
    const auto port = query_port();
    if (!port)
        return std::unexpected(port.error());
    AddressPath path{.is_ethernet = port->is_ethernet};
    if (!port->is_ethernet) {
        path.remote_lid = port->lid;
        return path;
    }
    path.remote_gid = gid;
    path.remote_mac = port->mac;
    if (const auto set = set_roce_address(0, {.gid = gid, .mac = port->mac}); !set)
        return std::unexpected(set.error());
    return path;
}

Result<abi::Pd> Context::alloc_pd() {
    const auto out = run<AllocPdOut>(device_->commands(), Input<AllocPdIn>(Opcode::alloc_pd));
    if (!out)
        return std::unexpected(out.error());
    return abi::Pd{out->get<"pd">()};
}

Result<void> Context::dealloc_pd(abi::Pd pd) {
    Input<DeallocPdIn> in(Opcode::dealloc_pd);
    in.view().set<"pd">(pd.value);
    if (const auto out = run<DeallocPdOut>(device_->commands(), in); !out)
        return std::unexpected(out.error());
    return {};
}

Result<std::uint32_t> Context::alloc_transport_domain() {
    const auto out = run<AllocTransportDomainOut>(device_->commands(),
                                                  Input<AllocTransportDomainIn>(Opcode::alloc_transport_domain));
    if (!out)
        return std::unexpected(out.error());
    return out->get<"transport_domain">();
}

Result<void> Context::dealloc_transport_domain(std::uint32_t domain) {
    Input<DeallocTransportDomainIn> in(Opcode::dealloc_transport_domain);
    in.view().set<"transport_domain">(domain);
    if (const auto out = run<DeallocTransportDomainOut>(device_->commands(), in); !out)
        return std::unexpected(out.error());
    return {};
}

std::uint8_t Context::reads_answered(const ConnectOptions& options) const {
    return at_most(options.reads, device_->capabilities().get<"log_max_ra_res_qp">());
}

Result<void> Context::connect(QueuePair& qp, const Peer& peer, abi::Psn own_psn, const ConnectOptions& options) {
    const auto& capabilities = device_->capabilities();
    auto access = options.access;
    if (!capabilities.has_atomics())
        access = static_cast<Access>(static_cast<std::uint32_t>(access) &
                                     ~static_cast<std::uint32_t>(Access::remote_atomic));
    QpAttributes init;
    init.access = access;
    init.port = peer.path.port;
    init.pkey_index = options.pkey_index;
    if (auto done = qp.modify(QpState::init, init); !done)
        return done;
    QpAttributes receive;
    receive.path = peer.path;
    receive.path_mtu = options.path_mtu;
    receive.remote_qpn = peer.qpn;
    receive.receive_psn = peer.psn;
    receive.max_responder_reads = reads_answered(options);
    receive.min_rnr_timer = options.min_rnr_timer;
    if (auto done = qp.modify(QpState::rtr, receive); !done)
        return done;
    QpAttributes send;
    send.send_psn = own_psn;
    send.max_requester_reads = std::min(peer.reads, at_most(options.reads, capabilities.get<"log_max_ra_req_qp">()));
    send.ack_timeout = options.ack_timeout;
    send.retry_count = options.retry_count;
    send.rnr_retry = options.rnr_retry;
    send.log_ack_request = options.log_ack_request;
    return qp.modify(QpState::rts, send);
}

Result<std::uint8_t> Context::alloc_q_counter() {
    const auto out = run<AllocQCounterOut>(device_->commands(), Input<AllocQCounterIn>(Opcode::alloc_q_counter));
    if (!out)
        return std::unexpected(out.error());
    return static_cast<std::uint8_t>(out->get<"counter_set_id">());
}

Result<void> Context::dealloc_q_counter(std::uint8_t set) {
    Input<DeallocQCounterIn> in(Opcode::dealloc_q_counter);
    in.view().set<"counter_set_id">(set);
    if (const auto out = run<DeallocQCounterOut>(device_->commands(), in); !out)
        return std::unexpected(out.error());
    return {};
}

Result<QCounters> Context::query_q_counter(std::uint8_t set, bool clear) {
    Input<QueryQCounterIn> in(Opcode::query_q_counter);
    in.view().set<"counter_set_id">(set).set<"clear">(clear);
    auto out = run<QueryQCounterOut>(device_->commands(), in);
    if (!out)
        return std::unexpected(out.error());
    QCounters counters;
    std::ranges::copy(out->bytes(), counters.bytes.begin());
    return counters;
}

} // namespace sw::mlx
