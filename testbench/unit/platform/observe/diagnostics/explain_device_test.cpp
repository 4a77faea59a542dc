// Paragraphs about what two real cores say, not about events that a test made up.
#include "platform/observe/diagnostics/explain.h"
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <string>

using namespace harness;
using platform::observe::diagnostics::Explain;

namespace {

/// What --explain prints of everything that one node has said; times are not looked at.
std::string explained(const Node& node) {
    char* data = nullptr;
    std::size_t size = 0;
    std::FILE* file = open_memstream(&data, &size);
    platform::observe::Sources sources;
    for (const auto* name : {"link", "A.hca", "B.hca"})
        sources.add(name);
    {
        Explain explain(file, sources);
        for (const auto& [stamp, event] : node.events.entries)
            explain.on({0, stamp.source}, event);
    }
    std::fclose(file);
    std::string text(data, size);
    std::free(data);
    return text;
}

struct Bench : HcaPair {
    Bench() { connect(); }
    Region local = a.make_region(8192, 1), remote = b.make_region(8192, 2);
};

} // namespace

TEST_CASE("transfers without a mistake are not explained", "[unit][observe][explain]") {
    Bench bench;

    bench.a.post(bench.a_qp, {.sges = {bench.local.sge()}, .remote = bench.remote.address, .rkey = bench.remote.key});
    bench.ring();

    REQUIRE(bench.a.drain(bench.a_cq).size() == 1);
    CHECK(explained(bench.a).empty());
    CHECK(explained(bench.b).empty());
}

TEST_CASE("a local key of another protection domain fails in one paragraph with what it takes along",
          "[unit][observe][explain]") {
    Bench bench;
    const auto other = bench.a.make_region(100, 1);
    bench.a.hca.mkeys().find(other.key.index())->attributes.pd = abi::Pd{99};

    bench.a.post(bench.a_qp,
                 {.sges = {bench.local.sge(0, 1)}, .remote = bench.remote.address, .rkey = bench.remote.key});
    bench.a.post(bench.a_qp, {.sges = {other.sge()}, .remote = bench.remote.address, .rkey = bench.remote.key});
    bench.a.post(bench.a_qp,
                 {.sges = {bench.local.sge(0, 1)}, .remote = bench.remote.address, .rkey = bench.remote.key});
    bench.ring();

    CHECK(
        explained(bench.a) ==
        fmt::format(
            "0.000000000 s, A.hca: QP {:#x}, send WQE 0x1 (RDMA_WRITE): IBV_WC_LOC_PROT_ERR (local protection error).\n"
            "  Decoded: error CQE in CQ {:#x}, syndrome 0x4, vendor syndrome 0x23 (translation: wrong protection "
            "domain); "
            "key {:#x} (index {:#x}, variant {:#x}), address {:#x}, 100 bytes: wrong protection domain; "
            "the queue pair went from RTS to ERR; 1 work request behind it was flushed (IBV_WC_WR_FLUSH_ERR).\n"
            "  Rule: memory key and queue pair belong to the same protection domain [IBA 10.6.3; PRM \"Memory key\"].\n"
            "  Likely cause: the region was registered with another PD than the queue pair (or shared receive queue) "
            "was created with.\n",
            bench.a_qp.number.value, bench.a_cq.number.value, other.key.value, other.key.index(), other.key.variant(),
            other.address));
    CHECK(explained(bench.b).empty());
}

TEST_CASE("a WRITE beyond the peer's region has a paragraph on either side", "[unit][observe][explain]") {
    Bench bench;

    bench.a.post(bench.a_qp,
                 {.sges = {bench.local.sge(0, 100)}, .remote = bench.remote.address + 8100, .rkey = bench.remote.key});
    bench.ring();

    const auto requester = explained(bench.a), responder = explained(bench.b);
    CHECK(requester.contains("IBV_WC_REM_ACCESS_ERR (remote access error)"));
    CHECK(requester.contains("(NAK of the peer: remote access error)"));
    CHECK(responder.contains(fmt::format("B.hca: QP {:#x} refuses a request of its peer.", bench.b_qp.number.value)));
    CHECK(responder.contains(
        fmt::format("address {:#x}, 100 bytes: out of bounds; NAK for PSN", bench.remote.address + 8100)));
    CHECK(responder.contains("Rule: the range lies inside of [start_addr, start_addr + len) of the key"));
    CHECK(responder.find("Likely cause") == responder.rfind("Likely cause"));
}
