// The performance agent of the switch's port 0 (IBA 16.1): what its ports have carried, over datagrams to QP1.
#include "testbench/unit/model/net/switch_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace model::net;
using namespace abi::wire;
using harness::SwitchBench;
using model::port::Packet;
using Bench = SwitchBench;

namespace {
/// A switch with the LID 5, and performance datagrams to it from LID 10 at port 1.
struct Counting : SwitchBench {
    Counting() : SwitchBench(false) {
        auto m = mad(SmAttribute::port_info, 0, MadMethod::set);
        data<PortInfo>(m).set<"lid">(5);
        exchange<PortInfo>(m);
        start = device.dropped();
    }
    static Mad counters(PmAttribute attribute, unsigned port, MadMethod method = MadMethod::get,
                        std::uint16_t select = 0) {
        auto m = mad(static_cast<SmAttribute>(attribute), 0, method);
        header(m)
            .set<"mgmt_class">(static_cast<std::uint8_t>(MadClass::performance))
            .set<"hop_ptr">(0)
            .set<"hop_cnt">(0);
        data<PortCounters>(m).set<"port_select">(static_cast<std::uint8_t>(port)).set<"counter_select">(select);
        return m;
    }
    static Packet service(const Mad& mad, std::uint32_t key = 0x80010000) {
        auto p = management(mad, 5);
        p.rdma().destination = abi::Qpn{1};
        p.rdma().deth = {.qkey = key, .source_qpn = abi::Qpn{1}};
        return p;
    }
    Mad ask(const Mad& m) {
        out[1].packets.clear();
        send(1, service(m));
        return answer(1);
    }
    std::uint64_t start = 0;
};
} // namespace

TEST_CASE("the performance agent of a switch counts what each port has carried", "[unit][switch][performance]") {
    Counting bench;
    bench.send(1, Bench::packet(11));     // 8 + 12 + 16 + 4 bytes from LRH to ICRC: ten words
    bench.send(1, Bench::packet(0xc005)); // to ports 2 and 3

    auto m = bench.ask(Counting::counters(PmAttribute::port_counters_extended, 2));
    const auto second = Bench::data<PortCountersExtended>(m);
    CHECK(Bench::status(m) == 0);
    CHECK(second.get<"port_select">() == 2);
    CHECK(second.get<"port_xmit_packets">() == 2);
    CHECK(second.get<"port_xmit_data">() == 20);
    CHECK(second.get<"port_unicast_xmit_packets">() == 1);
    CHECK(second.get<"port_multicast_xmit_packets">() == 1);
    CHECK(second.get<"port_rcv_packets">() == 0);
    m = bench.ask(Counting::counters(PmAttribute::port_counters, 1));
    CHECK(Bench::data<PortCounters>(m).get<"port_rcv_packets">() == 5); // with the Set and the two questions
    CHECK(bench.device.dropped() == bench.start);
}

TEST_CASE("a port that had no credit tells for how long, in times of 8 bytes", "[unit][switch][performance]") {
    Counting bench;
    LinkCounters counters;
    bench.device.connect(2, bench.out[2], 2048, &counters);
    counters.waited = std::chrono::microseconds{64}; // at 100 Gbit/s 640 ps each
    const auto waits = [&] {
        auto m = bench.ask(Counting::counters(PmAttribute::port_counters, 2));
        return Bench::data<PortCounters>(m).get<"port_xmit_wait">();
    };

    CHECK(waits() == 100'000);
    bench.ask(Counting::counters(PmAttribute::port_counters, 2, MadMethod::set, 0xffff)); // all but this one
    CHECK(waits() == 100'000);
    auto m = Counting::counters(PmAttribute::port_counters, 2, MadMethod::set);
    Bench::data<PortCounters>(m).set<"counter_select2">(1);
    bench.ask(m);
    CHECK(waits() == 0);
}

TEST_CASE("an answer of the performance agent goes from QP1 to the queue pair that asked",
          "[unit][switch][performance]") {
    Counting bench;
    auto packet = Counting::service(Counting::counters(PmAttribute::class_port_info, 0));
    packet.rdma().deth.source_qpn = abi::Qpn{0x77};
    bench.out[1].packets.clear();

    bench.send(1, packet);

    REQUIRE(bench.out[1].packets.size() == 1);
    const auto& answer = bench.out[1].packets[0];
    CHECK(answer.rdma().destination == abi::Qpn{0x77});
    CHECK(answer.rdma().deth.source_qpn == abi::Qpn{1});
    CHECK(answer.rdma().deth.qkey == 0x80010000);
    CHECK(answer.path.destination_lid == 10);
    CHECK(answer.path.source_lid == 5);
    auto m = bench.answer(1);
    CHECK(Bench::header(m).get<"method">() == 0x81);
    CHECK(Bench::data<ClassPortInfo>(m).get<"capability_mask">() == 0x300);
}

TEST_CASE("what a switch could not relay, send or read is counted where it came in or should have left",
          "[unit][switch][performance]") {
    Counting bench;
    bench.send(2, Bench::packet(99)); // no route
    auto damaged = Bench::packet(11);
    model::wire::build(damaged, damaged.image);
    damaged.image[20] ^= std::byte{1};
    bench.send(2, damaged);

    auto m = bench.ask(Counting::counters(PmAttribute::port_counters, 2));

    CHECK(Bench::data<PortCounters>(m).get<"port_rcv_switch_relay_errors">() == 1);
    CHECK(Bench::data<PortCounters>(m).get<"port_rcv_errors">() == 1);
    CHECK(Bench::data<PortCounters>(m).get<"port_rcv_packets">() == 1);
}

TEST_CASE("counters are set back as selected, the wide ones apart from the others", "[unit][switch][performance]") {
    Counting bench;
    for (int i = 0; i < 3; ++i)
        bench.send(1, Bench::packet(11));

    auto m =
        bench.ask(Counting::counters(PmAttribute::port_counters, 2, MadMethod::set, 1 << 14)); // PortXmitPkts alone
    CHECK(Bench::data<PortCounters>(m).get<"port_xmit_packets">() == 0);
    CHECK(Bench::data<PortCounters>(m).get<"port_xmit_data">() == 30);
    bench.send(1, Bench::packet(11));
    m = bench.ask(Counting::counters(PmAttribute::port_counters, 2));
    CHECK(Bench::data<PortCounters>(m).get<"port_xmit_packets">() == 1);
    m = bench.ask(Counting::counters(PmAttribute::port_counters_extended, 2));
    CHECK(Bench::data<PortCountersExtended>(m).get<"port_xmit_packets">() == 4);
}

TEST_CASE("port 255 is the sum of all ports, and a port that is not there a bad value", "[unit][switch][performance]") {
    Counting bench;
    for (int i = 0; i < 2; ++i)
        bench.send(3, Bench::packet(11));

    auto m = bench.ask(Counting::counters(PmAttribute::port_counters, 255));
    CHECK(Bench::data<PortCounters>(m).get<"port_rcv_packets">() == 2 + 2); // a Set and this question at port 1
    m = bench.ask(Counting::counters(PmAttribute::port_counters, 0));
    CHECK(Bench::status(m) == 0);
    CHECK(Bench::data<PortCounters>(m).get<"port_xmit_packets">() == 0); // port 0 has no link
    m = bench.ask(Counting::counters(PmAttribute::port_counters, 5));
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_value));
}

TEST_CASE("a switch answers versions of the performance class that it does not know with a status of their own",
          "[unit][switch][performance]") {
    Counting bench;
    auto format = Counting::counters(PmAttribute::port_counters, 1), of_class = format;
    Bench::header(format).set<"base_version">(9);
    Bench::header(of_class).set<"class_version">(9);

    for (const auto& asked : {format, of_class}) {
        auto m = bench.ask(asked);
        CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_version));
    }
}

TEST_CASE("what is no request of the performance class is not served by a switch", "[unit][switch][performance]") {
    Counting bench;
    auto m = Counting::counters(PmAttribute::port_counters, 1);
    bench.out[1].packets.clear();

    bench.send(1, Counting::service(m, 0x11)); // another Q_Key
    Bench::header(m).set<"method">(0x81);      // an answer
    bench.send(1, Counting::service(m));
    Bench::header(m).set<"method">(0x01).set<"mgmt_class">(static_cast<std::uint8_t>(MadClass::subnet_administration));
    bench.send(1, Counting::service(m));

    CHECK(bench.out[1].packets.empty());
    CHECK(bench.device.dropped() == bench.start + 3);
    m = bench.ask(Counting::counters(static_cast<PmAttribute>(0x99), 1));
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_attribute));
    m = bench.ask(Counting::counters(PmAttribute::class_port_info, 1, MadMethod::set));
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_attribute));
}
