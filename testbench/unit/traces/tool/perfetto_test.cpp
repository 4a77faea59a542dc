// What is drawn of a session that is known. That Perfetto's own field numbers are met, protoc says (trace_test.py).
#include "traces/tool/perfetto.h"

#include "testbench/harness/seed.h"
#include "testbench/unit/traces/tool/drawn.h"
#include "traces/tool/picture.h"

#include <catch2/catch_test_macros.hpp>

using namespace trace_tool_bench;
using namespace traces::tool;

TEST_CASE("a work request is a slice from its WQE to its CQE", "[unit][trace-tool]") {
    Session session;
    session.run(2);

    const auto drawn = draw(session.bytes());

    const auto& begin = find(drawn, "work requests of QP 0x11", "RDMA_WRITE 1", slice_begin);
    const auto end = std::ranges::find_if(drawn, [&](const Drawn& one) {
        return one.type == slice_end && one.track_id == begin.track_id && one.at_ns > begin.at_ns;
    });
    REQUIRE(end != drawn.end());
    CHECK(end->at_ns - begin.at_ns == 5100);
    check_slices(drawn);
}

TEST_CASE("a flow leads from the doorbell to the interrupt", "[unit][trace-tool]") {
    Session session;
    session.run(2);

    const auto drawn = draw(session.bytes());

    const auto& doorbell = find(drawn, "doorbells of QP 0x11", "up to WQE 1");
    REQUIRE(doorbell.flows.size() == 1);
    std::vector<std::string> way;
    for (const auto& one : drawn)
        if (one.flows == doorbell.flows)
            way.push_back(one.track);
    CHECK(way == std::vector<std::string>{"doorbells of QP 0x11", "work requests of QP 0x11",
                                          "host0.hca0.port1 frames out", "host0.hca0.port1 frames in",
                                          "host0.hca0 CQ 0x42", "host0.hca0 EQ 0x5", "host0.hca0 interrupts"});
}

TEST_CASE("a doorbell that posts several work requests begins a flow for each", "[unit][trace-tool]") {
    Session session;
    session.run(0);
    abi::Block<SendDoorbell> ring;
    ring.view().set<"opcode">(8).set<"wqe_index">(1).set<"qpn">(qpn).set<"ds">(3);
    {
        Journal::Call call(session.journal);
        session.store(call, uar + uar_bfreg, ring.bytes);
        session.fetch(0);
        session.fetch(1);
    }
    session.acknowledge(0);
    session.acknowledge(1);

    const auto drawn = draw(session.bytes());

    const auto flows = find(drawn, "doorbells of QP 0x11", "up to WQE 1").flows;
    REQUIRE(flows.size() == 2);
    CHECK(find(drawn, "frames out", "PSN 0x64").flows == std::vector{flows[0]});
    CHECK(find(drawn, "frames in", "PSN 0x65").flows == std::vector{flows[1]});
    CHECK(find(drawn, "CQ 0x42", "WQE 1").flows == std::vector{flows[1]});
    check_slices(drawn);
}

TEST_CASE("a packet that is sent again belongs to its work request, one of the same number later does not",
          "[unit][trace-tool]") {
    Session session;
    session.run(1);
    abi::Block<SendDoorbell> ring;
    ring.view().set<"opcode">(8).set<"wqe_index">(1).set<"qpn">(qpn).set<"ds">(3);
    {
        Journal::Call call(session.journal);
        session.store(call, uar + uar_bfreg, ring.bytes);
        session.fetch(1);
        session.now += 1us;
        session.frame(Direction::outbound, abi::wire::Operation::write_only, peer, psn + 1); // once more
        session.now += 1us;
        session.frame(Direction::outbound, abi::wire::Operation::write_only, peer, psn); // that of a completed one
    }

    const auto drawn = draw(session.bytes());

    const auto flow = find(drawn, "doorbells", "up to WQE 1").flows;
    std::vector<std::vector<std::uint64_t>> flows;
    for (const auto& one : drawn)
        if (one.track.contains("frames out"))
            flows.push_back(one.flows);
    REQUIRE(flows.size() == 4);
    CHECK(flows[1] == flow);
    CHECK(flows[2] == flow);
    CHECK(flows[3].empty());
}

TEST_CASE("what is not completed ends with the trace", "[unit][trace-tool]") {
    Session session;
    session.run(1);
    abi::Block<SendDoorbell> ring;
    ring.view().set<"opcode">(8).set<"wqe_index">(1).set<"qpn">(qpn).set<"ds">(3);
    Journal::Call call(session.journal);
    session.store(call, uar + uar_bfreg, ring.bytes);
    session.fetch(1);

    const auto drawn = draw(session.bytes());

    find(drawn, "work requests of QP 0x11", "RDMA_WRITE 1, not completed", slice_begin);
    check_slices(drawn);
}

TEST_CASE("a WQE that comes with its doorbell is drawn from there", "[unit][trace-tool]") {
    Session session;
    session.run(0);
    abi::Block<SendDoorbell> ring;
    ring.view().set<"opcode">(8).set<"wqe_index">(0).set<"qpn">(qpn).set<"ds">(3);
    {
        Journal::Call call(session.journal);
        session.store(call, uar + uar_bfreg, ring.bytes);
    }
    session.now += 3us;
    session.acknowledge(0);

    const auto drawn = draw(session.bytes());

    const auto& begin = find(drawn, "work requests of QP 0x11", "RDMA_WRITE 0", slice_begin);
    CHECK(begin.flows == find(drawn, "doorbells", "up to WQE 0").flows);
    CHECK(begin.flows == find(drawn, "CQ 0x42", "WQE 0").flows);
}

TEST_CASE("slices that overlap lie beside each other", "[unit][trace-tool]") {
    codec::Head head;
    head.interfaces = {{codec::InterfaceKind::pcie, "host0.hca0"}};
    MemoryDestination out;
    Picture picture(head, out);
    const TrackKey reads{Shows::dma_reads, 0};

    picture.slice(reads, 1'000, 9'000, "a");
    picture.slice(reads, 2'000, 5'000, "b");
    picture.slice(reads, 5'000, 7'000, "c"); // where b was
    picture.slice(reads, 6'000, 6'400, "d"); // shorter than what Perfetto counts
    picture.slice(reads, 500, 500, "e");     // begun before all others
    picture.file().flush();

    const auto drawn = read(out);
    check_slices(drawn);
    CHECK(find(drawn, "DMA reads", "a", slice_begin).track_id != find(drawn, "DMA reads", "b", slice_begin).track_id);
    CHECK(find(drawn, "DMA reads", "c", slice_begin).track_id == find(drawn, "DMA reads", "b", slice_begin).track_id);
    find(drawn, "DMA reads", "d", instant);
    find(drawn, "DMA reads", "e", instant);
}

TEST_CASE("what is drawn late is put where it belongs, and where others have gone by, with them",
          "[unit][trace-tool]") {
    codec::Head head;
    head.interfaces = {{codec::InterfaceKind::pcie, "host0.hca0"}};
    MemoryDestination out;
    Picture picture(head, out);

    picture.instant({Shows::stores, 0}, 5'000, "second");
    picture.instant({Shows::stores, 0}, 4'000, "first");
    for (std::int64_t i = 0; i < 100'000; ++i) // more than wait for others
        picture.count({Shows::credits, 0, 1}, 6'000 + i * 1'000, i);
    picture.instant({Shows::stores, 0}, 3'000, "late");
    picture.file().flush();

    const auto drawn = read(out);
    CHECK(find(drawn, "stores", "first").at_ns == 4);
    CHECK(find(drawn, "stores", "second").at_ns == 5);
    CHECK(find(drawn, "stores", "late").at_ns == 5);
}

TEST_CASE("counters show what waits in the queues, and the credits of the peer", "[unit][trace-tool]") {
    Session session;
    session.run(2);
    {
        Journal::Call call(session.journal);
        session.store32(call, uar + uar_eq_arm, eqn << 24 | 1); // one of the two EQEs is consumed
    }
    auto frame = session.acknowledgement(psn, 9);
    session.journal.put(1, RecordKind::frame, Direction::inbound, session.now, frame);

    const auto drawn = draw(session.bytes());

    std::map<std::string, std::vector<std::int64_t>> values;
    for (const auto& one : drawn)
        if (one.type == counter)
            values[one.track].push_back(one.value);
    CHECK(values["host0.hca0 work requests not completed, QP 0x11"] == std::vector<std::int64_t>{1, 0, 1, 0});
    CHECK(values["host0.hca0 CQEs not consumed, CQ 0x42"] == std::vector<std::int64_t>{1, 2});
    CHECK(values["host0.hca0 EQEs not consumed, EQ 0x5"] == std::vector<std::int64_t>{1, 2, 1});
    CHECK(values["host0.hca0 credits of the peer, QP 0x11"].back() == 24);
}

TEST_CASE("whatever the records are, the picture keeps Perfetto's rules", "[unit][trace-tool]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed);
    std::mt19937_64 random(seed);
    const auto sample = trace_bench::make_sample(2000, {}, random);

    const auto drawn = draw(sample.destination.bytes);

    CHECK(drawn.size() > 500);
    check_slices(drawn);
}
