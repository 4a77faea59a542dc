// User contexts and user memory (PRM "User context", "UMEM"): what a program that speaks to the device directly may
// name, and where its rings are.
#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using prm::Opcode;

namespace {

constexpr std::uint64_t memory = 0x60000000;

/// The objects of one program: a protection domain, a UAR page, a completion queue over the kernel's event queue.
struct Program {
    explicit Program(CommandBench& bench) : b(bench), uid(b.create_uctx()) {
        uar = b.run<prm::AllocUarOut>(Input<prm::AllocUarIn>(Opcode::alloc_uar).by(uid)).get<"uar">();
        pd = b.run<prm::AllocPdOut>(Input<prm::AllocPdIn>(Opcode::alloc_pd).by(uid)).get<"pd">();
        const auto kernels = b.alloc_uar();
        eqn = b.run<prm::CreateEqOut>(CommandBench::eq_input(kernels, 0)).get<"eq_number">();
        cqn = b.run<prm::CreateCqOut>(CommandBench::cq_input(uar, eqn).by(uid)).get<"cqn">();
    }
    Input<prm::CreateQpIn> qp_input() const { return CommandBench::qp_input(pd, uar, cqn).by(uid); }
    std::uint32_t make_qp() { return b.run<prm::CreateQpOut>(qp_input()).get<"qpn">(); }

    CommandBench& b;
    std::uint16_t uid;
    std::uint32_t uar, pd, eqn, cqn;
};

template <class L> std::string_view refusal(CommandBench& b, const Input<L>& in, std::size_t out_length = 0x200) {
    const auto out = b.run<prm::CommandOut>(in, out_length);
    return out.is_ok() ? "accepted" : out.refusal();
}

} // namespace

TEST_CASE("a user context names its own objects, and the kernel names them all", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    Program program(bench);
    const auto qpn = program.make_qp();

    CHECK(refusal(bench, Input<prm::QueryQpIn>(Opcode::query_qp).by(program.uid).set<"qpn">(qpn)) == "accepted");
    CHECK(refusal(bench, Input<prm::QueryQpIn>(Opcode::query_qp).set<"qpn">(qpn)) == "accepted");
    CHECK(refusal(bench, Input<prm::DestroyQpIn>(Opcode::destroy_qp).set<"qpn">(qpn)) == "accepted");
}

TEST_CASE("to a user context the objects of another one, and the kernel's, do not exist", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    Program owner(bench);
    const auto qpn = owner.make_qp();
    const auto key = bench.run<prm::CreateMkeyOut>(CommandBench::mkey_input(owner.pd, 0x1000, 0x1000, 1).by(owner.uid))
                         .get<"mkey_index">();
    const auto rmpn = bench.run<prm::CreateRmpOut>(CommandBench::rmp_input(owner.pd).by(owner.uid)).get<"rmpn">();
    const auto umem = bench.create_umem(owner.uid, memory);
    const auto kernels = bench.make_objects();
    Program other(bench);
    const auto uid = other.uid;

    CHECK(refusal(bench, Input<prm::QueryQpIn>(Opcode::query_qp).by(uid).set<"qpn">(qpn)) == "query_qp.unknown");
    CHECK(refusal(bench, Input<prm::DestroyQpIn>(Opcode::destroy_qp).by(uid).set<"qpn">(qpn)) == "destroy_qp.unknown");
    CHECK(refusal(bench, Input<prm::Qp2rstIn>(Opcode::qp_2err).by(uid).set<"qpn">(qpn)) == "leave_qp.unknown");
    CHECK(refusal(bench, Input<prm::Rst2initQpIn>(Opcode::rst2init_qp).by(uid).set<"qpn">(qpn)) == "modify_qp.unknown");
    CHECK(refusal(bench, Input<prm::QueryCqIn>(Opcode::query_cq).by(uid).set<"cqn">(owner.cqn)) == "query_cq.unknown");
    CHECK(refusal(bench, Input<prm::ModifyCqIn>(Opcode::modify_cq).by(uid).set<"cqn">(owner.cqn)) ==
          "modify_cq.unknown");
    CHECK(refusal(bench, Input<prm::QueryMkeyIn>(Opcode::query_mkey).by(uid).set<"mkey_index">(key)) ==
          "query_mkey.unknown");
    CHECK(refusal(bench, Input<prm::DestroyMkeyIn>(Opcode::destroy_mkey).by(uid).set<"mkey_index">(key)) ==
          "destroy_mkey.unknown");
    CHECK(refusal(bench, Input<prm::QueryRmpIn>(Opcode::query_rmp).by(uid).set<"rmpn">(rmpn)) == "query_rmp.unknown");
    CHECK(refusal(bench, Input<prm::DestroyUmemIn>(Opcode::destroy_umem).by(uid).set<"umem_id">(umem)) ==
          "destroy_umem.unknown");
    CHECK(refusal(bench, Input<prm::DeallocPdIn>(Opcode::dealloc_pd).by(uid).set<"pd">(owner.pd)) ==
          "dealloc_pd.unknown");
    CHECK(refusal(bench, Input<prm::DeallocUarIn>(Opcode::dealloc_uar).by(uid).set<"uar">(owner.uar)) ==
          "dealloc_uar.unknown");
    // In commands that make something of them
    CHECK(refusal(bench, CommandBench::qp_input(owner.pd, other.uar, other.cqn).by(uid)) == "create_qp.pd");
    CHECK(refusal(bench, CommandBench::qp_input(other.pd, owner.uar, other.cqn).by(uid)) == "create_qp.uar");
    CHECK(refusal(bench, CommandBench::qp_input(other.pd, other.uar, owner.cqn).by(uid)) == "create_qp.send_cq");
    CHECK(refusal(bench, CommandBench::qp_input(kernels.pd, other.uar, other.cqn).by(uid)) == "create_qp.pd");
    CHECK(refusal(bench, CommandBench::mkey_input(owner.pd, 0x1000, 0x1000, 1).by(uid)) == "create_mkey.pd");
    CHECK(refusal(bench, CommandBench::cq_input(owner.uar, other.eqn).by(uid)) == "create_cq.uar");
    auto in_foreign_memory = CommandBench::cq_input(other.uar, other.eqn).by(uid);
    in_foreign_memory.set<"cq_umem_valid">(1).set<"cq_umem_id">(umem);
    CHECK(refusal(bench, in_foreign_memory) == "umem.unknown");
}

TEST_CASE("a shared counter set counts for the queue pairs of every user context", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    REQUIRE(bench.set_gid());
    Program program(bench);
    const auto qpn = program.make_qp();
    const auto shared =
        bench.run<prm::AllocQCounterOut>(Input<prm::AllocQCounterIn>(Opcode::alloc_q_counter).by(prm::shared_uid))
            .get<"counter_set_id">();
    const auto kernels =
        bench.run<prm::AllocQCounterOut>(Input<prm::AllocQCounterIn>(Opcode::alloc_q_counter)).get<"counter_set_id">();
    auto in = CommandBench::transition_input(Opcode::rst2init_qp, qpn);
    in.by(program.uid);

    in.view().sub<"qpc">().set<"counter_set_id">(kernels);
    CHECK(refusal(bench, in) == "modify_qp.counter_set");
    in.view().sub<"qpc">().set<"counter_set_id">(shared);
    CHECK(refusal(bench, in) == "accepted");
}

TEST_CASE("the kernel makes event queues that every user context may name", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    const auto eq = bench.run<prm::CreateEqOut>(CommandBench::eq_input(bench.alloc_uar(), 0).by(prm::shared_uid));
    REQUIRE(eq.is_ok());
    Program program(bench);

    CHECK(refusal(bench, CommandBench::cq_input(program.uar, eq.get<"eq_number">()).by(program.uid)) == "accepted");
}

TEST_CASE("a number that one program gave back belongs to whoever gets it next", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    Program first(bench);
    bench.device.state().registry.set_numbers(firmware::Kind::qp, {0x40, 0x41});
    const auto qpn = first.make_qp();
    REQUIRE(refusal(bench, Input<prm::DestroyQpIn>(Opcode::destroy_qp).by(first.uid).set<"qpn">(qpn)) == "accepted");
    Program second(bench);

    REQUIRE(second.make_qp() == qpn);

    CHECK(refusal(bench, Input<prm::QueryQpIn>(Opcode::query_qp).by(first.uid).set<"qpn">(qpn)) == "query_qp.unknown");
    CHECK(refusal(bench, Input<prm::QueryQpIn>(Opcode::query_qp).by(second.uid).set<"qpn">(qpn)) == "accepted");
}

TEST_CASE("rings and doorbell records lie where the user memory has its pages", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    Program program(bench);
    // Two pages that do not touch; byte 0 of the memory is at 0x800 of the first.
    auto in = CommandBench::umem_input(program.uid, memory);
    in.view().sub<"umem">().set<"num_of_mtt">(2u).set<"page_offset">(0x800u);
    in.add((memory + 0x10000) | 3);
    const auto ring = bench.run<prm::CreateUmemOut>(in).get<"umem_id">();
    const auto record = bench.create_umem(program.uid, memory + 0x20000);

    auto cq = CommandBench::cq_input(program.uar, program.eqn, 5).by(program.uid); // 2 KiB
    cq.set<"cq_umem_valid">(1).set<"cq_umem_id">(ring).set<"cq_umem_offset">(0x400u);
    cq.view().sub<"cq_context">().set<"dbr_umem_valid">(1).set<"dbr_umem_id">(record).set<"dbr_addr">(0x140u);
    const auto created = bench.run<prm::CreateCqOut>(cq);

    REQUIRE(created.is_ok());
    const auto& attributes = bench.hca.completion_queues().find(created.get<"cqn">())->attributes;
    CHECK(attributes.doorbell_record.value == memory + 0x20140);
    CHECK(attributes.buffer.address(0).value == memory + 0xc00);
    CHECK(attributes.buffer.address(0x3ff).value == memory + 0xfff);
    CHECK(attributes.buffer.address(0x400).value == memory + 0x10000);
    CHECK(attributes.buffer.address(0x7ff).value == memory + 0x103ff);
}

TEST_CASE("a queue pair keeps its doorbell record in user memory through every transition", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    REQUIRE(bench.set_gid());
    Program program(bench);
    const auto ring = bench.create_umem(program.uid, memory, 2),
               record = bench.create_umem(program.uid, memory + 0x20000);
    auto in = program.qp_input();
    in.set<"wq_umem_valid">(1).set<"wq_umem_id">(ring);
    in.view().sub<"qpc">().set<"dbr_umem_valid">(1).set<"dbr_umem_id">(record).set<"dbr_addr">(0x40u);
    const auto qpn = bench.run<prm::CreateQpOut>(in).get<"qpn">();

    for (const auto opcode : {Opcode::rst2init_qp, Opcode::init2rtr_qp, Opcode::rtr2rts_qp})
        REQUIRE(bench.transit(opcode, qpn).is_ok());

    const auto& attributes = bench.hca.queue_pairs().find(qpn)->attributes;
    CHECK(attributes.doorbell_record.value == memory + 0x20040);
    CHECK(attributes.buffer.address(0x1000).value == memory + 0x1000);
    // What software wrote comes back as it was.
    const auto queried =
        bench.run<prm::QueryQpOut>(Input<prm::QueryQpIn>(Opcode::query_qp).by(program.uid).set<"qpn">(qpn));
    CHECK(queried.view().sub<"qpc">().get<"dbr_addr">() == 0x40);
    CHECK(queried.view().sub<"qpc">().get<"dbr_umem_id">() == record);
}

TEST_CASE("a shared receive queue lies in user memory", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    Program program(bench);
    const auto umem = bench.create_umem(program.uid, memory);
    auto in = CommandBench::rmp_input(program.pd).by(program.uid);
    in.view()
        .sub<"ctx">()
        .sub<"wq">()
        .set<"wq_umem_valid">(1)
        .set<"wq_umem_id">(umem)
        .set<"wq_umem_offset">(0x200u)
        .set<"dbr_umem_valid">(1)
        .set<"dbr_umem_id">(umem)
        .set<"dbr_addr">(0x800u);

    const auto created = bench.run<prm::CreateRmpOut>(in);

    REQUIRE(created.is_ok());
    const auto& attributes = bench.hca.shared_receive_queues().find(created.get<"rmpn">())->attributes;
    CHECK(attributes.buffer.address(0).value == memory + 0x200);
    CHECK(attributes.doorbell_record.value == memory + 0x800);
    CHECK(refusal(bench, Input<prm::DestroyUmemIn>(Opcode::destroy_umem).by(program.uid).set<"umem_id">(umem)) ==
          "destroy_umem.in_use");
    CHECK(refusal(bench,
                  Input<prm::DestroyRmpIn>(Opcode::destroy_rmp).by(program.uid).set<"rmpn">(created.get<"rmpn">())) ==
          "accepted");
    CHECK(refusal(bench, Input<prm::DestroyUmemIn>(Opcode::destroy_umem).by(program.uid).set<"umem_id">(umem)) ==
          "accepted");
}

TEST_CASE("a memory key over user memory translates to its pages", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    Program program(bench);
    // One page of 64 KiB, byte 0 at 0x1234.
    auto umem = CommandBench::umem_input(program.uid, memory);
    umem.view().sub<"umem">().set<"log_page_size">(4u).set<"page_offset">(0x1234u);
    const auto id = bench.run<prm::CreateUmemOut>(umem).get<"umem_id">();
    auto in = CommandBench::mkey_input(program.pd, 0x7f0000001334, 0x2000, 0).by(program.uid);
    in.set<"mkey_umem_valid">(1).set<"mkey_umem_id">(id).set<"mkey_umem_offset">(0x100u);

    const auto created = bench.run<prm::CreateMkeyOut>(in);

    REQUIRE(created.is_ok());
    const auto& mtt = bench.hca.mkeys().find(created.get<"mkey_index">())->mtt;
    CHECK(mtt == std::vector<std::uint64_t>{memory + 0x1000, memory + 0x2000, memory + 0x3000});
}

TEST_CASE("a memory key larger than any list is refused before a list is made", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    Program program(bench);
    auto umem = CommandBench::umem_input(program.uid, 0);
    umem.view().sub<"umem">().set<"log_page_size">(31u); // one page of 2^43 bytes
    umem.bytes.resize(prm::CreateUmemIn::size);
    umem.add(0);
    const auto id = bench.run<prm::CreateUmemOut>(umem).get<"umem_id">();
    auto in = CommandBench::mkey_input(program.pd, 0, std::uint64_t{1} << 42, 0).by(program.uid);
    in.set<"mkey_umem_valid">(1).set<"mkey_umem_id">(id);

    CHECK(refusal(bench, in) == "resources.page_entries");
}

TEST_CASE("after a teardown no user context and nothing of one is left", "[unit][firmware][uctx]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    Program program(bench);
    bench.create_umem(program.uid, memory);

    REQUIRE(refusal(bench, Input<prm::TeardownHcaIn>(Opcode::teardown_hca), 16) == "accepted");

    for (const auto& kind : bench.device.state().registry.counts()) {
        INFO(kind.name);
        CHECK(kind.objects == 0);
    }
    CHECK(bench.device.state().pages.objects() == 0);
}
