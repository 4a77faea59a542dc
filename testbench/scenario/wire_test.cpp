// The same transfers over every kind of packet and every path MTU: what is on the wire, and that the bytes arrive.
#include "testbench/harness/cluster.h"

#include "abi/wire/ethernet.h"
#include "model/net/link.h"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <bit>
#include <numeric>

using namespace harness;
using model::port::Encapsulation;
using sw::mlx::CompletionStatus;
using sw::mlx::SendOperation;
namespace send_flag = sw::mlx::send_flag;

namespace {

struct Frames final : model::net::Tap {
    void on_frame(std::span<const std::byte> frame, unsigned, model::port::Time) override {
        all.emplace_back(frame.begin(), frame.end());
    }
    std::vector<std::vector<std::byte>> all;
};

platform::topology::Config over(Encapsulation encapsulation) {
    auto config = Cluster::untimed();
    config.link.encapsulation = encapsulation;
    return config;
}

/// A WRITE, a READ and a SEND of `length` bytes each.
void move_three_ways(Cluster& cluster, Side& a, Side& b, const sw::mlx::ConnectOptions& options, std::uint32_t length) {
    const auto one = a.vram(length), two = b.vram(length), three = a.vram(length), four = b.dram(length);
    one->fill(1);
    const auto [qa, qb] = cluster.connect(options);
    post_receive(*qb, 1, {four->sge()});

    post(*qa,
         {.wr_id = 1,
          .operation = SendOperation::write,
          .flags = send_flag::signaled,
          .rkey = two->rkey(),
          .remote_address = two->address()},
         {one->sge()});
    post(*qa,
         {.wr_id = 2,
          .operation = SendOperation::read,
          .flags = send_flag::signaled | send_flag::fence,
          .rkey = two->rkey(),
          .remote_address = two->address()},
         {three->sge()});
    post(*qa, {.wr_id = 3, .operation = SendOperation::send, .flags = send_flag::signaled | send_flag::fence},
         {three->sge()});

    for (const std::uint64_t wr_id : {1, 2, 3}) {
        const auto done = a.sent();
        CHECK(done.wr_id == wr_id);
        CHECK(done.status == CompletionStatus::success);
    }
    CHECK(b.received().byte_count == length);
    CHECK(std::ranges::equal(one->bytes(), two->bytes()));
    CHECK(std::ranges::equal(one->bytes(), three->bytes()));
    CHECK(std::ranges::equal(one->bytes(), four->bytes()));
}

std::uint32_t ether_type(std::span<const std::byte> frame) {
    return abi::load<std::uint16_t, abi::Endian::big>(frame.data() + 12);
}
/// LNH of the LRH (IBA 7.7.5): 2 a transport header follows, 3 a GRH.
unsigned next_header(std::span<const std::byte> frame) { return std::to_integer<unsigned>(frame[1]) & 3; }

constexpr std::uint32_t length = 5000;

} // namespace

TEST_CASE("RoCEv2 over IPv4 carries all transfers in frames of type 0x0800", "[scenario][wire]") {
    Cluster cluster(over(Encapsulation::roce_v2_ipv4));
    Frames frames;
    cluster.platform.cable().set_tap(&frames);
    cluster.run([&](Side& a, Side& b) {
        move_three_ways(cluster, a, b, quick, length);

        CHECK(frames.all.size() >= 15);
        CHECK(std::ranges::all_of(frames.all, [](const auto& frame) { return ether_type(frame) == 0x0800; }));
    });
}

TEST_CASE("RoCEv2 over IPv6 carries all transfers in frames of type 0x86dd", "[scenario][wire]") {
    Cluster cluster(over(Encapsulation::roce_v2_ipv6));
    Frames frames;
    cluster.platform.cable().set_tap(&frames);
    cluster.run([&](Side& a, Side& b) {
        move_three_ways(cluster, a, b, quick, length);

        CHECK(frames.all.size() >= 15);
        CHECK(std::ranges::all_of(frames.all, [](const auto& frame) { return ether_type(frame) == 0x86dd; }));
    });
}

TEST_CASE("InfiniBand carries all transfers within a subnet without a GRH", "[scenario][wire]") {
    Cluster cluster(over(Encapsulation::infiniband));
    Frames frames;
    cluster.platform.cable().set_tap(&frames);
    cluster.run([&](Side& a, Side& b) {
        CHECK(a.path.remote_lid != b.path.remote_lid);

        move_three_ways(cluster, a, b, quick, length);

        CHECK(frames.all.size() >= 15);
        CHECK(std::ranges::all_of(frames.all, [](const auto& frame) { return next_header(frame) == 2; }));
    });
}

TEST_CASE("InfiniBand carries all transfers with a GRH where the path has one", "[scenario][wire]") {
    Cluster cluster(over(Encapsulation::infiniband));
    Frames frames;
    cluster.platform.cable().set_tap(&frames);
    cluster.run([&](Side& a, Side& b) {
        for (auto* side : {&a, &b}) {
            side->path.has_grh = true;
            side->path.remote_gid = must(side->context->query_port()).gid;
        }

        move_three_ways(cluster, a, b, quick, length);

        CHECK(frames.all.size() >= 15);
        CHECK(std::ranges::all_of(frames.all, [](const auto& frame) { return next_header(frame) == 3; }));
    });
}

TEST_CASE("packets that cross as their exact bytes carry the same transfers", "[scenario][wire]") {
    auto config = over(Encapsulation::roce_v2_ipv4);
    config.link.exact_bytes = true;
    Cluster cluster(config);
    cluster.run([&](Side& a, Side& b) { move_three_ways(cluster, a, b, quick, length); });
}

TEMPLATE_TEST_CASE_SIG("a message is cut at the path MTU", "[scenario][wire]", ((std::uint32_t mtu), mtu), 256, 512,
                       1024, 2048, 4096) {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t bytes = 3 * 4096 + 1;
        auto options = quick;
        options.path_mtu = static_cast<abi::prm::Mtu>(std::countr_zero(mtu) - 7);

        move_three_ways(cluster, a, b, options, bytes);

        std::vector<std::uint32_t> payloads;
        for (const auto& packet : cluster.events<traces::PacketSent>("A.hca"))
            if (packet.payload != 0)
                payloads.push_back(packet.payload);
        CHECK(payloads.size() == 2 * (bytes / mtu + 1)); // WRITE and SEND
        CHECK(std::accumulate(payloads.begin(), payloads.end(), std::uint32_t{0}) == 2 * bytes);
        CHECK(std::ranges::count(payloads, mtu) == 2 * (bytes / mtu));
        CHECK(std::ranges::count(payloads, 1u) == 2);
    });
}

TEST_CASE("timed and untimed clusters move the same bytes in the same packets", "[scenario][wire]") {
    // The other half of this comparison is every untimed case: here are the same numbers with the timing model on.
    platform::topology::Config timed;
    Cluster cluster(timed);
    cluster.run([&](Side& a, Side& b) {
        move_three_ways(cluster, a, b, quick, length);

        CHECK(cluster.platform.cable().counters(0).packets >= 11); // 5 WRITE, 1 READ, 5 SEND, ACKs of none
        CHECK(a.hca_function->now() > std::chrono::microseconds{1});
    });
}
