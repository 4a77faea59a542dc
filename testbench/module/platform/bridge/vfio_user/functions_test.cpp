// Cards with several functions in a served machine: each function is a device of its own to a client of its own.
#include "testbench/harness/guest_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

using namespace testbench;
using namespace platform::bridge::vfio_user;
using abi::BusAddress;
using Data = IrqSetRequest::Data;
using Action = IrqSetRequest::Action;

namespace {
constexpr std::uint64_t page = 4096;
}

TEST_CASE("each function of a card is a client's own: registers, memory and interrupts", "[module][vfio_user]") {
    FileMappings files;
    GuestModule guest("guest", {}, files);
    std::array<ScratchFunction, 2> functions;
    model::pcie::EndpointModule card("card",
                                     std::array{model::pcie::FunctionPart{ScratchFunction::config(1), functions[0]},
                                                model::pcie::FunctionPart{ScratchFunction::config(2), functions[1]}});
    ScratchCard other("other", 3);
    guest.plug("card", card);
    guest.plug("other", other.endpoint);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    REQUIRE(guest.function_count() == 3);
    CHECK(guest.function(0).name() == "card");
    CHECK(guest.function(1).name() == "card.f1");
    CHECK(guest.function(2).name() == "other");

    const auto config_write = [&](unsigned number, std::uint64_t offset, unsigned bytes, std::uint32_t value) {
        std::array<std::byte, 4> data;
        abi::store<std::uint32_t, abi::Endian::little>(data.data(), value);
        guest.function(number).write(abi::vfio_user::config_region, offset, std::span(data).first(bytes));
        guest.function(number).work();
    };
    std::array<EventCounter, 3> events;
    std::deque<GuestRam> ram; // one for each client, all at the same address
    for (unsigned i = 0; i < 3; ++i) {
        std::array<std::byte, 4> identity{};
        guest.function(i).read(abi::vfio_user::config_region, 0, identity);
        CHECK(abi::load<std::uint32_t, abi::Endian::little>(identity.data()) == (0x1234 | (i + 1) << 16));
        config_write(i, 0x10, 4, 0xe000'0000 + (i << 24));
        config_write(i, 0x18, 4, i << 24);
        config_write(i, 0x1c, 4, 8); // BAR 2 above 4 GiB, out of the way
        config_write(i, 4, 2, 6);    // memory space, bus master
        config_write(i, model::pcie::msix_offset + 2u, 2, 0x8000);
        ram.emplace_back(page);
        REQUIRE(guest.function(i).map({0x10000, page, 0, true, true}, ram[i].descriptor()) == 0);
        std::vector<Descriptor> event;
        event.push_back(events[i].descriptor());
        REQUIRE(guest.function(i).set_irqs({Data::eventfd, Action::trigger, 2, 1, 1, {}}, std::move(event)) == 0);
    }

    const std::array ports{&card.function(0), &card.function(1), &other.endpoint.function(0)};
    for (int round = 0; round < 2; ++round) // along paths that are found, and that are known
        for (unsigned i = 0; i < 3; ++i)
            REQUIRE(ports[i]->dma().write(BusAddress{0x10000}, std::array{std::byte(i + 1)}, {}).is_ok());
    ports[1]->interrupts().raise(1, {});

    for (unsigned i = 0; i < 3; ++i) {
        CHECK(ram[i].bytes()[0] == std::byte(i + 1));
        CHECK(events[i].take() == (i == 1 ? 1 : 0));
    }
    guest.function(1).reset();
    guest.function(1).work();
    CHECK(functions[0].resets == 0);
    CHECK(functions[1].resets == 1);
}

TEST_CASE("a client whose eventfd is full, and told to wait, holds nobody up", "[module][vfio_user]") {
    GuestMachine machine;
    auto& port = machine.guest.function(0);
    const EventCounter event;
    std::vector<Descriptor> files;
    files.push_back(event.descriptor());
    REQUIRE(port.set_irqs({Data::eventfd, Action::trigger, 2, 0, 1, {}}, std::move(files)) == 0);
    constexpr std::uint64_t full = ~std::uint64_t{0} - 1;
    REQUIRE(::write(event.file(), &full, sizeof full) == sizeof full);
    REQUIRE(::fcntl(event.file(), F_SETFL, O_RDWR) == 0); // of the open file, which is the port's, too

    CHECK(port.set_irqs({Data::none, Action::trigger, 2, 0, 1, {}}, {}) == 0);

    CHECK(::fcntl(event.file(), F_GETFL) == (O_RDWR | O_NONBLOCK));
}
