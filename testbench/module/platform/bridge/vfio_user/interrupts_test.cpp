// Interrupts and resets of a function that a client has.
#include "testbench/module/platform/bridge/vfio_user/mapped_guest.h"

#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

using namespace testbench;
using namespace testbench::guest;

// --- interrupts ---

TEST_CASE("a vector signals its eventfd and no other", "[module][vfio_user]") {
    MappedGuest s;
    EventCounter one, two;
    REQUIRE(set_event(s.port(0), 1, one) == 0);
    REQUIRE(set_event(s.port(0), 2, two) == 0);
    s.enable_msix(0);

    s.first.endpoint.interrupts().raise(1, {});
    s.first.endpoint.interrupts().raise(1, {});
    CHECK(one.take() == 2);
    CHECK(two.take() == 0);
    s.second.endpoint.interrupts().raise(1, {});
    CHECK(one.take() == 0);
}

TEST_CASE("a full counter holds nobody up, whatever the client does with its flags", "[module][vfio_user]") {
    MappedGuest s;
    EventCounter event;
    REQUIRE(set_event(s.port(0), 1, event) == 0);
    s.enable_msix(0);
    constexpr std::uint64_t full = ~std::uint64_t{1};
    REQUIRE(::write(event.file(), &full, sizeof full) == sizeof full);
    // The flag is of the open file, which client and server share.
    REQUIRE(::fcntl(event.file(), F_SETFL, ::fcntl(event.file(), F_GETFL) & ~O_NONBLOCK) == 0);

    s.first.endpoint.interrupts().raise(1, {});
    CHECK(s.port(0).set_irqs(irqs(Data::none, Action::trigger, 1, 1), {}) == 0);

    CHECK(s.port(0).signals() == 2);
    CHECK(event.take() >= full);
}

TEST_CASE("a vector without an eventfd is pending until it has one", "[module][vfio_user]") {
    MappedGuest s;
    s.enable_msix(0);
    s.first.endpoint.interrupts().raise(3, {});
    std::array<std::byte, 8> pending{};
    s.port(0).read(0, 0x3000, pending);
    CHECK(pending[0] == std::byte{1 << 3});

    EventCounter event;
    REQUIRE(set_event(s.port(0), 3, event) == 0);
    CHECK(event.take() == 1);
    s.port(0).read(0, 0x3000, pending);
    CHECK(pending[0] == std::byte{0});
}

TEST_CASE("a masked vector, or function, is pending until it is unmasked", "[module][vfio_user]") {
    MappedGuest s;
    EventCounter event;
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    s.enable_msix(0);

    REQUIRE(s.port(0).set_irqs(irqs(Data::none, Action::mask, 0, 1), {}) == 0);
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 0);
    REQUIRE(s.port(0).set_irqs(irqs(Data::none, Action::unmask, 0, 1), {}) == 0);
    CHECK(event.take() == 1);

    s.enable_msix(0, true);
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 0);
    s.enable_msix(0, false);
    CHECK(event.take() == 1);
}

TEST_CASE("a client can trigger a vector itself", "[module][vfio_user]") {
    MappedGuest s;
    EventCounter event;
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    CHECK(s.port(0).set_irqs(irqs(Data::none, Action::trigger, 0, 1), {}) == 0);
    CHECK(event.take() == 1);
}

TEST_CASE("interrupts are off after 'none, trigger, 0'", "[module][vfio_user]") {
    MappedGuest s;
    EventCounter event;
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    s.enable_msix(0);
    REQUIRE(s.port(0).set_irqs(irqs(Data::none, Action::trigger, 0, 0), {}) == 0);
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 0);
    CHECK(s.first.endpoint.msix().is_pending(0));
}

TEST_CASE("a descriptor that is no eventfd is refused", "[module][vfio_user]") {
    MappedGuest s;
    std::vector<Descriptor> files;
    files.push_back(s.ram.descriptor());
    CHECK(s.port(0).set_irqs(irqs(Data::eventfd, Action::trigger, 0, 1), std::move(files)) == EINVAL);
}

TEST_CASE("the MSI-X table in the BAR is not the client's to write", "[module][vfio_user]") {
    MappedGuest s;
    EventCounter event;
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    s.enable_msix(0);
    s.port(0).write(0, 0x2000, std::array<std::byte, 16>{});
    s.port(0).work();
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 1);
}

TEST_CASE("an interrupt message of no vector is dropped", "[module][vfio_user]") {
    MappedGuest s;
    const std::array data{std::byte{99}, std::byte{0}, std::byte{0}, std::byte{0}};
    CHECK(s.dma(s.first).write(BusAddress{0xfee0'0000}, data, {}).is_ok());
    CHECK(s.dma(s.first).write(BusAddress{0xfee0'0001}, data, {}).is_ok());
    CHECK(s.port(0).signals() == 0);
}

// --- resets ---

TEST_CASE("BARs and eventfds survive a function-level reset, mastering does not", "[module][vfio_user]") {
    MappedGuest s;
    EventCounter event;
    REQUIRE(s.map(0, 0, page) == 0);
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    s.enable_msix(0);

    s.config_write(0, model::pcie::pci_express_offset + 8u, 2, 0x8000);

    CHECK(s.first.function.resets == 1);
    CHECK(s.config_read(0, 0x10) == 0xe000'0000);
    CHECK(s.config_read(0, 0x1c) == 8);
    CHECK(s.config_read(0, 4, 2) == 0);
    CHECK(s.write(s.first, BusAddress{0}, pattern(1)) == DmaStatus::unsupported_request);
    s.config_write(0, 4, 2, 6);
    s.enable_msix(0);
    s.port(0).write(0, 0, pattern(1));
    s.port(0).work();
    CHECK(s.first.function.writes == 1);
    CHECK(s.write(s.first, BusAddress{0}, pattern(1)) == DmaStatus::ok);
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 1);
}

TEST_CASE("a reset of the device clears its configuration and keeps the client's memory", "[module][vfio_user]") {
    MappedGuest s;
    REQUIRE(s.map(0, 0, page) == 0);
    s.port(0).reset();
    s.port(0).work();
    CHECK(s.first.function.resets == 1);
    CHECK(s.config_read(0, 4, 2) == 0);
    s.enable(0);
    CHECK(s.write(s.first, BusAddress{0}, pattern(1)) == DmaStatus::ok);
}

TEST_CASE("when the client goes, its memory and interrupts go and the function is reset", "[module][vfio_user]") {
    MappedGuest s;
    EventCounter event;
    REQUIRE(s.map(0, 0, page) == 0);
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    s.enable_msix(0);
    REQUIRE(s.dma(s.first).write(BusAddress{0}, pattern(1), {}).is_ok());

    s.port(0).disconnect();

    CHECK(s.first.function.resets == 1);
    CHECK(s.second.function.resets == 0);
    s.enable(0);
    s.enable_msix(0);
    CHECK(s.write(s.first, BusAddress{0}, pattern(2)) == DmaStatus::unsupported_request);
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 0);
    s.files.sweep();
    CHECK(s.files.size() == 0);
}
