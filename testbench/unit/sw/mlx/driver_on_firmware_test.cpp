// The driver stack on the firmware and the core, without a bus in between: bring-up, one WRITE with its event,
// teardown.
#include "sw/mlx/verbs.h"
#include "testbench/harness/direct_hosts.h"
#include "testbench/harness/must.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>

using namespace harness;
using sw::mlx::Completion;
using sw::mlx::CompletionStatus;
using sw::mlx::Context;
using sw::mlx::DoorbellStyle;
using sw::mlx::SendOperation;

namespace {

/// What one program has on one host.
struct Side {
    explicit Side(DirectHost& on, std::uint32_t ipv4, sw::mlx::QpOptions options = {})
        : host(on), context(must(Context::open(on))), pd(must(context->alloc_pd())),
          cq(must(context->create_cq({.entries = 64}))), buffer(must(context->allocate(1 << 20))),
          region(must(context->reg_mr(pd, buffer, sw::mlx::all_access))) {
        options.pd = pd;
        options.send_cq = options.receive_cq = cq.get();
        qp = must(context->create_qp(options));
        const auto gid = sw::mlx::gid_of_ipv4(ipv4);
        const auto mac = must(context->query_port()).mac;
        must(context->set_roce_address(0, {.gid = gid, .mac = mac}));
        peer = {.path = {.remote_gid = gid, .remote_mac = mac},
                .qpn = qp->number(),
                .psn = abi::Psn{77},
                .reads = context->reads_answered()};
    }
    void close() {
        must(qp->destroy());
        must(cq->destroy());
        must(region.destroy());
        must(context->dealloc_pd(pd));
        must(context->close());
    }
    /// The next completion; fails when none comes within a second.
    Completion wait() {
        Completion completion;
        const auto deadline = host.now() + 1s;
        while (cq->poll({&completion, 1}) == 0) {
            REQUIRE(host.now() < deadline);
            host.relax();
        }
        return completion;
    }
    DirectHost& host;
    std::unique_ptr<Context> context;
    abi::Pd pd;
    std::unique_ptr<sw::mlx::CompletionQueue> cq;
    sw::memory::Buffer buffer;
    sw::mlx::MemoryRegion region;
    std::unique_ptr<sw::mlx::QueuePair> qp;
    sw::mlx::Peer peer{};
};

/// Two programs, connected; the left one sends.
struct Pair : DirectHosts {
    Side left, right;
    explicit Pair(const sw::mlx::QpOptions& options = {}, const model::hca::HcaConfig& config = HcaPair::untimed())
        : DirectHosts(config), left(a, 0x0a000001, options), right(b, 0x0a000002, options) {
        connect();
    }
    void connect() {
        must(left.context->connect(*left.qp, right.peer, abi::Psn{77}));
        must(right.context->connect(*right.qp, left.peer, abi::Psn{77}));
    }
    void post(SendOperation operation = SendOperation::write, std::uint32_t bytes = 8) {
        const sw::mlx::Sge sge{left.region.iova().value, bytes, left.region.lkey()};
        must(left.qp->post_send({.wr_id = 5,
                                 .sge = &sge,
                                 .sge_count = 1,
                                 .operation = operation,
                                 .flags = sw::mlx::send_flag::signaled,
                                 .rkey = right.region.rkey(),
                                 .remote_address = right.region.iova().value}));
    }
};

} // namespace

TEST_CASE("driver, firmware and core move a WRITE, report it by event and part without a refusal", "[unit][direct]") {
    Pair pair;
    auto &left = pair.left, &right = pair.right;
    for (std::size_t i = 0; i < 1000; ++i)
        left.buffer.bytes()[i] = static_cast<std::byte>(i * 7);

    left.cq->request_notification();
    pair.post(SendOperation::write, 1000);

    CHECK(left.context->get_cq_event(10ms) == left.cq.get());
    std::array<Completion, 4> completions;
    REQUIRE(left.cq->poll(completions) == 1);
    CHECK(completions[0].wr_id == 5);
    CHECK(completions[0].status == CompletionStatus::success);
    CHECK(std::equal(left.buffer.bytes().begin(), left.buffer.bytes().begin() + 1000, right.buffer.bytes().begin()));
    CHECK(right.buffer.bytes()[1000] == std::byte{});
    left.close();
    right.close();
    for (const auto& command : pair.log.all<traces::CommandExecuted>())
        CHECK(command.status == 0);
}

TEST_CASE("a device is brought up and taken down twice, and nothing of it stays in the host's memory",
          "[unit][direct]") {
    DirectHosts hosts;
    const auto& config = hosts.a.device.hca().config();
    for (int round = 0; round < 2; ++round) {
        auto context = must(Context::open(hosts.a));
        auto& device = context->device();
        CHECK(device.issi() == 1);
        CHECK(device.pages().held() >= config.boot_pages + config.init_pages);
        CHECK(device.capabilities().get<"log_max_qp">() == config.log_max_qp);
        CHECK(must(context->query_port()).node_guid == config.node_guid);
        CHECK(device.commands().recovered() == 0);
        CHECK(device.unexpected_events() == 0);

        must(context->close());
        context.reset();

        CHECK(hosts.a.live_allocations == 0);
    }
}

TEST_CASE("commands are signed and their answers checked where driver and firmware agreed on it", "[unit][direct]") {
    DirectHosts hosts;

    auto context = must(Context::open(hosts.a, {.command = {.signatures = true}}));

    CHECK(context->device().capabilities().get<"cmdif_checksum">() != 0);
    must(context->dealloc_pd(must(context->alloc_pd())));
    must(context->close());
}

TEST_CASE("a device that answers by polling alone is driven so", "[unit][direct]") {
    DirectHosts hosts;

    auto context = must(Context::open(hosts.a, {.command_events = false, .completion_vectors = 0}));

    CHECK_FALSE(context->device().commands().uses_events());
    must(context->dealloc_pd(must(context->alloc_pd())));
    must(context->close());
}

TEST_CASE("event queues are no larger than the device has them, and do not overrun for being small", "[unit][direct]") {
    auto config = HcaPair::untimed();
    config.log_max_eq_size = 4;
    DirectHosts hosts(config);

    auto context = must(Context::open(hosts.a));
    for (int i = 0; i < 100; ++i) // an event of the command queue each
        must(context->dealloc_pd(must(context->alloc_pd())));

    CHECK(context->device().commands().uses_events());
    CHECK(context->device().commands().recovered() == 0);
    must(context->close());
}

TEST_CASE("no more READs are under way than the peer answers at once", "[unit][direct]") {
    auto config = HcaPair::untimed();
    config.log_max_read_requester = 4;
    config.log_max_read_responder = 1;
    Pair pair({}, config);
    CHECK(pair.left.peer.reads == 2);

    const sw::mlx::Sge sge{pair.left.region.iova().value, 8, pair.left.region.lkey()};
    std::array<sw::mlx::SendRequest, 8> reads;
    for (std::size_t i = 0; i < reads.size(); ++i)
        reads[i] = {.next = i + 1 < reads.size() ? &reads[i + 1] : nullptr,
                    .sge = &sge,
                    .sge_count = 1,
                    .operation = SendOperation::read,
                    .flags = sw::mlx::send_flag::signaled,
                    .rkey = pair.right.region.rkey(),
                    .remote_address = pair.right.region.iova().value};
    must(pair.left.qp->post_send(reads.data()));

    for (std::size_t i = 0; i < reads.size(); ++i)
        CHECK(pair.left.wait().status == CompletionStatus::success);
}

TEST_CASE("every way to ring the send doorbell says the same", "[unit][direct]") {
    const auto style = GENERATE(DoorbellStyle::one_store, DoorbellStyle::two_stores, DoorbellStyle::blueflame);
    Pair pair({.max_send = 16, .doorbell = style});

    for (int i = 0; i < 50; ++i) { // three laps
        pair.post();
        REQUIRE(pair.left.wait().status == CompletionStatus::success);
    }

    Completion more;
    CHECK(pair.left.cq->poll({&more, 1}) == 0);
}

TEST_CASE("a work request of several blocks goes whole with its doorbell, also where it wraps", "[unit][direct]") {
    Pair pair({.max_send = 5, .max_send_sge = 1, .max_inline = 150, .doorbell = DoorbellStyle::blueflame});
    auto &left = pair.left, &right = pair.right;
    std::vector<std::byte> bytes(150);
    for (std::uint32_t i = 0; i < 100; ++i) { // of one to four blocks: the ring of 16 wraps at each of their places
        const auto length = 1 + i * 37 % 150;
        for (std::uint32_t k = 0; k < length; ++k)
            bytes[k] = static_cast<std::byte>(i + k * 3);
        const sw::mlx::Sge sge{reinterpret_cast<std::uintptr_t>(bytes.data()), length, 0};
        must(left.qp->post_send({.sge = &sge,
                                 .sge_count = 1,
                                 .operation = SendOperation::write,
                                 .flags = sw::mlx::send_flag::signaled | sw::mlx::send_flag::inline_data,
                                 .rkey = right.region.rkey(),
                                 .remote_address = right.region.iova().value}));
        CAPTURE(i, length);
        REQUIRE(left.wait().status == CompletionStatus::success);
        REQUIRE(std::equal(bytes.begin(), bytes.begin() + length, right.buffer.bytes().begin()));
    }
}

TEST_CASE("a queue pair may be rung by a UAR page of its own", "[unit][direct]") {
    Pair pair;
    auto& left = pair.left;
    auto* const own = must(left.context->alloc_uar());
    CHECK(own->index() != must(left.context->alloc_uar())->index());
    left.qp = must(
        left.context->create_qp({.pd = left.pd, .send_cq = left.cq.get(), .receive_cq = left.cq.get(), .uar = own}));
    left.peer.qpn = left.qp->number();
    must(pair.right.qp->modify(abi::prm::QpState::rst));
    pair.connect();
    pair.post();
    CHECK(left.wait().status == CompletionStatus::success);
    CHECK(pair.log.all<traces::DoorbellRung>().back().uar == own->index());
    CHECK(pair.log.all<traces::DoorbellIgnored>().empty());
}

TEST_CASE("a completion wakes its waiter once for each time it was asked for", "[unit][direct]") {
    Pair pair;
    auto& left = pair.left;
    for (int round = 0; round < 5; ++round) { // the arm sequence number wraps at 4
        left.cq->request_notification();
        CHECK(left.context->get_cq_event(1ms) == nullptr);
        pair.post();
        CHECK(left.context->get_cq_event(1ms) == left.cq.get());
        CHECK(left.wait().status == CompletionStatus::success);
        pair.post(); // nobody asked
        CHECK(left.context->get_cq_event(1ms) == nullptr);
        CHECK(left.wait().status == CompletionStatus::success);
    }
    // Asked for after the completion came, but before it was polled: at once.
    pair.post();
    left.host.relax();
    left.cq->request_notification();
    CHECK(left.context->get_cq_event(1ms) == left.cq.get());
}

TEST_CASE("only a solicited message wakes who asked for solicited completions", "[unit][direct]") {
    Pair pair;
    auto &left = pair.left, &right = pair.right;
    const sw::mlx::Sge from{left.region.iova().value, 8, left.region.lkey()},
        into{right.region.iova().value, 8, right.region.lkey()};
    for (int i = 0; i < 2; ++i)
        must(right.qp->post_receive({.sge = &into, .sge_count = 1}));
    right.cq->request_notification(true);

    must(left.qp->post_send({.sge = &from, .sge_count = 1, .operation = SendOperation::send}));
    CHECK(right.context->get_cq_event(1ms) == nullptr);
    must(left.qp->post_send(
        {.sge = &from, .sge_count = 1, .operation = SendOperation::send, .flags = sw::mlx::send_flag::solicited}));

    CHECK(right.context->get_cq_event(1ms) == right.cq.get());
    CHECK_FALSE(right.wait().is_solicited);
    CHECK(right.wait().is_solicited);
}

TEST_CASE("an overrun completion queue goes to error and says so by event", "[unit][direct]") {
    Pair pair({.max_send = 128});
    for (int i = 0; i < 65; ++i)
        pair.post();
    pair.left.host.relax();

    std::optional<sw::mlx::AsyncEvent> event;
    while ((event = pair.left.context->get_async_event(1ms)) && event->type != abi::prm::EventType::cq_error)
        ;

    REQUIRE(event);
    CHECK(event->number == pair.left.cq->number().value);
    CHECK(event->detail == 1);
}

TEST_CASE("Q counters count what came to their queue pair and start again when cleared", "[unit][direct]") {
    DirectHosts hosts;
    Side left(hosts.a, 0x0a000001), right(hosts.b, 0x0a000002);
    const auto set = must(right.context->alloc_q_counter());
    must(right.qp->destroy());
    right.qp = must(right.context->create_qp(
        {.pd = right.pd, .send_cq = right.cq.get(), .receive_cq = right.cq.get(), .counter_set = set}));
    right.peer.qpn = right.qp->number();
    must(left.context->connect(*left.qp, right.peer, abi::Psn{77}));
    must(right.context->connect(*right.qp, left.peer, abi::Psn{77}));
    const sw::mlx::Sge sge{left.region.iova().value, 8, left.region.lkey()};
    for (const auto operation : {SendOperation::write, SendOperation::write, SendOperation::read}) {
        must(left.qp->post_send({.sge = &sge,
                                 .sge_count = 1,
                                 .operation = operation,
                                 .flags = sw::mlx::send_flag::signaled,
                                 .rkey = right.region.rkey(),
                                 .remote_address = right.region.iova().value}));
        CHECK(left.wait().status == CompletionStatus::success);
    }

    const auto counters = must(right.context->query_q_counter(set, true));

    CHECK(counters.view().get<"rx_write_requests">() == 2);
    CHECK(counters.view().get<"rx_read_requests">() == 1);
    CHECK(must(right.context->query_q_counter(set)).view().get<"rx_write_requests">() == 0);
    must(right.qp->destroy());
    must(right.context->dealloc_q_counter(set));
}

TEST_CASE("an object in use is not destroyed, and the error says whose refusal it was", "[unit][direct]") {
    Pair pair;

    const auto cq = pair.left.cq->destroy();
    const auto pd = pair.left.context->dealloc_pd(pair.left.pd);

    REQUIRE_FALSE(cq);
    CHECK(cq.error().code == EBUSY);
    CHECK(cq.error().what.find("DESTROY_CQ") != std::string::npos);
    REQUIRE_FALSE(pd);
    CHECK(pd.error().what.find("DEALLOC_PD") != std::string::npos);
    pair.post();
    CHECK(pair.left.wait().status == CompletionStatus::success); // it goes on working
}

TEST_CASE("a RoCE address is read back as it was set, and is gone when cleared", "[unit][direct]") {
    DirectHosts hosts;
    auto context = must(Context::open(hosts.a));
    const sw::mlx::RoceAddress address{.gid = sw::mlx::gid_of_ipv4(0xc0a80102), .mac = sw::mlx::mac_of(0x0200deadbeef)};

    must(context->set_roce_address(3, address));
    const auto set = must(sw::mlx::query_roce_address(context->device(), 3));
    must(sw::mlx::clear_roce_address(context->device(), 3));
    const auto cleared = must(sw::mlx::query_roce_address(context->device(), 3));

    CHECK(set.gid == address.gid);
    CHECK(set.mac == address.mac);
    CHECK(set.version == 2);
    CHECK(cleared.gid == sw::mlx::Gid{});
    CHECK_FALSE(context->set_roce_address(0xffff, address));
}
