// Behind a remapping unit: the drivers use addresses of their own, and what nobody mapped is reached by nobody.
#include "testbench/harness/cluster.h"
#include "testbench/harness/function_reset.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>
#include <string>

using namespace harness;
using platform::topology::AcsMode;
using sw::mlx::CompletionStatus;
using sw::mlx::SendOperation;
using sw::mlx::SendRequest;
namespace send_flag = sw::mlx::send_flag;

namespace {

constexpr std::uint32_t length = 3 * 4096 + 40;

platform::topology::Config translated(bool timed = false) {
    auto config = Cluster::untimed();
    config.timed = timed;
    config.iommu.is_present = true;
    return config;
}
SendRequest request(SendOperation operation, const RegisteredMemory& remote) {
    return {.wr_id = 1,
            .operation = operation,
            .flags = send_flag::signaled,
            .rkey = remote.rkey(),
            .remote_address = remote.address()};
}
bool is_same(const RegisteredMemory& x, const RegisteredMemory& y) { return std::ranges::equal(x.bytes(), y.bytes()); }

/// WRITE there, READ back, SEND: between memory of both kinds.
void move_everywhere(Cluster& cluster, Side& a, Side& b) {
    auto connection = cluster.connect();
    for (const bool is_vram : {false, true}) {
        const auto from = is_vram ? a.vram(length) : a.dram(length), to = is_vram ? b.vram(length) : b.dram(length),
                   back = a.dram(length);
        from->fill(7);
        post(*connection.a, request(SendOperation::write, *to), {from->sge()});
        REQUIRE(a.sent().status == CompletionStatus::success);
        CHECK(is_same(*from, *to));
        post(*connection.a, request(SendOperation::read, *to), {back->sge()});
        REQUIRE(a.sent().status == CompletionStatus::success);
        CHECK(is_same(*from, *back));
        to->fill(8);
        post_receive(*connection.b, 2, {to->sge()});
        post(*connection.a, {.wr_id = 3, .operation = SendOperation::send, .flags = send_flag::signaled},
             {back->sge()});
        REQUIRE(a.sent().status == CompletionStatus::success);
        REQUIRE(b.received().status == CompletionStatus::success);
        CHECK(is_same(*from, *to));
    }
}

} // namespace

TEST_CASE("behind a remapping unit every transfer goes as without it", "[scenario][iommu]") {
    Cluster cluster(translated());
    cluster.run([&](Side& a, Side& b) {
        move_everywhere(cluster, a, b);
        for (auto* side : {&a, &b})
            CHECK(side->machine.host->root_complex().iommu()->core().translator().iotlb_counters().hits != 0);
    });
}

namespace {

constexpr std::uint32_t much = 64 << 10;

/// Bytes of payload that went up to the root complex.
std::uint64_t payload_up(Side& side) {
    return side.machine.host->upstream_link()->traffic(model::pcie::Direction::upstream).payload_bytes;
}

} // namespace

TEST_CASE("peers below a switch that redirects nothing are reached straight, behind a remapping unit too",
          "[scenario][iommu]") {
    Cluster cluster(translated());
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.vram(much), to = b.vram(much);
        CHECK(from->address() >= model::pcie::MemoryMap{}.high_mmio.begin);
        from->fill(3);
        auto connection = cluster.connect();
        const auto before = payload_up(b);
        post(*connection.a, request(SendOperation::write, *to), {from->sge()});
        REQUIRE(a.sent().status == CompletionStatus::success);
        CHECK(is_same(*from, *to));
        CHECK(payload_up(b) - before < much / 16);
    });
}

TEST_CASE("peers below a switch that redirects are reached through a host that forwards, by translated addresses",
          "[scenario][iommu]") {
    auto config = translated();
    config.peers.acs = AcsMode::redirect;
    Cluster cluster(config);
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.vram(much), to = b.vram(much);
        from->fill(3);
        auto connection = cluster.connect();
        const auto before = payload_up(b);
        post(*connection.a, request(SendOperation::write, *to), {from->sge()});
        REQUIRE(a.sent().status == CompletionStatus::success);
        CHECK(is_same(*from, *to));
        CHECK(payload_up(b) - before >= much);
    });
}

TEST_CASE("where the host does not pass redirected requests on, registration of a peer's memory is refused and says so",
          "[scenario][iommu]") {
    auto config = translated();
    config.peers.acs = AcsMode::redirect;
    config.peers.is_forwarding = false;
    Cluster cluster(config);
    cluster.run([&](Side& a, Side&) {
        const auto buffer = must(a.gpu->allocate(much));
        const auto region = a.context->reg_vram_mr(a.pd, must(a.gpu->export_buffer(buffer)), 0, much, {});
        REQUIRE_FALSE(region);
        CHECK(region.error().code == EREMOTEIO);
        CHECK(region.error().what.find("redirected to the host") != std::string::npos);
    });
}

namespace {

platform::topology::Config with_device_tlb(AcsMode acs, bool is_forwarding) {
    auto config = translated();
    config.iommu.unit.device_tlb = true;
    config.hca_ats.entries = 64;
    config.peers = {.acs = acs, .is_forwarding = is_forwarding};
    return config;
}
const auto& device_tlb(Side& side) { return side.hca_card.endpoint().tlb().counters(); }

/// A WRITE from VRAM to VRAM and back by READ; payload on B's upstream link.
std::uint64_t payload_up_there_and_back(Cluster& cluster, Side& a, Side& b) {
    const auto from = a.vram(much), to = b.vram(much), back = a.vram(much);
    from->fill(3);
    auto connection = cluster.connect();
    const auto before = payload_up(b);
    post(*connection.a, request(SendOperation::write, *to), {from->sge()});
    REQUIRE(a.sent().status == CompletionStatus::success);
    CHECK(is_same(*from, *to));
    post(*connection.a, request(SendOperation::read, *to), {back->sge()});
    REQUIRE(a.sent().status == CompletionStatus::success);
    CHECK(is_same(*from, *back));
    return payload_up(b) - before;
}

} // namespace

TEST_CASE("a card that translates addresses itself reaches its peer straight where ports let translated requests pass, "
          "even on a host that forwards none",
          "[scenario][iommu][ats]") {
    Cluster cluster(with_device_tlb(AcsMode::direct_translated, false));
    cluster.run([&](Side& a, Side& b) {
        CHECK(payload_up_there_and_back(cluster, a, b) < much / 16);
        CHECK(device_tlb(b).hits > device_tlb(b).misses);
        CHECK(b.hca_card.endpoint().volume(model::pcie::TargetKind::redirected_peer).payload() == 0);
    });
}

TEST_CASE("a card that translates addresses itself uses no address as it is, also where nothing is redirected",
          "[scenario][iommu][ats]") {
    Cluster cluster(with_device_tlb(AcsMode::off, false));
    cluster.run([&](Side& a, Side& b) {
        CHECK(payload_up_there_and_back(cluster, a, b) < much / 16);
        CHECK(device_tlb(b).hits > device_tlb(b).misses);
    });
}

TEST_CASE("translated requests are redirected like others where ports let none pass", "[scenario][iommu][ats]") {
    Cluster cluster(with_device_tlb(AcsMode::redirect, true));
    cluster.run([&](Side& a, Side& b) { CHECK(payload_up_there_and_back(cluster, a, b) >= 2 * much); });
}

TEST_CASE("memory that is given back is in no TLB of a card any more", "[scenario][iommu][ats]") {
    Cluster cluster(with_device_tlb(AcsMode::off, true));
    cluster.expects_stale_mappings = true; // the key
    cluster.run([&](Side& a, Side& b) {
        auto connection = cluster.connect();
        const auto from = a.dram(length);
        from->fill(7);
        const auto memory = must(b.hca_function->allocate(16 * 4096));
        auto region = must(b.context->reg_mr(b.pd, memory, 0, 16 * 4096, {.access = sw::mlx::all_access}));
        const auto write = [&] {
            post(*connection.a,
                 {.wr_id = 1,
                  .operation = SendOperation::write,
                  .flags = send_flag::signaled,
                  .rkey = region.rkey(),
                  .remote_address = region.iova().value + 5 * 4096},
                 {from->sge(0, 100)});
            return a.sent().status;
        };
        REQUIRE(write() == CompletionStatus::success);
        b.hca_function->release(memory); // while a key still leads to it
        const auto next = must(b.hca_function->allocate(16 * 4096));
        const auto misses = device_tlb(b).misses;

        // The same address leads to the next owner's memory by now: what counts is that the unit was asked again.
        CHECK(write() == CompletionStatus::success);

        CHECK(next.bus == memory.bus);
        CHECK(device_tlb(b).misses > misses);
        const auto findings = b.machine.ownership->take_findings();
        REQUIRE(findings.size() == 1);
        CHECK(findings[0].access.mapping == platform::observe::ownership::stale::key);
        b.hca_function->release(next);
        CHECK(write() != CompletionStatus::success);
        CHECK(b.functions->unit()->take_faults().empty()); // the card was told so, and did not send it
        must(region.destroy());
        while (b.context->get_async_event(std::chrono::nanoseconds{0}))
            ; // what the queue pair says of its end
    });
}

TEST_CASE("after a reset a card's TLB is on again and answers the unit", "[scenario][iommu][ats]") {
    Cluster cluster(with_device_tlb(AcsMode::direct_translated, false));
    cluster.run([&](Side& a, Side& b) {
        b.close();
        reset_function(*b.hca_function);
        b.open();
        const auto before = device_tlb(b).hits;
        move_everywhere(cluster, a, b);
        CHECK(device_tlb(b).hits > before);
    });
}

TEST_CASE("with timing, too, every transfer goes through a card's TLB", "[scenario][iommu][ats]") {
    auto config = with_device_tlb(AcsMode::direct_translated, true);
    config.timed = true;
    Cluster cluster(config);
    cluster.run([&](Side& a, Side& b) { move_everywhere(cluster, a, b); });
}

TEST_CASE("with timing, too, every transfer goes behind a remapping unit", "[scenario][iommu]") {
    Cluster cluster(translated(true));
    cluster.run([&](Side& a, Side& b) { move_everywhere(cluster, a, b); });
}

TEST_CASE("a WRITE to a page that was unmapped behind the driver's back is a fault record, and success at the peer",
          "[scenario][iommu]") {
    Cluster cluster(translated());
    cluster.expects_faults = true;
    cluster.run([&](Side& a, Side& b) {
        auto connection = cluster.connect();
        const auto from = a.dram(length), to = b.dram(length);
        from->fill(7);
        // Whoever gives memory back while a key still leads to it:
        const auto memory = must(b.hca_function->allocate(2 * 4096));
        auto region = must(b.context->reg_mr(b.pd, memory, 0, 2 * 4096, {.access = sw::mlx::all_access}));
        const auto where = memory.bus;
        b.hca_function->release(memory);

        post(*connection.a,
             {.wr_id = 1,
              .operation = SendOperation::write,
              .flags = send_flag::signaled,
              .rkey = region.rkey(),
              .remote_address = region.iova().value},
             {from->sge(0, 100)});

        // Posted: the card has acknowledged it, and is told nothing more.
        CHECK(a.sent().status == CompletionStatus::success);
        const auto faults = b.functions->unit()->take_faults();
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].requester == b.hca_card.bdf().value);
        CHECK(faults[0].address == where);
        CHECK(faults[0].is_write);
        const auto lost = cluster.events<traces::WriteLost>("B.hca.pcie");
        REQUIRE(lost.size() == 1);
        CHECK(lost[0].address == where);
        CHECK(lost[0].length == 100);
        CHECK_FALSE(b.context->get_async_event(std::chrono::nanoseconds{0}));

        // A READ has a completion, and its status.
        post(*connection.a,
             {.wr_id = 2,
              .operation = SendOperation::read,
              .flags = send_flag::signaled,
              .rkey = region.rkey(),
              .remote_address = region.iova().value},
             {from->sge(0, 100)});
        CHECK(a.sent().status == CompletionStatus::remote_operation_error);
        CHECK(b.functions->unit()->take_faults().size() == 1);
        must(region.destroy());
        while (b.context->get_async_event(std::chrono::nanoseconds{0}))
            ; // what the queue pair says of its end
    });
}

TEST_CASE("a program that leaves an invalidation out has its bytes land in memory that is another's",
          "[scenario][iommu][ownership]") {
    Cluster cluster(translated());
    cluster.expects_stale_mappings = true;
    cluster.run([&](Side& a, Side& b) {
        // The same mistake, with a unit that was not told: this is what the detectors of such mistakes are tried with.
        auto connection = cluster.connect();
        const auto from = a.dram(length);
        from->fill(7);
        const auto memory = must(b.hca_function->allocate(4096));
        auto region = must(b.context->reg_mr(b.pd, memory, 0, 4096, {.access = sw::mlx::all_access}));
        const auto write = [&] {
            post(*connection.a,
                 {.wr_id = 1,
                  .operation = SendOperation::write,
                  .flags = send_flag::signaled,
                  .rkey = region.rkey(),
                  .remote_address = region.iova().value},
                 {from->sge(0, 100)});
            return a.sent().status;
        };
        REQUIRE(write() == CompletionStatus::success);
        b.functions->unit()->plant_missing_invalidations(1);
        b.hca_function->release(memory);
        const auto next = must(b.hca_function->allocate(4096));
        std::ranges::fill(next.bytes(), std::byte{});

        CHECK(write() == CompletionStatus::success);

        CHECK(std::ranges::equal(next.bytes().first(100), from->bytes(0, 100)));
        const auto findings = b.machine.ownership->take_findings();
        REQUIRE(findings.size() == 1);
        CHECK(findings[0].function == "B.hca");
        CHECK(findings[0].access.is_write);
        CHECK(findings[0].access.key == region.rkey());
        CHECK(findings[0].access.owner_then != findings[0].access.owner_now);
        // The next owner has the same address.
        CHECK(findings[0].access.mapping == platform::observe::ownership::stale::key);
        CHECK(cluster.events<traces::StaleAccess>("B.hca.pcie").size() == 1);
        b.hca_function->release(next);
        must(region.destroy());
    });
}
