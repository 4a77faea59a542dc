#include "firmware/qp_transition.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace firmware {

namespace prm = abi::prm;
using prm::Opcode;
using prm::OptParam;
using prm::QpState;

namespace {

// Groups that opt_param_mask has no bit for
constexpr Fields remote_qpn = 1u << 26, message_size = 1u << 27, receive_psn = 1u << 28, send_psn = 1u << 29,
                 ack_frequency = 1u << 30;

template <class... P> constexpr Fields fields(P... parameters) { return (0u | ... | static_cast<Fields>(parameters)); }
template <class... S> constexpr std::uint16_t states(S... s) {
    return static_cast<std::uint16_t>((0u | ... | (1u << static_cast<unsigned>(s))));
}
constexpr Fields rights = fields(OptParam::rre, OptParam::rae, OptParam::rwe);
constexpr auto any_state =
    states(QpState::rst, QpState::init, QpState::rtr, QpState::rts, QpState::sqer, QpState::sqd, QpState::err);

// clang-format off
// opcode, from, to, mandatory, optional
constexpr std::array transition_table{
    Transition{Opcode::rst2init_qp, states(QpState::rst), QpState::init,
        rights | fields(OptParam::pkey_index, OptParam::primary_port, OptParam::counter_set_id, OptParam::pm_state,
                        OptParam::q_key),
        0},
    Transition{Opcode::init2rtr_qp, states(QpState::init), QpState::rtr,
        remote_qpn | message_size | receive_psn
                   | fields(OptParam::primary_path, OptParam::rra_max, OptParam::rnr_timeout),
        rights | fields(OptParam::pkey_index, OptParam::q_key)},
    Transition{Opcode::rtr2rts_qp, states(QpState::rtr), QpState::rts,
        send_psn | ack_frequency
                   | fields(OptParam::sra_max, OptParam::retry_count, OptParam::rnr_retry, OptParam::ack_timeout),
        rights | fields(OptParam::rnr_timeout, OptParam::pm_state, OptParam::q_key)},
    Transition{Opcode::rts2rts_qp, states(QpState::rts), QpState::rts,
        0,
        rights | fields(OptParam::rnr_timeout, OptParam::pm_state, OptParam::counter_set_id, OptParam::q_key)},
    Transition{Opcode::sqerr2rts_qp, states(QpState::sqer), QpState::rts,
        0,
        rights | fields(OptParam::rnr_timeout, OptParam::q_key)},
    Transition{Opcode::qp_2err, any_state, QpState::err, 0, 0},
    Transition{Opcode::qp_2rst, any_state, QpState::rst, 0, 0},
    Transition{Opcode::sqd2rts_qp, states(QpState::sqd), QpState::rts,
        0,
        rights | fields(OptParam::pkey_index, OptParam::primary_path, OptParam::rnr_timeout, OptParam::sra_max,
                        OptParam::rra_max, OptParam::retry_count, OptParam::rnr_retry, OptParam::ack_timeout,
                        OptParam::pm_state, OptParam::q_key)},
    Transition{Opcode::init2init_qp, states(QpState::init), QpState::init,
        0,
        rights | fields(OptParam::pkey_index, OptParam::primary_port, OptParam::q_key)},
};
// clang-format on
static_assert(std::ranges::is_sorted(transition_table, {}, &Transition::opcode));

using Copy = void (*)(abi::ConstView<prm::Qpc>, abi::View<prm::Qpc>);
struct Group {
    Fields bit;
    Copy copy;
};
template <abi::Name... F> constexpr Copy copies() {
    return [](abi::ConstView<prm::Qpc> from, abi::View<prm::Qpc> to) { (to.set<F>(from.get<F>()), ...); };
}
template <abi::Name... F> constexpr Copy path_copies() {
    return [](abi::ConstView<prm::Qpc> from, abi::View<prm::Qpc> to) {
        const auto source = from.sub<"primary_address_path">();
        const auto target = to.sub<"primary_address_path">();
        (target.set<F>(source.get<F>()), ...);
    };
}
constexpr std::array groups{
    Group{fields(OptParam::rre), copies<"rre">()},
    Group{fields(OptParam::rae), copies<"rae", "atomic_mode">()},
    Group{fields(OptParam::rwe), copies<"rwe">()},
    Group{fields(OptParam::pkey_index), path_copies<"pkey_index">()},
    Group{fields(OptParam::primary_port), path_copies<"vhca_port_num">()},
    Group{fields(OptParam::ack_timeout), path_copies<"ack_timeout">()},
    // The path without what has a group of its own
    Group{fields(OptParam::primary_path),
          path_copies<"fl", "free_ar", "plane_index", "grh", "mlid", "rlid", "src_addr_index", "stat_rate", "hop_limit",
                      "tclass", "flow_label", "rgid_rip", "f_dscp", "f_ecn", "f_eth_prio", "ecn", "dscp", "udp_sport",
                      "dei_cfi", "eth_prio", "sl", "rmac_47_32", "rmac_31_0">()},
    Group{fields(OptParam::rnr_timeout), copies<"min_rnr_nak">()},
    Group{fields(OptParam::sra_max), copies<"log_sra_max">()},
    Group{fields(OptParam::rra_max), copies<"log_rra_max">()},
    Group{fields(OptParam::retry_count), copies<"retry_count">()},
    Group{fields(OptParam::rnr_retry), copies<"rnr_retry">()},
    Group{fields(OptParam::pm_state), copies<"pm_state">()},
    Group{fields(OptParam::counter_set_id), copies<"counter_set_id">()},
    Group{fields(OptParam::q_key), copies<"q_key">()},
    Group{remote_qpn, copies<"remote_qpn">()},
    Group{message_size, copies<"mtu", "log_msg_max">()},
    Group{receive_psn, copies<"next_rcv_psn">()},
    Group{send_psn, copies<"next_send_psn">()},
    Group{ack_frequency, copies<"log_ack_req_freq">()},
};

} // namespace

std::span<const Transition> transitions() { return transition_table; }

const Transition& transition(Opcode opcode) {
    const auto row = std::ranges::lower_bound(transition_table, opcode, {}, &Transition::opcode);
    assert(row != transition_table.end() && row->opcode == opcode && "every transition command has a row");
    return *row;
}

void copy_fields(Fields wanted, abi::ConstView<prm::Qpc> from, abi::View<prm::Qpc> to) {
    for (const auto& group : groups)
        if (wanted & group.bit)
            group.copy(from, to);
}

} // namespace firmware
