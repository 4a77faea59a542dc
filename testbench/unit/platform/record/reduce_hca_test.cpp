// An HCA errs in one place of a long session: the trace that is left has that, and is still the recording of a life.
#include "platform/record/reduce.h"

#include "testbench/unit/platform/record/hca_session.h"

#include <catch2/generators/catch_generators.hpp>

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

} // namespace

TEST_CASE("a wrong completion of a long session is shown by a trace of a hundredth, which is still a recording",
          "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config, 400);
    const auto change = wrong_completion(0);
    trace_bench::MemorySource source(trace);
    const auto whole = play_tampered(source, config, change);
    const auto wanted = sighting(whole);
    REQUIRE(wanted);
    trace_bench::MemoryDestination into;

    const auto reduced = reduce(
        [&]() -> std::expected<std::unique_ptr<codec::Source>, std::string> {
            return std::make_unique<trace_bench::MemorySource>(trace);
        },
        {.interfaces = {0, 1}, .wanted = *wanted, .deadline = std::chrono::steady_clock::now() + 60s},
        [&](codec::Source& candidate) { return sighting(play_tampered(candidate, config, change)); }, into);

    REQUIRE(reduced);
    const auto all = trace_bench::read_all(trace).records.size();
    INFO(reduced->records << " of " << all << " records after " << reduced->plays << " plays, " << reduced->records_cut
                          << " after the cut");
    CHECK(reduced->records * 100 < all);
    trace_bench::MemorySource small(into.bytes);
    const auto again = play_tampered(small, config, change);
    REQUIRE(again.divergence);
    CHECK(again.divergence->record == reduced->record);
    CHECK(sighting(again)->what == wanted->what);
    CHECK(why(play(into.bytes, config, left_interfaces, Replay::Mode::untimed)) == "");
}
