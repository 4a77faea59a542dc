// What of a receive queue is read before a message needs it.
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using namespace harness;
using abi::wire::Operation;
using model::hca::HcaConfig;
using Kind = model::port::MemoryDma::Kind;

namespace {

struct Bench : OneHca {
    static constexpr auto latency = 1us;
    Bench() : OneHca({}, timed()) { a.dma.set_latency(latency); }
    static HcaConfig timed() {
        HcaConfig config;
        config.port_rate_gbps = 0;
        config.packet_latency = 1ns;
        return config;
    }

    Region target = a.make_region(4096);
    std::uint32_t next_psn = peer_psn;

    void post_receive(unsigned count = 1) {
        while (count-- != 0)
            a.post_receive(qp, {target.sge(0, 64)});
    }
    void message(Time at) {
        run(at);
        clock.set(at);
        receive(Operation::send_only, next_psn++, 64);
    }
    std::vector<Time> times(Kind kind, std::uint64_t begin, std::uint64_t bytes) const {
        std::vector<Time> found;
        for (const auto& access : a.dma.log())
            if (access.kind == kind && access.address >= begin && access.address < begin + bytes)
                found.push_back(access.at);
        return found;
    }
    std::vector<Time> payloads() const { return times(Kind::write, target.address, 64); }
    std::vector<Time> reads_of_record() const { return times(Kind::read, qp.record, 4); }
};

} // namespace

TEST_CASE("a receive queue in steady use makes no message wait for its record or its WQEs", "[unit][responder]") {
    Bench bench;
    bench.post_receive(16);
    constexpr auto period = 300ns;
    constexpr unsigned messages = 60, settled = 20; // one read ends where the ring does, after 64
    for (unsigned i = 0; i < messages; ++i) {
        bench.message(i * period);
        bench.post_receive();
    }
    bench.run(1ms);

    const auto placed = bench.payloads();
    REQUIRE(placed.size() == messages);
    CHECK(placed[0] >= 2 * Bench::latency); // the first one finds nothing read, and waits for one after the other
    for (auto i = settled; i < messages; ++i) {
        CAPTURE(i);
        CHECK(placed[i] - placed[i - 1] == period);
    }
    // A look at the record brings half of what is posted or more.
    CHECK(bench.reads_of_record().size() <= messages / 6);
}

TEST_CASE("a queue of one receive at a time has its record read once for each message", "[unit][responder]") {
    Bench bench;
    for (unsigned i = 0; i < 5; ++i) {
        bench.post_receive();
        bench.message((i + 1) * 10us);
    }
    bench.run(1ms);
    CHECK(bench.payloads().size() == 5);
    CHECK(bench.reads_of_record().size() == 5);
}

TEST_CASE("receive WQEs that cannot be read fail the message that needs them, and none before", "[unit][responder]") {
    Bench bench;
    bench.post_receive(4);
    const auto& core = bench.core();
    const auto ring = core.attributes.buffer.address(0).value;
    bench.message(0ns);
    // What is read ahead from here on fails.
    bench.a.dma.fail(ring, ring + (std::uint64_t{core.rq_size()} << core.attributes.log_rq_stride),
                     model::port::DmaStatus::unsupported_request);
    for (unsigned i = 1; i < 4; ++i)
        bench.message(i * 10us);
    CHECK(bench.payloads().size() == 4); // those were read together
    bench.post_receive(2);
    bench.message(50us);
    bench.run(1ms);
    CHECK(bench.payloads().size() == 4);
    CHECK(bench.core().state == model::hca::queue::QpState::err);
}
