// The states of a queue pair: which command leads from one to the other, what it needs, and what it may change (PRM
// "Queue pair state transitions"; IBA 10.3.1, 11.2.5.2).
#include "sw/mlx/queue/qp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <string>
#include <string_view>

namespace sw::mlx {

using namespace abi::prm;

namespace {

constexpr std::uint32_t mask_of(std::initializer_list<OptParam> parameters) {
    std::uint32_t mask = 0;
    for (const auto parameter : parameters)
        mask |= static_cast<std::uint32_t>(parameter);
    return mask;
}

constexpr auto rights = mask_of({OptParam::rre, OptParam::rae, OptParam::rwe});

/// Attributes a transition cannot do without (IBA 11.2.5.2, table 91).
enum class Needs : std::uint8_t { nothing, init, rtr, rts };

struct Row {
    QpState from, to;
    Opcode opcode;
    std::uint32_t optional; ///< parameters the command takes when its mask says so
    Needs needs;
};

// The alternate path is not among the optional parameters: path migration is not this driver's business.
constexpr std::array rows{
    Row{QpState::rst, QpState::init, Opcode::rst2init_qp, 0, Needs::init},
    Row{QpState::init, QpState::init, Opcode::init2init_qp,
        rights | mask_of({OptParam::pkey_index, OptParam::primary_port}), Needs::nothing},
    Row{QpState::init, QpState::rtr, Opcode::init2rtr_qp, rights | mask_of({OptParam::pkey_index}), Needs::rtr},
    Row{QpState::rtr, QpState::rts, Opcode::rtr2rts_qp, rights | mask_of({OptParam::rnr_timeout}), Needs::rts},
    Row{QpState::rts, QpState::rts, Opcode::rts2rts_qp, rights | mask_of({OptParam::rnr_timeout}), Needs::nothing},
    Row{QpState::sqer, QpState::rts, Opcode::sqerr2rts_qp, rights | mask_of({OptParam::rnr_timeout}), Needs::nothing},
    Row{QpState::sqd, QpState::rts, Opcode::sqd2rts_qp, rights | mask_of({OptParam::rnr_timeout}), Needs::nothing},
};

/// The first attribute that is missing, or nothing.
std::string_view missing(Needs needs, QpType type, const QpAttributes& a) {
    const bool is_reliable = type == QpType::rc;
    if (needs == Needs::init && !a.port)
        return "port";
    if (type == QpType::reg_umr) // has no peer
        return needs == Needs::rtr && !a.path_mtu ? "path MTU" : "";
    if (needs == Needs::rtr) {
        if (!a.path)
            return "address path";
        if (!a.path_mtu)
            return "path MTU";
        if (!a.remote_qpn)
            return "remote queue pair number";
        if (!a.receive_psn)
            return "receive PSN";
        if (is_reliable && !a.max_responder_reads)
            return "responder READ depth";
        if (is_reliable && !a.min_rnr_timer)
            return "minimum RNR timer";
    }
    if (needs == Needs::rts) {
        if (!a.send_psn)
            return "send PSN";
        if (is_reliable && !a.ack_timeout)
            return "ACK timeout";
        if (is_reliable && !a.retry_count)
            return "retry count";
        if (is_reliable && !a.rnr_retry)
            return "RNR retry count";
        if (is_reliable && !a.max_requester_reads)
            return "requester READ depth";
    }
    return {};
}

std::uint32_t optional_mask(const QpAttributes& a) {
    std::uint32_t mask = 0;
    if (a.access)
        mask |= rights;
    if (a.pkey_index)
        mask |= mask_of({OptParam::pkey_index});
    if (a.port)
        mask |= mask_of({OptParam::primary_port});
    if (a.path)
        mask |= mask_of({OptParam::primary_path});
    if (a.min_rnr_timer)
        mask |= mask_of({OptParam::rnr_timeout});
    if (a.max_responder_reads)
        mask |= mask_of({OptParam::rra_max});
    if (a.max_requester_reads)
        mask |= mask_of({OptParam::sra_max});
    if (a.ack_timeout)
        mask |= mask_of({OptParam::ack_timeout});
    if (a.retry_count)
        mask |= mask_of({OptParam::retry_count});
    if (a.rnr_retry)
        mask |= mask_of({OptParam::rnr_retry});
    return mask;
}

std::uint32_t log2_up(std::uint8_t n) {
    return n ? static_cast<std::uint32_t>(std::countr_zero(std::bit_ceil(std::uint32_t{n}))) : 0;
}

/// The commands with a context differ in name only; Rst2initQpIn stands for all of them.
using TransitionIn = Rst2initQpIn;
using TransitionOut = CommandOut;

} // namespace

void QueuePair::write_attributes(const QpAttributes& a, abi::View<Qpc> context) const {
    const auto& capabilities = device_.capabilities();
    const auto path = context.sub<"primary_address_path">();
    context.set<"st">(options_.type)
        .set<"pm_state">(PathMigrationState::migrated)
        .set<"pd">(options_.pd.value)
        .set<"cqn_snd">(options_.send_cq->number().value)
        .set<"cqn_rcv">(options_.receive_cq->number().value)
        .set<"counter_set_id">(options_.counter_set);
    if (a.access) {
        context.set<"rwe">(has(*a.access, Access::remote_write))
            .set<"rre">(has(*a.access, Access::remote_read))
            .set<"rae">(has(*a.access, Access::remote_atomic));
        if (has(*a.access, Access::remote_atomic))
            context.set<"atomic_mode">(static_cast<std::uint32_t>(AtomicMode::ib_spec));
    }
    if (a.path)
        write_path(*a.path, path);
    if (a.port)
        path.set<"vhca_port_num">(*a.port);
    if (a.pkey_index)
        path.set<"pkey_index">(*a.pkey_index);
    if (a.ack_timeout)
        path.set<"ack_timeout">(*a.ack_timeout);
    if (a.path_mtu)
        context.set<"mtu">(*a.path_mtu).set<"log_msg_max">(capabilities.get<"log_max_msg">());
    if (a.remote_qpn)
        context.set<"remote_qpn">(a.remote_qpn->value);
    if (a.receive_psn)
        context.set<"next_rcv_psn">(a.receive_psn->value);
    if (a.send_psn)
        context.set<"next_send_psn">(a.send_psn->value);
    if (a.max_responder_reads)
        context.set<"log_rra_max">(log2_up(*a.max_responder_reads));
    if (a.max_requester_reads)
        context.set<"log_sra_max">(log2_up(*a.max_requester_reads));
    if (a.min_rnr_timer)
        context.set<"min_rnr_nak">(*a.min_rnr_timer);
    if (a.retry_count)
        context.set<"retry_count">(*a.retry_count);
    if (a.rnr_retry)
        context.set<"rnr_retry">(*a.rnr_retry);
    if (a.log_ack_request)
        context.set<"log_ack_req_freq">(*a.log_ack_request);
}

Result<void> QueuePair::modify_raw(Opcode opcode, const abi::Block<Qpc>& context, std::uint32_t opt_param_mask) {
    Result<Output<TransitionOut>> out = [&] {
        if (opcode == Opcode::qp_2rst || opcode == Opcode::qp_2err) { // these two have no context
            Input<Qp2rstIn> in(opcode);
            in.view().set<"qpn">(number_.value);
            return run<TransitionOut>(device_.commands(), in);
        }
        Input<TransitionIn> in(opcode);
        in.view().set<"qpn">(number_.value).set<"opt_param_mask">(opt_param_mask);
        std::ranges::copy(context.bytes, in.view().sub<"qpc">().bytes().begin());
        return run<TransitionOut>(device_.commands(), in);
    }();
    if (!out)
        return failure(out.error().code, fmt::format("QP {:#x}: {}", number_.value, out.error().what));
    return {};
}

Result<void> QueuePair::modify(QpState to, const QpAttributes& attributes) {
    abi::Block<Qpc> context;
    auto opcode = Opcode::qp_2rst;
    std::uint32_t mask = 0;
    if (to == QpState::err) {
        opcode = Opcode::qp_2err;
    } else if (to != QpState::rst) {
        const auto row = std::ranges::find_if(rows, [&](const Row& r) { return r.from == state_ && r.to == to; });
        if (row == rows.end())
            return failure(
                EINVAL, fmt::format("QP {:#x}: no command leads from {} to {}", number_.value, name(state_), name(to)));
        if (const auto what = missing(row->needs, options_.type, attributes); !what.empty())
            return failure(EINVAL,
                           fmt::format("QP {:#x}: {} to {} without {}", number_.value, name(state_), name(to), what));
        if (attributes.access && has(*attributes.access, Access::remote_atomic) &&
            !device_.capabilities().has_atomics())
            return failure(EOPNOTSUPP,
                           fmt::format("QP {:#x}: remote atomics wanted, the device has none", number_.value));
        opcode = row->opcode;
        mask = optional_mask(attributes) & row->optional;
        write_attributes(attributes, context.view());
    }
    if (auto done = modify_raw(opcode, context, mask); !done)
        return done;
    enter(to);
    if (to == QpState::rst)
        reset();
    return {};
}

void QueuePair::enter(QpState state) {
    state_ = state;
    // IBA 10.3.1: sends queue up in SQD and SQER, and are flushed in ERR; receives may come before the path is known.
    can_send_ = state == QpState::rts || state == QpState::sqd || state == QpState::sqer || state == QpState::err;
    can_receive_ = receive_count_ != 0 && state != QpState::rst;
    if (options_.place.is_given())
        can_send_ = can_receive_ = false;
}

Result<abi::Block<Qpc>> QueuePair::query() {
    Input<QueryQpIn> in(Opcode::query_qp);
    in.view().set<"qpn">(number_.value);
    const auto out = run<QueryQpOut>(device_.commands(), in);
    if (!out)
        return std::unexpected(out.error());
    abi::Block<Qpc> context;
    std::ranges::copy(out->view().sub<"qpc">().bytes(), context.bytes.begin());
    enter(context.view().get<"state">());
    return context;
}

} // namespace sw::mlx
