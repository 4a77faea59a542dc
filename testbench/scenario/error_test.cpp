// Every error syndrome a completion can have that is not a responder's NAK (those are in refusal_test), provoked
// through the driver (PRM "Completion queue entry", syndrome; IBA 11.6.2). Memory window bind and remote aborted errors
// belong to memory windows and reliable datagrams, which this device does not have.
#include "testbench/harness/cluster.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace harness;
using abi::prm::QpState;
using sw::mlx::Completion;
using sw::mlx::CompletionStatus;
using sw::mlx::SendOperation;
using sw::mlx::SendRequest;
namespace send_flag = sw::mlx::send_flag;

namespace {

/// An address where no memory, no BAR and no interrupt controller answers.
constexpr std::uint64_t nowhere = 0x0000'7f00'0000'0000;

QpState state_of(sw::mlx::QueuePair& qp) { return must(qp.query()).view().get<"state">(); }
SendRequest request(SendOperation operation, const RegisteredMemory& remote, std::uint64_t wr_id = 1) {
    return {.wr_id = wr_id,
            .operation = operation,
            .flags = send_flag::signaled,
            .rkey = remote.rkey(),
            .remote_address = remote.address()};
}
SendRequest send(std::uint64_t wr_id = 1) {
    return {.wr_id = wr_id, .operation = SendOperation::send, .flags = send_flag::signaled};
}

/// The one completion of work request 1, its syndrome as the PRM numbers it, and A in error.
void check_failed(Side& side, sw::mlx::QueuePair& qp, CompletionStatus status, unsigned syndrome) {
    const auto done = side.sent();
    CHECK(done.wr_id == 1);
    CHECK(done.status == status);
    CHECK(done.syndrome == syndrome);
    CHECK(done.vendor_syndrome != 0); // ours: which rule was broken
    CHECK(state_of(qp) == QpState::err);
    CHECK(side.is_quiet());
}
bool is_zero(const RegisteredMemory& memory) {
    return std::ranges::all_of(memory.bytes(), [](std::byte one) { return one == std::byte{}; });
}

} // namespace

TEST_CASE("a message longer than the device allows is a local length error", "[scenario][error]") {
    auto config = Cluster::untimed();
    config.hca.log_max_message = 12;
    Cluster cluster(config);
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(4097), to = b.dram(4097);
        from->fill(1);
        const auto connection = cluster.connect();

        post(*connection.a, request(SendOperation::write, *to), {from->sge()});

        check_failed(a, *connection.a, CompletionStatus::local_length_error, 0x01);
        CHECK(cluster.events<traces::PacketSent>("A.hca").empty());
        CHECK(is_zero(*to));
    });
}

TEST_CASE("a receive that is too short completes with a local length error", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(101), to = b.dram(100);
        const auto connection = cluster.connect();
        post_receive(*connection.b, 2, {to->sge()});

        post(*connection.a, send(), {from->sge()});

        const auto received = b.received();
        CHECK(received.wr_id == 2);
        CHECK(received.syndrome == 0x01);
        CHECK(received.status == CompletionStatus::local_length_error);
        CHECK(a.sent().status == CompletionStatus::remote_invalid_request);
    });
}

TEST_CASE("memory that the bus refuses to read is a local QP operation error", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto to = b.dram(100);
        auto everywhere =
            must(sw::mlx::MemoryRegion::physical(a.context->device(), a.pd, sw::mlx::Access::local_write));
        const auto connection = cluster.connect();

        post(*connection.a, request(SendOperation::write, *to),
             {{.address = nowhere, .length = 100, .lkey = everywhere.lkey()}});

        check_failed(a, *connection.a, CompletionStatus::local_qp_operation_error, 0x02);
        CHECK(is_zero(*to));
    });
}

TEST_CASE("a local key without a region is a local protection error", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(3000), to = b.dram(3000);
        const auto connection = cluster.connect();
        auto bad = from->sge();
        bad.lkey += 0x100;

        post(*connection.a, request(SendOperation::write, *to), {bad});

        check_failed(a, *connection.a, CompletionStatus::local_protection_error, 0x04);
        CHECK(is_zero(*to));
    });
}

TEST_CASE("an element that leaves its region is a local protection error", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(3000), to = b.dram(3001);
        const auto connection = cluster.connect();
        auto bad = from->sge();
        bad.length += 1;

        post(*connection.a, request(SendOperation::write, *to), {bad});

        check_failed(a, *connection.a, CompletionStatus::local_protection_error, 0x04);
    });
}

TEST_CASE("a READ into memory without local write right is a local protection error", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto into = a.dram(100, sw::mlx::Access::none), of = b.dram(100);
        of->fill(1);
        const auto connection = cluster.connect();

        post(*connection.a, request(SendOperation::read, *of), {into->sge()});

        check_failed(a, *connection.a, CompletionStatus::local_protection_error, 0x04);
        CHECK(is_zero(*into));
    });
}

TEST_CASE("a receive of another protection domain is a local protection error", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto other = must(b.context->alloc_pd());
        {
            const auto from = a.dram(100), to = b.dram(100, {.access = sw::mlx::all_access}, other);
            from->fill(1);
            const auto connection = cluster.connect();
            post_receive(*connection.b, 2, {to->sge()});

            post(*connection.a, send(), {from->sge()});

            const auto received = b.received();
            CHECK(received.syndrome == 0x04);
            CHECK(received.status == CompletionStatus::local_protection_error);
            CHECK(a.sent().status == CompletionStatus::remote_operation_error);
            CHECK(is_zero(*to));
        }
        must(b.context->dealloc_pd(other));
    });
}

TEST_CASE("what is posted when a queue pair goes to error is flushed, and what is posted after", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(100), to = a.dram(100);
        const auto [qa, qb] = cluster.connect();
        for (const std::uint64_t wr_id : {10, 11, 12})
            post_receive(*qa, wr_id, {to->sge()});
        for (const std::uint64_t wr_id : {1, 2}) // no receive at B: they stay under way
            post(*qa, send(wr_id), {from->sge()});

        must(qa->modify(QpState::err));
        post(*qa, send(3), {from->sge()});
        post_receive(*qa, 13, {to->sge()});

        const auto check_flushed = [](const std::vector<Completion>& all, std::uint64_t first, std::size_t count) {
            REQUIRE(all.size() == count);
            for (std::size_t i = 0; i < count; ++i) {
                CHECK(all[i].wr_id == first + i);
                CHECK(all[i].status == CompletionStatus::flushed);
                CHECK(all[i].syndrome == 0x05);
            }
        };
        check_flushed(a.wait(*a.send_cq, 3), 1, 3);
        check_flushed(a.wait(*a.receive_cq, 4), 10, 4);
        CHECK(b.is_quiet());
    });
}

TEST_CASE("requests behind a failed one are flushed in order", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(100), to = b.dram(100);
        const auto [qa, qb] = cluster.connect();
        const auto element = from->sge();
        std::array<SendRequest, 4> list;
        for (std::uint64_t i = 0; i < list.size(); ++i) {
            list[i] = request(SendOperation::write, *to, i);
            list[i].sge = &element;
            list[i].sge_count = 1;
            list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
        }
        list[1].rkey ^= 1;

        must(qa->post_send(list.data()));

        const auto done = a.wait(*a.send_cq, 4);
        REQUIRE(done.size() == 4);
        CHECK(done[0].status == CompletionStatus::success);
        CHECK(done[1].status == CompletionStatus::remote_access_error);
        CHECK(done[2].status == CompletionStatus::flushed);
        CHECK(done[3].status == CompletionStatus::flushed);
        for (std::uint64_t i = 0; i < list.size(); ++i)
            CHECK(done[i].wr_id == i);
        CHECK(b.event().type == abi::prm::EventType::wq_access_error);
    });
}

TEST_CASE("a READ response of the wrong length is a bad response", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto into = a.dram(4096), of = b.dram(4096);
        of->fill(1);
        Connection connection{a.make_qp(), b.make_qp()};
        auto small = quick, large = quick;
        small.path_mtu = abi::prm::Mtu::bytes_512;
        large.path_mtu = abi::prm::Mtu::bytes_2048; // a peer that disagrees on the path MTU
        cluster.connect(connection, small, large);

        post(*connection.a, request(SendOperation::read, *of), {into->sge()});

        check_failed(a, *connection.a, CompletionStatus::bad_response, 0x10);
        CHECK(is_zero(*into));
    });
}

TEST_CASE("a receive that leads nowhere on the bus is lost, and complete on both sides", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(100);
        auto everywhere =
            must(sw::mlx::MemoryRegion::physical(b.context->device(), b.pd, sw::mlx::Access::local_write));
        const auto connection = cluster.connect();
        post_receive(*connection.b, 2, {{.address = nowhere, .length = 100, .lkey = everywhere.lkey()}});

        post(*connection.a, send(), {from->sge()});

        const auto received = b.received();
        CHECK(received.wr_id == 2);
        CHECK(received.status == CompletionStatus::success); // posted writes have no completion
        CHECK(received.byte_count == 100);
        CHECK(a.sent().status == CompletionStatus::success);
        const auto lost = cluster.events<traces::WriteLost>("B.hca.pcie");
        REQUIRE(lost.size() == 1);
        CHECK(lost[0].address == nowhere);
        CHECK(lost[0].length == 100);
        CHECK(lost[0].status == static_cast<std::uint8_t>(model::port::DmaStatus::unsupported_request));
    });
}

TEST_CASE("a peer that never answers ends in a transport retry error", "[scenario][error]") {
    auto config = Cluster::untimed();
    config.link.loss = 1;
    Cluster cluster(config);
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(100), to = b.dram(100);
        auto options = quick;
        options.retry_count = 3;
        const auto connection = cluster.connect(options);
        const auto begin = a.hca_function->now();

        post(*connection.a, request(SendOperation::write, *to), {from->sge()});

        check_failed(a, *connection.a, CompletionStatus::transport_retry_exceeded, 0x15);
        const auto timeout = std::chrono::nanoseconds{4096} * (1 << quick.ack_timeout);
        CHECK(a.hca_function->now() - begin >= 4 * timeout);
        CHECK(a.hca_function->now() - begin < 5 * timeout);
        CHECK(cluster.events<traces::PacketSent>("A.hca").size() == 4);
        CHECK(cluster.events<traces::Retried>("A.hca").size() == 3);
        CHECK(is_zero(*to));
    });
}

TEST_CASE("a peer whose queue pair is gone ends in a transport retry error", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(100), to = b.dram(100);
        auto options = quick;
        options.retry_count = 1;
        auto connection = cluster.connect(options);
        connection.b.reset();

        post(*connection.a, request(SendOperation::write, *to), {from->sge()});

        check_failed(a, *connection.a, CompletionStatus::transport_retry_exceeded, 0x15);
        CHECK(cluster.events<traces::PacketDropped>("B.hca").size() == 2);
        CHECK(is_zero(*to));
    });
}

TEST_CASE("a receiver that stays not ready ends in an RNR retry error", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(100);
        auto options = quick;
        options.rnr_retry = 2;
        const auto connection = cluster.connect(options);

        post(*connection.a, send(), {from->sge()});

        check_failed(a, *connection.a, CompletionStatus::rnr_retry_exceeded, 0x16);
        CHECK(cluster.events<traces::Naked>("B.hca").size() == 3);
        CHECK(b.is_quiet());
    });
}

TEST_CASE("after an error a queue pair works again by way of RST", "[scenario][error]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(3000), to = b.dram(3000);
        from->fill(1);
        auto connection = cluster.connect();
        auto bad = request(SendOperation::write, *to);
        bad.rkey ^= 1;
        post(*connection.a, bad, {from->sge()});
        CHECK(a.sent().status == CompletionStatus::remote_access_error);
        CHECK(b.event().type == abi::prm::EventType::wq_access_error);

        must(connection.a->modify(QpState::rst));
        must(connection.b->modify(QpState::rst));
        cluster.connect(connection, quick, quick);
        post(*connection.a, request(SendOperation::write, *to, 2), {from->sge()});

        CHECK(a.sent().status == CompletionStatus::success);
        CHECK(std::ranges::equal(from->bytes(), to->bytes()));
    });
}
