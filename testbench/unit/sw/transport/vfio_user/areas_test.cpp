// BARs of which a server offers parts for mapping.
#include "sw/transport/vfio_user/transport.h"

#include "testbench/unit/sw/transport/vfio_user/scripted_server.h"

#include <catch2/catch_test_macros.hpp>

#include <sys/mman.h>

#include <array>

using namespace std::chrono_literals;
using sw::transport::BusMap;
using sw::transport::vfio_user::Socket;
using sw::transport::vfio_user::SocketTransport;
using testbench::ScriptedServer;

TEST_CASE("of a BAR whose areas can be mapped only these are memory, and the rest goes by messages",
          "[unit][transport]") {
    const sw::transport::File file(::memfd_create("bar", MFD_CLOEXEC));
    REQUIRE(::ftruncate(file.number(), ScriptedServer::register_bytes) == 0);
    auto servers =
        sw::transport::Mapping::create(ScriptedServer::register_bytes, PROT_READ | PROT_WRITE, file.number(), 0);
    ScriptedServer server;
    server.bar_file = file.number();
    server.areas = {{0x1000, 0x1000}, {0x3000, 0x1000}, {ScriptedServer::register_bytes, 0x1000}};
    BusMap bus;
    auto opened = SocketTransport::open(Socket(server.start()), "card", bus, {.patience = 5s});
    REQUIRE(opened.has_value());
    auto& transport = **opened;
    const auto write = [&](std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), value);
        transport.mmio_write(0, offset, bytes);
    };
    const auto read = [&](std::uint64_t offset) {
        std::array<std::byte, 4> bytes{};
        transport.mmio_read(0, offset, bytes);
        return abi::load<std::uint32_t, abi::Endian::little>(bytes.data());
    };
    const auto before = server.commands.size();

    write(0x1000, 1);
    write(0x3ffc, 2);
    CHECK(server.commands.size() == before);
    CHECK(servers.bytes()[0x1000] == std::byte{1});
    CHECK(servers.bytes()[0x3ffc] == std::byte{2});

    write(0x0ffc, 3);
    write(0x2000, 4);
    write(0x1ffe, 5); // over the end of an area
    CHECK(read(0x0ffc) == 3);
    CHECK(servers.bytes()[0x2000] == std::byte{0});
    CHECK(servers.bytes()[0x1ffe] == std::byte{0});
    CHECK(server.commands.size() > before);
}
