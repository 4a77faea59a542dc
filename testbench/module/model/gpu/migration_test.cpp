// Buffers of a GPU with copy engines, moved by its driver over timed links.
#include "model/gpu/gpu.h"
#include "platform/topology/platform_module.h"
#include "platform/topology/read.h"
#include "model/tlm/time.h"
#include "platform/bridge/in_process.h"
#include "sw/gpu/address_space.h"
#include "sw/gpu/gpu.h"
#include "sw/transport/poll.h"
#include "testbench/harness/host_functions.h"
#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <fmt/format.h>

#include <functional>
#include <random>
#include <vector>

using namespace testbench;
using namespace std::chrono_literals;
using sw::gpu::Placement;

namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

std::vector<std::byte> random_bytes(std::size_t size, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(size);
    for (auto& byte : bytes)
        byte = static_cast<std::byte>(random());
    return bytes;
}

/// A host with one GPU, and its driver in a thread of the simulation.
void with_gpu(std::string_view keys, const std::function<void(sw::gpu::Gpu&, model::gpu::Gpu&)>& use,
              sw::gpu::VramLayout layout = {}) {
    const auto config = platform::topology::parse_config(
        fmt::format("{}\n[[hosts]]\nname = \"A\"\nmemory = \"64 MiB\"\n"
                    "parts = [{{ path = \"root0.gpu0\", kind = \"caching_gpu\", vram = \"16 MiB\" }}]\n",
                    keys),
        "p.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    platform::observe::Sources sources;
    platform::topology::Platform platform(*config, nullptr, sources);
    auto& card = platform.card("A.gpu0");
    Thread thread("driver", [&] {
        const auto functions = harness::HostFunctions::open(*platform.machine("A").host);
        REQUIRE(functions.has_value());
        const auto function = (*functions)->function(card.bdf());
        REQUIRE(function.has_value());
        auto gpu = sw::gpu::Gpu::open(**function, model::gpu::Gpu::vram_bar, layout);
        REQUIRE(gpu.has_value());
        use(*gpu, card.module->as<model::gpu::Gpu>());
    });
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_SEC));
    CHECK(thread.is_finished());
}

void move(sw::gpu::Gpu& gpu, const sw::gpu::VramBuffer& buffer, Placement to) {
    const auto fence = gpu.migrate(buffer, to);
    REQUIRE(fence.has_value());
    REQUIRE(sw::transport::poll_until(gpu.transport(), 1s, [&] { return (*fence)->is_signaled(); }));
    REQUIRE((*fence)->error() == 0);
}

/// Each platform has a process of its own.
void move_pieces(std::string_view keys) {
    with_gpu(keys,
             [](sw::gpu::Gpu& gpu, model::gpu::Gpu& device) {
                 const auto bytes = random_bytes(700'000);
                 auto buffer = gpu.allocate(bytes.size());
                 REQUIRE(buffer.has_value());
                 REQUIRE(buffer->ranges().size() > 3);
                 REQUIRE(gpu.upload(*buffer, 0, bytes).has_value());
                 const auto other = gpu.allocate(64 * 1024);
                 REQUIRE(other.has_value());
                 const auto beside = device.bytes().subspan(other->ranges().front().offset, 64 * 1024);

                 move(gpu, *buffer, Placement::system);
                 std::vector<std::byte> seen(bytes.size());
                 REQUIRE(gpu.download(*buffer, 0, seen).has_value());
                 CHECK(seen == bytes);
                 move(gpu, *buffer, Placement::vram);
                 std::ranges::fill(seen, std::byte{});
                 REQUIRE(gpu.download(*buffer, 0, seen).has_value());
                 CHECK(seen == bytes);
                 CHECK(std::ranges::all_of(beside, [](std::byte b) { return b == std::byte{}; }));
             },
             {.fragment_bytes = 64 * 1024});
}

} // namespace

TEST_CASE("a copy engine moves a MiB in about the time that the link takes for it, either way", "[module][gpu][sdma]") {
    with_gpu("", [](sw::gpu::Gpu& gpu, model::gpu::Gpu& device) {
        const auto bytes = random_bytes(mebibyte);
        auto buffer = gpu.allocate(mebibyte);
        REQUIRE(buffer.has_value());
        const auto offset = buffer->ranges().front().offset;
        std::ranges::copy(bytes, device.bytes().begin() + static_cast<std::ptrdiff_t>(offset));
        for (const auto to : {Placement::system, Placement::vram}) {
            const auto begun = gpu.transport().now();
            move(gpu, *buffer, to);
            const auto took = gpu.transport().now() - begun;
            CAPTURE(name(to), took.count());
            // 16 lanes of generation 4 carry 31.5 GB/s before headers: 33 us for a MiB.
            CHECK(took > 33us);
            CHECK(took < 60us);
            CHECK(buffer->placement() == to);
        }
        const auto back = buffer->ranges().front().offset;
        CHECK(std::ranges::equal(device.bytes().subspan(back, mebibyte), bytes));
        CHECK(gpu.engine_bytes() == 2 * mebibyte);
        CHECK(device.copy_engine(0).counters().bytes_copied == 2 * mebibyte);
        // Of each batch: a rinse, the copy, a fence, and one NOP up to the end of the line, which of the last batch
        // comes when its fence is seen already.
        CHECK(device.copy_engine(0).counters().packets == 2 * 4 - 1);
    });
}

TEST_CASE("a buffer in pieces is moved whole", "[module][gpu][sdma]") { move_pieces(""); }

TEST_CASE("a buffer in pieces is moved whole behind a remapping unit", "[module][gpu][sdma]") {
    move_pieces("iommu.present = true");
}

TEST_CASE("a buffer in pieces is moved whole where nothing takes time", "[module][gpu][sdma]") {
    move_pieces("timed = false");
}

TEST_CASE("what waves have left in the caches of a GPU moves with its buffer", "[module][gpu][sdma]") {
    with_gpu("", [](sw::gpu::Gpu& gpu, model::gpu::Gpu& device) {
        const auto space = sw::gpu::AddressSpace::create(gpu, {});
        REQUIRE(space.has_value());
        auto buffer = gpu.allocate(64 * 1024);
        REQUIRE(buffer.has_value());
        {
            const auto at = (*space)->map(*buffer, abi::gpu::Mtype::nc);
            REQUIRE(at.has_value());
            const auto wave = device.block().make_view(0, (*space)->vmid());
            const std::uint32_t value = 0x1234'5678;
            REQUIRE(wave->store(*at + 256, std::as_bytes(std::span(&value, 1)), {}, model::tlm::kernel_now()).is_ok());
            REQUIRE((*space)->unmap(*at).has_value());
        }
        move(gpu, *buffer, Placement::system);
        std::array<std::byte, 4> seen{};
        REQUIRE(gpu.download(*buffer, 256, seen).has_value());
        CHECK(abi::load<std::uint32_t, abi::Endian::little>(seen.data()) == 0x1234'5678);
    });
}

TEST_CASE("an engine that faults fails the move and not the driver, and the next move begins anew",
          "[module][gpu][sdma]") {
    with_gpu("", [](sw::gpu::Gpu& gpu, model::gpu::Gpu& device) {
        auto buffer = gpu.allocate(mebibyte);
        REQUIRE(buffer.has_value());
        const auto fence = gpu.migrate(*buffer, Placement::system);
        REQUIRE(fence.has_value());
        CHECK_FALSE((*fence)->is_signaled()); // which hands it to the engine

        // Bus mastering goes away under the copy.
        gpu.transport().config_write(4, 2, 2);
        REQUIRE(sw::transport::poll_until(gpu.transport(), 1s, [&] { return (*fence)->is_signaled(); }));
        CHECK((*fence)->error() == EIO);
        CHECK_FALSE(device.copy_engine(0).is_halted());

        gpu.transport().config_write(4, 2, 6);
        auto other = gpu.allocate(mebibyte);
        REQUIRE(other.has_value());
        move(gpu, *other, Placement::system);
    });
}

TEST_CASE("a driver that polls VRAM sees a device's write when it has crossed the links, and is woken for it",
          "[module][gpu]") {
    const auto config = platform::topology::parse_config(
        "[[hosts]]\nname = \"A\"\nmemory = \"64 MiB\"\n"
        "parts = [{ path = \"root0.sw0.gpu0\", kind = \"caching_gpu\", vram = \"16 MiB\", profile = 1 },\n"
        "         \"root0.sw0.copy0\"]\n",
        "p.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    platform::observe::Sources sources;
    platform::topology::Platform platform(*config, nullptr, sources);
    auto& host = *platform.machine("A").host;
    auto& card = platform.card("A.gpu0");
    auto& gpu = card.module->as<model::gpu::Gpu>();
    auto& writer = platform.card("A.copy0").module->endpoint;
    constexpr std::uint64_t place = 0x1000;
    std::chrono::nanoseconds seen{};
    model::port::Time sent{}, arrives{};
    Thread driver("driver", [&] {
        platform::bridge::InProcessTransport transport(host, card.bdf());
        transport.config_write(4, 2, 6);
        std::array<std::byte, 4> value{};
        do {
            transport.relax();
            transport.bar_read(model::gpu::Gpu::vram_bar, place, value);
        } while (value[0] == std::byte{});
        seen = transport.now();
    });
    Thread device("device", [&] {
        host.root_complex().config_write(platform.card("A.copy0").bdf(), 4, 2, 6, {});
        sc_core::wait(300, sc_core::SC_US); // naps have grown long
        const auto bar = host.enumeration().find(card.bdf())->bars[model::gpu::Gpu::vram_bar].address;
        const std::array value{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
        sent = model::tlm::kernel_now();
        const auto left = writer.dma().write(abi::BusAddress{bar + place}, value, sent).done;
        CHECK(left > sent);
        sc_core::wait(model::tlm::to_sc(left - sent));
        CHECK(gpu.bytes()[place] == std::byte{}); // on its way
        while (gpu.bytes()[place] == std::byte{} && model::tlm::kernel_now() < sent + 10us)
            sc_core::wait(10, sc_core::SC_NS);
        arrives = model::tlm::kernel_now() - 10ns;
        CHECK(gpu.bytes()[place] == std::byte{1});
    });

    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));

    REQUIRE(driver.is_finished());
    REQUIRE(device.is_finished());
    CHECK(seen >= arrives);
    CHECK(seen < arrives + 3us); // a read of the BAR, and not the rest of a nap
}
