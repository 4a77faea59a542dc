#include "firmware/qp_context.h"

#include "abi/prm/cqe.h"
#include "abi/prm/qp.h"

#include <algorithm>
#include <optional>

namespace firmware {

namespace prm = abi::prm;
using Context = abi::ConstView<prm::Qpc>;
using prm::AtomicMode;
using prm::QpState;
using prm::ReceiveQueueType;

namespace {

constexpr std::uint64_t wqebb_bytes = 64;

model::port::MacAddress mac(std::uint32_t high, std::uint32_t low) {
    model::port::MacAddress out;
    abi::store<std::uint16_t, std::endian::big>(out.data(), static_cast<std::uint16_t>(high));
    abi::store<std::uint32_t, std::endian::big>(out.data() + 2, low);
    return out;
}

model::hca::queue::AddressPath decode_path(abi::ConstView<prm::Ads> ads) {
    return {
        .pkey_index = static_cast<std::uint16_t>(ads.get<"pkey_index">()),
        .grh = ads.get<"grh">() != 0,
        .rlid = static_cast<std::uint16_t>(ads.get<"rlid">()),
        .path_bits = static_cast<std::uint8_t>(ads.get<"mlid">()),
        .ack_timeout = static_cast<std::uint8_t>(ads.get<"ack_timeout">()),
        .source_index = static_cast<std::uint8_t>(ads.get<"src_addr_index">()),
        .hop_limit = static_cast<std::uint8_t>(ads.get<"hop_limit">()),
        .traffic_class = static_cast<std::uint8_t>(ads.get<"tclass">()),
        .flow_label = ads.get<"flow_label">(),
        .remote_gid = ads.get<"rgid_rip">(),
        .dscp = static_cast<std::uint8_t>(ads.get<"dscp">()),
        .ecn = static_cast<std::uint8_t>(ads.get<"ecn">()),
        .udp_source_port = static_cast<std::uint16_t>(ads.get<"udp_sport">()),
        .service_level = static_cast<std::uint8_t>(ads.get<"sl">()),
        .remote_mac = mac(ads.get<"rmac_47_32">(), ads.get<"rmac_31_0">()),
    };
}

bool has_rq(Context qpc) { return qpc.get<"rq_type">() == ReceiveQueueType::regular; }

model::hca::queue::ReceiveKind receive_kind(Context qpc) {
    using enum model::hca::queue::ReceiveKind;
    const auto type = qpc.get<"rq_type">();
    return type == ReceiveQueueType::regular ? ordinary : type == ReceiveQueueType::srq ? shared : none;
}

/// Bytes that a completion may carry: 0, 32 or 64; nothing for another value.
template <class Scatter> std::optional<std::uint8_t> scatter_bytes(Scatter scatter) {
    switch (scatter) {
    case Scatter::disable: return 0;
    case Scatter::up_to_32_bytes: return static_cast<std::uint8_t>(prm::cqe_inline_32);
    case Scatter::up_to_64_bytes: return static_cast<std::uint8_t>(prm::cqe_inline_64);
    }
    return std::nullopt;
}

/// Whether the device has queue pairs of this type.
bool is_offered(const State& state, prm::QpType type) {
    const auto cap = state.capabilities.general();
    switch (type) {
    case prm::QpType::rc: return cap.get<"rc">() != 0;
    case prm::QpType::uc: return cap.get<"uc">() != 0;
    case prm::QpType::ud:
    case prm::QpType::qp1: return cap.get<"ud">() != 0;
    case prm::QpType::qp0: return cap.get<"ud">() != 0 && !state.config().is_ethernet; // subnet management
    case prm::QpType::xrc: return cap.get<"xrc">() != 0;
    case prm::QpType::reg_umr: return true;
    default: return false;
    }
}

/// What CREATE_QP may not ask for, since no capability advertises it.
Reply check_features(const State& state, Context qpc) {
    if (!is_offered(state, qpc.get<"st">()))
        return refuse("create_qp.service");
    if (qpc.get<"wq_signature">())
        return refuse("create_qp.wq_signature");
    if (!scatter_bytes(qpc.get<"cs_req">()) || !scatter_bytes(qpc.get<"cs_res">()))
        return refuse("create_qp.scatter_to_cqe");
    if (qpc.get<"cd_master">() || qpc.get<"cd_slave_send">() || qpc.get<"cd_slave_receive">())
        return refuse("create_qp.cross_channel");
    if (qpc.get<"rq_type">() != ReceiveQueueType::regular && qpc.get<"rq_type">() != ReceiveQueueType::srq &&
        qpc.get<"rq_type">() != ReceiveQueueType::none)
        return refuse("create_qp.rq_type");
    return accepted;
}

Reply check_path(State& state, abi::ConstView<prm::Ads> ads) {
    // On Ethernet every path has an entry of the RoCE address table; on InfiniBand only one with a GRH has a GID.
    if (!state.config().is_ethernet && !ads.get<"grh">())
        return accepted;
    const auto& gids = state.hca.identity().gids;
    const auto index = ads.get<"src_addr_index">();
    if (index >= gids.size() || !gids[index].is_valid)
        return refuse("qp_path.source_address");
    return accepted;
}

} // namespace

std::uint64_t buffer_bytes(Context qpc) {
    const auto rq = has_rq(qpc)
                        ? std::uint64_t{1}
                              << (qpc.get<"log_rq_size">() + qpc.get<"log_rq_stride">() + prm::log_least_rq_stride)
                        : 0;
    const auto sq = qpc.get<"no_sq">() ? 0 : wqebb_bytes << qpc.get<"log_sq_size">();
    return (rq + wqebb_bytes - 1) / wqebb_bytes * wqebb_bytes + sq;
}

void decode_context(Context qpc, model::hca::queue::QueuePairAttributes& a) {
    a.type = qpc.get<"st">();
    a.pd = abi::Pd{qpc.get<"pd">()};
    a.mtu = static_cast<std::uint8_t>(qpc.get<"mtu">());
    a.log_message_max = static_cast<std::uint8_t>(qpc.get<"log_msg_max">());
    a.log_rq_size = static_cast<std::uint8_t>(qpc.get<"log_rq_size">());
    a.log_rq_stride = static_cast<std::uint8_t>(qpc.get<"log_rq_stride">() + prm::log_least_rq_stride);
    a.log_sq_size = static_cast<std::uint8_t>(qpc.get<"log_sq_size">());
    a.has_sq = qpc.get<"no_sq">() == 0;
    a.receive = receive_kind(qpc);
    a.srqn = qpc.get<"srqn_rmpn_xrqn">();
    a.counter_set = qpc.get<"counter_set_id">();
    a.uar_page = qpc.get<"uar_page">();
    a.user_index = qpc.get<"user_index">();
    a.remote_qpn = abi::Qpn{qpc.get<"remote_qpn">()};
    a.q_key = qpc.get<"q_key">();
    a.xrcd = qpc.get<"xrcd">();
    a.answer_in_cqe = scatter_bytes(qpc.get<"cs_req">()).value_or(0);
    a.receive_in_cqe = scatter_bytes(qpc.get<"cs_res">()).value_or(0);
    a.fast_registration = qpc.get<"fre">() != 0;
    a.path = decode_path(qpc.sub<"primary_address_path">());
    a.log_ack_request = static_cast<std::uint8_t>(qpc.get<"log_ack_req_freq">());
    a.log_reads_requester = static_cast<std::uint8_t>(qpc.get<"log_sra_max">());
    a.log_reads_responder = static_cast<std::uint8_t>(qpc.get<"log_rra_max">());
    a.retry_count = static_cast<std::uint8_t>(qpc.get<"retry_count">());
    a.rnr_retry = static_cast<std::uint8_t>(qpc.get<"rnr_retry">());
    a.next_send_psn = abi::Psn{qpc.get<"next_send_psn">()};
    a.next_receive_psn = abi::Psn{qpc.get<"next_rcv_psn">()};
    a.remote_read = qpc.get<"rre">() != 0;
    a.remote_write = qpc.get<"rwe">() != 0;
    a.remote_atomic = qpc.get<"rae">() != 0;
    a.atomic_mode = static_cast<std::uint8_t>(qpc.get<"atomic_mode">());
    a.min_rnr_nak = static_cast<std::uint8_t>(qpc.get<"min_rnr_nak">());
    a.send_cq = abi::Cqn{qpc.get<"cqn_snd">()};
    a.receive_cq = abi::Cqn{qpc.get<"cqn_rcv">()};
    std::ranges::copy(qpc.bytes(), a.context.begin());
}

Reply check_creation(const State& state, const Scope& scope, Context qpc) {
    if (auto refused = check_features(state, qpc))
        return refused;
    const auto cap = state.capabilities.general();
    const bool has_sq = qpc.get<"no_sq">() == 0;
    if (has_sq && qpc.get<"log_sq_size">() > cap.get<"log_max_qp_sz">())
        return refuse("create_qp.sq_size");
    if (has_rq(qpc) && qpc.get<"log_rq_size">() > cap.get<"log_max_qp_sz">())
        return refuse("create_qp.rq_size");
    if (has_rq(qpc) && 1u << (qpc.get<"log_rq_stride">() + prm::log_least_rq_stride) > cap.get<"max_wqe_sz_rq">())
        return refuse("create_qp.rq_stride");
    // A queue pair that only changes keys has no protection domain: it serves all of them.
    if (!model::hca::queue::service_of(qpc.get<"st">()).is_local && scope.find<Kind::pd>(qpc.get<"pd">()) == nullptr)
        return refuse("create_qp.pd");
    if (has_sq && scope.find<Kind::uar>(qpc.get<"uar_page">()) == nullptr)
        return refuse("create_qp.uar");
    if (has_sq && scope.find<Kind::cq>(qpc.get<"cqn_snd">()) == nullptr)
        return refuse("create_qp.send_cq");
    // The sending side of an XRC connection receives nothing.
    const bool receives = qpc.get<"st">() != prm::QpType::xrc || !has_sq;
    if (receives && scope.find<Kind::cq>(qpc.get<"cqn_rcv">()) == nullptr)
        return refuse("create_qp.receive_cq");
    if (qpc.get<"st">() == prm::QpType::xrc && scope.find<Kind::xrcd>(qpc.get<"xrcd">()) == nullptr)
        return refuse("create_qp.xrcd");
    if (const auto special = model::hca::queue::service_of(qpc.get<"st">()).special;
        special && state.hca.special_queue_pair(*special) != nullptr)
        return refuse("create_qp.special_in_use");
    if (receive_kind(qpc) == model::hca::queue::ReceiveKind::shared &&
        scope.find<Kind::srq>(qpc.get<"srqn_rmpn_xrqn">()) == nullptr)
        return refuse("create_qp.srq");
    return accepted;
}

Reply check_transition(State& state, const Scope& scope, Context qpc, QpState to, bool takes_path) {
    const auto cap = state.capabilities.general();
    const auto ads = qpc.sub<"primary_address_path">();
    if (ads.get<"pkey_index">() >= state.hca.identity().pkeys.size())
        return refuse("qp_path.pkey_index");
    if (ads.get<"vhca_port_num">() > cap.get<"num_ports">())
        return refuse("qp_path.port");
    if (qpc.get<"counter_set_id">() != 0 && scope.find<Kind::counter_set>(qpc.get<"counter_set_id">()) == nullptr)
        return refuse("modify_qp.counter_set");
    const auto mode = static_cast<AtomicMode>(qpc.get<"atomic_mode">());
    if (qpc.get<"rae">() && mode != AtomicMode::ib_spec && mode != AtomicMode::only_8b && mode != AtomicMode::up_to_8b)
        return refuse("modify_qp.atomic_mode");
    if (to == QpState::init)
        return accepted;
    if (prm::bytes_of(qpc.get<"mtu">()) == 0)
        return refuse("modify_qp.mtu");
    if (qpc.get<"log_msg_max">() > cap.get<"log_max_msg">())
        return refuse("modify_qp.message_size");
    if (qpc.get<"log_rra_max">() > cap.get<"log_max_ra_res_qp">())
        return refuse("modify_qp.responder_reads");
    const auto service = model::hca::queue::service_of(qpc.get<"st">());
    if (takes_path && !service.is_datagram && !service.is_local) // datagrams name a path in each WQE
        if (auto refused = check_path(state, ads))
            return refused;
    if (to == QpState::rts && qpc.get<"log_sra_max">() > cap.get<"log_max_ra_req_qp">())
        return refuse("modify_qp.requester_reads");
    return accepted;
}

} // namespace firmware
