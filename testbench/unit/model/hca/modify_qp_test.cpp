// What a transition changes of a queue pair, and what it leaves alone.
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using model::hca::queue::QpState;

namespace {

struct Bench : OneHca {
    Region source = a.make_region(64, 1);

    void set_source(std::uint8_t mark) {
        auto& entry = a.hca.identity().gids[0];
        entry.gid.fill(std::byte{mark});
        entry.mac.fill(std::byte{mark});
    }
    /// The source addresses of the packet that a WRITE makes.
    std::pair<std::byte, std::byte> source_of_a_packet() {
        send({.sges = {source.sge()}, .remote = 0x1000, .rkey = abi::Key{1}});
        const auto seen = peer.take();
        REQUIRE(seen.size() == 1);
        return {seen[0].header.path.source_gid[15], seen[0].header.path.source_mac[5]};
    }
    using Source = std::pair<std::byte, std::byte>;
};

} // namespace

TEST_CASE("a queue pair that is reset in the middle of a message knows nothing of it", "[unit][qp]") {
    Bench bench;
    const auto target = bench.a.make_region(2048);
    const auto arrives = [&](abi::wire::Operation operation, std::size_t bytes) {
        bench.a.post_receive(bench.qp, {target.sge()});
        bench.receive(operation, OneHca::peer_psn, bytes);
    };
    arrives(abi::wire::Operation::send_first, bench.core().attributes.mtu_bytes());

    bench.a.modify(bench.qp, QpState::rst, bench.clock.now());
    bench.qp.rq_producer = 0;
    bench.a.write_be64(bench.qp.record, 0);
    bench.a.connect(bench.qp, OneHca::peer_qpn, OneHca::first_psn, OneHca::peer_psn, bench.clock.now());
    arrives(abi::wire::Operation::send_only, 16);

    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_ok());
    CHECK(done[0].index == 0);
    CHECK(done[0].bytes == 16);
}

TEST_CASE("a transition that brings a path takes the source address of that moment", "[unit][qp]") {
    Bench bench;
    bench.set_source(7);

    bench.a.hca.modify_qp(bench.core(), bench.core().attributes, QpState::rts, bench.clock.now(), true);

    CHECK(bench.source_of_a_packet() == Bench::Source{std::byte{7}, std::byte{7}});
}

TEST_CASE("a transition without a path leaves the addresses of packets alone", "[unit][qp]") {
    Bench bench;
    bench.set_source(7);
    bench.a.hca.modify_qp(bench.core(), bench.core().attributes, QpState::rts, bench.clock.now(), true);
    bench.set_source(9); // the table entry gets another address

    auto attributes = bench.core().attributes;
    attributes.min_rnr_nak = 3;
    bench.a.hca.modify_qp(bench.core(), attributes, QpState::rts, bench.clock.now());

    CHECK(bench.core().attributes.min_rnr_nak == 3);
    CHECK(bench.source_of_a_packet() == Bench::Source{std::byte{7}, std::byte{7}});
}
