// An HCA errs in one place of a long session: the trace that is left has that, and is still the recording of a life.
#include "platform/record/reduce.h"

#include "testbench/unit/platform/record/hca_session.h"
#include "traces/tool/decoder.h"

#include <catch2/generators/catch_generators.hpp>

#include <memory>
#include <set>

using namespace hca_session;
namespace port = model::port;

namespace {

/// Changes what a device writes.
struct Tampering final : port::Dma {
    port::Dma& inner;
    std::function<void(std::span<std::byte>)> change;
    Tampering(port::Dma& dma, std::function<void(std::span<std::byte>)> with) : inner(dma), change(std::move(with)) {}
    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at, port::Purpose purpose) override {
        return inner.read(address, into, at, purpose);
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, Time at,
                          port::Purpose purpose) override {
        std::vector<std::byte> bytes(from.begin(), from.end());
        change(bytes);
        return inner.write(address, bytes, at, purpose);
    }
    port::Loan lend(abi::BusAddress address, std::size_t length, Time at, port::Purpose purpose) override {
        return inner.lend(address, length, at, purpose);
    }
};

/// A completion of an RDMA WRITE gets another signature, if it is that of the WQE `index`.
auto wrong_completion(unsigned index) {
    return [index](std::span<std::byte> bytes) {
        using namespace abi::prm;
        if (bytes.size() != Cqe64::size)
            return;
        const abi::View<Cqe64> cqe(bytes);
        if (cqe.get<"sop">() == static_cast<unsigned>(WqeOpcode::rdma_write) && cqe.get<"wqe_counter">() == index)
            cqe.set<"signature">(cqe.get<"signature">() ^ 0xff);
    };
}

/// Likewise, if it is that of the WQE `index` in the whole recording: a shorter one has it at the same time.
auto wrong_completion_of_the_whole(unsigned index) {
    return [index, time = std::make_shared<std::optional<std::uint64_t>>()](std::span<std::byte> bytes) {
        using namespace abi::prm;
        if (bytes.size() != Cqe64::size)
            return;
        const abi::View<Cqe64> cqe(bytes);
        if (cqe.get<"sop">() != static_cast<unsigned>(WqeOpcode::rdma_write))
            return;
        if (!*time && cqe.get<"wqe_counter">() == index)
            *time = cqe.get<"timestamp">();
        if (*time == cqe.get<"timestamp">())
            cqe.set<"signature">(cqe.get<"signature">() ^ 0xff);
    };
}

using Change = std::function<void(std::span<std::byte>)>;
Replay::Result play_tampered(codec::Source& trace, const HcaConfig& config, const Change& change) {
    codec::Reader reader(trace);
    REQUIRE(reader.open());
    Replay replay(reader, left_interfaces, Replay::Mode::untimed);
    const auto& ports = replay.ports();
    Tampering dma(ports.dma, change);
    platform::card::Mlx5Device device(config, {dma, ports.clock, ports.interrupts, ports.wires}, {});
    return replay.run(device);
}
std::optional<Sighting> sighting(const Replay::Result& result) {
    if (!result.divergence)
        return std::nullopt;
    auto what = std::string(name(result.divergence->kind)) + " " + result.divergence->actual;
    if (const auto at = what.find(" at "); at != what.npos) // the time
        what.erase(at, what.find(" ns", at) - at);
    return Sighting{what, result.divergence->record};
}

struct Small {
    Sighting wanted;
    Reduced reduced;
    trace_bench::Bytes bytes;
};
Small reduce_tampered(const trace_bench::Bytes& trace, const HcaConfig& config, const Change& change) {
    trace_bench::MemorySource source(trace);
    const auto wanted = sighting(play_tampered(source, config, change));
    REQUIRE(wanted);
    trace_bench::MemoryDestination into;
    const auto reduced = reduce(
        [&]() -> std::expected<std::unique_ptr<codec::Source>, std::string> {
            return std::make_unique<trace_bench::MemorySource>(trace);
        },
        {.interfaces = {0, 1}, .wanted = *wanted, .deadline = std::chrono::steady_clock::now() + 60s},
        [&](codec::Source& candidate) { return sighting(play_tampered(candidate, config, change)); }, into);
    REQUIRE(reduced);
    return {*wanted, *reduced, into.bytes};
}

/// How many records are this.
std::size_t count(const trace_bench::Bytes& trace, traces::tool::What what) {
    const auto story = trace_bench::read_all(trace);
    traces::tool::Decoder decoder(story.head);
    std::size_t found = 0;
    for (std::uint64_t number = 1; number <= story.records.size(); ++number) {
        const auto& one = story.records[number - 1];
        found +=
            decoder.take({number, one.interface, one.time_ps, one.mark, one.head, one.payload}).find(what) != nullptr;
    }
    return found;
}

std::set<abi::prm::Opcode> commands_of(const trace_bench::Bytes& trace) {
    const auto story = trace_bench::read_all(trace);
    traces::tool::Decoder decoder(story.head);
    std::set<abi::prm::Opcode> found;
    for (std::uint64_t number = 1; number <= story.records.size(); ++number) {
        const auto& one = story.records[number - 1];
        const auto& seen =
            decoder.take({number, one.interface, one.time_ps, one.mark, std::span(one.head), std::span(one.payload)});
        if (one.interface == 0 && seen.what() == traces::tool::What::command_done)
            found.insert(seen.command->opcode());
    }
    return found;
}

/// How often a command is there.
std::size_t count(const trace_bench::Bytes& trace, abi::prm::Opcode opcode) {
    const auto story = trace_bench::read_all(trace);
    traces::tool::Decoder decoder(story.head);
    std::size_t found = 0;
    for (std::uint64_t number = 1; number <= story.records.size(); ++number) {
        const auto& one = story.records[number - 1];
        const auto& seen = decoder.take({number, one.interface, one.time_ps, one.mark, one.head, one.payload});
        found +=
            one.interface == 0 && seen.what() == traces::tool::What::command_done && seen.command->opcode() == opcode;
    }
    return found;
}

/// A session in which the queue pair that sends, and all that it needs, is the third of each that is made.
void session_with_others(const HcaConfig& config, Recording& recording) {
    Hosts hosts(config, Hosts::neighbour(config), &recording);
    Side left(hosts.a, 0x0a000001), right(hosts.b, 0x0a000002);
    struct Objects {
        abi::Pd pd;
        std::unique_ptr<mlx::CompletionQueue> cq;
        mlx::MemoryRegion region;
        std::unique_ptr<mlx::QueuePair> qp;
    };
    const auto make = [&] {
        const auto pd = must(left.context->alloc_pd());
        auto cq = must(left.context->create_cq({.entries = 64}));
        auto region = must(left.context->reg_mr(pd, left.buffer, mlx::all_access));
        auto qp = must(left.context->create_qp({.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get()}));
        return Objects{pd, std::move(cq), std::move(region), std::move(qp)};
    };
    const auto second = make(), third = make();
    auto peer = left.peer;
    peer.qpn = third.qp->number();
    must(left.context->connect(*third.qp, right.peer, abi::Psn{77}));
    must(right.context->connect(*right.qp, peer, abi::Psn{77}));
    for (unsigned i = 0; i < 2; ++i) { // the second one behind the acknowledgement of the first
        const mlx::Sge sge{third.region.iova().value, 5000, third.region.lkey()};
        must(third.qp->post_send({.sge = &sge,
                                  .sge_count = 1,
                                  .operation = mlx::SendOperation::write,
                                  .flags = mlx::send_flag::signaled,
                                  .rkey = right.region.rkey(),
                                  .remote_address = right.region.iova().value}));
        mlx::Completion completion;
        while (third.cq->poll({&completion, 1}) == 0)
            hosts.a.relax();
        CHECK(completion.status == mlx::CompletionStatus::success);
    }
}
trace_bench::Bytes recorded_with_others(const HcaConfig& config) {
    Recording recording;
    session_with_others(config, recording);
    REQUIRE(recording.writer.close());
    return recording.destination.bytes;
}

} // namespace

TEST_CASE("of objects those that nothing needs are left out, and the later ones have their numbers", "[unit][record]") {
    using enum abi::prm::Opcode;
    const auto config = configured(true);
    const auto trace = recorded_with_others(config);

    const auto change = wrong_completion_of_the_whole(1);

    const auto small = reduce_tampered(trace, config, change);

    for (const auto opcode : {alloc_pd, create_cq, create_mkey, create_qp}) {
        INFO("opcode " << static_cast<unsigned>(opcode));
        CHECK(count(trace, opcode) == 3);
        CHECK(count(small.bytes, opcode) == 1);
    }
    trace_bench::MemorySource source(small.bytes);
    const auto again = play_tampered(source, config, change);
    REQUIRE(again.divergence);
    CHECK(sighting(again)->what == small.wanted.what);
    CHECK(why(play(small.bytes, config, left_interfaces, Replay::Mode::untimed)) == "");
}

TEST_CASE("without the event queue that commands have, nothing tells of their end, and no interrupt comes",
          "[unit][record]") {
    const auto config = configured(true);
    const auto trace = recorded(config);

    const auto small = reduce_tampered(trace, config, wrong_completion(0));

    for (const auto what : {traces::tool::What::eqe, traces::tool::What::eq_doorbell, traces::tool::What::interrupt})
        CHECK(count(trace, what) > 0);
    for (const auto what : {traces::tool::What::eqe, traces::tool::What::eq_doorbell, traces::tool::What::interrupt})
        CHECK(count(small.bytes, what) == 0);
    CHECK(why(play(small.bytes, config, left_interfaces, Replay::Mode::untimed)) == "");
}

TEST_CASE("a wrong completion of a long session is shown by a trace of a hundredth, which is still a recording",
          "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config, 400);
    const auto change = wrong_completion(0);

    const auto small = reduce_tampered(trace, config, change);

    const auto all = trace_bench::read_all(trace).records.size();
    INFO(small.reduced.records << " of " << all << " records after " << small.reduced.plays << " plays, "
                               << small.reduced.records_cut << " after the cut");
    CHECK(small.reduced.records * 100 < all);
    trace_bench::MemorySource source(small.bytes);
    const auto again = play_tampered(source, config, change);
    REQUIRE(again.divergence);
    CHECK(again.divergence->record == small.reduced.record);
    CHECK(sighting(again)->what == small.wanted.what);
    CHECK(why(play(small.bytes, config, left_interfaces, Replay::Mode::untimed)) == "");
}

TEST_CASE("commands that nothing depends on are left out, though the events of those behind them move up",
          "[unit][record]") {
    using enum abi::prm::Opcode;
    const auto config = configured(true);
    const auto trace = recorded(config);

    const auto small = reduce_tampered(trace, config, wrong_completion(0));

    const auto all = commands_of(trace), left = commands_of(small.bytes);
    for (const auto opcode : {query_vport_state, query_nic_vport_context}) {
        CHECK(all.contains(opcode));
        CHECK_FALSE(left.contains(opcode));
    }
    CHECK(left.contains(create_qp));
    CHECK(why(play(small.bytes, config, left_interfaces, Replay::Mode::untimed)) == "");
}

TEST_CASE("of the messages before a wrong completion those of a round of the ring are left, and no device sees the gap",
          "[unit][record]") {
    constexpr unsigned messages = 300, wrong = 290, round = 64;
    const auto config = configured(true);
    const auto trace = recorded(config, messages, 3000);
    const auto change = wrong_completion_of_the_whole(wrong);

    const auto small = reduce_tampered(trace, config, change);

    CHECK(count(trace, traces::tool::What::cqe) > messages);
    CHECK(count(small.bytes, traces::tool::What::cqe) <= round);
    trace_bench::MemorySource source(small.bytes);
    const auto again = play_tampered(source, config, change);
    REQUIRE(again.divergence);
    CHECK(again.divergence->record == small.reduced.record);
    CHECK(sighting(again)->what == small.wanted.what);
    CHECK(why(play(small.bytes, config, left_interfaces, Replay::Mode::untimed)) == "");
}
