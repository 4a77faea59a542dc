// Logs with dumps of drivers become traces that decode as our own do.
#include "platform/importer/dump_trace.h"

#include "testbench/harness/golden.h"
#include "testbench/unit/traces/codec/trace_bench.h"
#include "traces/codec/layouts.h"
#include "traces/monitor/monitor.h"
#include "traces/tool/show.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace platform::importer;
using Catch::Matchers::ContainsSubstring;
using trace_bench::Bytes;
using traces::codec::FaultKind;

namespace {

// What libmlx5 printed of one send, as published (traces/golden/published).
constexpr std::string_view wqe_rows = "0000000a 00115003 00000008 00000000\n"
                                      "00000000 c0000000 00000000 00000000\n"
                                      "0000022a 00008a0b 00007fc5 9a5b2000\n",
                           cqe_rows = "00000000 00000000 00000000 00000000\n"
                                      "00000000 00000000 00000000 00000000\n"
                                      "00000000 00000000 00000000 00000000\n"
                                      "00004863 2a39b102 0a001150 00003f00\n";
std::string published_log() {
    return "dump wqe at 0x7fc59b357000\n" + std::string(wqe_rows) +
           "\nmlx5_get_next_cqe:565: dump cqe for cqn 0x4c2:\n" + std::string(cqe_rows);
}

traces::codec::Read<std::vector<Dump>> dumps_of(std::string_view text, std::size_t at_once = SIZE_MAX) {
    trace_bench::MemorySource source(std::as_bytes(std::span(text)), at_once);
    return read_dumps(source);
}
std::string why(std::string_view text) {
    const auto dumps = dumps_of(text);
    return dumps ? std::string("no fault") : dumps.error().text();
}

struct Imported {
    Bytes trace;
    DumpCounts counts;
    std::string shown;
};
Imported import(std::string_view text) {
    const auto dumps = dumps_of(text);
    if (!dumps)
        FAIL(dumps.error().text());
    trace_bench::MemoryDestination destination;
    traces::codec::Writer writer(destination, dump_head("test", "log.txt"), {});
    const auto counts = write_dumps(*dumps, writer);
    if (!counts)
        FAIL(counts.error());
    REQUIRE(writer.close());
    trace_bench::MemorySource source(destination.bytes);
    trace_bench::MemoryDestination out;
    CHECK(traces::tool::show(source, {}, out).text() == "");
    return {destination.bytes, *counts, {reinterpret_cast<const char*>(out.bytes.data()), out.bytes.size()}};
}

} // namespace

TEST_CASE("the published dumps are read as they were printed", "[unit][importer][golden]") {
    const auto dumps = dumps_of(published_log(), GENERATE(std::size_t{1}, SIZE_MAX));

    REQUIRE(dumps);
    REQUIRE(dumps->size() == 2);
    CHECK(dumps->at(0).address == 0x7fc59b357000u);
    CHECK(dumps->at(0).bytes == testbench::golden_bytes("wqe_raw_send.txt"));
    CHECK(dumps->at(1).cqn == 0x4c2u);
    CHECK(dumps->at(1).line == 6u);
    CHECK(dumps->at(1).bytes == testbench::golden_bytes("cqe_send.txt"));
}

TEST_CASE("dumps become a trace in which WQE and CQE decode, and every record is marked as injected",
          "[unit][importer][golden]") {
    const auto imported = import(published_log());

    CHECK_THAT(imported.shown, ContainsSubstring("WQE 0 of QP 0x1150: SEND, a WQE of 48 bytes"));
    CHECK_THAT(imported.shown, ContainsSubstring("CQE in CQ 0x4c2: QP 0x1150, requester, WQE 0"));
    CHECK(imported.counts.wqes == 1);
    CHECK(imported.counts.cqes == 1);
    const auto story = trace_bench::read_all(imported.trace);
    CHECK(story.why() == "");
    CHECK(std::ranges::all_of(story.records, [](const auto& record) {
        return record.mark.flags == traces::codec::injected && record.time_ps == 0;
    }));
    const auto is_at = [&](const auto& record, std::uint64_t address) {
        const auto request = traces::tool::read_memory_request(record.head);
        return request && !request->is_write && request->address == address;
    };
    CHECK(std::ranges::count_if(story.records, [&](const auto& record) { return is_at(record, 0x7fc59b357000); }) == 1);
}

TEST_CASE("no rule of the monitor finds anything in imported dumps", "[unit][importer]") {
    std::string log;
    for (int i = 0; i < 40; ++i)
        log += published_log();
    const auto imported = import(log);

    trace_bench::MemorySource source(imported.trace);
    traces::codec::Reader reader(source);
    REQUIRE(reader.open());
    traces::monitor::Monitor monitor(reader.head());
    for (;;) {
        const auto record = reader.next();
        REQUIRE(record);
        if (*record == nullptr)
            break;
        monitor.on(**record);
    }
    monitor.on_end();

    CHECK(imported.counts.cqes == 40);
    CHECK(monitor.findings().kept().empty());
}

TEST_CASE("a kernel's dumps are read, whatever its log puts in front", "[unit][importer]") {
    const auto dumps = dumps_of("[   12.345678] mlx5_ib: dump WQE index 7:\r\n"
                                "[   12.345679] mlx5_ib: 0000070a 00115001 00000008 00000000\r\n"
                                "[   12.400000] infiniband mlx5_0: dump_cqe:272:(pid 0): dump error cqe\n"
                                "[   12.400001] 00000000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
                                "[   12.400002] 00000010: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
                                "[   12.400003] 00000020: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
                                "[   12.400004] 00000030: 00 00 00 00 00 00 88 13 08 00 11 50 00 07 63 d2\n");

    REQUIRE(dumps);
    REQUIRE(dumps->size() == 2);
    CHECK_FALSE(dumps->at(0).address);
    CHECK(dumps->at(0).bytes.size() == 16);
    CHECK(dumps->at(1).bytes.size() == 64);
    CHECK(dumps->at(1).bytes.at(0x37) == std::byte{0x13});
}

TEST_CASE("a WQE whose address nobody has told lies in its ring where its index says", "[unit][importer]") {
    const auto imported = import("dump WQE index 7:\n0000070a 00115001 00000008 00000000\n"
                                 "dump WQE index 8:\n0000080a 00115001 00000008 00000000\n");

    CHECK_THAT(imported.shown, ContainsSubstring("WQE 7 of QP 0x1150: SEND, a WQE of 16 bytes"));
    CHECK_THAT(imported.shown, ContainsSubstring("WQE 8 of QP 0x1150: SEND, a WQE of 16 bytes"));
}

TEST_CASE("an error completion is shown with what went wrong", "[unit][importer]") {
    const auto imported = import("mlx5: host: got completion with error:\n"
                                 "00000000 00000000 00000000 00000000\n00000000 00000000 00000000 00000000\n"
                                 "00000000 00000000 00000000 00000000\n00000000 00008813 08001150 000763d2\n");

    CHECK_THAT(imported.shown, ContainsSubstring("QP 0x1150"));
    CHECK_THAT(imported.shown, ContainsSubstring("CQE in CQ 0x0"));
}

TEST_CASE("a text without dumps is foreign, and told how to get some", "[unit][importer]") {
    CHECK_THAT(why("nothing of this\nis a dump\n"), ContainsSubstring("foreign: line 2: no line has"));
    CHECK_THAT(why(""), ContainsSubstring("MLX5_DEBUG_MASK"));
}

TEST_CASE("a dump that ends early or is no dump is refused by its line and offset", "[unit][importer]") {
    const auto log = published_log();

    CHECK_THAT(why(log.substr(0, 90)), ContainsSubstring("corrupt: line 3") && ContainsSubstring("begins in line 1") &&
                                           ContainsSubstring("byte 63 of the file"));
    CHECK_THAT(why(log.substr(0, 99)), ContainsSubstring("truncated: line 3: the log ends in the dump"));
    CHECK_THAT(why("dump wqe at 0x1000\n0000000a 00115000 00000008 00000000\n"), ContainsSubstring("DS is 0"));
    CHECK_THAT(why("dump wqe at 0x1000\ndump wqe at 0x2000\n"), ContainsSubstring("threads that print"));
}

TEST_CASE("WQEs of one queue pair that no ring can have are refused by their lines", "[unit][importer]") {
    const auto dumps = dumps_of("dump wqe at 0x100000\n0000000a 00115001 00000008 00000000\n"
                                "dump wqe at 0x900000\n0000010a 00115001 00000008 00000000\n");
    REQUIRE(dumps);
    trace_bench::MemoryDestination destination;
    traces::codec::Writer writer(destination, dump_head("test", "log.txt"), {});

    const auto counts = write_dumps(*dumps, writer);

    REQUIRE_FALSE(counts);
    CHECK_THAT(counts.error(),
               ContainsSubstring("line 3: this WQE of queue pair 0x1150") && ContainsSubstring("the first in line 1"));
}

TEST_CASE("every beginning of a log is read or refused, and no line is too long", "[unit][importer]") {
    const auto log = published_log() + std::string(10'000, 'f') + "\n" + published_log();

    for (std::size_t length = 0; length <= log.size(); length += length < 600 || length > 10'500 ? 1 : 97) {
        const auto dumps = dumps_of(std::string_view(log).substr(0, length));
        if (!dumps)
            CHECK(dumps.error().file_offset <= length);
    }
    const auto whole = dumps_of(log);
    REQUIRE(whole);
    CHECK(whole->size() == 4);
}
