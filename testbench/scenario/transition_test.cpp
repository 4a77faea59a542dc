// The states of a queue pair: every transition command from every state, and what the driver makes of them. What is
// legal is written down here once more, from IBA 10.3.1 (figure 125) and the stock driver's table, not taken from the
// firmware's.
#include "testbench/harness/cluster.h"

#include "abi/prm/opcodes.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

using namespace harness;
using abi::prm::Opcode;
using abi::prm::QpState;
using sw::mlx::CompletionStatus;
using sw::mlx::QpAttributes;
using sw::mlx::QueuePair;
using sw::mlx::SendOperation;
namespace send_flag = sw::mlx::send_flag;

namespace {

constexpr unsigned bad_qp_state = 0x10; // PRM "Command status"
constexpr QpState illegal{0xff};

/// SQD and SQER are not here: no command of this device leads to SQD, and only unreliable services go to SQER.
constexpr std::array states{QpState::rst, QpState::init, QpState::rtr, QpState::rts, QpState::err};
struct Row {
    Opcode opcode;
    std::array<QpState, states.size()> to; ///< from each of `states`
};
constexpr auto no = illegal;
constexpr auto RST = QpState::rst, INIT = QpState::init, RTR = QpState::rtr, RTS = QpState::rts, ERR = QpState::err;
constexpr std::array rows{
    //                            RST   INIT  RTR  RTS  ERR
    Row{Opcode::rst2init_qp, {{INIT, no, no, no, no}}}, Row{Opcode::init2init_qp, {{no, INIT, no, no, no}}},
    Row{Opcode::init2rtr_qp, {{no, RTR, no, no, no}}},  Row{Opcode::rtr2rts_qp, {{no, no, RTS, no, no}}},
    Row{Opcode::rts2rts_qp, {{no, no, no, RTS, no}}},   Row{Opcode::sqerr2rts_qp, {{no, no, no, no, no}}},
    Row{Opcode::sqd2rts_qp, {{no, no, no, no, no}}},    Row{Opcode::qp_2err, {{ERR, ERR, ERR, ERR, ERR}}},
    Row{Opcode::qp_2rst, {{RST, RST, RST, RST, RST}}},
};

QpAttributes to_init() {
    return {.access = sw::mlx::all_access, .pkey_index = std::uint16_t{0}, .port = std::uint8_t{1}};
}
QpAttributes to_rtr(const Side& peer, abi::Qpn remote) {
    return {.path = peer.path,
            .path_mtu = abi::prm::Mtu::bytes_1024,
            .remote_qpn = remote,
            .receive_psn = abi::Psn{7},
            .max_responder_reads = std::uint8_t{4},
            .min_rnr_timer = std::uint8_t{1}};
}
QpAttributes to_rts() {
    return {.send_psn = abi::Psn{7},
            .max_requester_reads = std::uint8_t{4},
            .ack_timeout = std::uint8_t{8},
            .retry_count = std::uint8_t{7},
            .rnr_retry = std::uint8_t{7}};
}

/// Takes a queue pair from RST to `state`.
void bring(QueuePair& qp, QpState state, const Side& peer, abi::Qpn remote) {
    if (state == QpState::rst)
        return;
    must(qp.modify(QpState::init, to_init()));
    if (state == QpState::err)
        return must(qp.modify(QpState::err));
    if (state == QpState::init)
        return;
    must(qp.modify(QpState::rtr, to_rtr(peer, remote)));
    if (state == QpState::rtr)
        return;
    must(qp.modify(QpState::rts, to_rts()));
}

/// A context with which any of the commands is content.
abi::Block<abi::prm::Qpc> good_context(const Side& side, const Side& peer, QueuePair& qp) {
    abi::Block<abi::prm::Qpc> context;
    const auto view = context.view();
    view.set<"st">(abi::prm::QpType::rc)
        .set<"pm_state">(abi::prm::PathMigrationState::migrated)
        .set<"pd">(side.pd.value)
        .set<"cqn_snd">(side.send_cq->number().value)
        .set<"cqn_rcv">(side.receive_cq->number().value)
        .set<"mtu">(abi::prm::Mtu::bytes_1024)
        .set<"log_msg_max">(20)
        .set<"remote_qpn">(qp.number().value)
        .set<"log_rra_max">(2)
        .set<"log_sra_max">(2);
    sw::mlx::write_path(peer.path, view.sub<"primary_address_path">());
    return context;
}

QpState state_of(QueuePair& qp) { return must(qp.query()).view().get<"state">(); }

} // namespace

TEST_CASE("every transition command leads where the specification says, or nowhere", "[scenario][transition]") {
    Cluster cluster;
    cluster.expects_refusals = true;
    cluster.run([&](Side& a, Side& b) {
        for (const auto& row : rows)
            for (std::size_t from = 0; from < states.size(); ++from) {
                INFO(name(row.opcode) << " from " << name(states[from]));
                const auto qp = a.make_qp();
                bring(*qp, states[from], b, abi::Qpn{0x123});
                REQUIRE(state_of(*qp) == states[from]);
                const auto commands = cluster.events<traces::CommandExecuted>("A.hca").size();

                const auto done = qp->modify_raw(row.opcode, good_context(a, b, *qp));

                const auto command = cluster.events<traces::CommandExecuted>("A.hca").at(commands);
                CHECK(command.opcode == static_cast<unsigned>(row.opcode));
                const bool is_legal = row.to[from] != illegal;
                CHECK(done.has_value() == is_legal);
                CHECK(command.status == (is_legal ? 0 : bad_qp_state));
                CHECK(state_of(*qp) == (is_legal ? row.to[from] : states[from]));
            }
    });
}

TEST_CASE("the driver goes where a command leads and nowhere else", "[scenario][transition]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        // By state alone: a command exists for the pair, whatever its name.
        const auto has_command = [](std::size_t from, QpState to) {
            return std::ranges::any_of(rows, [&](const Row& row) { return row.to[from] == to; });
        };
        for (std::size_t from = 0; from < states.size(); ++from)
            for (const auto to : states) {
                INFO(name(states[from]) << " to " << name(to));
                const auto qp = a.make_qp();
                bring(*qp, states[from], b, abi::Qpn{0x123});
                QpAttributes all = to_init();
                if (to == QpState::rtr)
                    all = to_rtr(b, abi::Qpn{0x123});
                else if (to == QpState::rts)
                    all = to_rts();

                const auto done = qp->modify(to, all);

                CHECK(done.has_value() == has_command(from, to));
                if (!done)
                    CHECK(done.error().code == EINVAL);
                CHECK(state_of(*qp) == (done ? to : states[from]));
            }
    });
}

TEST_CASE("a connection survives every transition that is refused", "[scenario][transition]") {
    Cluster cluster;
    cluster.expects_refusals = true;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(3000), to = b.dram(3000);
        from->fill(1);
        const auto [qa, qb] = cluster.connect();

        for (const auto opcode : {Opcode::rst2init_qp, Opcode::init2init_qp, Opcode::init2rtr_qp, Opcode::rtr2rts_qp,
                                  Opcode::sqerr2rts_qp, Opcode::sqd2rts_qp})
            CHECK_FALSE(qa->modify_raw(opcode, good_context(a, b, *qa)));
        post(*qa,
             {.operation = SendOperation::write,
              .flags = send_flag::signaled,
              .rkey = to->rkey(),
              .remote_address = to->address()},
             {from->sge()});

        CHECK(a.sent().status == CompletionStatus::success);
        CHECK(std::ranges::equal(from->bytes(), to->bytes()));
    });
}

TEST_CASE("a transition takes no value that the device does not have", "[scenario][transition]") {
    Cluster cluster;
    cluster.expects_refusals = true;
    cluster.run([&](Side& a, Side& b) {
        const auto refused = [&](auto&& spoil, std::string_view why) {
            INFO(why);
            const auto qp = a.make_qp();
            bring(*qp, QpState::init, b, abi::Qpn{0x123});
            auto context = good_context(a, b, *qp);
            spoil(context.view());

            CHECK_FALSE(qp->modify_raw(Opcode::init2rtr_qp, context));

            CHECK(cluster.events<traces::CommandExecuted>("A.hca").back().why == why);
            CHECK(state_of(*qp) == QpState::init);
        };
        refused([](auto qpc) { qpc.template set<"mtu">(abi::prm::Mtu{0}); },
                "mtu is not a code from 1 (256) to 5 (4096)");
        refused([](auto qpc) { qpc.template set<"mtu">(abi::prm::Mtu{6}); },
                "mtu is not a code from 1 (256) to 5 (4096)");
        refused([](auto qpc) { qpc.template set<"log_msg_max">(31); },
                "log_msg_max is beyond the capability log_max_msg");
        refused([](auto qpc) { qpc.template set<"log_rra_max">(7); }, "log_rra_max is beyond log_max_ra_res_qp");
    });
}

TEST_CASE("receives may be posted from INIT on and sends from RTS on", "[scenario][transition]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto memory = a.dram(64);
        const auto element = memory->sge();
        const sw::mlx::SendRequest send{.sge = &element, .sge_count = 1, .operation = SendOperation::send};
        const sw::mlx::ReceiveRequest receive{.sge = &element, .sge_count = 1};
        for (const auto state : {QpState::rst, QpState::init, QpState::rtr}) {
            INFO(name(state));
            const auto qp = a.make_qp();
            bring(*qp, state, b, abi::Qpn{0x123});

            CHECK(qp->post_receive(receive).has_value() == (state != QpState::rst));
            CHECK_FALSE(qp->post_send(send));
        }
    });
}

TEST_CASE("a packet for a queue pair in RTR is received and told as communication established",
          "[scenario][transition]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(64), to = b.dram(64);
        from->fill(1);
        const auto qa = a.make_qp(), qb = b.make_qp();
        bring(*qa, QpState::rts, b, qb->number());
        bring(*qb, QpState::rtr, a, qa->number());
        post_receive(*qb, 3, {to->sge()});

        post(*qa, {.operation = SendOperation::send, .flags = send_flag::signaled}, {from->sge()});

        CHECK(a.sent().status == CompletionStatus::success);
        CHECK(b.received().wr_id == 3);
        const auto event = b.event();
        CHECK(event.type == abi::prm::EventType::communication_established);
        CHECK(event.number == qb->number().value);
    });
}
