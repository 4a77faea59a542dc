// A part of a kind that only the table of devices knows, from a configuration's text to bytes that it has moved.
#include "model/copy/copy_engine.h"
#include "platform/bridge/in_process.h"
#include "platform/topology/platform_module.h"
#include "platform/topology/read.h"
#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

using namespace testbench;
using model::copy::Registers;
using platform::bridge::InProcessTransport;
using namespace std::chrono_literals;

namespace {
template <abi::Name Row> void set(InProcessTransport& transport, typename Registers::field<Row>::type value) {
    abi::Block<Registers> block;
    block.view().set<Row>(value);
    using Field = Registers::field<Row>;
    transport.mmio_write(0, Field::offset, std::span(block.bytes).subspan(Field::offset, Field::bytes));
}

/// Memory of a client that takes its time to answer.
struct Slow final : platform::bridge::vfio_user::MessageDma {
    static constexpr std::byte content{0x5a};
    std::vector<std::uint64_t> reads;
    std::map<std::uint64_t, std::vector<std::byte>> written;

    model::port::DmaStatus read(std::uint64_t address, std::span<std::byte> into) override {
        sc_core::wait(3, sc_core::SC_US);
        reads.push_back(address);
        std::ranges::fill(into, content);
        return model::port::DmaStatus::ok;
    }
    model::port::DmaStatus write(std::uint64_t address, std::span<const std::byte> from) override {
        sc_core::wait(3, sc_core::SC_US);
        written[address].assign(from.begin(), from.end());
        return model::port::DmaStatus::ok;
    }
    void abandon() override {}
};
} // namespace

TEST_CASE("a copy engine that a configuration places beside a GPU fills the GPU's memory", "[module][topology][copy]") {
    const auto config = platform::topology::parse_config(
        "[[hosts]]\nname = \"A\"\nmemory = \"64 MiB\"\n"
        "parts = [\"root0.sw0.gpu0\", { path = \"root0.sw0.mover\", kind = \"copy\", piece = 256 }]\n",
        "p.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    platform::observe::Sources sources;
    platform::topology::Platform platform(*config, nullptr, sources);
    auto& host = *platform.machine("A").host;
    auto& gpu = platform.card("A.gpu0");
    Thread thread("driver", [&] {
        InProcessTransport transport(host, platform.card("A.mover").bdf());
        transport.config_write(4, 2, 6); // memory space, bus master
        REQUIRE(transport.enable_interrupts(1).has_value());
        auto memory = transport.allocate(4096);
        REQUIRE(memory.has_value());
        for (std::size_t i = 0; i < 1000; ++i)
            memory->data[i] = static_cast<std::byte>(i * 3);
        const auto vram = host.enumeration().find(gpu.bdf())->bars[model::gpu::Vram::vram_bar].address;

        set<"source">(transport, memory->bus);
        set<"destination">(transport, vram + 0x100);
        set<"length">(transport, 1000);
        set<"doorbell">(transport, 1);

        CHECK(transport.wait_interrupt(model::copy::copy_ended, 1ms));
        CHECK(std::ranges::equal(gpu.vram().bytes().subspan(0x100, 1000), std::span(memory->data, 1000)));
        CHECK(gpu.vram().bytes()[0x100 + 1000] == std::byte{});
        transport.release(*memory);
    });

    sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_MS));

    CHECK(thread.is_finished());
    CHECK(platform.is_quiet());
}

TEST_CASE("a device of a served machine may wait for its client's memory", "[module][topology][copy]") {
    const auto config = platform::topology::parse_config(
        "[[hosts]]\nname = \"A\"\nserved = true\nparts = [\"root0.copy0\"]\n", "p.toml", {});
    REQUIRE(config.has_value());
    platform::observe::Sources sources;
    platform::topology::Platform platform(*config, nullptr, sources);
    auto& client = platform.machine("A").guest->function(0);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    const auto write = [&](std::uint32_t region, std::uint64_t offset, std::uint32_t value, std::size_t bytes = 4) {
        std::array<std::byte, 4> data;
        abi::store<std::uint32_t, abi::Endian::little>(data.data(), value);
        client.write(region, offset, std::span(data).first(bytes));
        client.work();
    };
    Slow memory;
    client.set_messages(&memory);
    write(abi::vfio_user::config_region, 0x10, 0xe000'0000);
    write(abi::vfio_user::config_region, 4, 6, 2); // memory space, bus master
    REQUIRE(client.map({0, 1 << 20, 0, true, true}, {}) == 0);

    write(0, Registers::field<"source">::offset, 0x1000);
    write(0, Registers::field<"destination">::offset, 0x3000);
    write(0, Registers::field<"length">::offset, 300);
    write(0, Registers::field<"doorbell">::offset, 1);
    CHECK_FALSE(platform.is_quiet());
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));

    CHECK(memory.reads == std::vector<std::uint64_t>{0x1000});
    CHECK(memory.written[0x3000] == std::vector<std::byte>(300, Slow::content));
    CHECK(platform.is_quiet());
    client.set_messages(nullptr);
}
