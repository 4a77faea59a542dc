#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <set>

using namespace harness;
using prm::Opcode;
using prm::OptParam;
using prm::QpState;
using prm::Status;

namespace {

/// IBA 10.3.1 and PRM "QP state transitions", written down again: command, the only state it starts from, where it
/// ends.
struct Step {
    Opcode opcode;
    QpState from, to;
};
constexpr std::array steps{
    Step{Opcode::rst2init_qp, QpState::rst, QpState::init}, Step{Opcode::init2init_qp, QpState::init, QpState::init},
    Step{Opcode::init2rtr_qp, QpState::init, QpState::rtr}, Step{Opcode::rtr2rts_qp, QpState::rtr, QpState::rts},
    Step{Opcode::rts2rts_qp, QpState::rts, QpState::rts},   Step{Opcode::sqerr2rts_qp, QpState::sqer, QpState::rts},
    Step{Opcode::sqd2rts_qp, QpState::sqd, QpState::rts},
};
constexpr std::array all_states{QpState::rst,  QpState::init, QpState::rtr, QpState::rts,
                                QpState::sqer, QpState::sqd,  QpState::err};

/// A bench with one queue pair in a state, by commands as far as commands lead.
struct QpBench : CommandBench {
    explicit QpBench(QpState state) {
        REQUIRE(initialize());
        REQUIRE(set_gid(0));
        REQUIRE(set_gid(1));
        qpn = make_qp(make_objects());
        const std::map<QpState, int> depth{{QpState::rst, 0}, {QpState::init, 1}, {QpState::rtr, 2}};
        constexpr std::array path{Opcode::rst2init_qp, Opcode::init2rtr_qp, Opcode::rtr2rts_qp};
        const auto count = depth.contains(state) ? depth.at(state) : 3;
        for (int i = 0; i < count; ++i)
            REQUIRE(transit(path[static_cast<std::size_t>(i)], qpn).is_ok());
        if (state == QpState::err)
            REQUIRE(leave(Opcode::qp_2err, qpn).is_ok());
        if (state == QpState::sqer || state == QpState::sqd) // reached by events, not by commands
            hca.queue_pairs().find(qpn)->state = state;
    }
    const model::hca::queue::QueuePairAttributes& attributes() { return hca.queue_pairs().find(qpn)->attributes; }
    Output<prm::QueryQpOut> query() {
        return run<prm::QueryQpOut>(Input<prm::QueryQpIn>(Opcode::query_qp).set<"qpn">(qpn));
    }
    std::uint32_t qpn = 0;
};

} // namespace

TEST_CASE("each transition leads from its own state and from no other", "[unit][firmware][qp]") {
    for (const auto from : all_states)
        for (const auto& step : steps) {
            INFO(prm::name(step.opcode) << " in " << prm::name(from));
            QpBench bench(from);
            const auto out = bench.transit(step.opcode, bench.qpn);

            if (from == step.from) {
                CHECK(out.is_ok());
                CHECK(bench.state_of(bench.qpn) == step.to);
            } else {
                CHECK(out.status() == Status::bad_qp_state);
                CHECK(bench.state_of(bench.qpn) == from);
            }
        }
}

TEST_CASE("every state can be left for reset and for error", "[unit][firmware][qp]") {
    for (const auto from : all_states) {
        INFO(prm::name(from));
        QpBench to_error(from), to_reset(from);

        CHECK(to_error.leave(Opcode::qp_2err, to_error.qpn).is_ok());
        CHECK(to_error.state_of(to_error.qpn) == QpState::err);
        CHECK(to_reset.leave(Opcode::qp_2rst, to_reset.qpn).is_ok());
        CHECK(to_reset.state_of(to_reset.qpn) == QpState::rst);
    }
}

TEST_CASE("a queue pair that was reset goes the whole way again", "[unit][firmware][qp]") {
    QpBench bench(QpState::err);
    REQUIRE(bench.leave(Opcode::qp_2rst, bench.qpn).is_ok());

    for (const auto opcode : {Opcode::rst2init_qp, Opcode::init2rtr_qp, Opcode::rtr2rts_qp})
        CHECK(bench.transit(opcode, bench.qpn).is_ok());
    CHECK(bench.state_of(bench.qpn) == QpState::rts);
}

TEST_CASE("each transition takes its mandatory fields and leaves the others", "[unit][firmware][qp]") {
    QpBench init(QpState::init), rtr(QpState::rtr), rts(QpState::rts);

    CHECK(init.attributes().remote_write);
    CHECK(init.attributes().remote_read);
    CHECK(init.attributes().remote_qpn.value == 0);
    CHECK(init.attributes().mtu == 0);

    CHECK(rtr.attributes().remote_qpn.value == 0x77);
    CHECK(rtr.attributes().mtu == 3);
    CHECK(rtr.attributes().next_receive_psn.value == 0x1000);
    CHECK(rtr.attributes().log_reads_responder == 2);
    CHECK(rtr.attributes().min_rnr_nak == 12);
    CHECK(rtr.attributes().path.hop_limit == 64);
    CHECK(rtr.attributes().path.ack_timeout == 0);
    CHECK(rtr.attributes().next_send_psn.value == 0);

    CHECK(rts.attributes().next_send_psn.value == 0x2000);
    CHECK(rts.attributes().log_reads_requester == 3);
    CHECK(rts.attributes().retry_count == 7);
    CHECK(rts.attributes().rnr_retry == 6);
    CHECK(rts.attributes().log_ack_request == 3);
    CHECK(rts.attributes().path.ack_timeout == 14);
    CHECK(rts.attributes().path.hop_limit == 64);
}

TEST_CASE("a transition takes an optional field only when opt_param_mask names it", "[unit][firmware][qp]") {
    for (const bool is_named : {false, true}) {
        QpBench bench(QpState::rts);
        auto in = CommandBench::transition_input(Opcode::rts2rts_qp, bench.qpn);
        in.view().sub<"qpc">().set<"rre">(0).set<"rwe">(0).set<"min_rnr_nak">(31);
        if (is_named)
            in.set<"opt_param_mask">(static_cast<std::uint32_t>(OptParam::rre) |
                                     static_cast<std::uint32_t>(OptParam::rnr_timeout));

        REQUIRE(bench.run<prm::Rst2initQpOut>(in).is_ok());

        CHECK(bench.attributes().remote_read == !is_named);
        CHECK(bench.attributes().remote_write);
        CHECK(bench.attributes().min_rnr_nak == (is_named ? 31 : 12));
        CHECK(bench.attributes().retry_count == 7);
    }
}

TEST_CASE("the P_Key index of INIT survives the path of RTR", "[unit][firmware][qp]") {
    QpBench bench(QpState::rst);
    bench.hca.identity().pkeys = {0xffff, 0x8001};
    auto in = CommandBench::transition_input(Opcode::rst2init_qp, bench.qpn);
    in.view().sub<"qpc">().sub<"primary_address_path">().set<"pkey_index">(1);
    REQUIRE(bench.run<prm::Rst2initQpOut>(in).is_ok());

    REQUIRE(bench.transit(Opcode::init2rtr_qp, bench.qpn).is_ok()); // its path says index 0

    CHECK(bench.attributes().path.pkey_index == 1);
}

TEST_CASE("each transition accepts exactly the optional fields of its row", "[unit][firmware][qp]") {
    using P = OptParam;
    const std::set<P> rights{P::rre, P::rae, P::rwe};
    const auto with = [](std::set<P> base, std::set<P> more) {
        base.merge(more);
        return base;
    };
    // PRM "QP state transitions", RC: mandatory fields may be named as well.
    const std::map<Opcode, std::set<P>> expected{
        {Opcode::rst2init_qp, with(rights, {P::pkey_index, P::primary_port, P::counter_set_id, P::pm_state, P::q_key})},
        {Opcode::init2init_qp, with(rights, {P::pkey_index, P::primary_port, P::q_key})},
        {Opcode::init2rtr_qp, with(rights, {P::pkey_index, P::primary_path, P::rra_max, P::rnr_timeout, P::q_key})},
        {Opcode::rtr2rts_qp, with(rights, {P::sra_max, P::retry_count, P::rnr_retry, P::ack_timeout, P::rnr_timeout,
                                           P::pm_state, P::q_key})},
        {Opcode::rts2rts_qp, with(rights, {P::rnr_timeout, P::pm_state, P::counter_set_id, P::q_key})},
        {Opcode::sqerr2rts_qp, with(rights, {P::rnr_timeout, P::q_key})},
        {Opcode::sqd2rts_qp, with(rights, {P::pkey_index, P::primary_path, P::rnr_timeout, P::sra_max, P::rra_max,
                                           P::retry_count, P::rnr_retry, P::ack_timeout, P::pm_state, P::q_key})},
    };
    for (const auto& step : steps)
        for (unsigned bit = 0; bit < 26; ++bit) {
            INFO(prm::name(step.opcode) << " with opt_param_mask bit " << bit);
            QpBench bench(step.from);
            auto in = CommandBench::transition_input(step.opcode, bench.qpn);
            in.view().sub<"qpc">().set<"atomic_mode">(1);
            in.set<"opt_param_mask">(1u << bit);
            const bool is_allowed = expected.at(step.opcode).contains(static_cast<P>(1u << bit));

            CHECK(bench.run<prm::Rst2initQpOut>(in).status() == (is_allowed ? Status::ok : Status::bad_parameter));
        }
}

TEST_CASE("a queue pair outlives the table entry of its source address", "[unit][firmware][qp]") {
    QpBench bench(QpState::rtr);
    Input<prm::SetRoceAddressIn> remove(Opcode::set_roce_address);
    REQUIRE(bench.run<prm::SetRoceAddressOut>(remove).is_ok());

    CHECK(bench.transit(Opcode::rtr2rts_qp, bench.qpn).is_ok());
    CHECK(bench.transit(Opcode::rts2rts_qp, bench.qpn).is_ok());
}

TEST_CASE("every valid MTU code is accepted and no other", "[unit][firmware][qp]") {
    for (std::uint32_t code = 0; code < 8; ++code) {
        QpBench bench(QpState::init);
        auto in = CommandBench::transition_input(Opcode::init2rtr_qp, bench.qpn);
        in.view().sub<"qpc">().set<"mtu">(static_cast<prm::Mtu>(code));

        CHECK(bench.run<prm::Rst2initQpOut>(in).is_ok() == (code >= 1 && code <= 5));
    }
}

TEST_CASE("remote atomics need an atomic mode for eight-byte operands", "[unit][firmware][qp]") {
    for (std::uint32_t mode = 0; mode < 16; ++mode) {
        QpBench bench(QpState::rst);
        auto in = CommandBench::transition_input(Opcode::rst2init_qp, bench.qpn);
        in.view().sub<"qpc">().set<"rae">(1).set<"atomic_mode">(mode);

        CHECK(bench.run<prm::Rst2initQpOut>(in).is_ok() == (mode >= 1 && mode <= 3));
    }
}

TEST_CASE("QUERY_QP gives back the context with the numbers of the moment", "[unit][firmware][qp]") {
    QpBench bench(QpState::rts);
    const auto out = bench.query();
    REQUIRE(out.is_ok());
    const auto qpc = out.view().sub<"qpc">();

    CHECK(qpc.get<"state">() == QpState::rts);
    CHECK(qpc.get<"user_index">() == 0x123);
    CHECK(qpc.get<"remote_qpn">() == 0x77);
    CHECK(qpc.get<"next_send_psn">() == 0x2000);
    CHECK(qpc.get<"last_acked_psn">() == 0x1fff);
    CHECK(qpc.get<"next_rcv_psn">() == 0x1000);
    CHECK(qpc.get<"log_sq_size">() == 6);
    CHECK(qpc.sub<"primary_address_path">().get<"rmac_31_0">() == 0x55667788);
    CHECK(abi::load<std::uint64_t, std::endian::big>(out.bytes.data() + 0x110) == CommandBench::rings + 0x200000);
}

TEST_CASE("QUERY_QP may leave out the page list", "[unit][firmware][qp]") {
    QpBench bench(QpState::init);

    CHECK(bench.run<prm::QueryQpOut>(Input<prm::QueryQpIn>(Opcode::query_qp).set<"qpn">(bench.qpn), 0x110).is_ok());
}

TEST_CASE("a queue pair counts in the set named at INIT, and moves with RTS2RTS", "[unit][firmware][qp]") {
    QpBench bench(QpState::rst);
    const auto alloc = [&] {
        return bench.run<prm::AllocQCounterOut>(Input<prm::AllocQCounterIn>(Opcode::alloc_q_counter))
            .get<"counter_set_id">();
    };
    const auto free = [&](std::uint32_t set) {
        return bench
            .run<prm::DeallocQCounterOut>(
                Input<prm::DeallocQCounterIn>(Opcode::dealloc_q_counter).set<"counter_set_id">(set))
            .status();
    };
    const auto first = alloc(), second = alloc();
    for (const auto opcode : {Opcode::rst2init_qp, Opcode::init2rtr_qp, Opcode::rtr2rts_qp, Opcode::rts2rts_qp}) {
        auto in = CommandBench::transition_input(opcode, bench.qpn);
        in.view().sub<"qpc">().set<"counter_set_id">(opcode == Opcode::rts2rts_qp ? second : first);
        if (opcode == Opcode::rts2rts_qp) {
            CHECK(free(first) == Status::resource_busy);
            in.set<"opt_param_mask">(static_cast<std::uint32_t>(OptParam::counter_set_id));
        }
        REQUIRE(bench.run<prm::Rst2initQpOut>(in).is_ok());
    }
    CHECK(bench.attributes().counter_set == second);
    CHECK(free(first) == Status::ok);
    CHECK(free(second) == Status::resource_busy);
    REQUIRE(bench.run<prm::DestroyQpOut>(Input<prm::DestroyQpIn>(Opcode::destroy_qp).set<"qpn">(bench.qpn)).is_ok());
    CHECK(free(second) == Status::ok);
}
