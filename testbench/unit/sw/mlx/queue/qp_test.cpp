#include "sw/mlx/verbs.h"
#include "testbench/unit/sw/mlx/fake_hca.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cerrno>

using namespace sw::mlx;
using abi::prm::QpState;
using testbench::be32;
using testbench::be64;
using testbench::Bytes;
using testbench::FakeHca;

namespace {

struct Rig {
    FakeHca hca;
    std::unique_ptr<Context> context;
    std::unique_ptr<CompletionQueue> cq;
    std::unique_ptr<QueuePair> qp;
    Sge element{.address = 0x1000, .length = 8, .lkey = 1};

    explicit Rig(QpOptions options = {}, bool is_ethernet = true) : hca(is_ethernet) {
        context = *Context::open(hca.transport);
        cq = *context->create_cq({.entries = 64});
        auto made = create(options);
        if (!made)
            FAIL(made.error().what);
        qp = std::move(*made);
    }
    sw::Result<std::unique_ptr<QueuePair>> create(QpOptions options) {
        options.send_cq = options.receive_cq = cq.get();
        options.pd = abi::Pd{0x77};
        return context->create_qp(options);
    }
    void connect(Peer peer = {}) {
        REQUIRE(context->connect(*qp, peer, abi::Psn{0x123456}));
        hca.doorbells.clear();
    }
    /// The context of a command that has one, which begins at 0x18.
    static std::span<const std::byte> qpc(const FakeHca::Command& command) {
        return std::span(command.in).subspan(0x18, 0xe8);
    }
    std::uint64_t record_address() { return be64(qpc(*hca.last(0x500)), 0xa0); }
    std::uint32_t record(unsigned word) { return be32(hca.transport.at(record_address(), 8), word * 4); }
    std::uint64_t buffer() { return be64(hca.last(0x500)->in, 0x110); }
};

} // namespace

TEST_CASE("a queue pair's buffer holds the receive queue first, then the send queue on the next block",
          "[unit][mlx][qp]") {
    Rig rig({.max_send = 100, .max_receive = 3, .max_send_sge = 2, .max_receive_sge = 1});
    const auto context = Rig::qpc(*rig.hca.last(0x500));

    CHECK((be32(context, 0x08) >> 19 & 0xf) == 2); // 4 receives
    CHECK((be32(context, 0x08) >> 16 & 0x7) == 0); // of 16 bytes
    CHECK((be32(context, 0x08) >> 11 & 0xf) == 8); // 100 sends of two blocks: 256
    CHECK(rig.qp->send_blocks() == 256);
    rig.connect();
    REQUIRE(rig.qp->post_receive({.sge = &rig.element, .sge_count = 1}));
    REQUIRE(rig.qp->post_send({.sge = &rig.element, .sge_count = 1, .operation = SendOperation::send}));
    const auto bytes = rig.hca.transport.at(rig.buffer(), 128);
    CHECK(be32(bytes, 0) == 8);     // byte count of the receive
    CHECK(be32(bytes, 64) == 0x0a); // the SEND behind 4 * 16 bytes of receives
}

TEST_CASE("CREATE_QP names queues, domain, record, doorbell page and service", "[unit][mlx][qp]") {
    Rig rig({.max_send = 16, .max_receive = 16, .max_receive_sge = 3, .counter_set = 5});
    const auto context = Rig::qpc(*rig.hca.last(0x500));

    CHECK(be32(context, 0x00) == 0x00001800); // RC, migrated
    CHECK(be32(context, 0x04) == 0x77);
    CHECK((be32(context, 0x08) >> 16 & 0x7) == 2); // stride 64: 3 elements and room for a terminator
    CHECK(be32(context, 0x0c) == (5u << 24 | FakeHca::uar_page));
    CHECK(be32(context, 0x10) == 0xffffff);
    CHECK((be32(context, 0x7c) & 0xffffff) == rig.cq->number().value);
    CHECK((be32(context, 0x9c) & 0xffffff) == rig.cq->number().value);
    CHECK(rig.record_address() % 8 == 0);
    CHECK_FALSE(rig.hca.transport.at(rig.record_address(), 8).empty());
    CHECK((be32(context, 0xac) >> 24 & 7) == 0);
    CHECK(rig.qp->number() == abi::Qpn{0x1150});
}

TEST_CASE("a queue pair without receives says so", "[unit][mlx][qp]") {
    Rig rig({.max_receive = 0});

    CHECK((be32(Rig::qpc(*rig.hca.last(0x500)), 0xac) >> 24 & 7) == 3);
    rig.connect();
    CHECK_FALSE(rig.qp->post_receive({.sge = &rig.element, .sge_count = 1}));
}

TEST_CASE("the doorbell is the first 8 bytes of the last WQE, after the record, in alternating halves of the register",
          "[unit][mlx][qp]") {
    Rig rig;
    rig.connect();
    const SendRequest send{
        .sge = &rig.element, .sge_count = 1, .operation = SendOperation::write, .rkey = 3, .remote_address = 4};

    for (std::uint32_t i = 1; i <= 3; ++i) {
        REQUIRE(rig.qp->post_send(send));
        CHECK(rig.record(1) == i);
    }

    REQUIRE(rig.hca.doorbells.size() == 3);
    constexpr auto uar = FakeHca::uar_page * 4096;
    CHECK(rig.hca.doorbells[0].first == uar + 0x800);
    CHECK(rig.hca.doorbells[1].first == uar + 0x900);
    CHECK(rig.hca.doorbells[2].first == uar + 0x800);
    CHECK(rig.hca.doorbells[1].second.size() == 8);
    CHECK(be32(rig.hca.doorbells[1].second, 0) == 0x00000108);
    CHECK(be32(rig.hca.doorbells[1].second, 4) == 0x00115003);
}

TEST_CASE("a list of work requests is posted in order with one doorbell that names the last", "[unit][mlx][qp]") {
    Rig rig;
    rig.connect();
    std::array<SendRequest, 10> list;
    for (std::size_t i = 0; i < list.size(); ++i)
        list[i] = {.wr_id = i,
                   .next = i + 1 < list.size() ? &list[i + 1] : nullptr,
                   .sge = &rig.element,
                   .sge_count = 1,
                   .operation = SendOperation::write};

    REQUIRE(rig.qp->post_send(list.data()));

    CHECK(rig.record(1) == 10);
    REQUIRE(rig.hca.doorbells.size() == 1);
    CHECK(be32(rig.hca.doorbells[0].second, 0) == (9u << 8 | 8));
}

TEST_CASE("a list that does not fit is posted as far as it does, and the rest is named", "[unit][mlx][qp]") {
    Rig rig({.max_send = 4});
    rig.connect();
    std::array<SendRequest, 6> list;
    for (std::size_t i = 0; i < list.size(); ++i)
        list[i] = {.wr_id = i,
                   .next = i + 1 < list.size() ? &list[i + 1] : nullptr,
                   .sge = &rig.element,
                   .sge_count = 1,
                   .operation = SendOperation::write};
    const SendRequest* bad = nullptr;

    const auto refused = rig.qp->post_send(list.data(), &bad);

    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ENOMEM);
    CHECK(bad == &list[4]);
    CHECK(rig.record(1) == 4);
    REQUIRE(rig.hca.doorbells.size() == 1);
    CHECK(be32(rig.hca.doorbells[0].second, 0) == (3u << 8 | 8));
}

TEST_CASE("a request that breaks what was agreed is refused and nothing is rung", "[unit][mlx][qp]") {
    Rig rig({.max_send_sge = 2, .max_inline = 20});
    const std::array<Sge, 3> elements{rig.element, rig.element, rig.element};
    const auto code = [&](const SendRequest& request) {
        const auto refused = rig.qp->post_send(request);
        return refused ? 0 : refused.error().code;
    };
    CHECK(code({.sge = &rig.element, .sge_count = 1}) == EINVAL); // still in RST
    rig.connect();

    CHECK(code({.sge = elements.data(), .sge_count = 3}) == EINVAL);
    const std::array<std::byte, 64> data{};
    const Sge own{.address = reinterpret_cast<std::uintptr_t>(data.data()), .length = 21};
    CHECK(code({.sge = &own, .sge_count = 1, .flags = send_flag::inline_data}) == EINVAL);
    CHECK(code({.sge = &own, .sge_count = 1, .operation = SendOperation::read, .flags = send_flag::inline_data}) ==
          EINVAL);
    CHECK(code({.operation = static_cast<SendOperation>(99)}) == EINVAL);
    CHECK(rig.hca.doorbells.empty());
    CHECK(rig.record(1) == 0);
    CHECK(code({.sge = elements.data(), .sge_count = 2}) == 0);
}

TEST_CASE("the doorbell can be rung in two stores, or with the whole WQE", "[unit][mlx][qp]") {
    for (const auto style : {DoorbellStyle::two_stores, DoorbellStyle::blueflame}) {
        Rig rig({.doorbell = style});
        rig.connect();
        REQUIRE(
            rig.qp->post_send({.sge = &rig.element, .sge_count = 1, .operation = SendOperation::write, .rkey = 0xabc}));

        Bytes rung;
        std::uint64_t at = FakeHca::uar_page * 4096 + 0x800;
        for (const auto& [offset, bytes] : rig.hca.doorbells) {
            CHECK(offset == at);
            at += bytes.size();
            rung.insert(rung.end(), bytes.begin(), bytes.end());
        }
        REQUIRE(rung.size() == (style == DoorbellStyle::two_stores ? 8u : 64u));
        CHECK(be32(rung, 0) == 0x00000008);
        CHECK(be32(rung, 4) == 0x00115003);
        if (style == DoorbellStyle::blueflame)
            CHECK(be32(rung, 24) == 0xabc);
    }
}

TEST_CASE("work requests are made before the record says that they are there", "[unit][mlx][qp]") {
    Rig rig({.max_send_sge = 1});
    rig.connect();
    std::vector<std::pair<std::size_t, std::uint32_t>> spent; // how many, and the record of that side then
    unsigned side = 1;
    rig.hca.transport.on_spend = [&](sw::transport::Work work, std::size_t count) {
        CHECK(work == sw::transport::Work::post);
        spent.emplace_back(count, rig.record(side));
    };
    const SendRequest last{.sge = &rig.element, .sge_count = 1, .operation = SendOperation::write};
    auto first = last;
    first.next = &last;
    REQUIRE(rig.qp->post_send(&first));
    REQUIRE(rig.qp->post_send(last));
    const std::array<std::byte, 48> segments{};
    REQUIRE(rig.qp->post_segments(7, abi::prm::WqeOpcode::umr, 0, segments));
    CHECK(spent == std::vector<std::pair<std::size_t, std::uint32_t>>{{2, 0}, {1, 2}, {1, 3}});

    spent.clear();
    side = 0;
    REQUIRE(rig.qp->post_receive({.sge = &rig.element, .sge_count = 1}));
    CHECK(spent == std::vector<std::pair<std::size_t, std::uint32_t>>{{1, 0}});
    CHECK(rig.record(0) == 1);
}

TEST_CASE("receives count modulo 2^16 in the record and fill the ring once", "[unit][mlx][qp]") {
    Rig rig({.max_receive = 8});
    rig.connect();
    std::array<ReceiveRequest, 9> list;
    for (std::size_t i = 0; i < list.size(); ++i)
        list[i] = {
            .wr_id = i, .next = i + 1 < list.size() ? &list[i + 1] : nullptr, .sge = &rig.element, .sge_count = 1};
    const ReceiveRequest* bad = nullptr;

    CHECK_FALSE(rig.qp->post_receive(list.data(), &bad));

    CHECK(bad == &list[8]);
    CHECK(rig.record(0) == 8);
    CHECK(rig.hca.doorbells.empty()); // the record is all a receive needs
}

TEST_CASE("sizes the device does not have are refused with its limit", "[unit][mlx][qp]") {
    Rig rig;
    const auto commands = rig.hca.commands.size();
    for (const auto& options :
         {QpOptions{.max_send = 40'000}, QpOptions{.max_send = 0}, QpOptions{.max_receive = 40'000},
          QpOptions{.max_send_sge = 62}, QpOptions{.max_receive_sge = 33}, QpOptions{.max_inline = 1024},
          QpOptions{.max_send = 20'000, .max_send_sge = 2}}) {
        const auto refused = rig.create(options);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == EINVAL);
    }
    CHECK(rig.hca.commands.size() == commands);
    CHECK(rig.create({.max_send_sge = 61}));
    CHECK(rig.create({.max_inline = 984}));
}

TEST_CASE("connecting on Ethernet takes a queue pair from RST to RTS with the peer's address", "[unit][mlx][qp]") {
    Rig rig;
    Peer peer{.path = {.remote_gid = gid_of_ipv4(0x0a000002),
                       .source_gid_index = 3,
                       .hop_limit = 9,
                       .traffic_class = 0x68,
                       .remote_mac = mac_of(0x0200aabbccdd),
                       .udp_source_port = 0xd00d,
                       .service_level = 5},
              .qpn = abi::Qpn{0xabcdef},
              .psn = abi::Psn{0x654321}};
    rig.connect(peer);

    const auto init = Rig::qpc(*rig.hca.last(0x502)), rtr = Rig::qpc(*rig.hca.last(0x503)),
               rts = Rig::qpc(*rig.hca.last(0x504));
    CHECK(be32(rig.hca.last(0x502)->in, 8) == rig.qp->number().value);
    CHECK((be32(init, 0x18 + 0x24) >> 16 & 0xff) == 1); // port
    CHECK((be32(init, 0x90) & 0xe000) == 0xe000);       // READ, WRITE and atomics from the peer
    CHECK((be32(init, 0x90) >> 16 & 0xf) == 1);
    CHECK(be32(rtr, 0x08) >> 24 == (5u << 5 | 30)); // MTU 4096, messages up to 2^30
    CHECK((be32(rtr, 0x14) & 0xffffff) == 0xabcdef);
    CHECK((be32(rtr, 0x94) & 0xffffff) == 0x654321);
    CHECK(be32(rtr, 0x94) >> 24 == 12);
    CHECK((be32(rtr, 0x90) >> 21 & 7) == 4); // 16 READs
    const auto path = rtr.subspan(0x18);
    CHECK(be32(path, 0x08) == (3u << 16 | 9));
    CHECK((be32(path, 0x0c) >> 20 & 0xff) == 0x68);
    CHECK(be64(path, 0x10) == 0);
    CHECK(be64(path, 0x18) == 0x0000ffff0a000002);
    CHECK(be32(path, 0x20) == (0x1au << 16 | 0xd00d));         // DSCP, UDP source port
    CHECK(be32(path, 0x24) == (5u << 28 | 1u << 16 | 0x0200)); // priority, port, MAC
    CHECK(be32(path, 0x28) == 0xaabbccdd);
    CHECK((be32(rts, 0x78) & 0xffffff) == 0x123456);
    CHECK(be32(rts, 0x18 + 0x08) >> 27 == 14);
    CHECK((be32(rts, 0x70) >> 21 & 7) == 4);
    CHECK((be32(rts, 0x70) >> 13 & 0x3f) == (7u << 3 | 7));
    CHECK(rig.qp->state() == QpState::rts);
    CHECK(rig.hca.complaints.empty());
}

TEST_CASE("connecting on InfiniBand uses the LID, and the GID only with a GRH", "[unit][mlx][qp]") {
    Rig rig({}, false);
    Peer peer{.path = {.is_ethernet = false,
                       .remote_gid = gid_of(0xfe80ull << 48, 7),
                       .remote_lid = 0x42,
                       .service_level = 3},
              .qpn = abi::Qpn{1}};
    rig.connect(peer);

    const auto path = Rig::qpc(*rig.hca.last(0x503)).subspan(0x18);
    CHECK(be32(path, 0x04) == 0x42);
    CHECK(be64(path, 0x18) == 0);
    CHECK(be32(path, 0x24) == (3u << 24 | 1u << 16));
    CHECK(be32(path, 0x28) == 0);

    peer.path.has_grh = true;
    REQUIRE(rig.qp->modify(QpState::rst));
    rig.connect(peer);
    const auto with_grh = Rig::qpc(*rig.hca.last(0x503)).subspan(0x18);
    CHECK(be32(with_grh, 0x04) == (1u << 23 | 0x42));
    CHECK(be64(with_grh, 0x10) == 0xfe80ull << 48);
    CHECK(be64(with_grh, 0x18) == 7);
}

TEST_CASE("optional attributes are named in the mask where the transition takes them", "[unit][mlx][qp]") {
    Rig rig;
    rig.connect();
    CHECK(be32(rig.hca.last(0x502)->in, 0x10) == 0); // mandatory in RST to INIT
    CHECK(be32(rig.hca.last(0x503)->in, 0x10) == 0);

    QpAttributes attributes;
    attributes.access = Access::remote_read;
    attributes.min_rnr_timer = 3;
    REQUIRE(rig.qp->modify(QpState::rts, attributes));

    CHECK(be32(rig.hca.last(0x505)->in, 0x10) == (0xeu | 1u << 6));
    CHECK((be32(Rig::qpc(*rig.hca.last(0x505)), 0x90) & 0xe000) == 0x8000);
}

TEST_CASE("transitions without a command, or without what they need, are refused before the device is asked",
          "[unit][mlx][qp]") {
    Rig rig;
    const auto commands = rig.hca.commands.size();

    const auto skipped = rig.qp->modify(QpState::rts);
    const auto bare = rig.qp->modify(QpState::init);

    REQUIRE_FALSE(skipped);
    CHECK(skipped.error().what.find("RST to RTS") != std::string::npos);
    REQUIRE_FALSE(bare);
    CHECK(bare.error().what.find("without port") != std::string::npos);
    CHECK(rig.hca.commands.size() == commands);
}

TEST_CASE("a refused transition leaves the state as it was", "[unit][mlx][qp]") {
    Rig rig;
    rig.hca.refusals[0x502] = {0x10, 0x1234};
    QpAttributes init;
    init.port = 1;

    const auto refused = rig.qp->modify(QpState::init, init);

    REQUIRE_FALSE(refused);
    CHECK(refused.error().what.find("QP 0x1150") != std::string::npos);
    CHECK(refused.error().what.find("bad QP state") != std::string::npos);
    CHECK(rig.qp->state() == QpState::rst);
}

TEST_CASE("back in RST a queue pair starts from the beginning of its rings", "[unit][mlx][qp]") {
    Rig rig({.max_send = 4, .max_receive = 4});
    rig.connect();
    for (int i = 0; i < 4; ++i) {
        REQUIRE(rig.qp->post_send({.sge = &rig.element, .sge_count = 1}));
        REQUIRE(rig.qp->post_receive({.sge = &rig.element, .sge_count = 1}));
    }

    REQUIRE(rig.qp->modify(QpState::rst));
    CHECK(rig.record(0) == 0);
    CHECK(rig.record(1) == 0);
    rig.connect();
    for (int i = 0; i < 4; ++i) {
        CHECK(rig.qp->post_send({.sge = &rig.element, .sge_count = 1}));
        CHECK(rig.qp->post_receive({.sge = &rig.element, .sge_count = 1}));
    }
    CHECK(rig.record(1) == 4);
}

TEST_CASE("a query gives the device's context, and the state follows it", "[unit][mlx][qp]") {
    Rig rig;
    rig.connect();
    rig.hca.answers[0x50b] = [](auto, auto out) {
        testbench::put32(out, 0x18, 6u << 28);
        testbench::put32(out, 0x18 + 0x78, 0x777);
    };

    const auto context = rig.qp->query();

    REQUIRE(context);
    CHECK(context->view().get<"next_send_psn">() == 0x777);
    CHECK(rig.qp->state() == QpState::err);
    CHECK(rig.qp->post_send({.sge = &rig.element, .sge_count = 1})); // to be flushed
}

TEST_CASE("a queue pair goes through RST before it is destroyed, and its memory stays if the device keeps it",
          "[unit][mlx][qp]") {
    Rig rig;
    rig.connect();
    rig.hca.commands.clear();
    REQUIRE(rig.qp->destroy());
    CHECK(rig.hca.opcodes() == std::vector<std::uint16_t>{0x50a, 0x501});

    auto kept = rig.create({});
    REQUIRE(kept);
    const auto buffer = rig.buffer();
    rig.hca.refusals[0x501] = {0x6, 0};
    kept->reset();
    CHECK_FALSE(rig.hca.transport.at(buffer, 64).empty());
    CHECK(rig.context->device().qps().find(0x1151) == nullptr);
}
