// Coming and going: bring-up and teardown, objects in use, keys taken away under traffic, function-level reset and a
// lost bus master bit with messages under way.
#include "testbench/harness/cluster.h"
#include "testbench/harness/function_reset.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>

using namespace harness;
using namespace std::chrono_literals;
using abi::prm::EventType;
using abi::prm::QpState;
using sw::mlx::CompletionStatus;
using sw::mlx::SendOperation;
namespace send_flag = sw::mlx::send_flag;

namespace {

platform::topology::Config timed() { return {}; }

void write(sw::mlx::QueuePair& qp, const RegisteredMemory& from, const RegisteredMemory& to, std::uint64_t wr_id = 1) {
    post(qp,
         {.wr_id = wr_id,
          .operation = SendOperation::write,
          .flags = send_flag::signaled,
          .rkey = to.rkey(),
          .remote_address = to.address()},
         {from.sge()});
}
void read(sw::mlx::QueuePair& qp, const RegisteredMemory& into, const RegisteredMemory& of, std::uint64_t wr_id = 1) {
    post(qp,
         {.wr_id = wr_id,
          .operation = SendOperation::read,
          .flags = send_flag::signaled,
          .rkey = of.rkey(),
          .remote_address = of.address()},
         {into.sge()});
}

/// One WRITE each way on a new connection, looked at.
void check_traffic(Cluster& cluster, Side& a, Side& b) {
    const auto one = a.vram(3000), two = b.vram(3000), three = a.dram(3000);
    one->fill(1);
    const auto [qa, qb] = cluster.connect();
    write(*qa, *one, *two);
    CHECK(a.sent().status == CompletionStatus::success);
    write(*qb, *two, *three);
    CHECK(b.sent().status == CompletionStatus::success);
    CHECK(std::ranges::equal(one->bytes(), three->bytes()));
}

constexpr std::uint16_t command_register = 4;
constexpr std::uint32_t bus_master = 1u << 2;

} // namespace

TEST_CASE("a device is brought up, used and taken down three times on one platform", "[scenario][lifecycle]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        for (unsigned round = 0; round < 3; ++round) {
            INFO("round " << round);
            check_traffic(cluster, a, b);
            for (auto* side : {&a, &b}) {
                side->close();
                CHECK(side->firmware().state().phase() == firmware::Phase::disabled);
                side->open();
            }
        }
        check_traffic(cluster, a, b);
    });
}

TEST_CASE("a device works with polled commands and with signed ones", "[scenario][lifecycle]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        a.close();
        b.close();
        a.open({.command_events = false});
        b.open({.command = {.signatures = true}});
        check_traffic(cluster, a, b);
    });
}

TEST_CASE("a device without event queues of its own for completions uses the asynchronous one",
          "[scenario][lifecycle]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        a.close();
        a.open({.completion_vectors = 0});
        const auto from = a.dram(64), to = b.dram(64);
        const auto [qa, qb] = cluster.connect();
        a.send_cq->request_notification();

        write(*qa, *from, *to);

        CHECK(a.context->get_cq_event(10us) == a.send_cq.get());
        CHECK(a.sent().status == CompletionStatus::success);
    });
}

TEST_CASE("what is in use cannot be taken away", "[scenario][lifecycle]") {
    Cluster cluster;
    cluster.expects_refusals = true;
    cluster.run([&](Side& a, Side& b) {
        const auto pd = must(a.context->alloc_pd());
        const auto cq = must(a.context->create_cq({.entries = 16}));
        {
            const auto memory = a.dram(64, {.access = sw::mlx::all_access}, pd);
            const auto refused = a.context->dealloc_pd(pd);
            REQUIRE_FALSE(refused);
            CHECK(refused.error().code == EBUSY);
        }
        {
            const auto from = b.dram(64);
            const auto connection = cluster.connect(quick, {.pd = pd, .send_cq = cq.get()});
            CHECK(a.context->dealloc_pd(pd).error().code == EBUSY);
            CHECK(cq->destroy().error().code == EBUSY);
            CHECK(must(connection.a->query()).view().get<"state">() == QpState::rts);
        }
        must(cq->destroy());
        must(a.context->dealloc_pd(pd));
    });
}

TEST_CASE("a region taken away under a WRITE stops it with a remote access error", "[scenario][lifecycle]") {
    Cluster cluster(timed());
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t length = 8 << 20; // some 700 us on the cable
        const auto from = a.vram(length), to = b.vram(length);
        from->fill(1);
        const auto [qa, qb] = cluster.connect();

        write(*qa, *from, *to);
        cluster.let(100us);
        must(to->deregister());
        const std::vector<std::byte> before(to->bytes().begin(), to->bytes().end());

        CHECK(a.sent().status == CompletionStatus::remote_access_error);
        const auto event = b.event();
        CHECK(event.type == EventType::wq_access_error);
        CHECK(event.number == qb->number().value);
        CHECK(std::ranges::equal(before, to->bytes())); // not a byte after the command was done
        CHECK(std::ranges::equal(to->bytes(0, 4096), from->bytes(0, 4096)));
        CHECK_FALSE(std::ranges::equal(to->bytes(), from->bytes()));
    });
}

TEST_CASE("a region taken away under a READ stops it with an error", "[scenario][lifecycle]") {
    Cluster cluster(timed());
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t length = 8 << 20;
        const auto into = a.vram(length), of = b.vram(length);
        of->fill(1);
        const auto [qa, qb] = cluster.connect();

        read(*qa, *into, *of);
        cluster.let(100us);
        must(of->deregister());

        const auto done = a.sent();
        CHECK((done.status == CompletionStatus::remote_operation_error ||
               done.status == CompletionStatus::remote_access_error));
        CHECK(b.event().number == qb->number().value);
        CHECK_FALSE(std::ranges::equal(into->bytes(), of->bytes()));
    });
}

TEST_CASE("a region taken away under its own WRITE is a local protection error", "[scenario][lifecycle]") {
    Cluster cluster(timed());
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t length = 8 << 20;
        const auto from = a.vram(length), to = b.vram(length);
        const auto [qa, qb] = cluster.connect();

        write(*qa, *from, *to);
        cluster.let(100us);
        must(from->deregister());

        CHECK(a.sent().status == CompletionStatus::local_protection_error);
    });
}

TEST_CASE("a queue pair destroyed under traffic leaves its peer a retry error and nothing else",
          "[scenario][lifecycle]") {
    Cluster cluster(timed());
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t length = 8 << 20;
        const auto from = a.vram(length), to = b.vram(length);
        auto options = quick;
        options.retry_count = 2;
        auto connection = cluster.connect(options);

        write(*connection.a, *from, *to);
        cluster.let(100us);
        must(connection.b->destroy());

        CHECK(a.sent().status == CompletionStatus::transport_retry_exceeded);
        check_traffic(cluster, a, b);
    });
}

TEST_CASE("after a function-level reset under traffic the driver starts anew and the peer gives up",
          "[scenario][lifecycle]") {
    Cluster cluster(timed());
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t length = 8 << 20;
        a.close();
        a.open({.command = {.timeout = 10ms}}); // what the driver does afterwards is never answered
        {
            const auto into = b.vram(length);
            auto from = a.vram(length);
            auto options = quick;
            options.retry_count = 2;
            auto connection = cluster.connect(options);
            const auto dram_before = a.machine.host->memory().allocated_bytes();
            write(*connection.a, *from, *into, 1);
            read(*connection.b, *into, *from, 2);
            cluster.let(100us);

            reset_function(*a.hca_function);

            CHECK(a.firmware().state().phase() == firmware::Phase::disabled);
            CHECK(a.firmware().state().hca.queue_pairs().count() == 0);
            CHECK(a.is_quiet());
            CHECK_FALSE(connection.a->query()); // the device knows of no command queue
            CHECK(b.sent().status == CompletionStatus::transport_retry_exceeded);
            connection.a.reset();
            from.reset();
            a.abandon();
            CHECK(a.machine.host->memory().allocated_bytes() < dram_before);
        }

        a.open();

        check_traffic(cluster, a, b);
    });
}

TEST_CASE("without the bus master bit a device moves nothing, and its peer hears of it", "[scenario][lifecycle]") {
    Cluster cluster(timed());
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t length = 8 << 20;
        {
            const auto from = b.vram(length);
            auto to = a.vram(length);
            from->fill(1);
            auto connection = cluster.connect();
            write(*connection.b, *from, *to);
            cluster.let(100us);

            const auto command = a.hca_function->config_read(command_register, 2);
            a.hca_function->config_write(command_register, 2, command & ~bus_master);
            const std::vector<std::byte> before(to->bytes().begin(), to->bytes().end());

            // A's writes are refused on their way to memory: what the specification calls an operational error.
            CHECK(b.sent().status == CompletionStatus::remote_operation_error);
            CHECK(std::ranges::equal(before, to->bytes()));
            CHECK_FALSE(std::ranges::equal(from->bytes(), to->bytes()));
            CHECK_FALSE(a.context->get_async_event(10us)); // no event could be written

            a.hca_function->config_write(command_register, 2, command);
            CHECK(must(connection.a->query()).view().get<"state">() == QpState::err);
        }
        check_traffic(cluster, a, b);
    });
}

TEST_CASE("without the bus master bit a doorbell does no harm", "[scenario][lifecycle]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(64), to = b.dram(64);
        from->fill(1);
        {
            const auto [qa, qb] = cluster.connect();
            const auto command = a.hca_function->config_read(command_register, 2);

            a.hca_function->config_write(command_register, 2, command & ~bus_master);
            write(*qa, *from, *to);
            cluster.let(1ms);
            a.hca_function->config_write(command_register, 2, command);

            CHECK_FALSE(std::ranges::equal(from->bytes(), to->bytes()));
            CHECK(cluster.events<traces::PacketSent>("A.hca").empty());
        }
        check_traffic(cluster, a, b);
    });
}
