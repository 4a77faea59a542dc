// Rules about the data of messages and where it goes: each fires for what is planted against it, and no other does.
#include "testbench/unit/traces/monitor/good_trace.h"

#include "abi/pcie/tlp.h"
#include "abi/prm/mkey.h"
#include "abi/wire/ethernet.h"
#include "abi/wire/icrc.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace monitor_bench;
using namespace traces::monitor;
using abi::wire::OperationTraits;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The first violation's text.
std::string first(const Trace& trace) {
    const auto found = findings(trace);
    return found.kept().empty() ? std::string() : found.kept().front().text();
}
std::string all(const Trace& trace) {
    std::string text;
    const auto found = findings(trace);
    for (const auto& violation : found.kept())
        text += violation.text() + "\n";
    return text;
}

std::vector<std::size_t> completions(const Trace& trace, abi::prm::CqeOpcode opcode,
                                     abi::prm::WqeOpcode of = abi::prm::WqeOpcode::nop) {
    return places<CqeWritten>(trace, [=](const CqeWritten& written) {
        return written.entry.get<"opcode">() == opcode &&
               (of == abi::prm::WqeOpcode::nop || written.entry.get<"sop">() == static_cast<std::uint32_t>(of));
    });
}
std::vector<std::size_t> packets(const Trace& trace, Direction direction, OperationTraits::Kind kind) {
    return places<PacketSeen>(trace, [=](const PacketSeen& seen) {
        return seen.direction == direction && seen.packet.traits().kind == kind;
    });
}
/// Writes of payload that packets of this kind cause.
std::vector<std::size_t> payload_writes(const Trace& trace, OperationTraits::Kind kind) {
    std::vector<std::uint64_t> causes;
    for (const auto at : packets(trace, Direction::inbound, kind))
        causes.push_back(trace.records[at].number);
    return places<MemoryWritten>(trace, [=](const MemoryWritten& written) {
        return written.place == Place::elsewhere && std::ranges::find(causes, written.at.cause) != causes.end();
    });
}
constexpr std::uint32_t mtu = 4096; ///< of the trace's queue pairs
/// A request for what is behind the first packets of an answer.
Numbered for_the_rest(Numbered request, std::uint32_t packets, std::uint32_t bytes) {
    using namespace abi::wire;
    const auto datagram = std::span(request.kept.head).subspan(Ethernet::size);
    const auto transport = datagram.subspan(Ipv4::size + Udp::size);
    const abi::View<Bth> bth(transport);
    const abi::View<Reth> reth(transport.subspan(Bth::size));
    bth.set<"psn">(bth.get<"psn">() + packets);
    reth.set<"address">(reth.get<"address">() + bytes).set<"dma_length">(reth.get<"dma_length">() - bytes);
    const auto covered = datagram.first(datagram.size() - icrc_bytes);
    abi::store<std::uint32_t, abi::Endian::little>(datagram.last(icrc_bytes).data(), icrc_roce_v2(covered, false));
    return request;
}
/// The record that has brought the context of the first key that the driver has made.
std::size_t key_context(const Trace& trace) {
    const auto command = places<CommandDone>(trace, [](const CommandDone& done) {
                             return done.opcode == abi::prm::Opcode::create_mkey;
                         }).at(0);
    const auto boxes = places<MemoryRead>(trace, [](const MemoryRead& read) {
        return read.place == Place::command_interface && read.bytes.size() == abi::prm::CommandMailbox::size;
    });
    // The mailbox in front of the command's answer is the only one of its input.
    return *std::prev(std::ranges::lower_bound(boxes, command));
}

} // namespace

TEST_CASE("a completion before the last of its payload breaks the rule of payload, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto completion = completions(trace, abi::prm::CqeOpcode::resp_send).at(1);
    const auto writes = payload_writes(trace, OperationTraits::Kind::send);
    trace.move(completion, *std::prev(std::ranges::lower_bound(writes, completion)));

    INFO(all(trace));
    CHECK(broken(trace) == "payload before completion");
    CHECK_THAT(first(trace), ContainsSubstring("a message of 9001 bytes completes when"));
    CHECK_THAT(all(trace), ContainsSubstring("after its completion"));
}

TEST_CASE("payload that is not written breaks the rule of payload, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    trace.drop(payload_writes(trace, OperationTraits::Kind::send).at(0));

    INFO(all(trace));
    CHECK(broken(trace) == "payload before completion");
    CHECK_THAT(first(trace), ContainsSubstring("a message of 100 bytes completes when 0 of them"));
}

TEST_CASE("a READ that completes before its last packet breaks the rule of READs, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto completion = completions(trace, abi::prm::CqeOpcode::req, abi::prm::WqeOpcode::rdma_read).at(1);
    const auto responses = packets(trace, Direction::inbound, OperationTraits::Kind::read_response);
    trace.move(completion, *std::prev(std::ranges::lower_bound(responses, completion)));

    INFO(all(trace));
    CHECK(broken(trace) == "READ response complete");
    CHECK_THAT(first(trace), ContainsSubstring("a READ of 9001 bytes completes after"));
}

TEST_CASE("an answer to a READ without its middle breaks the rule of READs, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    trace.drop(packets(trace, Direction::outbound, OperationTraits::Kind::read_response).at(2));

    INFO(all(trace));
    CHECK(broken(trace) == "READ response complete");
    CHECK_THAT(first(trace), ContainsSubstring("one before it is missing"));
}

TEST_CASE("requests for one READ that have overtaken each other break no rule", "[unit][monitor]") {
    auto trace = good_trace();
    const auto request = packets(trace, Direction::inbound, OperationTraits::Kind::read_request).at(1);
    const auto answer = packets(trace, Direction::outbound, OperationTraits::Kind::read_response);
    // The peer has asked for all of it, then for what was missing, and that came first.
    const auto rest = for_the_rest(trace.records[request], 2, 2 * mtu);
    const auto insert = [&](std::size_t at, const Numbered& one) {
        trace.records.insert(trace.records.begin() + static_cast<std::ptrdiff_t>(at), one);
    };
    SECTION("before the first packet of the answer") { insert(request, rest); }
    SECTION("while it is under way, which goes on first") { insert(answer.at(3), rest); }
    SECTION("and again behind it") {
        const auto whole = trace.records[request];
        insert(answer.at(3), whole);
        insert(request, rest);
    }

    INFO(all(trace));
    CHECK(broken(trace) == "");
}

TEST_CASE("a peer that writes by a key without the right breaks the rule of keys, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const abi::View<abi::prm::Mkc> context(trace.records[key_context(trace)].kept.payload);
    REQUIRE(context.get<"rw">() == 1);
    context.set<"rw">(0);

    INFO(all(trace));
    CHECK(broken(trace) == "rkey valid");
    CHECK_THAT(first(trace), ContainsSubstring("does not have this right"));
}

TEST_CASE("a peer that reads beyond a key breaks the rule of keys, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const abi::View<abi::prm::Mkc> context(trace.records[key_context(trace)].kept.payload);
    context.set<"len">(9001 + 0x200 - 1);

    INFO(all(trace));
    CHECK(broken(trace) == "rkey valid");
    CHECK_THAT(all(trace), ContainsSubstring("4096 bytes of memory are sent to a peer"));
    CHECK_THAT(all(trace), ContainsSubstring("RDMA READ Request of 9001 bytes"));
}

TEST_CASE("a peer that uses a key that is destroyed breaks the rules of keys and of what is given", "[unit][monitor]") {
    auto trace = good_trace();
    const auto request = packets(trace, Direction::inbound, OperationTraits::Kind::atomic).at(0);
    const auto gone =
        places<ObjectGone>(trace, [](const ObjectGone& object) { return object.kind == ObjectKind::mkey; }).at(0);
    // All that belongs to the command that destroys the key: what was recorded in the course of one doorbell.
    const auto gate = trace.records[gone].kept.mark.gate;
    auto from = trace.find([&](const Numbered& one) { return one.kept.mark.gate == gate; });
    for (auto to = request; from < trace.records.size() && trace.records[from].kept.mark.gate == gate; ++from)
        trace.move(from, to++);

    INFO(all(trace));
    CHECK(broken(trace) == "DMA within what is given, rkey valid");
    CHECK_THAT(all(trace), ContainsSubstring("there is no such key"));
}

TEST_CASE("a write to memory that nobody gave breaks the rule of what is given, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto at = payload_writes(trace, OperationTraits::Kind::send).at(0);
    using abi::pcie::MemoryRequest32;
    const abi::View<MemoryRequest32> header(trace.records[at].kept.head);
    header.set<"address">(header.get<"address">() | 1u << 29); // bit 31 of the address

    INFO(all(trace));
    CHECK(broken(trace) == "DMA within what is given");
    CHECK_THAT(first(trace), ContainsSubstring("the device writes 100 bytes"));
}
