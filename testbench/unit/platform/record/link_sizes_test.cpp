// An HCA that does what it did, on a link that cuts its accesses otherwise.
#include "testbench/unit/platform/record/hca_session.h"

#include "model/pcie/tlp_cost.h"
#include "model/port/memory_dma.h"
#include "platform/record/accesses.h"
#include "testbench/harness/test_ports.h"

#include <catch2/generators/catch_generators.hpp>

using namespace hca_session;
using model::pcie::TlpSizes;
using Kind = Divergence::Kind;

namespace {

Replay::Result play_on_link(const trace_bench::Bytes& trace, const HcaConfig& config, Replay::Mode mode,
                            LinkSizes sizes) {
    trace_bench::MemorySource source(trace);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    Replay replay(reader, left_interfaces, mode, sizes);
    platform::card::Mlx5Device device(config, replay.ports(), {});
    return replay.run(device);
}

/// The first request of the left device that has bytes on both sides of a multiple of `boundary` which is none of twice
/// that.
std::uint64_t first_across(const trace_bench::Bytes& trace, bool is_write, std::uint64_t boundary) {
    const auto story = trace_bench::read_all(trace);
    for (std::size_t i = 0; i < story.records.size(); ++i) {
        const auto& record = story.records[i];
        const auto request = read_memory_request(record.head);
        if (record.interface != left_interfaces.functions[0] || !request || request->is_write != is_write ||
            record.mark.direction != codec::Direction::outbound)
            continue;
        const auto begin = request->piece.address, end = begin + request->piece.length;
        for (auto at = begin / boundary * boundary; at < end; at += boundary)
            if (at > begin && at / boundary % 2 == 1)
                return i + 1;
    }
    return 0;
}

} // namespace

TEST_CASE("on a link of half the payload, the first write that is cut otherwise is named", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto mode = GENERATE(Replay::Mode::strict, Replay::Mode::untimed);
    const auto trace = recorded(config);

    const auto result = play_on_link(trace, config, mode, {TlpSizes::of(512, 512), TlpSizes::of(256, 512)});

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::field);
    CHECK(result.divergence->record == first_across(trace, true, 256));
    REQUIRE(result.divergence->expected_step);
    REQUIRE(result.divergence->actual_step);
    const auto& expected = *result.divergence->expected_step;
    const auto& actual = *result.divergence->actual_step;
    CHECK(actual.address == expected.address);
    CHECK(actual.length < expected.length);
    CHECK(expected.length <= 512);
    CHECK(actual.bytes.size() == actual.length);
    CHECK(std::ranges::equal(actual.bytes, std::span(expected.bytes).first(actual.bytes.size())));
}

TEST_CASE("on a link of half the read request, the first read that is cut otherwise is named", "[unit][record]") {
    const auto config = configured(true);
    const auto trace = recorded(config);

    const auto result =
        play_on_link(trace, config, Replay::Mode::strict, {TlpSizes::of(512, 1024), TlpSizes::of(512, 512)});

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::field);
    CHECK(result.divergence->record == first_across(trace, false, 512));
    REQUIRE(result.divergence->actual_step);
    CHECK(result.divergence->actual_step->what == Step::What::read);
}

TEST_CASE("on the link that it had, whatever that carries, a device plays as it was", "[unit][record]") {
    const auto config = configured(true);
    const auto trace = recorded(config);
    const auto sizes = GENERATE(TlpSizes::of(128, 128), TlpSizes::of(4096, 4096));

    CHECK(why(play_on_link(trace, config, Replay::Mode::strict, {sizes, sizes})) == "");
}

// --- its own memory ---

namespace {

const DeviceInterfaces one_link{.functions = {0}, .ports = {}};

/// Its memory is readable, in any lengths; a store makes it write elsewhere.
struct Shelf final : model::pcie::Device {
    model::pcie::DevicePorts ports;
    explicit Shelf(const model::pcie::DevicePorts& with) : ports(with) {}

    model::port::DmaResult bar_read(unsigned, std::uint64_t offset, std::span<std::byte> into, Time at) override {
        std::ranges::fill(into, static_cast<std::byte>(offset));
        return {model::port::DmaStatus::ok, at + 5ns};
    }
    void bar_write(unsigned, std::uint64_t offset, std::span<const std::byte>, Time at) override {
        const std::vector<std::byte> bytes(600, std::byte{7});
        ports.dma.write(abi::BusAddress{0x10000 + offset}, bytes, at);
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(Time) override {}
};

/// Records what `use` does with a shelf, and plays it on a link of half the payload.
template <class Use> Replay::Result shelf_on_half_the_payload(Use&& use) {
    trace_bench::MemoryDestination destination;
    const codec::Head head{
        .identity = {}, .configuration = {}, .names = {}, .interfaces = {{codec::InterfaceKind::pcie, "shelf"}}};
    codec::Writer writer(destination, head, {});
    Journal journal(writer);
    Boundary boundary(journal, one_link);
    model::port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    const RecordedPorts ports(boundary, {memory, clock, interrupts});
    Shelf shelf(ports.ports());
    RecordedDevice device(boundary, shelf);
    use(device);
    REQUIRE(writer.close());
    trace_bench::MemorySource source(destination.bytes);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    Replay replay(reader, one_link, Replay::Mode::strict, {TlpSizes::of(512, 512), TlpSizes::of(256, 512)});
    Shelf played(replay.ports());
    return replay.run(played);
}

} // namespace

TEST_CASE("completions that another link cuts otherwise are named, too", "[unit][record]") {
    const auto result = shelf_on_half_the_payload([](RecordedDevice& device) {
        std::vector<std::byte> bytes(600);
        for (const std::size_t length : {4u, 256u, 600u})
            device.bar_read(0, 0x40, std::span(bytes).first(length), Time{});
    });

    REQUIRE(result.divergence);
    CHECK(result.calls == 3);
    CHECK(result.divergence->kind == Kind::field);
    REQUIRE(result.divergence->actual_step);
    CHECK(result.divergence->expected_step->length == 448); // its request ends at 0x200
    CHECK(result.divergence->actual_step->length == 256);
}

TEST_CASE("a TLP behind the first 4 KiB of an access is in the record that has its bytes", "[unit][record]") {
    const auto result = shelf_on_half_the_payload([](RecordedDevice& device) {
        device.bar_write(0, 0xf80, std::array{std::byte{1}}, Time{}); // 128 bytes of it are in front
    });

    REQUIRE(result.divergence);
    REQUIRE(result.divergence->expected_step);
    CHECK(result.divergence->expected_step->address == 0x11000);
    CHECK(result.divergence->expected_step->length == 472);
    CHECK(result.divergence->actual_step->length == 256);
    CHECK(result.divergence->record == result.divergence->call + 2); // the store, then two records of the write
}
