#include "platform/card/kinds.h"

#include "model/gpu/vram.h"
#include "model/port/memory_dma.h"
#include "platform/card/mlx5_device.h"
#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

using namespace harness;
using namespace platform::card;
using model::gpu::VramConfig;
using model::hca::HcaConfig;

namespace {
/// Everything that a device of any kind asks for.
struct Place {
    model::port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    DeadWire wire;
    std::unique_ptr<model::pcie::Device> make(const DeviceConfig& config) {
        const std::vector<model::port::Wire*> wires(config.kind().network_ports, &wire);
        return config.make({memory, clock, interrupts, wires}, {.name = "part"});
    }
};
} // namespace

TEST_CASE("each kind of device is found by its name, and none is found by another", "[unit][card]") {
    for (const auto& kind : kinds())
        CHECK(find_kind(kind.name) == &kind);

    CHECK(find_kind("") == nullptr);
    CHECK(find_kind("no such device") == nullptr);
}

TEST_CASE("a device of each kind is made from its defaults and its ports alone", "[unit][card]") {
    for (const auto& kind : kinds()) {
        CAPTURE(std::string(kind.name));
        Place place;
        const DeviceConfig config(kind);

        const auto device = place.make(config);

        for (const auto& function : config.functions())
            CHECK(model::pcie::find_fault(function) == nullptr);
        CHECK(device->is_quiet());
        for (unsigned port = 0; port < kind.network_ports; ++port)
            CHECK(device->receiver(port) != nullptr);
        CHECK(device->receiver(kind.network_ports) == nullptr);
    }
}

TEST_CASE("configurations are the same by their kind and by each of their values", "[unit][card]") {
    for (const auto& kind : kinds()) {
        const DeviceConfig one(kind);
        auto other = one;
        CHECK(one == other);
        other.set_timed(false);
        CHECK(one != other);
        for (const auto& another : kinds())
            CHECK((one == DeviceConfig(another)) == (&kind == &another));
    }
}

TEST_CASE("a configuration says which kind its device is", "[unit][card]") {
    CHECK(&DeviceConfig(HcaConfig{}).kind() == find_kind("hca"));
    CHECK(&DeviceConfig(VramConfig{}).kind() == find_kind("gpu"));

    Place place;
    CHECK(dynamic_cast<Mlx5Device*>(place.make(HcaConfig{}).get()) != nullptr);
    CHECK(dynamic_cast<model::gpu::Vram*>(place.make(VramConfig{.bytes = 1 << 20}).get()) != nullptr);
}

TEST_CASE("a device is as its configuration says, and a copy of that is its own", "[unit][card]") {
    DeviceConfig config(VramConfig{.bytes = 1 << 20});
    auto copy = config;

    copy.as<VramConfig>().bytes = 2 << 20;

    CHECK(config.functions().front().bars[model::gpu::Vram::vram_bar].size == 1 << 20);
    CHECK(copy.functions().front().bars[model::gpu::Vram::vram_bar].size == 2 << 20);
}

TEST_CASE("what a device does takes no time once its configuration is told so", "[unit][card]") {
    Place place;
    DeviceConfig config(VramConfig{.bytes = 1 << 20});
    const auto timed = place.make(config);

    config.set_timed(false);

    const auto untimed = place.make(config);
    std::array<std::byte, 4> bytes{};
    CHECK(timed->bar_read(model::gpu::Vram::vram_bar, 0, bytes, {}).done > model::port::Time{});
    CHECK(untimed->bar_read(model::gpu::Vram::vram_bar, 0, bytes, {}).done == model::port::Time{});
    CHECK(config.functions().front().memory_latency == model::port::Time{});
}
