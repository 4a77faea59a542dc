// What CREATE commands make of their contexts: the objects of the core, field by field.
#include "testbench/harness/command_bench.h"

#include "abi/prm/lag.h"
#include "abi/prm/user_context.h"

#include <catch2/catch_test_macros.hpp>

#include <set>

using namespace harness;
using prm::Opcode;
using prm::Status;

namespace {
struct Ready : CommandBench {
    Ready() { REQUIRE(initialize()); }
};
} // namespace

TEST_CASE("UAR numbers are pages of the BAR behind the initialization segment", "[unit][firmware][objects]") {
    Ready bench;
    const auto first = bench.alloc_uar(), second = bench.alloc_uar();

    CHECK(first == bench.hca.config().first_uar);
    CHECK(second == first + 1);
    CHECK(bench.run<prm::DeallocUarOut>(Input<prm::DeallocUarIn>(Opcode::dealloc_uar).set<"uar">(first)).is_ok());
    CHECK(bench.alloc_uar() == second + 1);
}

TEST_CASE("a UAR page is there as long as a queue has its doorbells in it", "[unit][firmware][objects]") {
    Ready bench;
    const auto eqs = bench.alloc_uar(), cqs = bench.alloc_uar(), qps = bench.alloc_uar();
    const auto pd = bench.alloc_pd();
    const auto eqn = bench.run<prm::CreateEqOut>(CommandBench::eq_input(eqs, 0)).get<"eq_number">();
    const auto cqn = bench.run<prm::CreateCqOut>(CommandBench::cq_input(cqs, eqn)).get<"cqn">();
    const auto qpn = bench.run<prm::CreateQpOut>(CommandBench::qp_input(pd, qps, cqn)).get<"qpn">();
    const auto dealloc = [&](std::uint32_t uar) {
        return bench.run<prm::DeallocUarOut>(Input<prm::DeallocUarIn>(Opcode::dealloc_uar).set<"uar">(uar)).status();
    };

    for (const auto page : {eqs, cqs, qps}) {
        CHECK(dealloc(page) == Status::resource_busy);
        CHECK(bench.device.state().registry.find<firmware::objects::Kind::uar>(page) != nullptr);
    }

    CHECK(bench.run<prm::DestroyQpOut>(Input<prm::DestroyQpIn>(Opcode::destroy_qp).set<"qpn">(qpn)).is_ok());
    CHECK(dealloc(cqs) == Status::resource_busy);
    CHECK(dealloc(qps) == Status::ok);
    CHECK(bench.run<prm::DestroyCqOut>(Input<prm::DestroyCqIn>(Opcode::destroy_cq).set<"cqn">(cqn)).is_ok());
    CHECK(dealloc(cqs) == Status::ok);
    CHECK(dealloc(eqs) == Status::resource_busy);
    CHECK(bench.run<prm::DestroyEqOut>(Input<prm::DestroyEqIn>(Opcode::destroy_eq).set<"eq_number">(eqn)).is_ok());
    CHECK(dealloc(eqs) == Status::ok);
}

TEST_CASE("a queue pair without a send queue keeps no UAR page", "[unit][firmware][objects]") {
    Ready bench;
    const auto o = bench.make_objects();
    const auto page = bench.alloc_uar();
    auto in = CommandBench::qp_input(o.pd, page, o.cqn);
    in.view().sub<"qpc">().set<"no_sq">(1u);
    REQUIRE(bench.run<prm::CreateQpOut>(in).is_ok());

    CHECK(bench.run<prm::DeallocUarOut>(Input<prm::DeallocUarIn>(Opcode::dealloc_uar).set<"uar">(page)).is_ok());
}

TEST_CASE("with polled doorbells user contexts have UAR pages of their own, which the kernel never gets",
          "[unit][firmware][objects]") {
    auto config = untimed();
    config.uar_pages = 32; // 16 to 23, and 24 to 31
    config.polled_doorbells = true;
    CommandBench bench(config);
    REQUIRE(bench.initialize());
    const auto uid = bench.create_uctx();
    const auto dealloc = [&](std::uint32_t uar) {
        return bench.run<prm::DeallocUarOut>(Input<prm::DeallocUarIn>(Opcode::dealloc_uar).set<"uar">(uar)).is_ok();
    };

    CHECK(bench.alloc_uar() == 16);
    CHECK(bench.alloc_uar(uid) == 24);
    CHECK(bench.alloc_uar(abi::prm::shared_uid) == 17); // the kernel's, for everybody
    for (std::uint32_t page = 25; page < 32; ++page)
        CHECK(bench.alloc_uar(uid) == page);
    CHECK(bench.alloc_uar(uid) == 18); // one whose doorbells are stores, when the others are gone
    for (std::uint32_t page = 19; page < 24; ++page)
        CHECK(bench.alloc_uar() == page);
    CHECK(bench.run<prm::AllocUarOut>(Input<prm::AllocUarIn>(Opcode::alloc_uar)).status() == Status::limits_exceeded);

    CHECK(dealloc(24));
    CHECK(bench.run<prm::AllocUarOut>(Input<prm::AllocUarIn>(Opcode::alloc_uar)).status() == Status::limits_exceeded);
    CHECK(bench.alloc_uar(uid) == 24);
    CHECK(dealloc(18));
    CHECK(bench.alloc_uar() == 18);
}

TEST_CASE("without polled doorbells all UAR pages are anybody's", "[unit][firmware][objects]") {
    Ready bench;
    const auto uid = bench.create_uctx();
    CHECK(bench.alloc_uar(uid) == 16);
    CHECK(bench.alloc_uar() == 17);
}

TEST_CASE("an event queue has the vector, the events and the ring of its context", "[unit][firmware][objects]") {
    Ready bench;
    auto in = CommandBench::eq_input(bench.alloc_uar(), 1ull << 9 | 1ull << 63, 7);
    in.view().sub<"eq_context_entry">().set<"intr">(5).set<"oi">(1);
    const auto eqn = bench.run<prm::CreateEqOut>(in).get<"eq_number">();
    const auto* eq = bench.hca.event_queues().table().find(eqn);
    REQUIRE(eq != nullptr);

    CHECK(eq->attributes.vector == 5);
    CHECK(eq->attributes.events == (1ull << 9 | 1ull << 63));
    CHECK(eq->attributes.overrun_ignore);
    CHECK(eq->size() == 128);
    CHECK(eq->attributes.buffer.address(4096).value == CommandBench::rings + 4096);

    const auto query = bench.run<prm::QueryEqOut>(Input<prm::QueryEqIn>(Opcode::query_eq).set<"eq_number">(eqn), 0x120);
    CHECK(query.view().sub<"eq_context_entry">().get<"log_eq_size">() == 7);
    CHECK(query.get<"event_bitmask">() == (1ull << 9 | 1ull << 63));
    CHECK(abi::load<std::uint64_t, std::endian::big>(query.bytes.data() + 0x118) == CommandBench::rings + 4096);
}

TEST_CASE("a completion queue has the entry size, the record and the event queue of its context",
          "[unit][firmware][objects]") {
    Ready bench;
    const auto objects = bench.make_objects();
    auto in = CommandBench::cq_input(objects.uar, objects.eqn, 5);
    in.view().sub<"cq_context">().set<"cqe_sz">(1).set<"oi">(1).set<"cq_period">(7);
    const auto cqn = bench.run<prm::CreateCqOut>(in).get<"cqn">();
    const auto* cq = bench.hca.completion_queues().find(cqn);
    REQUIRE(cq != nullptr);

    CHECK(cq->attributes.log_entry_bytes == 7);
    CHECK(cq->attributes.doorbell_record.value == 0x20000000);
    CHECK(cq->attributes.eqn.value == objects.eqn);
    CHECK(cq->attributes.overrun_ignore);
    CHECK(cq->size() == 32);

    Input<prm::ModifyCqIn> modify(Opcode::modify_cq);
    modify.set<"cqn">(cqn).set<"modify_field_select_resize_field_select">(0b110u);
    modify.view().sub<"cq_context">().set<"cq_period">(99).set<"cq_max_count">(12).set<"oi">(0);
    REQUIRE(bench.run<prm::ModifyCqOut>(modify).is_ok());
    const auto cqc = bench.run<prm::QueryCqOut>(Input<prm::QueryCqIn>(Opcode::query_cq).set<"cqn">(cqn));
    CHECK(cqc.view().sub<"cq_context">().get<"cq_max_count">() == 12);
    CHECK(cqc.view().sub<"cq_context">().get<"cq_period">() == 7);
    CHECK(!cq->attributes.overrun_ignore);
}

TEST_CASE("page_offset counts 64ths of a page, at every page size", "[unit][firmware][objects]") {
    Ready bench;
    const auto objects = bench.make_objects();
    for (std::uint32_t log_page = 0; log_page < 20; ++log_page)
        for (const std::uint32_t offset : {0u, 1u, 17u, 63u}) {
            const auto shift = 12 + log_page;
            auto in = CommandBench::qp_input(objects.pd, objects.uar, objects.cqn);
            in.bytes.resize(prm::CreateQpIn::size);
            in.add(5ull << shift).add(9ull << shift).add(11ull << shift);
            in.view().sub<"qpc">().set<"log_page_size">(log_page).set<"page_offset">(offset);
            const auto out = bench.run<prm::CreateQpOut>(in);
            REQUIRE(out.is_ok());
            const auto& buffer = bench.hca.queue_pairs().find(out.get<"qpn">())->attributes.buffer;

            CHECK(buffer.address(0).value == (5ull << shift) + (std::uint64_t{offset} << (shift - 6)));
            CHECK(buffer.capacity() >= 8192);
        }
}

TEST_CASE("a queue pair's buffer holds the receive queue and then, on a block, the send queue",
          "[unit][firmware][objects]") {
    Ready bench;
    const auto o = bench.make_objects();
    const auto fits = [&](std::uint32_t log_rq, std::uint32_t log_stride, bool no_sq, bool no_rq, std::size_t pages) {
        auto in = CommandBench::qp_input(o.pd, o.uar, o.cqn);
        in.bytes.resize(prm::CreateQpIn::size);
        for (std::size_t i = 0; i < pages; ++i)
            in.add(CommandBench::rings + i * 4096);
        auto qpc = in.view().sub<"qpc">();
        qpc.set<"log_rq_size">(log_rq).set<"log_rq_stride">(log_stride).set<"no_sq">(no_sq);
        qpc.set<"rq_type">(no_rq ? prm::ReceiveQueueType::none : prm::ReceiveQueueType::regular);
        return bench.run<prm::CreateQpOut>(in).is_ok();
    };
    // The send queue of 64 blocks takes one page by itself.
    CHECK(fits(6, 2, false, false, 2));
    CHECK(!fits(6, 2, false, false, 1));
    CHECK(fits(6, 2, true, false, 1));
    CHECK(fits(6, 2, false, true, 1));
    CHECK(!fits(0, 0, false, false, 1)); // 16 bytes of receive queue push the send queue over the end
    CHECK(fits(0, 0, false, false, 2));
    CHECK(fits(0, 0, true, true, 0));
}

TEST_CASE("a queue pair that only changes keys keeps no protection domain from going, neither its own nor the first",
          "[unit][firmware][objects]") {
    Ready bench;
    const auto o = bench.make_objects(); // the first protection domain
    const auto named = bench.alloc_pd();
    auto in = CommandBench::qp_input(named, o.uar, o.cqn);
    in.view().sub<"qpc">().set<"st">(prm::QpType::reg_umr);
    const auto qpn = bench.run<prm::CreateQpOut>(in).get<"qpn">();

    for (const auto pd : {o.pd, named})
        CHECK(bench.run<prm::DeallocPdOut>(Input<prm::DeallocPdIn>(Opcode::dealloc_pd).set<"pd">(pd)).is_ok());
    const auto next = bench.alloc_pd();
    CHECK(bench.run<prm::DestroyQpOut>(Input<prm::DestroyQpIn>(Opcode::destroy_qp).set<"qpn">(qpn)).is_ok());
    CHECK(bench.run<prm::DeallocPdOut>(Input<prm::DeallocPdIn>(Opcode::dealloc_pd).set<"pd">(next)).is_ok());
}

TEST_CASE("a memory key has the rights, the range and the pages of its context", "[unit][firmware][objects]") {
    Ready bench;
    const auto pd = bench.alloc_pd();
    auto in = CommandBench::mkey_input(pd, 0x12345678, 0x2000, 3);
    in.view().sub<"memory_key_mkey_entry">().set<"mkey_7_0">(0x5d).set<"lw">(0).set<"a">(1).set<"qpn">(0x99);
    in.set<"pg_access">(1u);
    const auto index = bench.run<prm::CreateMkeyOut>(in).get<"mkey_index">();
    const auto* mkey = bench.hca.mkeys().find(index);
    REQUIRE(mkey != nullptr);
    const auto& a = mkey->attributes;

    CHECK(a.variant == 0x5d);
    CHECK(a.rights.local_read);
    CHECK(!a.rights.local_write);
    CHECK(a.rights.remote_read);
    CHECK(a.rights.remote_write);
    CHECK(a.rights.atomic);
    CHECK(a.pd.value == pd);
    CHECK(a.qpn == 0x99);
    CHECK(a.start == 0x12345678);
    CHECK(a.length == 0x2000);
    CHECK(a.page_shift == 12);
    CHECK(a.entries_carry_rights);
    CHECK(!a.is_free);
    CHECK(mkey->mtt ==
          std::vector<std::uint64_t>{0x70000000, 0x70001000, 0x70002000}); // the range begins inside a page

    const auto query =
        bench.run<prm::QueryMkeyOut>(Input<prm::QueryMkeyIn>(Opcode::query_mkey).set<"mkey_index">(index));
    CHECK(query.view().sub<"memory_key_mkey_entry">().get<"start_addr">() == 0x12345678);
    CHECK(abi::load<std::uint64_t, std::endian::big>(query.bytes.data() + 0x110 + 8) == 0x70001000);
}

TEST_CASE("a key that refers to others says to which, as far as there is room for it", "[unit][firmware][objects]") {
    Ready bench;
    const auto pd = bench.alloc_pd();
    auto in = CommandBench::mkey_input(pd, 0x1000, 0x3000, 0);
    in.bytes.resize(prm::CreateMkeyIn::size);
    prm::set_access_mode(in.view().sub<"memory_key_mkey_entry">(), prm::AccessMode::klms);
    in.view().sub<"memory_key_mkey_entry">().set<"translations_octword_size">(4);
    in.set<"translations_octword_actual_size">(3u);
    for (std::uint64_t i = 1; i <= 3; ++i)
        in.add(0x1000ull << 32 | (0x100 * i + 7)).add(0x70000000 * i);
    const auto index = bench.run<prm::CreateMkeyOut>(in).get<"mkey_index">();

    const auto query = Input<prm::QueryMkeyIn>(Opcode::query_mkey).set<"mkey_index">(index);
    constexpr auto list = prm::QueryMkeyOut::field<"bsf0_klm0_pas_mtt0_1">::offset;
    const auto entry = [&](const auto& out, std::size_t i) {
        return abi::ConstView<prm::Klm>(
            std::span<const std::byte>(out.bytes).subspan(list + i * prm::Klm::size, prm::Klm::size));
    };
    const auto whole = bench.run<prm::QueryMkeyOut>(query, prm::QueryMkeyOut::size + prm::Klm::size);
    REQUIRE(whole.is_ok());
    for (std::uint32_t i = 0; i < 3; ++i) {
        CHECK(entry(whole, i).get<"bcount">() == 0x1000);
        CHECK(entry(whole, i).get<"mkey">() == 0x100 * (i + 1) + 7);
        CHECK(entry(whole, i).get<"address">() == 0x70000000ull * (i + 1));
    }
    const auto part = bench.run<prm::QueryMkeyOut>(query);
    REQUIRE(part.is_ok());
    CHECK(entry(part, 1).get<"mkey">() == 0x207);
}

TEST_CASE("memory keys exist at every page size the PRM allows", "[unit][firmware][objects]") {
    Ready bench;
    const auto pd = bench.alloc_pd();
    for (std::uint32_t shift = 0; shift < 64; ++shift) {
        auto in = CommandBench::mkey_input(pd, 0, 0, 0);
        in.bytes.resize(prm::CreateMkeyIn::size);
        const auto mkc = in.view().sub<"memory_key_mkey_entry">();
        mkc.set<"log_page_size">(shift).set<"len">(2ull << std::min(shift, 40u)).set<"translations_octword_size">(1);
        in.set<"translations_octword_actual_size">(1u).add(0).add(1ull << std::min(shift, 40u));

        CHECK(bench.run<prm::CreateMkeyOut>(in).is_ok() == (shift >= 12 && shift <= 31));
    }
}

TEST_CASE("a physical key covers a range, or everything with length64", "[unit][firmware][objects]") {
    Ready bench;
    const auto pd = bench.alloc_pd();
    auto in = CommandBench::mkey_input(pd, 0, 0, 0);
    prm::set_access_mode(in.view().sub<"memory_key_mkey_entry">(), prm::AccessMode::pa);
    in.view().sub<"memory_key_mkey_entry">().set<"length64">(1).set<"log_page_size">(0);
    const auto out = bench.run<prm::CreateMkeyOut>(in);
    REQUIRE(out.is_ok());

    const auto* mkey = bench.hca.mkeys().find(out.get<"mkey_index">());
    CHECK(mkey->attributes.mode == prm::AccessMode::pa);
    CHECK(mkey->attributes.length64);
    CHECK(mkey->mtt.empty());
}

TEST_CASE("a free key comes without pages and stays unusable", "[unit][firmware][objects]") {
    Ready bench;
    auto in = CommandBench::mkey_input(bench.alloc_pd(), 0, 1 << 20, 0);
    in.view().sub<"memory_key_mkey_entry">().set<"free">(1).set<"umr_en">(1).set<"translations_octword_size">(256);
    const auto out = bench.run<prm::CreateMkeyOut>(in);
    REQUIRE(out.is_ok());

    const auto* mkey = bench.hca.mkeys().find(out.get<"mkey_index">());
    CHECK(mkey->attributes.is_free);
    CHECK(mkey->mtt.empty());
    CHECK(mkey->room == 512);

    in.view().sub<"memory_key_mkey_entry">().set<"translations_octword_size">(0xffffffff);
    CHECK(bench.run<prm::CreateMkeyOut>(in).refusal() == "resources.page_entries");
}

TEST_CASE("a range that ends exactly at the end of the address space is legal", "[unit][firmware][objects]") {
    Ready bench;
    const auto pd = bench.alloc_pd();

    CHECK(bench.run<prm::CreateMkeyOut>(CommandBench::mkey_input(pd, ~0ull - 0xfff, 0x1000, 1)).is_ok());
    CHECK(bench.run<prm::CreateMkeyOut>(CommandBench::mkey_input(pd, ~0ull - 0xfff, 0x1001, 2)).refusal() ==
          "create_mkey.range_wraps");
    CHECK(bench.run<prm::CreateMkeyOut>(CommandBench::mkey_input(pd, 0, ~0ull, 2)).refusal() ==
          "create_mkey.range_beyond_list");
}

TEST_CASE("a destroyed number is not given out again while fresh ones are left", "[unit][firmware][objects]") {
    Ready bench;
    const auto objects = bench.make_objects();
    std::set<std::uint32_t> seen;
    for (int i = 0; i < 100; ++i) {
        const auto qpn = bench.make_qp(objects);
        CHECK(seen.insert(qpn).second);
        REQUIRE(bench.run<prm::DestroyQpOut>(Input<prm::DestroyQpIn>(Opcode::destroy_qp).set<"qpn">(qpn)).is_ok());
        CHECK(bench.run<prm::QueryQpOut>(Input<prm::QueryQpIn>(Opcode::query_qp).set<"qpn">(qpn)).status() ==
              Status::bad_resource);
    }
}

TEST_CASE("WQEs of a shared receive queue begin with a next segment unless the queue is basic",
          "[unit][firmware][objects]") {
    struct Shape {
        bool is_cyclic, is_basic;
    };
    for (const auto shape : {Shape{false, false}, Shape{true, false}, Shape{true, true}}) {
        INFO("cyclic " << shape.is_cyclic << ", basic " << shape.is_basic);
        Ready bench;
        const auto objects = bench.make_objects();
        auto rmp = CommandBench::rmp_input(objects.pd);
        auto rmpc = rmp.view().sub<"ctx">();
        rmpc.set<"basic_cyclic_rcv_wqe">(shape.is_basic);
        rmpc.sub<"wq">().set<"wq_type">(shape.is_cyclic ? prm::WqType::cyclic : prm::WqType::linked_list);
        auto xrc = CommandBench::xrc_srq_input(objects.pd, objects.cqn, bench.alloc_xrcd());
        xrc.view()
            .sub<"xrc_srq_context_entry">()
            .set<"cont_srq">(shape.is_cyclic)
            .set<"basic_cyclic_rcv_wqe">(shape.is_basic);

        for (const auto number : {bench.run<prm::CreateRmpOut>(rmp).get<"rmpn">(),
                                  bench.run<prm::CreateXrcSrqOut>(xrc).get<"xrc_srqn">()}) {
            const auto* queue = bench.hca.shared_receive_queues().find(number);
            REQUIRE(queue != nullptr);
            CHECK(queue->attributes.is_linked == !shape.is_cyclic);
            CHECK(queue->attributes.has_next_segment == !shape.is_basic);
        }
        rmpc.sub<"wq">().set<"log_wq_stride">(4); // no room for a next segment and a piece of memory
        CHECK(bench.run<prm::CreateRmpOut>(rmp).is_ok() == shape.is_basic);
    }
}

TEST_CASE("a queue pair keeps how many bytes its completions may carry", "[unit][firmware][objects]") {
    Ready bench;
    const auto objects = bench.make_objects();
    auto qp = CommandBench::qp_input(objects.pd, objects.uar, objects.cqn);
    qp.view()
        .sub<"qpc">()
        .set<"cs_req">(prm::RequesterScatter::up_to_64_bytes)
        .set<"cs_res">(prm::ResponderScatter::up_to_32_bytes);
    const auto& both = bench.hca.queue_pairs().find(bench.run<prm::CreateQpOut>(qp).get<"qpn">())->attributes;
    CHECK(both.answer_in_cqe == 64);
    CHECK(both.receive_in_cqe == 32);

    const auto& none = bench.hca.queue_pairs().find(bench.make_qp(objects))->attributes;
    CHECK(none.answer_in_cqe == 0);
    CHECK(none.receive_in_cqe == 0);
}

TEST_CASE("a list of pieces is as long as was advertised, a table of equal ones as long as wanted",
          "[unit][firmware][objects]") {
    Ready bench;
    const auto create = [&](prm::AccessMode mode, std::uint32_t entries) {
        auto in = CommandBench::mkey_input(bench.alloc_pd(), 0, 0, 0);
        const auto mkc = in.view().sub<"memory_key_mkey_entry">();
        prm::set_access_mode(mkc, mode);
        mkc.set<"free">(1).set<"translations_octword_size">(entries);
        return bench.run<prm::CreateMkeyOut>(in).is_ok();
    };
    constexpr std::uint32_t most = 0x10000; // 2^log_max_klm_list_size

    CHECK(create(prm::AccessMode::klms, most));
    CHECK_FALSE(create(prm::AccessMode::klms, most + 1));
    CHECK(create(prm::AccessMode::ksm, most + 1));
}

TEST_CASE("the key that leads nowhere is known, and a card of one port has no link aggregation",
          "[unit][firmware][objects]") {
    Ready bench;
    const auto special =
        bench.run<prm::QuerySpecialContextsOut>(Input<prm::QuerySpecialContextsIn>(Opcode::query_special_contexts));
    CHECK(special.get<"null_mkey">() == model::hca::tpt::null_key.value);
    auto config = bench.hca.config();
    config.on_demand_paging = false; // then nothing says that there is such a key
    CommandBench without(config);
    REQUIRE(without.initialize());
    const auto none =
        without.run<prm::QuerySpecialContextsOut>(Input<prm::QuerySpecialContextsIn>(Opcode::query_special_contexts));
    REQUIRE(none.is_ok());
    CHECK(none.get<"null_mkey">() == 0);
    const auto lag = bench.run<prm::QueryLagOut>(Input<prm::QueryLagIn>(Opcode::query_lag));
    REQUIRE(lag.is_ok());
    CHECK(lag.view().sub<"ctx">().get<"lag_state">() == 0);
}
