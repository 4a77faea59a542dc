#include "platform/card/card_module.h"

#include "platform/bridge/in_process.h"
#include "platform/card/mlx5_device.h"
#include "testbench/harness/pcie_bench.h"
#include "testbench/harness/plain_frames.h"
#include "testbench/harness/test_ports.h"

#include "abi/layout.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace testbench;
using model::pcie::DevicePorts;
using model::port::Time;
using platform::bridge::InProcessTransport;
using platform::card::CardModule;
using platform::card::Mlx5Device;
using platform::card::Plug;
using namespace std::chrono_literals;

namespace {

model::hca::HcaConfig card_config() {
    model::hca::HcaConfig config;
    config.timed = false;
    return config;
}
model::net::LinkConfig cable_config() {
    model::net::LinkConfig config;
    config.timed = false;
    return config;
}
platform::card::SlotConfig slot_config() {
    platform::card::SlotConfig config;
    config.link.timed = false;
    return config;
}

/// Two cards in one host, on one cable, and the driver of the first as a thread.
struct Machine {
    harness::EventLog log;
    model::net::LinkModule cable{"cable", cable_config(), {}};
    platform::host::Host host{"host", host_config()};
    CardModule first, second;
    std::function<void(Machine&, InProcessTransport&)> body;
    Thread thread;

    explicit Machine(std::function<void(Machine&, InProcessTransport&)> what,
                     model::hca::HcaConfig config = card_config())
        : first("first", config, slot_config(), std::array{Plug{cable, 0}}, {.device = {&log, 1}, .bus = {&log, 2}}),
          second("second", config, slot_config(), std::array{Plug{cable, 1}}), body(std::move(what)),
          thread("driver", [this] {
              InProcessTransport transport(host, host.enumeration().find(0x15b3, 0x101b)->bdf);
              body(*this, transport);
          }) {
        host.plug(0, first.endpoint);
        host.plug(1, second.endpoint);
    }
    static platform::host::HostConfig host_config() {
        platform::host::HostConfig config;
        config.timed = false;
        return config;
    }
    void run() {
        sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_MS));
        REQUIRE(thread.is_finished());
    }
};

/// A device that is no HCA: a store of an address to its only register has the time written there 3 us later, and
/// vector 0 raised.
class TimeStamper final : public model::pcie::Device {
public:
    explicit TimeStamper(const DevicePorts& ports) : ports_(ports) {}
    static model::pcie::FunctionConfig function_config() {
        model::pcie::FunctionConfig function;
        function.identity = {.vendor_id = 0x1234, .device_id = 3, .class_code = 0x088000};
        function.bars[0] = {.size = 4096};
        function.msix_vectors = 1;
        function.msix_bar = 0;
        function.msix_table_offset = 0x800;
        function.msix_pending_offset = 0xc00;
        return function;
    }

    model::port::DmaResult bar_read(unsigned, std::uint64_t, std::span<std::byte> into, Time at) override {
        std::ranges::fill(into, std::byte{});
        return {model::port::DmaStatus::ok, at};
    }
    void bar_write(unsigned, std::uint64_t, std::span<const std::byte> from, Time at) override {
        if (from.size() != 8)
            return;
        target_ = abi::load<std::uint64_t, std::endian::little>(from.data());
        due_ = at + 3us;
        ports_.clock.wake_at(due_);
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(Time) override { due_ = model::port::never; }
    void wake(Time now) override {
        if (now < due_)
            return;
        due_ = model::port::never;
        std::array<std::byte, 8> stamp;
        abi::store<std::uint64_t, std::endian::little>(stamp.data(), static_cast<std::uint64_t>(now.count()));
        const auto done = ports_.dma.write(abi::BusAddress{target_}, stamp, now).done;
        ports_.interrupts.raise(0, done);
    }
    bool is_quiet() const override { return due_ == model::port::never; }

private:
    DevicePorts ports_;
    std::uint64_t target_ = 0;
    Time due_ = model::port::never;
};

/// A function that has its device number written wherever its only register is told, and raises vector 0.
struct Half final : model::pcie::Function {
    Half(const model::pcie::FunctionPorts& outside, std::uint8_t its_id) : ports(outside), id(its_id) {}
    static model::pcie::FunctionConfig function_config(std::uint16_t device_id) {
        auto function = TimeStamper::function_config();
        function.identity.device_id = device_id;
        return function;
    }
    model::port::DmaResult bar_read(unsigned, std::uint64_t, std::span<std::byte> into, Time at) override {
        std::ranges::fill(into, std::byte{});
        return {model::port::DmaStatus::ok, at};
    }
    void bar_write(unsigned, std::uint64_t, std::span<const std::byte> from, Time at) override {
        const abi::BusAddress target{abi::load<std::uint64_t, std::endian::little>(from.data())};
        ports.interrupts.raise(0, ports.dma.write(target, std::array{std::byte(id)}, at).done);
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(Time) override { ++resets; }

    model::pcie::FunctionPorts ports;
    std::uint8_t id;
    unsigned resets = 0;
};

/// A device with two functions.
struct Twins final : model::pcie::Device {
    explicit Twins(const DevicePorts& ports) : first(ports.functions[0], 0x10), second(ports.functions[1], 0x11) {}
    model::port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, Time at) override {
        return first.bar_read(bar, offset, into, at);
    }
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, Time at) override {
        first.bar_write(bar, offset, from, at);
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(Time at) override { first.reset(at); }
    Function* function(unsigned number) override {
        return number == 0 ? static_cast<Function*>(this) : number == 1 ? &second : nullptr;
    }

    Half first, second;
};

/// A device that waits for somebody outside while it is written, and knows when it was reset.
struct Patient final : model::pcie::Device {
    model::port::DmaResult bar_read(unsigned, std::uint64_t, std::span<std::byte>, Time at) override {
        return {model::port::DmaStatus::ok, at};
    }
    void bar_write(unsigned, std::uint64_t, std::span<const std::byte>, Time) override {
        begun.notify(sc_core::SC_ZERO_TIME);
        sc_core::wait(5, sc_core::SC_US);
        answered = model::tlm::kernel_now();
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(Time at) override { was_reset = at; }

    sc_core::sc_event begun;
    Time answered{}, was_reset{};
};

std::uint32_t read32(InProcessTransport& transport, std::uint64_t offset) {
    std::array<std::byte, 4> bytes{};
    transport.mmio_read(0, offset, bytes);
    return abi::load<std::uint32_t, std::endian::big>(bytes.data());
}

} // namespace

TEST_CASE("configuration space leads to the initialization segment too", "[module][card]") {
    Machine machine([](Machine&, InProcessTransport& transport) {
        const auto expected = read32(transport, 0x230); // firmware version in the health buffer
        transport.config_write(0xc4, 4, 2);
        transport.config_write(0xd0, 4, 0x230);

        CHECK(transport.config_read(0xc0, 1) == 0x09);
        CHECK(transport.config_read(0xd0, 4) == 0x8000'0230);
        CHECK(transport.config_read(0xd4, 4) == expected);
    });
    machine.run();
}

TEST_CASE("a command travels over the bus: entry by DMA, doorbell by MMIO, answer by DMA", "[module][card]") {
    Machine machine([](Machine& m, InProcessTransport& transport) {
        transport.config_write(4, 2, 6); // memory space, bus master
        auto memory = transport.allocate(4096);
        REQUIRE(memory.has_value());
        auto* entry = memory->data;
        entry[0] = std::byte{7};
        entry[7] = std::byte{16};   // input length
        entry[0x10] = std::byte{1}; // ENABLE_HCA
        entry[0x11] = std::byte{4};
        entry[0x3b] = std::byte{12}; // output length
        entry[0x3f] = std::byte{1};
        std::array<std::byte, 8> address;
        abi::store<std::uint64_t, std::endian::big>(address.data(), memory->bus);
        transport.mmio_write(0, 0x10, address);
        transport.mmio_write(0, 0x18, std::array{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}});

        CHECK(entry[0x3f] == std::byte{0});
        CHECK(entry[0x20] == std::byte{0});
        CHECK(m.first.as<Mlx5Device>().firmware().state().phase() == firmware::Phase::enabled);
        CHECK(m.second.as<Mlx5Device>().firmware().state().phase() == firmware::Phase::disabled);
        transport.release(*memory);
    });
    machine.run();
}

TEST_CASE("a card counts the plain frames of its cable, and goes on", "[module][card][plain frame]") {
    Machine machine([](Machine& m, InProcessTransport& transport) {
        auto& cable = m.cable.link();
        for (const auto& [name, bytes] : testbench::plain_frames()) {
            auto& packet = cable.end(1).next();
            packet.become_plain_frame();
            packet.payload.append_copy(bytes);
            cable.end(1).send(model::tlm::kernel_now());
        }
        m.cable.flush();

        const auto count = testbench::plain_frames().size();
        CHECK(cable.counters(1).delivered == count);
        CHECK(m.first.as<Mlx5Device>().hca().counters().frames_without_receiver == count);
        CHECK(m.second.as<Mlx5Device>().hca().counters().frames_without_receiver == 0);
        const auto dropped = m.log.all<traces::FrameDropped>();
        REQUIRE(dropped.size() == count);
        CHECK(dropped[0].ethertype == 0x0806);
        CHECK(read32(transport, 0x230) != 0);
    });
    machine.run();
}

TEST_CASE("a card gives any device its DMA, its time and its interrupts", "[module][card]") {
    platform::host::Host host("host", Machine::host_config());
    CardModule card("card", {TimeStamper::function_config()}, slot_config(), {}, {},
                    [](const DevicePorts& ports) { return std::make_unique<TimeStamper>(ports); });
    host.plug(0, card.endpoint);
    Thread thread("driver", [&] {
        InProcessTransport transport(host, host.enumeration().find(0x1234, 3)->bdf);
        transport.config_write(4, 2, 6); // memory space, bus master
        REQUIRE(transport.enable_interrupts(1).has_value());
        auto memory = transport.allocate(4096);
        REQUIRE(memory.has_value());
        std::array<std::byte, 8> address;
        abi::store<std::uint64_t, std::endian::little>(address.data(), memory->bus);
        const auto stamp = [&] { return abi::load<std::uint64_t, std::endian::little>(memory->data); };

        const auto begin = transport.now();
        transport.mmio_write(0, 0, address);

        CHECK(stamp() == 0);
        CHECK_FALSE(card.is_quiet());
        CHECK(transport.wait_interrupt(0, 10us));
        CHECK(Time{static_cast<std::int64_t>(stamp())} == begin + 3us);
        CHECK(card.is_quiet());
        transport.release(*memory);
    });

    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));

    CHECK(thread.is_finished());
}

TEST_CASE("a reset that waits for its turn comes at the time when it has it", "[module][card]") {
    platform::host::Host host("host", Machine::host_config());
    model::tlm::Neighbours neighbours;
    auto slot = slot_config();
    slot.neighbours = &neighbours;
    CardModule card("card", {TimeStamper::function_config()}, slot, {}, {},
                    [](const DevicePorts&) { return std::make_unique<Patient>(); });
    host.plug(0, card.endpoint);
    auto& device = card.as<Patient>();
    Thread driver("driver", [&] {
        InProcessTransport transport(host, host.enumeration().find(0x1234, 3)->bdf);
        transport.config_write(4, 2, 6); // memory space, bus master
        transport.mmio_write(0, 0, std::array<std::byte, 8>{});
    });
    Thread other("other", [&] {
        sc_core::wait(device.begun);
        sc_core::wait(1, sc_core::SC_US);
        card.endpoint.reset(model::tlm::kernel_now());
    });

    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));

    CHECK(driver.is_finished());
    CHECK(other.is_finished());
    CHECK(device.answered != Time{});
    CHECK(device.was_reset == device.answered);
}

TEST_CASE("a card gives each function of a device its own DMA and interrupts", "[module][card]") {
    platform::host::Host host("host", Machine::host_config());
    CardModule card("card", {Half::function_config(0x10), Half::function_config(0x11)}, slot_config(), {}, {},
                    [](const DevicePorts& ports) { return std::make_unique<Twins>(ports); });
    host.plug(0, card.endpoint);
    Thread thread("driver", [&] {
        for (const std::uint16_t id : {0x10, 0x11}) {
            InProcessTransport transport(host, host.enumeration().find(0x1234, id)->bdf);
            transport.config_write(4, 2, 6); // memory space, bus master
            REQUIRE(transport.enable_interrupts(1).has_value());
            auto memory = transport.allocate(4096);
            REQUIRE(memory.has_value());
            std::array<std::byte, 8> address;
            abi::store<std::uint64_t, std::endian::little>(address.data(), memory->bus);

            transport.mmio_write(0, 0, address);

            CHECK(memory->data[0] == std::byte(id));
            CHECK(transport.wait_interrupt(0, 10us));
            transport.release(*memory);
        }
        InProcessTransport first(host, host.enumeration().find(0x1234, 0x10)->bdf);
        first.config_write(0x68, 2, 0x8000); // function-level reset
    });

    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));

    CHECK(thread.is_finished());
    CHECK(card.as<Twins>().first.resets == 1);
    CHECK(card.as<Twins>().second.resets == 0);
}
