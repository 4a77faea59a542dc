// Memory registered, moved and taken away by UMR work requests, and the requests that break a rule.
#include "testbench/unit/model/hca/umr/bench.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <functional>
#include <utility>

using namespace umr_test;
using model::hca::queue::QpState;

TEST_CASE("a free key serves nobody until a UMR enables it", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b);
    const auto done = bench.change(
        Bench::enable(key, bench.memory + 0x10, 0x1800, Bench::pages({bench.memory | 3, (bench.memory + 0x1000) | 3})));
    CHECK(done.opcode == CqeOpcode::req);
    CHECK(done.send_opcode == static_cast<std::uint8_t>(WqeOpcode::umr));

    CHECK(bench.write(key, bench.memory + 0x10, 0x1800).is_ok());
    CHECK(bench.b.dma.peek(bench.memory + 0x10, 0x1800) == bench.a.bytes(bench.from, 0, 0x1800));

    Bench unused;
    CHECK(unused.write(Bench::free_key(unused.b), unused.memory, 8).syndrome == CqeSyndrome::remote_access_err);
}

TEST_CASE("translations come from memory as well as from the work request", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b);
    const auto list = bench.b.make_region(64);
    bench.b.dma.poke(list.address, Bench::pages({bench.memory | 3}, 8));
    auto post = Bench::enable(key, 0, 0x1000, {});
    post.list_at = list.sge();
    post.control.view().set<"inline">(0).set<"xlt_octowords">(4);
    CHECK(bench.change(post).is_ok());

    CHECK(bench.write(key, 0x100, 16).is_ok());
    CHECK(bench.b.dma.peek(bench.memory + 0x100, 16) == bench.a.bytes(bench.from, 0, 16));
}

TEST_CASE("a long table is written piece by piece", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b, AccessMode::mtt, 8);
    for (std::uint16_t piece = 0; piece < 2; ++piece) {
        std::vector<std::uint64_t> entries;
        for (unsigned i = 0; i < 8; ++i)
            entries.push_back(piece * 8u + i < 4 ? (bench.memory + (3 - i) * 0x1000) | 3 : 0);
        auto post = Bench::enable(key, 0, 0x4000, Bench::pages(entries));
        post.control.view().set<"xlt_offset_en">(1).set<"xlt_offset">(static_cast<std::uint16_t>(piece * 4));
        if (piece == 0)
            post.control.view().set<"mkey_mask">(0); // only the last one enables the key
        CHECK(bench.change(post).is_ok());
        CHECK(bench.key(key).attributes.is_free == (piece == 0));
    }
    CHECK(bench.key(key).mtt.size() == 16);
    CHECK(bench.write(key, 0, 0x1001).is_ok());
    CHECK(bench.b.dma.peek(bench.memory + 0x3000, 0x1000) == bench.a.bytes(bench.from, 0, 0x1000));
    CHECK(bench.b.dma.peek(bench.memory + 0x2000, 1) == bench.a.bytes(bench.from, 0x1000, 1));
}

TEST_CASE("an entry that is taken away is not present any more, though it was in the cache", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b);
    REQUIRE(bench.change(Bench::enable(key, 0, 0x1000, Bench::pages({bench.memory | 3}, 2))).is_ok());
    REQUIRE(bench.write(key, 0, 8).is_ok());

    auto zap = Bench::enable(key, 0, 0, Bench::pages({0, 0}));
    zap.control.view().set<"check_not_free">(0).set<"check_free">(1).set<"mkey_mask">(0);
    REQUIRE(bench.change(zap).is_ok());
    CHECK(bench.write(key, 0, 8).syndrome == CqeSyndrome::remote_access_err);
}

TEST_CASE("pages given by CREATE_MKEY stay present when a UMR changes others", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b);
    auto& object = bench.key(key);
    object.mtt = {bench.memory, bench.memory + 0x1000};
    auto post = Bench::enable(key, 0, 0x2000, Bench::pages({(bench.memory + 0x2000) | 3, 0}));
    post.control.view().set<"xlt_offset_en">(1).set<"xlt_offset">(1);
    REQUIRE(bench.change(post).is_ok());
    CHECK(bench.write(key, 0, 0x2000).is_ok());
    CHECK(bench.b.dma.peek(bench.memory, 0x2000) == bench.a.bytes(bench.from, 0, 0x2000));
}

TEST_CASE("a freed key refuses both sides", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b);
    REQUIRE(bench.change(Bench::enable(key, bench.memory, 0x1000, Bench::pages({bench.memory | 3}, 2))).is_ok());
    REQUIRE(bench.change(Bench::free(key)).is_ok());

    CHECK(bench.write(key, bench.memory, 8).syndrome == CqeSyndrome::remote_access_err);
    Bench local;
    const auto other = Bench::free_key(local.b);
    local.b.post(local.b_qp, {.opcode = WqeOpcode::send, .sges = {{local.memory, 8, other}}});
    local.b.ring(local.b_qp, local.clock.now());
    local.settle();
    CHECK(local.b.drain(local.b_cq).front().syndrome == CqeSyndrome::local_prot_err);
}

TEST_CASE("a UMR with strong ordering waits until everything before it is complete", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b);
    const auto target = bench.a.make_region(64);
    bench.b.post(bench.b_qp,
                 {.sges = {bench.b.make_region(64, 1).sge()}, .remote = target.address, .rkey = target.key});
    auto post = Bench::enable(key, 0, 0x1000, Bench::pages({bench.memory | 3}, 2));
    post.fence = abi::prm::FenceMode::strong_ordering;
    bench.post(bench.b, bench.b_qp, post);
    bench.b.ring(bench.b_qp, bench.clock.now());
    CHECK(bench.key(key).attributes.is_free);
    bench.settle();
    CHECK_FALSE(bench.key(key).attributes.is_free);
    CHECK(bench.b.drain(bench.b_cq).size() == 2);
}

TEST_CASE("a UMR that asks for no completion gives none", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b);
    auto post = Bench::enable(key, 0, 0x1000, Bench::pages({bench.memory | 3}, 2));
    post.signalled = false;
    CHECK(bench.change(post).opcode == CqeOpcode::invalid);
    CHECK_FALSE(bench.key(key).attributes.is_free);
}

TEST_CASE("a key of any queue pair passes when the request asks whose it is", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b);
    auto post = Bench::enable(key, 0, 0x1000, Bench::pages({bench.memory | 3}, 2));
    post.control.view().set<"check_qpn">(1);
    CHECK(bench.change(post).opcode == CqeOpcode::req);
    CHECK_FALSE(bench.key(key).attributes.is_free);
}

namespace {
struct Mistake {
    Fault fault;
    std::function<void(Bench&, UmrPost&)> apply;
};
const std::array mistakes{
    Mistake{Fault::no_such_key, [](Bench&, UmrPost& p) { p.key = abi::Key{0x7fffff, 0}; }},
    Mistake{Fault::not_enabled, [](Bench& b, UmrPost& p) { b.key(p.key).attributes.takes_umr = false; }},
    Mistake{Fault::wrong_pd, [](Bench& b, UmrPost& p) { b.key(p.key).attributes.pd = abi::Pd{8}; }},
    Mistake{Fault::is_free, [](Bench&, UmrPost& p) { p.control.view().set<"check_not_free">(0).set<"check_free">(1); }},
    Mistake{Fault::is_not_free, [](Bench& b, UmrPost& p) { b.key(p.key).attributes.is_free = false; }},
    Mistake{Fault::wrong_queue_pair,
            [](Bench& b, UmrPost& p) {
                b.key(p.key).attributes.qpn = 0x77;
                p.control.view().set<"check_qpn">(1);
            }},
    Mistake{Fault::not_privileged, [](Bench& b, UmrPost&) { b.b.core(b.b_qp).attributes.fast_registration = false; }},
    Mistake{Fault::bad_mask, [](Bench&, UmrPost& p) { p.control.view().set<"mkey_mask">(mask({MkeyMask::bsf_en})); }},
    Mistake{Fault::no_such_pd,
            [](Bench&, UmrPost& p) {
                p.control.view().set<"mkey_mask">(mask({MkeyMask::pd}));
                p.context.view().set<"pd">(0x99);
            }},
    Mistake{Fault::bad_page_size, [](Bench&, UmrPost& p) { p.context.view().set<"log_page_size">(11); }},
    Mistake{Fault::bad_page_size, [](Bench&, UmrPost& p) { p.context.view().set<"log_page_size">(32); }},
    Mistake{Fault::range_wraps, [](Bench&, UmrPost& p) { p.context.view().set<"start_addr">(~0ull).set<"len">(2); }},
    Mistake{Fault::table_too_small, [](Bench&, UmrPost& p) { p.control.view().set<"xlt_octowords">(5); }},
    Mistake{Fault::table_too_small,
            [](Bench&, UmrPost& p) { p.control.view().set<"xlt_offset_en">(1).set<"xlt_offset">(1); }},
    Mistake{Fault::table_too_small,
            [](Bench&, UmrPost& p) { p.control.view().set<"xlt_offset_en">(1).set<"xlt_offset_47_16">(0xffffffff); }},
    Mistake{Fault::list_too_short, [](Bench&, UmrPost& p) { p.list.clear(); }},
    Mistake{Fault::list_too_short,
            [](Bench&, UmrPost& p) {
                p.control.view().set<"inline">(0);
                p.list.clear();
            }},
};
} // namespace

TEST_CASE("a UMR that breaks a rule is told so, and changes nothing", "[unit][umr]") {
    for (const auto& mistake : mistakes) {
        Bench bench;
        const auto key = Bench::free_key(bench.b);
        auto post = Bench::enable(key, 0, 0x1000, Bench::pages({bench.memory | 3}, 8));
        mistake.apply(bench, post);
        const auto before = bench.key(key).attributes.context;
        const bool was_free = bench.key(key).attributes.is_free;
        const auto done = bench.change(post);
        INFO(to_string(mistake.fault));
        CHECK(done.syndrome == CqeSyndrome::mw_bind_err);
        CHECK(done.vendor == 0x80 + static_cast<unsigned>(mistake.fault));
        CHECK(bench.b.core(bench.b_qp).state == QpState::err);
        CHECK(bench.key(key).attributes.context == before);
        CHECK(bench.key(key).attributes.is_free == was_free);
        CHECK(bench.key(key).mtt.empty());
        const auto refused = bench.b.events.all<traces::KeyChangeRefused>();
        CHECK((refused.size() == 1) == (mistake.fault != Fault::list_too_short));
    }
}

TEST_CASE("a list that cannot be read is a protection error, or a bus error", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b);
    auto post = Bench::enable(key, 0, 0x1000, {});
    post.control.view().set<"inline">(0).set<"xlt_octowords">(4);
    post.list_at = {.address = 0x1000, .length = 64, .key = abi::Key{0x7fffff, 1}};
    CHECK(bench.change(post).syndrome == CqeSyndrome::local_prot_err);
    CHECK(bench.key(key).attributes.is_free);
}

TEST_CASE("a local queue pair serves every protection domain, and moves keys between them", "[unit][umr]") {
    Bench bench;
    auto& domains = bench.b.hca.protection_domains();
    domains.create(8);
    const auto others = domains.find(Node::pd.value)->users();
    const auto key = Bench::free_key(bench.b);
    REQUIRE(domains.find(Node::pd.value)->users() == others + 1);
    auto a = bench.b.attributes(bench.b_cq);
    a.type = abi::prm::QpType::reg_umr;
    a.pd = {};
    auto qp = bench.b.make_qp(a);
    bench.b.connect(qp, abi::Qpn{0}, 0, 0, bench.clock.now());

    auto post = Bench::enable(key, 0, 0x1000, Bench::pages({bench.memory | 3}, 2));
    post.control.view().set<"mkey_mask">(registration | mask({MkeyMask::pd}));
    post.context.view().set<"pd">(8);
    bench.post(bench.b, qp, post);
    bench.b.ring(qp, bench.clock.now());
    CHECK(bench.b.drain(bench.b_cq).back().is_ok());
    CHECK(bench.key(key).attributes.pd == abi::Pd{8});
    CHECK(domains.find(8)->users() == 1);
    CHECK(domains.find(Node::pd.value)->users() == others);

    SECTION("it sends nothing") {
        bench.b.post(qp, {.opcode = WqeOpcode::send});
        bench.b.ring(qp, bench.clock.now());
        CHECK(bench.b.drain(bench.b_cq).back().syndrome == CqeSyndrome::local_qp_op_err);
    }
    SECTION("nobody reaches it") {
        bench.a.core(bench.a_qp).attributes.remote_qpn = qp.number;
        bench.send({.sges = {bench.from.sge(0, 8)}, .remote = 0, .rkey = key});
        const auto dropped = bench.b.events.all<traces::PacketDropped>();
        REQUIRE_FALSE(dropped.empty());
        CHECK(dropped.front().reason.text() == "queue pair without a peer");
    }
}

TEST_CASE("a key of no bytes may begin anywhere, and one that leaves the address space may not", "[unit][umr]") {
    Bench bench;
    const auto list = Bench::pages({bench.memory | 3}, 2);
    const auto key = Bench::free_key(bench.b), other = Bench::free_key(bench.b), third = Bench::free_key(bench.b);

    CHECK(bench.change(Bench::enable(key, ~std::uint64_t{0}, 0, list)).is_ok());
    CHECK(bench.change(Bench::enable(other, ~std::uint64_t{0xfff}, 0x1000, list)).is_ok());
    auto endless = Bench::enable(third, ~std::uint64_t{0xffe}, 0x1000, list);
    endless.context.view().set<"length64">(1); // its length does not count
    CHECK(bench.change(endless).is_ok());
    const auto fourth = Bench::free_key(bench.b);
    CHECK_FALSE(bench.change(Bench::enable(fourth, ~std::uint64_t{0xffe}, 0x1000, list)).is_ok());
}

TEST_CASE("a key of all addresses may name any start", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b);
    auto post = Bench::enable(key, ~std::uint64_t{0}, 2, Bench::pages({bench.memory | 3}, 2));
    post.context.view().set<"length64">(1);

    CHECK(bench.change(post).is_ok());
}

TEST_CASE("a list of an earlier request is not taken for one that is missing", "[unit][umr]") {
    Bench bench;
    const auto key = Bench::free_key(bench.b), other = Bench::free_key(bench.b);
    const auto list = bench.b.make_region(64);
    bench.b.dma.poke(list.address, Bench::pages({bench.memory | 3}, 8));
    auto post = Bench::enable(key, 0, 0x1000, {});
    post.control.view().set<"inline">(0).set<"xlt_octowords">(4);
    for (int i = 0; i < 4; ++i) { // every place that the device has for a request has held such a list
        auto good = post;
        good.control.view().set<"check_not_free">(0);
        good.list_at = list.sge();
        REQUIRE(bench.change(good).is_ok());
    }

    post.key = other;
    const auto done = bench.change(post);

    CHECK(done.syndrome == CqeSyndrome::mw_bind_err);
    CHECK(bench.key(other).attributes.is_free);
}

TEST_CASE("who watches the tables hears of entries that a UMR wrote, and of no others", "[unit][umr]") {
    struct Watch final : model::hca::tpt::MkeyWatch {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
        void key_mapped(const model::hca::tpt::Mkey&, std::uint64_t first, std::uint64_t count) override {
            told.emplace_back(first, count);
        }
    } watch;
    Bench bench;
    const auto key = Bench::free_key(bench.b), list = Bench::free_key(bench.b, AccessMode::klms, 16);
    bench.b.hca.mkeys().set_watch(&watch);

    REQUIRE(bench.change(Bench::enable(key, 0, 0x1000, Bench::pages({bench.memory | 3}, 2))).is_ok());
    CHECK(watch.told == std::vector{std::pair<std::uint64_t, std::uint64_t>{0, 2}});
    REQUIRE(bench.change(Bench::free(key)).is_ok());
    REQUIRE(bench.change(Bench::bind(list, key, 0, 0x1000)).is_ok());

    CHECK(watch.told.size() == 1);
    bench.b.hca.mkeys().set_watch(nullptr);
}
