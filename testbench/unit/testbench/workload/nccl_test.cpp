#include "testbench/workload/nccl_log.h"
#include "testbench/workload/nccl_messages.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

using namespace workload;

namespace {

/// A line as NCCL 2.19 prints it.
std::string call(std::string_view process, std::string_view name, std::uint64_t count, unsigned type, unsigned root,
                 std::string_view comm, unsigned ranks) {
    return fmt::format("{}:{} [3] NCCL INFO {}: opCount 1f sendbuff 0x7f80b54bad00 recvbuff 0x7f81cce12200 count {} "
                       "datatype {} op 0 root {} comm {} [nranks={}] stream 0x558f83fe3ca0\n",
                       process, 4720, name, count, type, root, comm, ranks);
}
std::string init(std::string_view process, std::string_view comm, unsigned rank, unsigned ranks, std::string_view id) {
    return fmt::format(
        "{}:4720 [3] NCCL INFO ncclCommInitRank comm {} rank {} nranks {} cudaDev 3 nvmlDev 3 busId 8d000 "
        "commId {} - Init COMPLETE\n",
        process, comm, rank, ranks, id);
}

std::string error_of(const std::string& text) {
    const auto log = read_nccl_log(text, "a.log");
    return log ? "" : log.error();
}

struct Sent {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> bytes; ///< by pair
    std::uint64_t messages = 0, most = 0;
    model::port::Time last{};
};
Sent expand(const NcclLog& log, const std::vector<std::string>& names, const NcclPace& pace = {}) {
    Sent sent;
    REQUIRE(expand_nccl(log, names, pace, [&](auto at, auto from, auto to, auto bytes) {
        sent.bytes[{from, to}] += bytes;
        ++sent.messages;
        sent.most = std::max(sent.most, bytes);
        sent.last = std::max(sent.last, at);
    }));
    return sent;
}

const std::vector<std::string> four{"A", "B", "C", "D"};

} // namespace

TEST_CASE("operations are read as NCCL prints them", "[unit][workload]") {
    const auto log = read_nccl_log("torch: begins\n" + call("n1:7", "AllReduce", 100, 7, 0, "0xa", 4) +
                                       "NCCL version 2\n" + call("n1:7", "Broadcast", 10, 9, 2, "0xa", 4) +
                                       "n1:7:9 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo 1 proto 2 time 3\n",
                                   "a.log");
    REQUIRE(log.has_value());
    CHECK(log->ranks == 4);
    REQUIRE(log->calls.size() == 2);
    CHECK(log->calls[0].operation == NcclOperation::all_reduce);
    CHECK(log->calls[0].bytes == 400);
    CHECK(log->calls[0].line == 2);
    CHECK(log->calls[0].ranks == std::vector<std::uint32_t>{0, 1, 2, 3});
    CHECK(log->calls[1].operation == NcclOperation::broadcast);
    CHECK(log->calls[1].bytes == 20);
    CHECK(log->calls[1].root == 2);
}

TEST_CASE("what all ranks have logged counts once, sends count each", "[unit][workload]") {
    std::string text;
    for (const unsigned rank : {1u, 0u})
        text += init(fmt::format("n:{}", rank), fmt::format("0x{}", rank + 10), rank, 2, "0x77");
    for (const unsigned rank : {1u, 0u}) {
        text += call(fmt::format("n:{}", rank), "AllReduce", 8, 0, 0, fmt::format("0x{}", rank + 10), 2);
        text += call(fmt::format("n:{}", rank), "Send", 8, 0, 1 - rank, fmt::format("0x{}", rank + 10), 2);
        text += call(fmt::format("n:{}", rank), "Recv", 8, 0, 1 - rank, fmt::format("0x{}", rank + 10), 2);
    }
    const auto log = read_nccl_log(text, "a.log");
    REQUIRE(log.has_value());
    REQUIRE(log->calls.size() == 3);
    CHECK(log->calls[1].from == 1);
    CHECK(log->calls[1].root == 0);
    CHECK(log->calls[2].from == 0);
}

TEST_CASE("ranks of a part are found by their processes", "[unit][workload]") {
    std::string text;
    for (unsigned rank = 0; rank < 4; ++rank)
        text += init(fmt::format("n:{}", rank), "0xa", rank, 4, "0x1");
    text += init("n:3", "0xb", 0, 2, "0x2") + init("n:1", "0xb", 1, 2, "0x2");
    text += call("n:3", "Broadcast", 4, 0, 0, "0xb", 2);
    const auto log = read_nccl_log(text, "a.log");
    REQUIRE(log.has_value());
    CHECK(log->ranks == 4);
    CHECK(log->calls[0].ranks == std::vector<std::uint32_t>{3, 1});
    CHECK(expand(*log, four).bytes == decltype(Sent::bytes){{{3, 1}, 4}});
}

TEST_CASE("what a log does not say, or says wrong, is told with its line", "[unit][workload]") {
    CHECK(error_of("").starts_with("a.log: has no operation"));
    CHECK(error_of(call("n:1", "AllReduce", 1, 12, 0, "0xa", 2)) == "a.log:1: datatype 12 is none that is known");
    CHECK(error_of("\n" + call("n:1", "Scan", 1, 1, 0, "0xa", 2)) == "a.log:2: 'Scan' is no operation that is known");
    CHECK(error_of(call("n:1", "AllReduce", 1ull << 41, 0, 0, "0xa", 2)).ends_with("more than 1 TiB"));
    CHECK(error_of(call("n:1", "AllReduce", 1, 0, 2, "0xa", 2)).starts_with("a.log:1: root 2 of 2"));
    CHECK(error_of(call("n:1", "AllReduce", 1, 0, 0, "0xa", 5000)).starts_with("a.log:1: root 0 of 5000"));
    CHECK(error_of(call("n:1", "AllReduce", 1, 0, 0, "0xa", 0)).starts_with("a.log:1: root 0 of 0"));
    CHECK(error_of(call("n:1", "Send", 1, 0, 0, "0xa", 2)).starts_with("a.log:1: who sends"));
    CHECK(error_of(init("n:1", "0xa", 2, 2, "0x1")).starts_with("a.log:1: rank 2 of 2"));
    CHECK(error_of(init("n:1", "0xa", 0, 2, "0x1") + call("n:1", "AllReduce", 1, 0, 0, "0xa", 4))
              .starts_with("a.log:2: comm 0xa has 4 ranks here and 2"));
    CHECK(error_of(call("n:1", "AllReduce", 1, 0, 0, "0xa", 4) + call("n:1", "AllReduce", 1, 0, 0, "0xb", 2))
              .starts_with("a.log:2: rank 0 of a communicator of 2"));
    CHECK(error_of("n:1:2 [0] NCCL INFO AllReduce: opCount 3 count x").starts_with("a.log:1: AllReduce has not all"));
}

TEST_CASE("rings move what the algorithm has to move, from each to the next", "[unit][workload]") {
    const auto one = [](std::string_view name, std::uint64_t count) {
        return expand(read_nccl_log(call("n:1", name, count, 0, 1, "0xa", 4), "a.log").value(), four);
    };
    const std::uint64_t count = 4'000'000;
    for (const auto& [name, each] : {std::pair{"AllReduce", 6 * count / 4}, std::pair{"AllGather", 3 * count},
                                     std::pair{"ReduceScatter", 3 * count}}) {
        INFO(name);
        const auto sent = one(name, count);
        CHECK(sent.bytes == decltype(Sent::bytes){{{0, 1}, each}, {{1, 2}, each}, {{2, 3}, each}, {{3, 0}, each}});
        CHECK(sent.most == 512 * 1024);
    }
    CHECK(one("Broadcast", 9).bytes == decltype(Sent::bytes){{{1, 2}, 9}, {{2, 3}, 9}, {{3, 0}, 9}});
    CHECK(one("Reduce", 9).bytes == decltype(Sent::bytes){{{2, 3}, 9}, {{3, 0}, 9}, {{0, 1}, 9}});
    CHECK(one("AlltoAll", 9).bytes.size() == 12);
    CHECK(one("AllReduce", 3).messages == 18); // a segment has nothing in it
}

TEST_CASE("what stays on a host is no message, and too few names are told", "[unit][workload]") {
    const auto log = read_nccl_log(call("n:1", "AllReduce", 8, 0, 0, "0xa", 4), "a.log").value();
    CHECK(expand(log, {"A", "A", "B", "B"}).bytes == decltype(Sent::bytes){{{1, 2}, 12}, {{3, 0}, 12}});
    const auto done = expand_nccl(log, {"A", "B"}, {}, [](auto, auto, auto, auto) {});
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error() == "the log is of 4 ranks, and 2 are named");
}

TEST_CASE("an operation begins when its ranks have ended the one before", "[unit][workload]") {
    using namespace std::chrono_literals;
    const auto text = call("n:1", "Broadcast", 1000, 0, 0, "0xa", 2);
    const auto log = read_nccl_log(text + text, "a.log").value();
    // 1000 bytes at 8 Gbit/s are a microsecond.
    const NcclPace pace{.gbps = 8, .hop = 5us, .gap = 100us};
    CHECK(expand(log, {"A", "B"}, pace).last == 106us);
}

TEST_CASE("a log that nobody could replay is refused", "[unit][workload]") {
    const auto log = read_nccl_log(call("n:1", "AllReduce", 1ull << 37, 8, 0, "0xa", 2), "a.log").value();
    const auto late = expand_nccl(log, {"A", "B"}, {.gbps = 1}, [](auto, auto, auto, auto) {});
    REQUIRE_FALSE(late.has_value());
    CHECK(late.error().starts_with("line 1: is later than 100 s"));
    const auto large = read_nccl_log(call("n:1", "AlltoAll", 1ull << 40, 0, 0, "0xa", 4), "a.log").value();
    const auto many = expand_nccl(large, four, {.gbps = 1e5}, [](auto, auto, auto, auto) {});
    REQUIRE_FALSE(many.has_value());
    CHECK(many.error().starts_with("line 1: makes more than 16777216 messages"));
}
