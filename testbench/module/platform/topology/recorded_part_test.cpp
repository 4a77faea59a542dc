// A copy engine on a platform, recorded and played again: beside a GPU whose memory it fills, and on a machine whose
// memory is a client's, who takes his time.
#include "model/copy/copy_engine.h"
#include "platform/bridge/in_process.h"
#include "platform/topology/platform_module.h"
#include "platform/topology/read.h"
#include "testbench/harness/pcie_bench.h"
#include "testbench/harness/recorded_platform.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdint>

using namespace testbench;
using model::copy::Registers;
using platform::bridge::InProcessTransport;
using namespace std::chrono_literals;

namespace {

platform::topology::Config configured(const std::string& text) {
    const auto config = platform::topology::parse_config(text, "p.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config);
    return *config;
}

template <abi::Name Row> void set(InProcessTransport& transport, typename Registers::field<Row>::type value) {
    abi::Block<Registers> block;
    block.view().set<Row>(value);
    using Field = Registers::field<Row>;
    transport.mmio_write(0, Field::offset, std::span(block.bytes).subspan(Field::offset, Field::bytes));
}

/// From host memory into VRAM, and back.
std::string copied_and_played(bool timed) {
    const auto config = configured(std::string("timed = ") + (timed ? "true" : "false") +
                                   "\n[[hosts]]\nname = \"A\"\nmemory = \"64 MiB\"\nparts = [\"root0.sw0.gpu0\", "
                                   "{ path = \"root0.sw0.mover\", kind = \"copy\", piece = 256 }]\n");
    harness::RecordedPlatform recorded(config);
    platform::observe::Sources sources;
    platform::topology::Platform platform(config, recorded.recording.events(), sources,
                                          platform::topology::Served::as_described, &recorded.recording);
    auto& host = *platform.machine("A").host;
    auto& gpu = platform.card("A.gpu0");
    Thread thread("driver", [&] {
        InProcessTransport transport(host, platform.card("A.mover").bdf());
        transport.config_write(4, 2, 6); // memory space, bus master
        REQUIRE(transport.enable_interrupts(1).has_value());
        auto memory = transport.allocate(8192);
        REQUIRE(memory.has_value());
        for (std::size_t i = 0; i < 1000; ++i)
            memory->data[i] = static_cast<std::byte>(i * 3);
        const auto vram = host.enumeration().find(gpu.bdf())->bars[model::gpu::Vram::vram_bar].address;
        for (const auto& [from, to] : {std::pair{memory->bus, vram + 0x100}, {vram + 0x100, memory->bus + 4096}}) {
            set<"source">(transport, from);
            set<"destination">(transport, to);
            set<"length">(transport, 1000);
            set<"doorbell">(transport, 1);
            CHECK(transport.wait_interrupt(model::copy::copy_ended, 1ms));
        }
        CHECK(std::ranges::equal(std::span(memory->data, 1000), std::span(memory->data + 4096, 1000)));
        transport.release(*memory);
    });
    sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_MS));
    CHECK(thread.is_finished());
    return recorded.play_all();
}

/// Memory of a client that takes its time to answer.
struct Slow final : platform::bridge::vfio_user::MessageDma {
    model::port::DmaStatus read(std::uint64_t, std::span<std::byte> into) override {
        sc_core::wait(3, sc_core::SC_US);
        std::ranges::fill(into, std::byte{0x5a});
        return model::port::DmaStatus::ok;
    }
    model::port::DmaStatus write(std::uint64_t, std::span<const std::byte>) override {
        sc_core::wait(3, sc_core::SC_US);
        return model::port::DmaStatus::ok;
    }
    void abandon() override {}
};

} // namespace

TEST_CASE("a copy engine and the GPU that it fills play their parts again in simulated time",
          "[module][topology][record]") {
    CHECK(copied_and_played(true) == "");
}

TEST_CASE("a copy engine and the GPU that it fills play their parts again without time", "[module][topology][record]") {
    CHECK(copied_and_played(false) == "");
}

TEST_CASE("registers that are read while a device waits for its client are played where they were read",
          "[module][topology][record]") {
    const auto config =
        configured("[[hosts]]\nname = \"A\"\nserved = true\nparts = [\"root0.copy0\", \"root1.copy1\"]\n");
    harness::RecordedPlatform recorded(config);
    platform::observe::Sources sources;
    platform::topology::Platform platform(config, recorded.recording.events(), sources,
                                          platform::topology::Served::as_described, &recorded.recording);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    Slow memory;
    const auto function = [&](unsigned card) -> auto& { return platform.machine("A").guest->function(card); };
    const auto write = [&](unsigned card, std::uint32_t region, std::uint64_t offset, std::uint32_t value,
                           std::size_t bytes = 4) {
        std::array<std::byte, 4> data;
        abi::store<std::uint32_t, abi::Endian::little>(data.data(), value);
        function(card).write(region, offset, std::span(data).first(bytes));
        function(card).work();
    };
    const auto state = [&](unsigned card) {
        std::array<std::byte, 4> data;
        function(card).read(0, Registers::field<"state">::offset, data);
        return std::to_integer<unsigned>(data[0]);
    };
    for (const unsigned card : {0u, 1u}) {
        function(card).set_messages(&memory);
        write(card, abi::vfio_user::config_region, 4, 6, 2); // memory space, bus master; its BAR has no address
        REQUIRE(function(card).map({0, 1 << 20, 0, true, true}, {}) == 0);
        write(card, 0, Registers::field<"source">::offset, 0x1000);
        write(card, 0, Registers::field<"destination">::offset, 0x3000);
        write(card, 0, Registers::field<"length">::offset, 300);
    }

    for (const unsigned card : {0u, 1u})
        write(card, 0, Registers::field<"doorbell">::offset, 1);
    unsigned busy = 0;
    for (unsigned i = 0; i < 40; ++i) { // both wait, in turns
        busy += state(i % 2) == static_cast<unsigned>(model::copy::State::busy);
        sc_core::sc_start(sc_core::sc_time(300, sc_core::SC_NS));
    }

    CHECK(busy > 10);
    CHECK(state(0) == static_cast<unsigned>(model::copy::State::done));
    CHECK(platform.is_quiet());
    CHECK(recorded.play_all() == "");
    for (const unsigned card : {0u, 1u})
        function(card).set_messages(nullptr);
}
