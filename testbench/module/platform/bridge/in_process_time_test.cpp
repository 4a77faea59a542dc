// How long a processor is at a card's memory, and at its own work.
#include "testbench/module/platform/bridge/in_process_bench.h"

#include "model/tlm/time.h"

#include <catch2/catch_test_macros.hpp>

using namespace in_process_test;
using model::tlm::kernel_now;

namespace {
/// What 64 KiB of a card's memory cost a processor, copied one way.
struct Copied {
    double gigabytes_per_s = 0;
    std::uint64_t tlps = 0, payload = 0; ///< of the link that leads to the card, in the direction of the bytes
};

void with_copies(const platform::host::BarAccessConfig& access,
                 std::function<void(Copied read, Copied written)> check) {
    constexpr std::size_t bytes = 64 << 10;
    platform::host::HostConfig config{.bar_access = access};
    config.upstream_link.latency = config.device_link.latency = 250ns; // a round trip takes a microsecond, as there
    PcieMachine machine(true, config);
    Thread thread("driver", [&] {
        InProcessTransport transport(machine.host, machine.found(1).bdf);
        const auto copied = [&](model::pcie::Direction direction, auto&& copy) {
            auto& link = *machine.host.slot_link(0);
            const auto before = link.traffic(direction);
            const auto begun = transport.now();
            copy();
            const auto after = link.traffic(direction);
            return Copied{static_cast<double>(bytes) / static_cast<double>((transport.now() - begun).count()),
                          after.tlps - before.tlps, after.payload_bytes - before.payload_bytes};
        };
        std::vector<std::byte> from(bytes), into(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            from[i] = static_cast<std::byte>(i * 7 + i / 256);
        const auto written = copied(model::pcie::Direction::downstream, [&] { transport.bar_write(2, 0x1000, from); });
        const auto read = copied(model::pcie::Direction::upstream, [&] { transport.bar_read(2, 0x1000, into); });
        CHECK(into == from);
        check(read, written);
    });
    sc_core::sc_start(sc_core::sc_time(100, sc_core::SC_MS));
    REQUIRE(thread.is_finished());
}
} // namespace

// gdrcopy, to a BAR of a V100: the processor writes 9.6 GB/s and reads 0.53 GB/s.
TEST_CASE("a processor copies to and from a card's memory by lines, as fast as silicon does",
          "[module][bridge][timed]") {
    with_copies({}, [](Copied read, Copied written) {
        CHECK(written.tlps == 1024);
        CHECK(written.payload == 64 << 10);
        CHECK(written.gigabytes_per_s > 0.9 * 9.6);
        CHECK(written.gigabytes_per_s < 1.1 * 9.6);
        CHECK(read.tlps == 1024);
        CHECK(read.payload == 64 << 10);
        CHECK(read.gigabytes_per_s > 0.8 * 0.53);
        CHECK(read.gigabytes_per_s < 1.2 * 0.53);
    });
}

TEST_CASE("a processor that combines nothing copies by words", "[module][bridge][timed]") {
    with_copies({.load_bytes = 8, .loads = 1, .store_bytes = 8}, [](Copied read, Copied written) {
        CHECK(written.tlps == 8192);
        CHECK(read.tlps == 8192);
        CHECK(read.gigabytes_per_s < 0.02);
    });
}

TEST_CASE("a narrow link holds a processor's stores back", "[module][bridge][timed]") {
    platform::host::HostConfig narrow;
    narrow.upstream_link = narrow.device_link = {.generation = 1, .width = 1};
    Driver driver(
        true,
        [](PcieMachine&, InProcessTransport& transport) {
            const std::vector<std::byte> bytes(1 << 20);
            const auto begun = kernel_now();
            transport.bar_write(2, 0, bytes);
            CHECK(transport.now() - begun > 4ms); // 250 MB/s before headers
        },
        narrow);
    driver.run();
}

TEST_CASE("what one processor has spent is not another one's debt", "[module][bridge][timed]") {
    platform::host::HostConfig config;
    config.software = {.post = 300ns, .poll = 20ns, .store = 1us};
    PcieMachine machine(true, config);
    std::unique_ptr<InProcessTransport> transport;
    std::array<Time, 2> passed{};
    sc_core::sc_event stored;
    Thread first("first", [&] {
        transport = std::make_unique<InProcessTransport>(machine.host, machine.found(1).bdf);
        transport->config_write(4, 2, 6);
        const auto begun = kernel_now();
        transport->mmio_write(0, 0x800, std::array<std::byte, 4>{}); // which is paid with the next access
        stored.notify(sc_core::sc_time(5, sc_core::SC_NS));
        sc_core::wait(sc_core::sc_time(10, sc_core::SC_NS));
        static_cast<void>(transport->now());
        passed[0] = kernel_now() - begun;
    });
    Thread second("second", [&] {
        sc_core::wait(stored);
        const auto begun = kernel_now();
        transport->spend(sw::transport::Work::poll, 1);
        transport->spend(sw::transport::Work::post, 1);
        passed[1] = kernel_now() - begun;
    });
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
    CHECK(passed[0] == 1010ns);
    CHECK(passed[1] == 300ns + config.software.poll);
}

TEST_CASE("what software does takes its time before the device hears of it", "[module][bridge][timed]") {
    using sw::transport::Work;
    platform::host::HostConfig config;
    config.software = {.post = 300ns, .poll = 70ns, .store = 30ns, .interrupt = 5us};
    Driver driver(
        true,
        [](PcieMachine& machine, InProcessTransport& transport) {
            transport.config_write(4, 2, 6);
            const auto begun = kernel_now();
            transport.spend(Work::poll, 10);
            CHECK(kernel_now() == begun); // not yet: nobody can tell
            const std::array<std::byte, 4> bytes{};
            transport.mmio_write(0, 0x800, bytes);
            CHECK(machine.first.function.writes == 1);
            CHECK(kernel_now() == begun + 700ns);
            transport.spend(Work::post, 2); // the device may look at memory at any time
            CHECK(kernel_now() == begun + 1330ns);
            transport.spend(Work::poll, 1);
            CHECK(transport.now() == std::chrono::duration_cast<std::chrono::nanoseconds>(begun + 1400ns));
            transport.spend(Work::poll, 1);
            read32(transport, 0, 0);
            CHECK(kernel_now() > begun + 1470ns + 200ns); // and then the way there and back

            REQUIRE(transport.enable_interrupts(1));
            const auto raised = kernel_now();
            machine.first.endpoint.interrupts().raise(0, raised);
            CHECK(transport.wait_interrupt(0, 1s));
            CHECK(kernel_now() >= raised + 5us);
            CHECK(kernel_now() < raised + 6us);
        },
        config);
    driver.run();
}

TEST_CASE("without timing software takes no time", "[module][bridge]") {
    Driver driver(false, [](PcieMachine&, InProcessTransport& transport) {
        transport.spend(sw::transport::Work::post, 1000);
        transport.spend(sw::transport::Work::poll, 1000);
        CHECK(transport.now() == 0ns);
    });
    driver.run();
}
