// References between objects: whoever refers to one counts among its users, as long as it does.
#include "model/hca/counted.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <optional>
#include <utility>

using namespace harness;
using model::hca::Ref;
using model::hca::queue::QpState;
using model::hca::queue::QpType;

namespace {
struct Thing : model::hca::Counted {};
} // namespace

TEST_CASE("a reference counts from when it is made until it is gone or refers to another", "[unit][hca][objects]") {
    Thing first, second;
    CHECK(first.users() == 0);

    std::optional<Ref<Thing>> ref(std::in_place, &first);
    Ref other(&first);
    CHECK(first.users() == 2);
    other = Ref(&second);
    CHECK(first.users() == 1);
    CHECK(second.users() == 1);
    ref.reset();
    CHECK(first.users() == 0);
    other = {};
    CHECK(second.users() == 0);
    CHECK(other == nullptr);
}

TEST_CASE("a copy of a reference is one more user, and one that moved is the same user", "[unit][hca][objects]") {
    Thing thing;
    Ref first(&thing);
    auto copy = first;
    CHECK(thing.users() == 2);

    const auto moved = std::move(copy);
    CHECK(thing.users() == 2);
    CHECK(moved.get() == &thing);
    const auto& same = first;
    first = same;
    CHECK(thing.users() == 2);
}

TEST_CASE("a queue pair counts among the users of everything that it refers to", "[unit][hca][objects]") {
    OneHca bench;
    auto& hca = bench.a.hca;
    auto& domain = hca.protection_domains().create(Node::pd.value);
    auto& xrc_domain = hca.xrc_domains().create(3);
    auto& first_set = hca.q_counters().create(4);
    auto& second_set = hca.q_counters().create(5);
    auto& send_cq = bench.a.core(bench.a.make_cq());
    auto& receive_cq = bench.a.core(bench.a.make_cq());
    auto& srq = *hca.shared_receive_queues().find(
        bench.a.make_srq({.is_xrc = true, .xrcd = 3, .cqn = receive_cq.number}).number);
    CHECK(receive_cq.users() == 1);
    CHECK(domain.users() == 1);
    CHECK(xrc_domain.users() == 1);

    TestCq cq;
    cq.number = send_cq.number;
    auto a = bench.a.attributes(cq);
    a.type = QpType::xrc;
    a.receive_cq = receive_cq.number;
    a.xrcd = 3;
    a.receive = model::hca::queue::ReceiveKind::shared;
    a.srqn = srq.number;
    const auto qp = bench.a.make_qp(a);
    const auto users = [&] {
        return std::array{domain.users(),  xrc_domain.users(), first_set.users(), second_set.users(),
                          send_cq.users(), receive_cq.users(), srq.users()};
    };
    CHECK(users() == std::array{2u, 2u, 0u, 0u, 1u, 2u, 1u});
    a.counter_set = 4;
    hca.modify_qp(bench.a.core(qp), a, QpState::init, bench.clock.now());
    CHECK(users() == std::array{2u, 2u, 1u, 0u, 1u, 2u, 1u});
    a.counter_set = 5;
    hca.modify_qp(bench.a.core(qp), a, QpState::init, bench.clock.now());
    CHECK(users() == std::array{2u, 2u, 0u, 1u, 1u, 2u, 1u});

    hca.destroy_qp(qp.number);
    CHECK(users() == std::array{1u, 1u, 0u, 0u, 0u, 1u, 0u});
    hca.destroy_srq(srq.number, bench.clock.now());
    CHECK(receive_cq.users() == 0);
    CHECK(domain.users() == 0);
    CHECK(xrc_domain.users() == 0);
}

TEST_CASE("a queue pair counts in the set of its attributes, or in set 0", "[unit][hca][objects]") {
    OneHca bench;
    auto& hca = bench.a.hca;
    auto& own = hca.q_counters().create(4);
    const auto counts_in = [&](std::uint32_t set) {
        auto a = bench.core().attributes;
        a.counter_set = set;
        hca.modify_qp(bench.core(), a, QpState::rts, bench.clock.now());
        return bench.core().counters.get();
    };

    CHECK(counts_in(4) == &own);
    CHECK(counts_in(9) == hca.q_counters().find(0)); // there is none
    CHECK(counts_in(4) == &own);
    CHECK(counts_in(0) == hca.q_counters().find(0));
}

TEST_CASE("a completion queue uses its event queue, and a key its protection domain", "[unit][hca][objects]") {
    OneHca bench;
    auto& hca = bench.a.hca;
    auto& eq = hca.event_queues().create(abi::Eqn{9}, {});
    auto& domain = hca.protection_domains().create(12);

    auto a = bench.core().send_cq->attributes;
    a.eqn = abi::Eqn{9};
    hca.create_cq(abi::Cqn{200}, a);
    model::hca::tpt::MkeyAttributes key;
    key.pd = abi::Pd{12};
    hca.create_mkey(300, key, {});
    CHECK(eq.users() == 1);
    CHECK(domain.users() == 1);

    hca.destroy_cq(abi::Cqn{200});
    hca.destroy_mkey(300);
    CHECK(eq.users() == 0);
    CHECK(domain.users() == 0);
}

TEST_CASE("a local queue pair keeps no protection domain from going", "[unit][hca][objects]") {
    OneHca bench;
    auto& domain = bench.a.hca.protection_domains().create(Node::pd.value);
    auto a = bench.a.attributes(bench.cq);
    a.type = QpType::reg_umr;

    bench.a.make_qp(a);

    CHECK(domain.users() == 0);
}
