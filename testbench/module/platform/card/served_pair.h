// Two served cards of one machine, whose clients answer for their memory when a test says so, and what the cards do is
// written by the test. No socket: the test is the clients.
#pragma once

#include "platform/card/card_module.h"
#include "testbench/harness/guest_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace testbench::served_pair {

using model::pcie::DevicePorts;
using model::port::DmaResult;
using model::port::DmaStatus;
using model::port::Time;
using model::tlm::PostedRequests;
using platform::card::CardModule;
using platform::card::SlotConfig;
namespace bridge = platform::bridge::vfio_user;

/// A client who is asked for its memory by messages, and answers when the test says so.
struct Client final : bridge::MessageDma {
    unsigned asked = 0;
    bool is_prompt = false, is_deaf = false;
    sc_core::sc_event answered;

    DmaStatus read(std::uint64_t, std::span<std::byte> into) override {
        std::ranges::fill(into, std::byte{0x42});
        return wait();
    }
    DmaStatus write(std::uint64_t, std::span<const std::byte>) override { return wait(); }
    void abandon() override {
        if (!is_deaf)
            answered.notify();
    }

private:
    DmaStatus wait() {
        ++asked;
        if (!is_prompt)
            sc_core::wait(answered);
        return DmaStatus::ok;
    }
};

/// A device whose work a test writes. Its BAR 0 is registers that keep what is written.
struct Scripted final : model::pcie::Device {
    struct Write {
        std::uint64_t offset;
        std::byte first;
        Time at;
    };
    explicit Scripted(const DevicePorts& its_ports) : ports(its_ports) {}
    static model::pcie::FunctionConfig function_config() {
        model::pcie::FunctionConfig function;
        function.identity = {.vendor_id = 0x1234, .device_id = 7, .class_code = 0x088000};
        function.bars[0] = {.size = 0x4000};
        function.msix_vectors = 1;
        function.ats = {.entries = 16, .has_page_requests = true};
        return function;
    }

    /// Does this in a chain of calls of its own, from now on.
    void begin(std::function<void(Time)> what) {
        work = std::move(what);
        ports.clock.wake_at(ports.clock.now());
    }
    DmaResult read(std::uint64_t address, std::span<std::byte> into) {
        return ports.dma.read(abi::BusAddress{address}, into, ports.clock.now());
    }
    /// A byte of a client's memory.
    void ask() {
        std::array<std::byte, 1> byte{};
        read(0x1000, byte);
    }
    void write(std::uint64_t address, std::uint8_t value, std::size_t length = 4) {
        const std::vector<std::byte> bytes(length, std::byte{value});
        ports.dma.write(abi::BusAddress{address}, bytes, ports.clock.now());
    }

    DmaResult bar_read(unsigned, std::uint64_t offset, std::span<std::byte> into, Time at) override {
        std::ranges::copy(std::span(registers).subspan(offset, into.size()), into.begin());
        return {DmaStatus::ok, at};
    }
    void bar_write(unsigned, std::uint64_t offset, std::span<const std::byte> from, Time at) override {
        const Inside inside(*this);
        std::ranges::copy(from, registers.begin() + static_cast<std::ptrdiff_t>(offset));
        writes.push_back({offset, from[0], at});
        if (on_write)
            on_write();
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(Time) override {
        const Inside inside(*this);
        ++resets;
    }
    void page_answered(std::uint16_t group, std::uint8_t, Time) override {
        const Inside inside(*this);
        answered_groups.push_back(group);
    }
    /// Its network port writes down what it is told.
    struct Port final : model::port::Receiver {
        std::string heard;
        void receive(model::port::Packet&, Time) override { heard += "packet "; }
        void received_all(Time) override { heard += "all "; }
        void link_changed(bool, Time) override { heard += "link "; }
        void ready(Time) override { heard += "ready "; }
    };
    model::port::Receiver* receiver(unsigned) override { return &port; }
    void wake(Time now) override {
        const Inside inside(*this);
        if (const auto now_due = work) // which the test may replace while this waits
            now_due(now);
    }

    /// A core is never called inside of a call that waits.
    struct Inside {
        explicit Inside(Scripted& its_device) : device(its_device) {
            device.most_inside = std::max(device.most_inside, ++device.calls_inside);
        }
        ~Inside() { --device.calls_inside; }
        Scripted& device;
    };
    DevicePorts ports;
    std::function<void(Time)> work;
    std::function<void()> on_write;
    std::vector<std::byte> registers = std::vector<std::byte>(0x4000);
    std::vector<Write> writes;
    std::vector<std::uint16_t> answered_groups;
    Port port;
    unsigned resets = 0, calls_inside = 0, most_inside = 0;
};

/// Two served cards of one machine, each with its client. BAR 0 of card i is at bar(i).
struct Machine {
    model::tlm::Neighbours neighbours;
    bridge::FileMappings files;
    bridge::GuestModule guest{"guest", {}, files};
    std::array<Client, 2> clients;
    std::array<std::unique_ptr<CardModule>, 2> cards;

    using Make = std::function<std::unique_ptr<CardModule>(const char* name, const SlotConfig& slot)>;
    explicit Machine(const Make& make = make_scripted) {
        const SlotConfig slot{.link = {}, .ats = Scripted::function_config().ats, .neighbours = &neighbours};
        for (unsigned i = 0; i < 2; ++i) {
            const auto* name = i == 0 ? "first" : "second";
            cards[i] = make(name, slot);
            guest.plug(name, cards[i]->endpoint);
        }
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        for (unsigned i = 0; i < 2; ++i) {
            auto& function = guest.function(i);
            function.set_messages(&clients[i]);
            const bridge::DmaMapRequest all{
                .address = 0, .size = 1 << 20, .offset = 0, .is_readable = true, .is_writable = true};
            REQUIRE(function.map(all, {}) == 0);
            write_config(i, 0x10, 4, static_cast<std::uint32_t>(bar(i)));
            write_config(i, 4, 2, 6);
        }
    }
    static std::unique_ptr<CardModule> make_scripted(const char* name, const SlotConfig& slot) {
        return make_plugged(name, slot, {});
    }
    static std::unique_ptr<CardModule> make_plugged(const char* name, const SlotConfig& slot,
                                                    std::span<const platform::card::Plug> plugs) {
        return std::make_unique<CardModule>(name, std::vector{Scripted::function_config()}, slot, plugs,
                                            platform::card::CardEvents{},
                                            [](const DevicePorts& ports) { return std::make_unique<Scripted>(ports); });
    }
    static std::uint64_t bar(unsigned number) { return 0xe000'0000 + (number << 24); }
    Scripted& device(unsigned number) { return cards[number]->as<Scripted>(); }
    void write_config(unsigned number, std::uint64_t offset, unsigned bytes, std::uint32_t value) {
        std::array<std::byte, 4> data;
        abi::store<std::uint32_t, abi::Endian::little>(data.data(), value);
        write(number, abi::vfio_user::config_region, offset, std::span(data).first(bytes));
    }
    /// A register of a card, written by its client.
    void write(unsigned number, std::uint32_t region, std::uint64_t offset, std::span<const std::byte> bytes) {
        guest.function(number).write(region, offset, bytes);
        guest.function(number).work();
    }
    void write(unsigned number, std::uint64_t offset, std::uint8_t value) {
        write(number, 0, offset, std::array{std::byte{value}});
    }
    /// The card waits for its client, until the client answers or goes.
    void make_wait(unsigned number) {
        device(number).begin([this, number](Time) { device(number).ask(); });
        run();
        REQUIRE(clients[number].asked == 1);
        device(number).work = {};
    }
    void answer(unsigned number) {
        clients[number].answered.notify();
        run();
    }
    static void run() { sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS)); }
};

} // namespace testbench::served_pair
