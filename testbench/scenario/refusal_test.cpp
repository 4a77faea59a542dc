// What a responder refuses: each NAK code of the RC transport, with the requester's completion, the responder's event
// and completion, and the memory that must stay as it was (IBA 9.7.5.2, 9.9.2, 9.9.3).
#include "testbench/harness/cluster.h"

#include "abi/wire/infiniband.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace harness;
using abi::prm::EventType;
using abi::prm::QpState;
using sw::mlx::Access;
using sw::mlx::CompletionStatus;
using sw::mlx::SendOperation;
using sw::mlx::SendRequest;
namespace send_flag = sw::mlx::send_flag;

namespace {

// IBA 9.7.5.1, figure 57 and table 46, not taken from the model's header.
constexpr unsigned nak_sequence = 0x60, nak_invalid_request = 0x61, nak_remote_access = 0x62,
                   nak_remote_operational = 0x63;

bool is_zero(const RegisteredMemory& memory) {
    return std::ranges::all_of(memory.bytes(), [](std::byte one) { return one == std::byte{}; });
}
SendRequest request(SendOperation operation, const RegisteredMemory& remote) {
    return {.wr_id = 1,
            .operation = operation,
            .flags = send_flag::signaled,
            .rkey = remote.rkey(),
            .remote_address = remote.address()};
}
QpState state_of(sw::mlx::QueuePair& qp) { return must(qp.query()).view().get<"state">(); }

/// Syndromes of the NAKs that B has sent so far.
std::vector<unsigned> naks(Cluster& cluster) {
    std::vector<unsigned> all;
    for (const auto& nak : cluster.events<traces::Naked>("B.hca"))
        all.push_back(nak.syndrome);
    return all;
}

/// A's request was refused for good: one error completion, both queue pairs in error, and B's event where there is one.
void check_refused(Cluster& cluster, const Connection& connection, unsigned syndrome, CompletionStatus status,
                   std::optional<EventType> event) {
    const auto done = cluster.a.sent();
    CHECK(done.wr_id == 1);
    CHECK(done.status == status);
    CHECK(naks(cluster) == std::vector{syndrome});
    CHECK(state_of(*connection.a) == QpState::err);
    CHECK(state_of(*connection.b) == QpState::err);
    if (event) {
        const auto seen = cluster.b.event();
        CHECK(seen.type == *event);
        CHECK(seen.number == connection.b->number().value);
    }
    CHECK(cluster.a.is_quiet());
    CHECK(cluster.b.is_quiet());
}

/// What an rkey violation looks like: NAK, completion, event, and no byte of B's memory.
void check_remote_access(const std::function<void(SendRequest&, Side& b, RegisteredMemory& target)>& spoil,
                         std::string_view violation, SendOperation operation = SendOperation::write,
                         Access access = sw::mlx::all_access) {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t length = 3000;
        const auto from = a.dram(length), target = b.dram(length, access);
        from->fill(1);
        const auto connection = cluster.connect();
        auto bad = request(operation, *target);
        spoil(bad, b, *target);

        post(*connection.a, bad, {operation == SendOperation::fetch_add ? from->sge(0, 8) : from->sge()});

        check_refused(cluster, connection, nak_remote_access, CompletionStatus::remote_access_error,
                      EventType::wq_access_error);
        const auto refused = cluster.events<traces::Refused>("B.hca");
        REQUIRE(refused.size() == 1);
        CHECK(refused[0].violation.text() == violation);
        CHECK(is_zero(*target));
    });
}

} // namespace

TEST_CASE("a lost packet is asked for again by a sequence NAK", "[scenario][nak]") {
    auto config = Cluster::untimed();
    config.link.loss = 0.05;
    Cluster cluster(config);
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t length = 200'000;
        const auto from = a.vram(length), to = b.vram(length);
        from->fill(1);
        const auto [qa, qb] = cluster.connect();

        post(*qa, request(SendOperation::write, *to), {from->sge()});

        CHECK(a.sent().status == CompletionStatus::success);
        CHECK(std::ranges::equal(from->bytes(), to->bytes()));
        const auto all = naks(cluster);
        CHECK_FALSE(all.empty());
        CHECK(std::ranges::count(all, nak_sequence) == std::ssize(all));
        const auto retries = cluster.events<traces::Retried>("A.hca");
        CHECK(std::ranges::any_of(retries, [](const auto& retry) { return retry.reason == "sequence"; }));
        CHECK(a.is_quiet());
    });
}

TEST_CASE("a WRITE to a queue pair without the right is an invalid request", "[scenario][nak]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(100), to = b.dram(100);
        from->fill(1);
        Connection connection{a.make_qp(), b.make_qp()};
        auto no_write = quick;
        no_write.access = Access::remote_read | Access::remote_atomic;
        cluster.connect(connection, quick, no_write);

        post(*connection.a, request(SendOperation::write, *to), {from->sge()});

        check_refused(cluster, connection, nak_invalid_request, CompletionStatus::remote_invalid_request,
                      EventType::wq_invalid_request);
        CHECK(is_zero(*to));
    });
}

TEST_CASE("a READ from a queue pair without the right is an invalid request", "[scenario][nak]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto into = a.dram(100), of = b.dram(100);
        of->fill(1);
        Connection connection{a.make_qp(), b.make_qp()};
        auto no_read = quick;
        no_read.access = Access::remote_write;
        cluster.connect(connection, quick, no_read);

        post(*connection.a, request(SendOperation::read, *of), {into->sge()});

        check_refused(cluster, connection, nak_invalid_request, CompletionStatus::remote_invalid_request,
                      EventType::wq_invalid_request);
        CHECK(is_zero(*into));
    });
}

TEST_CASE("an atomic beside a multiple of 8 is an invalid request", "[scenario][nak]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto before = a.dram(8), target = b.dram(16);
        const auto connection = cluster.connect();
        auto add = request(SendOperation::fetch_add, *target);
        add.remote_address += 4;
        add.swap_or_add = 1;

        post(*connection.a, add, {before->sge()});

        check_refused(cluster, connection, nak_invalid_request, CompletionStatus::remote_invalid_request,
                      EventType::wq_invalid_request);
        CHECK(is_zero(*target));
    });
}

TEST_CASE("packets longer than the responder's MTU are an invalid request", "[scenario][nak]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(4096), to = b.dram(4096);
        from->fill(1);
        Connection connection{a.make_qp(), b.make_qp()};
        auto large = quick, small = quick;
        large.path_mtu = abi::prm::Mtu::bytes_2048;
        small.path_mtu = abi::prm::Mtu::bytes_512;
        cluster.connect(connection, large, small);

        post(*connection.a, request(SendOperation::write, *to), {from->sge()});

        check_refused(cluster, connection, nak_invalid_request, CompletionStatus::remote_invalid_request,
                      EventType::wq_invalid_request);
        CHECK(is_zero(*to));
    });
}

TEST_CASE("a SEND longer than the receive is an invalid request and a local length error", "[scenario][nak]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(3000), to = b.dram(1500);
        from->fill(1);
        const auto connection = cluster.connect();
        post_receive(*connection.b, 44, {to->sge()});

        post(*connection.a, {.wr_id = 1, .operation = SendOperation::send, .flags = send_flag::signaled},
             {from->sge()});

        const auto received = b.received();
        CHECK(received.wr_id == 44);
        CHECK(received.status == CompletionStatus::local_length_error);
        check_refused(cluster, connection, nak_invalid_request, CompletionStatus::remote_invalid_request, std::nullopt);
    });
}

TEST_CASE("a key that never was is a remote access error", "[scenario][nak]") {
    check_remote_access([](SendRequest& bad, Side&, RegisteredMemory&) { bad.rkey = 0x00ffff00; }, "no such key");
}

TEST_CASE("a key of another variant is a remote access error", "[scenario][nak]") {
    check_remote_access([](SendRequest& bad, Side&, RegisteredMemory&) { bad.rkey ^= 0x80; }, "wrong variant");
}

TEST_CASE("a key that was taken away is a remote access error", "[scenario][nak]") {
    check_remote_access([](SendRequest&, Side&, RegisteredMemory& target) { must(target.deregister()); },
                        "no such key");
}

TEST_CASE("a WRITE without the region's right is a remote access error", "[scenario][nak]") {
    check_remote_access([](SendRequest&, Side&, RegisteredMemory&) {}, "no right", SendOperation::write,
                        Access::local_write | Access::remote_read);
}

TEST_CASE("a READ without the region's right is a remote access error", "[scenario][nak]") {
    check_remote_access([](SendRequest&, Side&, RegisteredMemory&) {}, "no right", SendOperation::read,
                        Access::local_write | Access::remote_write);
}

TEST_CASE("an atomic without the region's right is a remote access error", "[scenario][nak]") {
    check_remote_access([](SendRequest&, Side&, RegisteredMemory&) {}, "no right", SendOperation::fetch_add,
                        Access::local_write | Access::remote_write | Access::remote_read);
}

TEST_CASE("a WRITE one byte beyond the region is a remote access error before its first byte moves",
          "[scenario][nak]") {
    check_remote_access([](SendRequest& bad, Side&, RegisteredMemory&) { bad.remote_address += 1; }, "out of bounds");
}

TEST_CASE("a READ one byte before the region is a remote access error", "[scenario][nak]") {
    check_remote_access([](SendRequest& bad, Side&, RegisteredMemory&) { bad.remote_address -= 1; }, "out of bounds",
                        SendOperation::read);
}

TEST_CASE("a key of another protection domain is a remote access error", "[scenario][nak]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto other = must(b.context->alloc_pd());
        {
            const auto from = a.dram(100), target = b.dram(100, {.access = sw::mlx::all_access}, other);
            const auto connection = cluster.connect();

            post(*connection.a, request(SendOperation::write, *target), {from->sge()});

            check_refused(cluster, connection, nak_remote_access, CompletionStatus::remote_access_error,
                          EventType::wq_access_error);
            CHECK(cluster.events<traces::Refused>("B.hca").at(0).violation.text() == "wrong protection domain");
        }
        must(b.context->dealloc_pd(other));
    });
}

TEST_CASE("a receive whose key is bad is a remote operational error", "[scenario][nak]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(100), to = b.dram(100);
        from->fill(1);
        const auto connection = cluster.connect();
        auto bad = to->sge();
        bad.lkey ^= 0xff00;
        post_receive(*connection.b, 45, {bad});

        post(*connection.a, {.wr_id = 1, .operation = SendOperation::send, .flags = send_flag::signaled},
             {from->sge()});

        const auto received = b.received();
        CHECK(received.wr_id == 45);
        CHECK(received.status == CompletionStatus::local_protection_error);
        check_refused(cluster, connection, nak_remote_operational, CompletionStatus::remote_operation_error,
                      std::nullopt);
        CHECK(is_zero(*to));
    });
}

TEST_CASE("a SEND without a receive waits as the RNR NAK says and then arrives", "[scenario][nak]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(3000), to = b.dram(3000);
        from->fill(1);
        auto options = quick;
        options.min_rnr_timer = 14; // 1.28 ms, IBA table 45
        const auto [qa, qb] = cluster.connect(options);

        post(*qa, {.wr_id = 1, .operation = SendOperation::send, .flags = send_flag::signaled}, {from->sge()});
        CHECK(naks(cluster) == std::vector<unsigned>{0x20 | 14});
        CHECK(a.is_quiet());
        cluster.let(std::chrono::microseconds{1270});
        CHECK(naks(cluster).size() == 1);
        post_receive(*qb, 46, {to->sge()});
        cluster.let(std::chrono::microseconds{20});

        CHECK(a.sent().status == CompletionStatus::success);
        CHECK(b.received().wr_id == 46);
        CHECK(std::ranges::equal(from->bytes(), to->bytes()));
        CHECK(naks(cluster).size() == 1);
        CHECK(cluster.events<traces::Retried>("A.hca").at(0).reason.text() == "rnr");
    });
}

TEST_CASE("a WRITE with immediate without a receive waits for one", "[scenario][nak]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(3000), to = b.dram(3000);
        from->fill(1);
        const auto [qa, qb] = cluster.connect();

        post(*qa, request(SendOperation::write_imm, *to), {from->sge()});
        cluster.let(std::chrono::microseconds{100});
        const auto waits = naks(cluster);
        post_receive(*qb, 47, {});

        CHECK(a.sent().status == CompletionStatus::success);
        CHECK(b.received().wr_id == 47);
        CHECK(std::ranges::equal(from->bytes(), to->bytes()));
        CHECK_FALSE(waits.empty());
        CHECK(std::ranges::count(waits, 0x21u) == std::ssize(waits));
    });
}
