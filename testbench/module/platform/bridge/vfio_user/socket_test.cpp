#include "platform/bridge/vfio_user/server.h"

#include "testbench/harness/guest_bench.h"
#include "testbench/harness/vfio_user_socket.h"

#include <catch2/catch_test_macros.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

using namespace testbench;
using namespace testbench::vfio_user;
namespace bridge = platform::bridge::vfio_user;

namespace {

struct Directory {
    std::string path = "/tmp/hcasim-socket-" + std::to_string(::getpid());
    ~Directory() { std::filesystem::remove_all(path); }
};

constexpr bridge::SocketLimits short_limits{.unread_bytes = 1 << 20,
                                            .handshake = std::chrono::milliseconds{200},
                                            .memory_reply = std::chrono::milliseconds{300}};

/// Both cards of a machine behind sockets, served from this thread.
struct Served : GuestMachine {
    Directory directory;
    boost::asio::io_context io;
    std::string told;
    std::unique_ptr<bridge::Server> server;

    Served() {
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        std::array guests{&guest};
        bridge::Server::Hooks hooks;
        hooks.disconnected = [this](const auto& function, auto why) {
            told += function.name() + ": " + std::string(why) + "\n";
        };
        auto created = bridge::Server::create(io, guests, directory.path, hooks, short_limits);
        REQUIRE(created.has_value());
        server = std::move(*created);
    }
    ~Served() {
        server->close();
        io.poll();
    }
    std::string path(const std::string& name) const { return directory.path + "/" + name + ".sock"; }
    void serve() {
        io.restart();
        io.poll();
    }
    auto serving() {
        return [this] { serve(); };
    }
};

/// A client that has shaken hands.
struct Client : ClientSocket {
    Client(Served& served, const std::string& name) : ClientSocket(served.path(name), served.serving()) {
        REQUIRE(is_connected());
        const auto reply = ask(version(0, 0, qemu_capabilities));
        REQUIRE(reply.has_value());
        REQUIRE(error_of(*reply) == 0);
    }
    std::uint32_t error(std::span<const std::byte> message, std::span<const int> files = {}) {
        const auto reply = ask(message, files);
        return reply ? error_of(*reply) : ~0u;
    }
    void config_write(std::uint64_t offset, std::initializer_list<int> values) {
        Bytes data;
        for (const int value : values)
            data.push_back(static_cast<std::byte>(value));
        REQUIRE(error(region_write(config_region, offset, data)) == 0);
    }
    /// BAR 0 at 0xe000'0000, decoding and mastering on.
    void enable() {
        config_write(0x10, {0, 0, 0, 0xe0});
        config_write(4, {6, 0});
    }
};

Bytes identity(ClientSocket& client) {
    const auto reply = client.ask(region_read(config_region, 0, 4));
    REQUIRE(reply.has_value());
    const auto data = data_of(*reply);
    return {data.begin(), data.end()};
}

} // namespace

TEST_CASE("each function has a socket of its own, and none is left behind", "[module][vfio_user]") {
    Directory directory;
    {
        Served s;
        directory.path = s.directory.path;
        Client first(s, "first"), second(s, "second");
        CHECK(identity(first)[2] == std::byte{1});
        CHECK(identity(second)[2] == std::byte{2});
    }
    CHECK_FALSE(std::filesystem::exists(directory.path + "/first.sock"));
    CHECK_FALSE(std::filesystem::exists(directory.path + "/second.sock"));
}

TEST_CASE("a card moves bytes of a client's memory and signals its eventfd", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    client.enable();
    const GuestRam ram(64 << 10);
    const std::array ram_file{ram.file()};
    REQUIRE(client.error(dma_map(0x10'0000, 64 << 10), ram_file) == 0);
    EventCounter event;
    const std::array event_files{event.file()};
    REQUIRE(client.error(set_irqs(event_file | trigger, msix, 2, 1), event_files) == 0);
    client.config_write(model::pcie::msix_offset + 2u, {0, 0x80});

    const std::array mark{std::byte{1}, std::byte{2}};
    CHECK(s.first.endpoint.dma().write(abi::BusAddress{0x10'0004}, mark, {}).is_ok());
    s.first.endpoint.interrupts().raise(2, {});

    CHECK(ram.bytes()[5] == std::byte{2});
    CHECK(event.take() == 1);
    REQUIRE(client.error(dma_unmap(0x10'0000, 64 << 10)) == 0);
    CHECK_FALSE(s.first.endpoint.dma().write(abi::BusAddress{0x10'0004}, mark, {}).is_ok());
}

TEST_CASE("clients come in turn, and each finds the function as new", "[module][vfio_user]") {
    Served s;
    for (int turn = 0; turn < 3; ++turn) {
        Client client(s, "first");
        CHECK(data_of(*client.ask(region_read(config_region, 4, 2)))[0] == std::byte{0});
        client.enable();
        const GuestRam ram(4096);
        const std::array file{ram.file()};
        CHECK(client.error(dma_map(0, 4096), file) == 0);
        client.close();
        s.serve();
        CHECK(s.first.function.resets == static_cast<unsigned>(turn + 1));
        CHECK(s.port(0).memory().size() == 0);
    }
}

TEST_CASE("a second client waits until the first has gone", "[module][vfio_user]") {
    Served s;
    auto first = std::make_unique<Client>(s, "first");
    ClientSocket second(s.path("first"), s.serving());
    REQUIRE(second.send(version()));
    s.serve();
    CHECK(identity(*first)[2] == std::byte{1});
    first.reset();
    const auto reply = second.receive();
    REQUIRE(reply.has_value());
    CHECK(error_of(*reply) == 0);
}

TEST_CASE("garbage ends the connection it comes by and no other", "[module][vfio_user]") {
    Served s;
    Client good(s, "second");
    for (const auto seed : {0x00, 0x55, 0xff}) {
        ClientSocket bad(s.path("first"), s.serving());
        bad.send(Bytes(100, static_cast<std::byte>(seed)));
        CHECK(bad.is_over());
        CHECK(identity(good)[2] == std::byte{2});
    }
    CHECK(s.second.function.resets == 0);
}

TEST_CASE("a client that dies in the middle of a message has done nothing", "[module][vfio_user]") {
    Served s;
    {
        Client client(s, "first");
        client.enable();
        auto write = region_write(0, 0, Bytes(64, std::byte{1}));
        write.pop_back();
        client.send(write);
    }
    s.serve();
    CHECK(s.first.function.writes == 0);
    CHECK(s.told == "first: the client has gone\n");
}

TEST_CASE("a client without a handshake is sent away after a while", "[module][vfio_user]") {
    Served s;
    ClientSocket silent(s.path("first"), s.serving());
    CHECK(silent.is_over());
    CHECK(s.told == "first: no handshake\n");
}

TEST_CASE("a client that does not read its answers is sent away", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    client.enable();
    for (int i = 0; i < 1000 && s.told.empty(); ++i) {
        client.send(region_read(0, 0, 0x4000));
        s.serve();
    }
    CHECK(s.told.starts_with("first: the client does not read"));
}

TEST_CASE("more descriptors than were agreed end the connection, and none of them stays open", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    const GuestRam ram(4096);
    const std::vector<int> files(20, ram.file());
    const auto open_files = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    const auto before = open_files();
    client.send(dma_map(0, 4096), files);
    CHECK(client.is_over());
    s.serve();
    CHECK(open_files() <= before);
}

TEST_CASE("descriptors of refused commands are closed", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    const GuestRam ram(4096);
    const std::vector<int> files(16, ram.file());
    const auto before = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    CHECK(client.error(get_info(), files) == EINVAL);
    CHECK(client.error(dma_map(0, 4096), files) == EINVAL);
    CHECK(client.error(set_irqs(event_file | trigger, msix, 0, 8), std::span(files).first(8)) == EINVAL);
    CHECK(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}) == before);
}

TEST_CASE("memory without a file is reached by messages, and the client is served meanwhile", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    client.enable();
    REQUIRE(client.error(dma_map(0, 1 << 20)) == 0);
    Bytes memory(1 << 20, std::byte{0x42});
    bool is_read_answered = false;
    std::thread guest([&] {
        const auto asked = client.receive();
        if (!asked)
            return;
        // A processor of the guest reads a register before anybody serves the DMA.
        const auto answer = client.ask(region_read(config_region, 0, 4));
        is_read_answered = answer && header_of(*answer).get<"command">() == Command::region_read;
        const auto body = body_of<DmaAccess>(*asked);
        client.send(dma_reply(*asked, std::span(memory).subspan(body.get<"address">(), body.get<"count">())));
        const auto written = client.receive();
        if (!written)
            return;
        const auto target = body_of<DmaAccess>(*written).get<"address">();
        const auto data = std::span(*written).subspan(Header::size + DmaAccess::size);
        std::ranges::copy(data, memory.begin() + static_cast<std::ptrdiff_t>(target));
        client.send(dma_reply(*written, {}));
    });

    std::array<std::byte, 16> seen{};
    const auto read = s.first.endpoint.dma().read(abi::BusAddress{0x100}, seen, {});
    const std::array mark{std::byte{7}};
    const auto write = s.first.endpoint.dma().write(abi::BusAddress{0x200}, mark, {});
    guest.join();

    CHECK(read.is_ok());
    CHECK(seen[15] == std::byte{0x42});
    CHECK(is_read_answered);
    CHECK(write.is_ok());
    CHECK(memory[0x200] == std::byte{7});
    s.serve();
    CHECK(s.told.empty());
}

TEST_CASE("a client that does not give its memory costs one wait and is sent away", "[module][vfio_user]") {
    Served s;
    Client client(s, "first"), other(s, "second");
    client.enable();
    REQUIRE(client.error(dma_map(0, 1 << 20)) == 0);

    std::array<std::byte, 16> data{};
    CHECK_FALSE(s.first.endpoint.dma().read(abi::BusAddress{0x100}, data, {}).is_ok());
    CHECK_FALSE(s.first.endpoint.dma().read(abi::BusAddress{0x100}, data, {}).is_ok());
    s.serve();

    CHECK(s.told == "first: no answer to a request for memory\n");
    CHECK(identity(other)[2] == std::byte{2});
}

TEST_CASE("a socket that nobody listens at gives way, anything else does not", "[module][vfio_user]") {
    Served s;
    auto& function = s.port(0);
    const auto create = [&](const std::string& path) {
        return bridge::Listener::create(s.io, path, function, [] {});
    };
    CHECK(create(s.path("first")).error() == s.path("first") + ": somebody else listens there");

    const auto file = s.directory.path + "/file";
    std::ofstream(file) << "kept";
    CHECK(create(file).error() == file + ": is there, and is no socket");
    CHECK(create(std::string(200, 'x')).error().ends_with("the name of a socket has at most 107 bytes"));

    const auto stale = s.directory.path + "/stale";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    stale.copy(address.sun_path, sizeof address.sun_path - 1);
    const int left_over = ::socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(::bind(left_over, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    ::close(left_over);
    CHECK(create(stale).has_value());
}

TEST_CASE("QEMU is told where the socket is and to share its memory", "[module][vfio_user]") {
    CHECK(bridge::print_qemu_device("/run/a.sock", 2).find("\"path\":\"/run/a.sock\"") != std::string::npos);
    CHECK(bridge::print_qemu_device("/run/a.sock", 2).find("id=rp2") != std::string::npos);
    CHECK(bridge::print_qemu_memory("2G").find("memory-backend-memfd,id=mem,size=2G,share=on") != std::string::npos);
}
