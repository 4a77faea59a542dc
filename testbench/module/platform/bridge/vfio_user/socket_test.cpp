#include "testbench/module/platform/bridge/vfio_user/served.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

using namespace testbench;
using namespace testbench::vfio_user;

TEST_CASE("each function has a socket of its own, and none is left behind", "[module][vfio_user]") {
    Directory directory;
    {
        Served s;
        directory.path = s.directory.path;
        Client first(s, "first"), second(s, "second");
        CHECK(identity(first)[2] == std::byte{1});
        CHECK(identity(second)[2] == std::byte{2});
        s.server->close();
        CHECK(std::filesystem::is_empty(directory.path));
    }
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
    const std::array late{std::byte{3}, std::byte{4}}; // lost, which the card cannot know
    CHECK(s.first.endpoint.dma().write(abi::BusAddress{0x10'0004}, late, {}).is_ok());
    CHECK(ram.bytes()[5] == std::byte{2});
    std::array<std::byte, 2> back{};
    CHECK_FALSE(s.first.endpoint.dma().read(abi::BusAddress{0x10'0004}, back, {}).is_ok());
}

TEST_CASE("a read of registers finds what the message before it has written", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    client.enable();
    auto both = region_write(0, 0x100, Bytes(4, std::byte{7}), true); // it has no answer
    std::ranges::copy(region_read(0, 0x100, 4), std::back_inserter(both));

    const auto reply = client.ask(both);

    REQUIRE(reply.has_value());
    CHECK(data_of(*reply)[0] == std::byte{7});
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

TEST_CASE("a second client is told that there is one already", "[module][vfio_user]") {
    Served s;
    auto first = std::make_unique<Client>(s, "first");
    ClientSocket second(s.path("first"), s.serving());
    const auto reply = second.ask(version());
    REQUIRE(reply.has_value());
    CHECK(error_of(*reply) == EBUSY);
    CHECK(second.is_over());
    CHECK(identity(*first)[2] == std::byte{1});

    // As a hypervisor that starts anew does: it is here before the server has heard of the other's end.
    ClientSocket third(s.path("first"), s.serving());
    first->send(region_read(config_region, 0, 4));
    first.reset();
    const auto hello = third.ask(version());
    REQUIRE(hello.has_value());
    REQUIRE(error_of(*hello) == 0);
    CHECK(identity(third)[2] == std::byte{1});
    CHECK(s.told == "first: the client has gone\n");
}

TEST_CASE("of the clients that are turned away only a few may wait for their answer", "[module][vfio_user]") {
    Served s;
    Client first(s, "first");
    std::vector<std::unique_ptr<ClientSocket>> others;
    for (int i = 0; i < 100; ++i) {
        others.push_back(std::make_unique<ClientSocket>(s.path("first"), s.serving()));
        s.serve();
    }
    const auto ended = std::ranges::count_if(others, [](const auto& other) {
        std::byte one;
        return ::recv(other->file(), &one, 1, MSG_DONTWAIT) == 0;
    });
    CHECK(ended == 92);
}

TEST_CASE("clients that are turned away cost the first nothing, however many and silent", "[module][vfio_user]") {
    auto limits = patient;
    limits.handshake = std::chrono::milliseconds{1000};
    Served s(limits);
    Client first(s, "first");
    std::vector<std::unique_ptr<ClientSocket>> others;
    for (int i = 0; i < 100; ++i) {
        others.push_back(std::make_unique<ClientSocket>(s.path("first"), s.serving()));
        s.serve();
    }
    CHECK(identity(first)[2] == std::byte{1});
    for (auto& other : others)
        CHECK(other->is_over());
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
    auto limits = patient;
    limits.handshake = std::chrono::milliseconds{200};
    Served s(limits);
    ClientSocket silent(s.path("first"), s.serving());
    CHECK(silent.is_over());
    CHECK(s.told == "first: no handshake\n");
}

TEST_CASE("a client that keeps half a message is sent away after a while", "[module][vfio_user]") {
    auto limits = patient;
    limits.message = std::chrono::milliseconds{300};
    Served s(limits);
    Client client(s, "first");
    const auto whole = region_read(config_region, 0, 4);
    client.send(whole); // one that is whole does not count
    client.send(std::span(whole).first(7));
    CHECK(client.receive().has_value());
    CHECK(client.is_over());
    CHECK(s.told == "first: the rest of a message does not come\n");
}

TEST_CASE("a byte now and then does not keep a client that does not end its message", "[module][vfio_user]") {
    auto limits = patient;
    limits.message = std::chrono::milliseconds{300};
    Served s(limits);
    Client client(s, "first");
    const auto whole = region_write(0, 0, Bytes(64));
    for (const auto byte : std::span(whole).first(40)) { // which takes 2 s, the time for a message many times
        client.send(std::span(&byte, 1));
        s.serve();
        if (!s.told.empty())
            break;
        ::poll(nullptr, 0, 50);
    }
    CHECK(s.told == "first: the rest of a message does not come\n");
}

TEST_CASE("a client that sends without end leaves others their turn", "[module][vfio_user]") {
    auto limits = patient;
    limits.turn = {}; // one message, however fast this machine is
    Served s(limits);
    Client greedy(s, "first"), other(s, "second");
    greedy.enable();
    Bytes writes;
    for (int i = 0; i < 1000; ++i)
        std::ranges::copy(region_write(0, 0, Bytes(4), true), std::back_inserter(writes));
    greedy.send(writes);
    other.send(region_read(config_region, 0, 4));
    s.io.restart();
    for (unsigned handlers = 0; handlers < 16 && s.io.poll_one() != 0; ++handlers)
        ; // of which each may take a while, but no longer
    pollfd ready{other.file(), POLLIN, 0};
    CHECK(::poll(&ready, 1, 0) == 1);
    CHECK(s.first.function.writes != 0);
    CHECK(s.first.function.writes <= 16);
    CHECK(s.serve_until([&] { return s.first.function.writes == 1000; }));
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
    const auto open_files = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
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

TEST_CASE("a client whose memory fails under its file is sent away, and the card reads zeroes", "[module][vfio_user]") {
    Served s;
    Client client(s, "first"), other(s, "second");
    client.enable();
    other.enable();
    const GuestRam ram(64 << 10), other_ram(64 << 10);
    const std::array ram_file{ram.file()}, other_file{other_ram.file()};
    REQUIRE(client.error(dma_map(0, 64 << 10), ram_file) == 0);
    REQUIRE(other.error(dma_map(0, 64 << 10), other_file) == 0);
    // What huge pages that have run out, or a full file system, do to a file that cannot be shortened.
    const GuestRam gone(64 << 10, 0);
    REQUIRE(::mmap(s.port(0).memory().find(0)->memory, 64 << 10, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                   gone.file(), 0) != MAP_FAILED);
    REQUIRE(::ftruncate(gone.file(), 0) == 0);

    std::array<std::byte, 16> data{std::byte{1}};
    CHECK(s.first.endpoint.dma().read(abi::BusAddress{0x2000}, data, {}).is_ok());
    CHECK(data[0] == std::byte{0});

    CHECK(client.is_over());
    CHECK(s.told == "first: its memory has failed: bus error\n");
    const std::array mark{std::byte{7}};
    CHECK(s.second.endpoint.dma().write(abi::BusAddress{0}, mark, {}).is_ok());
    CHECK(other_ram.bytes()[0] == std::byte{7});
    s.files.sweep();
    CHECK(s.files.size() == 1);
    Client next(s, "first");
    next.enable();
    CHECK(next.error(dma_map(0, 64 << 10), ram_file) == 0);
    CHECK(s.first.endpoint.dma().write(abi::BusAddress{0}, mark, {}).is_ok());
    CHECK(ram.bytes()[0] == std::byte{7});
}

TEST_CASE("huge pages that do not exist cost their client an answer, at most", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    client.enable();
    constexpr std::uint64_t bytes = std::uint64_t{1} << 40; // more than any machine has
    const bridge::Descriptor file(::memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
    if (!file || ::ftruncate(file.number(), bytes) != 0 || ::fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        SKIP("no huge pages here");
    const std::array files{file.number()};
    CHECK(client.error(dma_map(0, bytes), files) == ENOMEM);
    CHECK(identity(client)[2] == std::byte{1});
}

TEST_CASE("sockets are their owner's alone, and so is the directory they lie in", "[module][vfio_user]") {
    const auto mask = ::umask(0);
    {
        Served s;
        struct stat status{};
        REQUIRE(::stat(s.path("first").c_str(), &status) == 0);
        CHECK((status.st_mode & 0777) == 0600);
        REQUIRE(::stat(s.directory.path.c_str(), &status) == 0);
        CHECK((status.st_mode & 0777) == 0700);

        const auto open = s.directory.path + "/open";
        REQUIRE(::mkdir(open.c_str(), 0777) == 0);
        std::array guests{&s.guest};
        const auto refused = bridge::Server::create(s.io, guests, open, {});
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error() ==
              open + ": others may write there (mode 777) and could put their own sockets there; chmod go-w");
        REQUIRE(::chmod(open.c_str(), 01777) == 0); // as /tmp: what is there is its owner's
        CHECK(bridge::Server::create(s.io, guests, open, {}).has_value());
        if (::geteuid() == 0) {
            REQUIRE(::chmod(open.c_str(), 0755) == 0);
            REQUIRE(::chown(open.c_str(), 12345, 12345) == 0);
            const auto foreign = bridge::Server::create(s.io, guests, open, {});
            REQUIRE_FALSE(foreign.has_value());
            CHECK(foreign.error() == open + ": belongs to user 12345, who could put his own sockets there");
        }
    }
    ::umask(mask);
}

TEST_CASE("a socket that nobody listens at gives way, anything else does not", "[module][vfio_user]") {
    Served s;
    auto& function = s.port(0);
    const auto create = [&](const std::string& path) { return bridge::Listener::create(s.io, path, function, [] {}); };
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
