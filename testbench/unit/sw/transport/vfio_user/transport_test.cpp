#include "sw/transport/vfio_user/transport.h"

#include "testbench/unit/sw/transport/vfio_user/scripted_server.h"

#include <catch2/catch_test_macros.hpp>

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

using namespace std::chrono_literals;
using sw::transport::BusMap;
using sw::transport::vfio_user::Socket;
using sw::transport::vfio_user::SocketTransport;
using testbench::ScriptedServer;
using testbench::vfio_user::body_of;
using testbench::vfio_user::Bytes;
using testbench::vfio_user::Command;
using testbench::vfio_user::header_of;

namespace {

struct Driven {
    ScriptedServer server;
    BusMap bus;
    std::unique_ptr<SocketTransport> transport;

    sw::Result<void> open(sw::transport::vfio_user::Options options = {.patience = 5s}) {
        auto opened = SocketTransport::open(Socket(server.start()), "card", bus, options);
        if (!opened)
            return std::unexpected(opened.error());
        transport = std::move(*opened);
        return {};
    }
    std::uint32_t read32(std::uint64_t offset) {
        std::array<std::byte, 4> bytes{};
        transport->mmio_read(0, offset, bytes);
        return abi::load<std::uint32_t, abi::Endian::little>(bytes.data());
    }
    void write32(std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), value);
        transport->mmio_write(0, offset, bytes);
    }
};

/// A file of memory, as servers give it for a BAR.
sw::transport::File memory_file(std::size_t bytes) {
    sw::transport::File file(::memfd_create("bar", MFD_CLOEXEC));
    REQUIRE(::ftruncate(file.number(), static_cast<off_t>(bytes)) == 0);
    return file;
}

} // namespace

// --- begin ---

TEST_CASE("a function is reset and gets addresses for its BARs when a driver connects", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open());

    CHECK(d.server.count(Command::reset) == 1);
    CHECK(d.transport->bar_size(0) == ScriptedServer::register_bytes);
    CHECK(d.transport->bar_size(1) == 0);
    CHECK(d.transport->bar_size(2) == 0x1000);
    CHECK(d.transport->bar_size(6) == 0);
    CHECK((d.server.dword(0x14) == d.transport->bar_address(0) >> 32 && d.server.dword(0x14) != 0));
    CHECK(d.server.dword(0x10) == (d.transport->bar_address(0) & 0xffff'ffff));
    CHECK(d.server.dword(0x18) == d.transport->bar_address(2));
    CHECK(d.bus.find(d.transport->bar_address(0), ScriptedServer::register_bytes));
    const auto address = d.transport->bar_address(0);
    d.transport.reset();
    CHECK_FALSE(d.bus.find(address, 1));
}

TEST_CASE("a socket that is not there is an error with its path and what to do", "[unit][transport]") {
    BusMap bus;
    const auto opened = SocketTransport::connect("/nonexistent/x.sock", bus);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ENOENT);
    CHECK(
        opened.error().what.starts_with("/nonexistent/x.sock: connect: No such file or directory; is there a server"));
    const auto longer = SocketTransport::connect("/" + std::string(200, 'x'), bus);
    REQUIRE_FALSE(longer);
    CHECK(longer.error().code == ENAMETOOLONG);
}

TEST_CASE("a server of another major version is refused", "[unit][transport]") {
    Driven d;
    d.server.instead = [](const Bytes& command) -> std::optional<Bytes> {
        if (header_of(command).get<"command">() != Command::version)
            return {};
        return ScriptedServer::reply(command, std::array{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}});
    };
    const auto opened = d.open();
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == EPROTONOSUPPORT);
    CHECK(opened.error().what.starts_with("card: VERSION: the server speaks version 1.0, we speak 0.0"));
}

TEST_CASE("a server's limits are kept", "[unit][transport]") {
    Driven d;
    d.server.capabilities = R"({"capabilities": {"max_data_xfer_size" : 1024, "max_msg_fds": 3}})";
    REQUIRE(d.open());
    std::vector<std::byte> bytes(4000, std::byte{7});

    d.transport->bar_write(0, 0x100, bytes);
    std::vector<std::byte> back(bytes.size());
    d.transport->bar_read(0, 0x100, back);
    REQUIRE(d.transport->enable_interrupts(4));

    CHECK(back == bytes);
    CHECK(d.server.events.size() == 4);
    CHECK(d.server.count(Command::set_irqs) == 2);
    for (const auto& command : d.server.commands)
        CHECK(command.size() <= 1024 + 32);
}

TEST_CASE("a server that says nothing of itself has the protocol's limits", "[unit][transport]") {
    Driven d;
    d.server.capabilities = "";
    REQUIRE(d.open());
    REQUIRE(d.transport->enable_interrupts(3));
    CHECK(d.server.count(Command::set_irqs) == 3); // one descriptor a message
}

// --- registers ---

TEST_CASE("writes of registers are posted, and a read after them sees them", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open());
    for (std::uint32_t i = 0; i < 1000; ++i)
        d.write32(4 * i, i + 1);
    CHECK(d.read32(3996) == 1000);
    CHECK(d.read32(0) == 1);
    std::size_t posted = 0;
    for (const auto& command : d.server.commands)
        posted += header_of(command).get<"no_reply">();
    CHECK(posted == 1000);
}

TEST_CASE("writes of registers wait for their reply where that is wanted", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open({.patience = 5s, .posted_writes = false}));
    d.write32(8, 77);
    CHECK(d.read32(8) == 77);
    for (const auto& command : d.server.commands)
        CHECK_FALSE(header_of(command).get<"no_reply">());
}

TEST_CASE("an access outside of a BAR reads as ones, writes nothing and is not sent", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open());
    const auto before = d.server.commands.size();
    d.write32(ScriptedServer::register_bytes - 2, 1);
    CHECK(d.read32(ScriptedServer::register_bytes - 2) == ~0u);
    CHECK(d.read32(~0ull) == ~0u);
    std::array<std::byte, 1> one{};
    d.transport->mmio_read(1, 0, one);
    CHECK(one[0] == std::byte{0xff});
    d.transport->mmio_read(99, 0, one);
    CHECK(d.server.commands.size() == before);
}

TEST_CASE("a refused read gives ones and the next one works", "[unit][transport]") {
    Driven d;
    d.server.instead = [](const Bytes& command) -> std::optional<Bytes> {
        if (header_of(command).get<"command">() != Command::region_read ||
            body_of<abi::vfio_user::RegionAccess>(command).get<"offset">() != 0x500)
            return {};
        return ScriptedServer::refusal(command, EINVAL);
    };
    REQUIRE(d.open());
    d.write32(0x504, 5);
    CHECK(d.read32(0x500) == ~0u);
    CHECK(d.read32(0x504) == 5);
    CHECK(d.transport->is_alive());
}

TEST_CASE("a BAR that can be mapped is memory, and no message is sent for it", "[unit][transport]") {
    const auto file = memory_file(ScriptedServer::register_bytes);
    auto servers =
        sw::transport::Mapping::create(ScriptedServer::register_bytes, PROT_READ | PROT_WRITE, file.number(), 0);
    Driven d;
    d.server.bar_file = file.number();
    REQUIRE(d.open());
    const auto before = d.server.commands.size();

    d.write32(0x40, 0x1234);
    servers.bytes()[0x80] = std::byte{9};

    CHECK(abi::load<std::uint32_t, abi::Endian::little>(servers.bytes().data() + 0x40) == 0x1234);
    CHECK(d.read32(0x80) == 9);
    CHECK(d.server.commands.size() == before);
}

// --- a server that does wrong ---

TEST_CASE("an answer that is not to what was asked ends the connection", "[unit][transport]") {
    using Change = std::function<Bytes(Bytes)>;
    const auto header = [](Bytes& m) { return abi::View<abi::vfio_user::Header>(std::span(m)); };
    struct Wrong {
        Change change;
        std::string what;
    };
    const std::vector<Wrong> wrongs{
        {[&](Bytes m) { return header(m).set<"id">(header(m).get<"id">() + 1), m; }, "the server answers number"},
        {[&](Bytes m) { return header(m).set<"command">(Command::get_info), m; }, "the server answers number"},
        {[&](Bytes m) { return m.resize(28), header(m).set<"size">(28), m; },
         "the server's answer has 12 bytes, 20 at least"},
        {[&](Bytes m) { return m.resize(16), header(m).set<"size">(16), m; },
         "the server's answer has 0 bytes, 20 at least"},
        {[&](Bytes m) { return header(m).set<"size">(3), m; }, "the server sends a message of 3 bytes"},
        {[&](Bytes m) { return header(m).set<"size">(~0u), m; }, "the server sends a message of 4294967295 bytes"},
        {[&](Bytes m) { return header(m).set<"type">(static_cast<abi::vfio_user::MessageType>(5)), m; },
         "the server answers number"},
    };
    for (const auto& wrong : wrongs) {
        Driven d;
        d.server.instead = [&](const Bytes& command) -> std::optional<Bytes> {
            if (header_of(command).get<"command">() != Command::region_read ||
                body_of<abi::vfio_user::RegionAccess>(command).get<"offset">() != 0x500)
                return {};
            Bytes body(20);
            return wrong.change(ScriptedServer::reply(command, body));
        };
        REQUIRE(d.open());
        REQUIRE(d.read32(0x504) == 0);
        CHECK(d.read32(0x500) == ~0u);
        CHECK_FALSE(d.transport->is_alive());
        CHECK(d.transport->fault().what.starts_with("card: REGION_READ: " + wrong.what));
        CHECK(d.read32(0x504) == ~0u);
    }
}

TEST_CASE("a server that hangs up leaves a function that reads as ones", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open());
    REQUIRE(d.transport->enable_interrupts(1));
    const auto memory = d.transport->allocate(4096).value();
    d.server.hang_up();

    CHECK(d.read32(0) == ~0u);
    CHECK(d.transport->config_read(0, 4) == ~0u);
    CHECK(d.transport->config_read(0, 2) == 0xffff);
    d.write32(0, 1);
    d.transport->config_write(4, 2, 6);
    d.transport->relax();
    CHECK_FALSE(d.transport->wait_interrupt(0, 1h));
    CHECK_FALSE(d.transport->allocate(64 << 20));
    CHECK_FALSE(d.transport->enable_interrupts(1));
    CHECK_FALSE(d.transport->reset());
    CHECK(d.transport->fault().code == ECONNRESET);
    CHECK(d.transport->fault().what.find("the server has closed the connection") != std::string::npos);
    std::ranges::fill(memory.bytes(), std::byte{1}); // ours, still
    d.transport->release(memory);
}

TEST_CASE("a waiting driver hears at once that the server has gone", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open());
    REQUIRE(d.transport->enable_interrupts(1));
    std::jthread killer([&] {
        std::this_thread::sleep_for(20ms);
        d.server.hang_up();
    });
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(d.transport->wait_interrupt(0, 60s));
    CHECK(std::chrono::steady_clock::now() - begin < 30s);
    CHECK_FALSE(d.transport->is_alive());
}

TEST_CASE("a server that does not answer in time is taken for dead", "[unit][transport]") {
    Driven d;
    d.server.instead = [](const Bytes& command) -> std::optional<Bytes> {
        if (header_of(command).get<"command">() != Command::region_read ||
            body_of<abi::vfio_user::RegionAccess>(command).get<"offset">() != 0x500)
            return {};
        return Bytes{};
    };
    REQUIRE(d.open({.patience = 200ms}));
    CHECK(d.read32(0x500) == ~0u);
    CHECK(d.transport->fault().code == ETIMEDOUT);
}

TEST_CASE("an answer to nothing ends the connection", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open());
    d.server.send(ScriptedServer::reply(d.server.commands.back(), {}));
    for (unsigned i = 0; i < 10'000 && d.transport->is_alive(); ++i)
        d.transport->relax();
    CHECK(d.transport->fault().what.find("the server answers nothing that was asked") != std::string::npos);
}

// --- memory ---

TEST_CASE("DMA memory is a file that the server maps, of a length that stays", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open());
    const auto memory = d.transport->allocate(3 * 4096, 1 << 16).value();
    REQUIRE(d.server.memory.size() == 1);
    const auto& [address, file] = *d.server.memory.begin();

    CHECK(memory.bus % (1 << 16) == 0);
    CHECK(::ftruncate(file.number(), 0) != 0);
    struct stat status{};
    REQUIRE(::fstat(file.number(), &status) == 0);
    auto servers = sw::transport::Mapping::create(static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE,
                                                  file.number(), 0);
    servers.bytes()[memory.bus - address + 5] = std::byte{0x77};
    CHECK(memory.data[5] == std::byte{0x77});
}

TEST_CASE("DMA memory that the server refuses is an error, and nothing of it is left", "[unit][transport]") {
    Driven d;
    d.server.instead = [](const Bytes& command) -> std::optional<Bytes> {
        if (header_of(command).get<"command">() != Command::dma_map)
            return {};
        return ScriptedServer::refusal(command, ENOSPC);
    };
    REQUIRE(d.open());
    const auto memory = d.transport->allocate(4096);
    REQUIRE_FALSE(memory);
    CHECK(memory.error().code == ENOSPC);
    CHECK(memory.error().what.find("card: the server refuses DMA_MAP: No space left on device") != std::string::npos);
}

TEST_CASE("a server that asks for memory by messages is served, while it is asked and between", "[unit][transport]") {
    using abi::vfio_user::DmaAccess;
    Driven d;
    const auto request = [](Command command, std::uint64_t address, std::uint64_t count,
                            std::span<const std::byte> data) {
        Bytes body(DmaAccess::size + data.size());
        abi::View<DmaAccess>(std::span(body)).set<"address">(address).set<"count">(count);
        testbench::vfio_user::put(body, DmaAccess::size, data);
        return testbench::vfio_user::message(command, body, 0x4242);
    };
    std::uint64_t address = 0;
    const std::array data{std::byte{1}, std::byte{2}, std::byte{3}};
    d.server.instead = [&](const Bytes& command) -> std::optional<Bytes> {
        if (header_of(command).get<"command">() == Command::region_read && address != 0) {
            d.server.send(request(Command::dma_write, address + 10, data.size(), data));
            d.server.send(request(Command::dma_read, address + 11, 2, {}));
            d.server.send(request(Command::dma_read, address - 1, 2, {}));   // none of ours
            d.server.send(request(Command::dma_read, address, 2 << 20, {})); // too much
            d.server.send(request(Command::get_info, 0, 0, {}));             // not ours to answer
        }
        return {};
    };
    REQUIRE(d.open());
    const auto memory = d.transport->allocate(4096).value();
    address = memory.bus;

    CHECK(d.read32(0) == 0);
    address = 0;
    CHECK(d.read32(0) == 0); // all answers have been taken before this one's command

    CHECK(std::ranges::equal(std::span(memory.data + 10, 3), data));
    REQUIRE(d.server.answers.size() == 5);
    CHECK(testbench::vfio_user::error_of(d.server.answers[0]) == 0);
    CHECK(header_of(d.server.answers[1]).get<"id">() == 0x4242);
    CHECK(std::ranges::equal(testbench::vfio_user::data_of(d.server.answers[1]), std::span(data).subspan(1)));
    CHECK(testbench::vfio_user::error_of(d.server.answers[2]) == EFAULT);
    CHECK(testbench::vfio_user::error_of(d.server.answers[3]) == EINVAL);
    CHECK(testbench::vfio_user::error_of(d.server.answers[4]) == ENOTSUP);
    CHECK(d.transport->is_alive());
}

TEST_CASE("a peer is reached at the bus address of its BAR, and nothing else is", "[unit][transport]") {
    Driven d;
    ScriptedServer other;
    REQUIRE(d.open());
    auto peer = SocketTransport::open(Socket(other.start()), "peer", d.bus).value();
    const auto address = peer->bar_address(0);
    REQUIRE(address != d.transport->bar_address(0));

    CHECK(d.transport->map_peer(address + 0x1000, 0x100).value() == address + 0x1000);
    CHECK_FALSE(d.transport->map_peer(address + 0x1000, ScriptedServer::register_bytes));
    const auto nowhere = d.transport->map_peer(0x1000, 0x1000);
    REQUIRE_FALSE(nowhere);
    CHECK(nowhere.error().what.starts_with(
        "card: map 0x1000+0x1000: no function of this machine has that range in a BAR"));
    peer.reset();
    CHECK_FALSE(d.transport->map_peer(address, 0x100));
}

// --- interrupts ---

TEST_CASE("a vector is waited for by its event, once for what was raised", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open());
    REQUIRE(d.transport->enable_interrupts(2));
    REQUIRE(d.server.events.size() == 2);
    CHECK((d.server.dword(ScriptedServer::msix_capability) >> 31 & 1) == 1);
    const std::uint64_t one = 1;
    REQUIRE(::write(d.server.events[1].number(), &one, sizeof one) == sizeof one);
    REQUIRE(::write(d.server.events[1].number(), &one, sizeof one) == sizeof one);

    CHECK_FALSE(d.transport->wait_interrupt(0, 0s));
    CHECK(d.transport->wait_interrupt(1, 60s));
    CHECK_FALSE(d.transport->wait_interrupt(1, 1ms));
    CHECK_FALSE(d.transport->wait_interrupt(2, 1ms));
    d.transport->disable_interrupts();
    CHECK((d.server.dword(ScriptedServer::msix_capability) >> 31 & 1) == 0);
    CHECK(d.server.events.empty());
    CHECK_FALSE(d.transport->wait_interrupt(1, 1ms));
}

TEST_CASE("more vectors than there are is an error with both numbers", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open());
    const auto enabled = d.transport->enable_interrupts(5);
    REQUIRE_FALSE(enabled);
    CHECK(enabled.error().what == "card: enable 5 MSI-X vectors: the function has 4");
}

TEST_CASE("a reset leaves the BARs at their addresses", "[unit][transport]") {
    Driven d;
    REQUIRE(d.open());
    d.server.put_dword(0x10, 0xc);
    d.server.put_dword(0x14, 0);
    REQUIRE(d.transport->reset());
    CHECK(d.server.count(Command::reset) == 2);
    CHECK(d.server.dword(0x10) == (d.transport->bar_address(0) & 0xffff'ffff));
    CHECK(d.server.dword(0x14) == d.transport->bar_address(0) >> 32);
}
