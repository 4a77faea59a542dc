// Many queue pairs at once: each moves bytes of its own both ways, and nobody's bytes, completions or receives are
// another's.
#include "testbench/harness/cluster.h"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>

using namespace harness;
using sw::mlx::CompletionStatus;
using sw::mlx::SendOperation;
namespace send_flag = sw::mlx::send_flag;

namespace {

/// `count` connections; on each a WRITE and a SEND from A and a READ from B, all under way together.
void move_on_all(Cluster& cluster, Side& a, Side& b, std::uint32_t count) {
    constexpr std::uint32_t length = 2500; // three packets: turns are taken within a message
    const auto written = a.vram(std::uint64_t{count} * length), target = b.vram(std::uint64_t{count} * length);
    const auto sent = a.dram(std::uint64_t{count} * length), received = b.dram(std::uint64_t{count} * length);
    const auto fetched = b.dram(std::uint64_t{count} * length);
    written->fill(1);
    sent->fill(2);
    std::vector<Connection> connections;
    const sw::mlx::QpOptions small{.max_send = 4, .max_receive = 4};
    for (std::uint32_t i = 0; i < count; ++i) {
        connections.push_back(cluster.connect(quick, small, small));
        post_receive(*connections.back().b, i, {received->sge(std::uint64_t{i} * length, length)});
    }

    for (std::uint32_t i = 0; i < count; ++i) {
        const auto at = std::uint64_t{i} * length;
        post(*connections[i].a,
             {.wr_id = 2 * i,
              .operation = SendOperation::write,
              .flags = send_flag::signaled,
              .rkey = target->rkey(),
              .remote_address = target->address(at)},
             {written->sge(at, length)});
        post(*connections[i].a, {.wr_id = 2 * i + 1, .operation = SendOperation::send, .flags = send_flag::signaled},
             {sent->sge(at, length)});
        post(*connections[i].b,
             {.wr_id = i,
              .operation = SendOperation::read,
              .flags = send_flag::signaled,
              .rkey = written->rkey(),
              .remote_address = written->address(at)},
             {fetched->sge(at, length)});
    }

    const auto check_all = [](const std::vector<sw::mlx::Completion>& done, std::size_t expected) {
        REQUIRE(done.size() == expected);
        std::set<std::uint64_t> seen;
        for (const auto& one : done) {
            seen.insert(one.wr_id);
            if (one.status != CompletionStatus::success)
                FAIL("work request " << one.wr_id << ": " << name(one.status));
        }
        CHECK(seen.size() == expected);
        CHECK(*seen.rbegin() == expected - 1);
    };
    check_all(a.wait(*a.send_cq, 2 * count), 2 * count);
    check_all(b.wait(*b.send_cq, count), count);
    const auto receives = b.wait(*b.receive_cq, count);
    check_all(receives, count);
    for (const auto& one : receives)
        if (one.qpn != connections[one.wr_id].b->number())
            FAIL("receive " << one.wr_id << " was another queue pair's");
    CHECK(std::ranges::equal(written->bytes(), target->bytes()));
    CHECK(std::ranges::equal(written->bytes(), fetched->bytes()));
    CHECK(std::ranges::equal(sent->bytes(), received->bytes()));
}

} // namespace

TEMPLATE_TEST_CASE_SIG("queue pairs work at once, each with its own bytes", "[scenario][many]",
                       ((std::uint32_t count), count), 2, 64, 1000) {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) { move_on_all(cluster, a, b, count); });
}

TEST_CASE("64 timed queue pairs work at once on a cable that loses packets", "[scenario][many]") {
    platform::topology::Config config;
    config.link.loss = 0.01;
    config.link.reorder = 0.01;
    Cluster cluster(config);
    cluster.run([&](Side& a, Side& b) {
        move_on_all(cluster, a, b, 64);

        CHECK_FALSE(cluster.events<traces::Retried>("A.hca").empty());
    });
}

TEST_CASE("a long message does not keep a short one on another queue pair waiting", "[scenario][many]") {
    platform::topology::Config timed;
    Cluster cluster(timed);
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t longer = 4 << 20, shorter = 64;
        const auto from = a.vram(longer), to = b.vram(longer);
        from->fill(1);
        auto slow = cluster.connect(), fast = cluster.connect();
        const auto write = [&](sw::mlx::QueuePair& qp, std::uint64_t wr_id, std::uint32_t length) {
            post(qp,
                 {.wr_id = wr_id,
                  .operation = SendOperation::write,
                  .flags = send_flag::signaled,
                  .rkey = to->rkey(),
                  .remote_address = to->address()},
                 {from->sge(0, length)});
        };

        write(*slow.a, 1, longer);
        write(*fast.a, 2, shorter);

        CHECK(a.sent().wr_id == 2);
        CHECK(a.sent().wr_id == 1);
        CHECK(std::ranges::equal(from->bytes(), to->bytes()));
    });
}
