// Memory of a client that is reached by messages, over a socket: who waits for it, and who does not.
#include "testbench/module/platform/bridge/vfio_user/served.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>

using namespace testbench;
using namespace testbench::vfio_user;
using model::port::DmaResult;
using model::port::DmaStatus;

namespace {

/// A client whose card reads its memory in a process; what it has read, and whether.
struct Reading {
    std::vector<std::byte> bytes;
    DmaResult result;
    bool is_over = false;

    Reading(Served& s, ScratchCard& card, std::uint64_t address, std::size_t size) : bytes(size) {
        s.begin([this, &card, address] {
            result = card.endpoint.dma().read(abi::BusAddress{address}, bytes, {});
            is_over = true;
        });
    }
};

bool is_asked(const std::optional<Bytes>& message, Command command) {
    return message && header_of(*message).get<"type">() == MessageType::command &&
           header_of(*message).get<"command">() == command;
}

} // namespace

TEST_CASE("memory without a file is reached by messages, and the client is served meanwhile", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    client.enable();
    REQUIRE(client.error(dma_map(0, 1 << 20)) == 0);
    DmaResult read, write;
    std::array<std::byte, 16> seen{};
    bool is_over = false;
    s.begin([&] {
        read = s.first.endpoint.dma().read(abi::BusAddress{0x100}, seen, {});
        const std::array mark{std::byte{7}};
        write = s.first.endpoint.dma().write(abi::BusAddress{0x200}, mark, {});
        is_over = true;
    });

    const auto asked = client.receive();
    REQUIRE(is_asked(asked, Command::dma_read));
    CHECK(body_of<DmaAccess>(*asked).get<"address">() == 0x100);
    CHECK(identity(client)[2] ==
          std::byte{1}); // a processor of the guest reads a register before anybody serves the DMA
    CHECK_FALSE(is_over);
    client.send(dma_reply(*asked, Bytes(16, std::byte{0x42})));
    const auto written = client.receive();
    REQUIRE(is_asked(written, Command::dma_write));
    CHECK(body_of<DmaAccess>(*written).get<"address">() == 0x200);
    CHECK((*written)[Header::size + DmaAccess::size] == std::byte{7});
    client.send(dma_reply(*written, {}));

    CHECK(s.serve_until([&] { return is_over; }));
    CHECK(read.is_ok());
    CHECK(seen[15] == std::byte{0x42});
    CHECK(write.is_ok());
    CHECK(s.told.empty());
}

TEST_CASE("while one function waits for memory the others are served, and their cards work", "[module][vfio_user]") {
    Served s;
    Client slow(s, "first"), other(s, "second");
    slow.enable();
    other.enable();
    const GuestRam ram(4096);
    const std::array file{ram.file()};
    REQUIRE(slow.error(dma_map(0, 4096)) == 0);
    REQUIRE(other.error(dma_map(0, 4096), file) == 0);
    s.second.function.on_write = [&](unsigned, std::uint64_t) {
        const std::array mark{std::byte{9}};
        s.second.endpoint.dma().write(abi::BusAddress{16}, mark, {});
    };
    Reading reading(s, s.first, 0, 16);
    const auto asked = slow.receive();
    REQUIRE(is_asked(asked, Command::dma_read));

    REQUIRE(other.error(region_write(0, 0, Bytes(4))) == 0);
    CHECK(identity(other)[2] == std::byte{2});

    CHECK(s.second.function.writes == 1);
    CHECK(ram.bytes()[16] == std::byte{9});
    CHECK_FALSE(reading.is_over);
    slow.send(dma_reply(*asked, Bytes(16, std::byte{3})));
    CHECK(s.serve_until([&] { return reading.is_over; }));
    CHECK(reading.bytes[0] == std::byte{3});
}

TEST_CASE("two functions that wait for one client each get the answer they asked for", "[module][vfio_user]") {
    Served s;
    Client one(s, "first"), two(s, "second");
    one.enable();
    two.enable();
    REQUIRE(one.error(dma_map(0, 4096)) == 0);
    REQUIRE(two.error(dma_map(0, 4096)) == 0);
    Reading first(s, s.first, 0, 4), second(s, s.second, 0, 4);
    const auto asked_first = one.receive(), asked_second = two.receive();
    REQUIRE(is_asked(asked_first, Command::dma_read));
    REQUIRE(is_asked(asked_second, Command::dma_read));

    two.send(dma_reply(*asked_second, Bytes(4, std::byte{2})));
    CHECK(s.serve_until([&] { return second.is_over; }));
    CHECK_FALSE(first.is_over);
    one.send(dma_reply(*asked_first, Bytes(4, std::byte{1})));
    CHECK(s.serve_until([&] { return first.is_over; }));
    CHECK(first.bytes[0] == std::byte{1});
    CHECK(second.bytes[0] == std::byte{2});
}

TEST_CASE("two accesses of one function are asked for one after the other", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    client.enable();
    REQUIRE(client.error(dma_map(0, 4096)) == 0);
    Reading one(s, s.first, 0x100, 4), two(s, s.first, 0x200, 4);
    const auto asked = client.receive();
    REQUIRE(is_asked(asked, Command::dma_read));
    CHECK(body_of<DmaAccess>(*asked).get<"address">() == 0x100);
    CHECK(identity(client)[2] == std::byte{1}); // and no second question before this answer
    CHECK_FALSE(one.is_over);

    client.send(dma_reply(*asked, Bytes(4, std::byte{1})));
    CHECK(s.serve_until([&] { return one.is_over; }));
    const auto next = client.receive();
    REQUIRE(is_asked(next, Command::dma_read));
    CHECK(body_of<DmaAccess>(*next).get<"address">() == 0x200);
    CHECK_FALSE(two.is_over);
    client.send(dma_reply(*next, Bytes(4, std::byte{2})));
    CHECK(s.serve_until([&] { return two.is_over; }));

    CHECK(one.bytes[0] == std::byte{1});
    CHECK(two.bytes[0] == std::byte{2});
    CHECK(s.told.empty());
}

TEST_CASE("what a client writes while its function waits is done afterwards, in order", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    client.enable();
    REQUIRE(client.error(dma_map(0, 4096)) == 0);
    std::string order;
    s.first.function.on_write = [&](unsigned, std::uint64_t offset) {
        order += std::to_string(offset) + " ";
        if (offset != 0)
            return;
        std::array<std::byte, 4> data{};
        order += s.first.endpoint.dma().read(abi::BusAddress{0}, data, {}).is_ok() ? "read " : "failed ";
    };

    REQUIRE(client.error(region_write(0, 0, Bytes(4))) == 0); // the card's own work waits
    const auto asked = client.receive();
    REQUIRE(is_asked(asked, Command::dma_read));
    REQUIRE(client.error(region_write(0, 32, Bytes(4))) == 0);
    REQUIRE(client.error(region_write(0, 8, Bytes(4))) == 0);
    CHECK(client.ask(region_read(0, 0, 4)).has_value());
    CHECK(order == "0 ");
    client.send(dma_reply(*asked, Bytes(4)));

    CHECK(s.serve_until([&] { return s.port(0).backlog() == 0; }));
    CHECK(order == "0 read 32 8 ");
}

TEST_CASE("what a client writes while its function waits makes the kernel warn of nothing", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    client.enable();
    REQUIRE(client.error(dma_map(0, 4096)) == 0);
    s.first.function.on_write = [&](unsigned, std::uint64_t offset) {
        std::array<std::byte, 4> data{};
        if (offset == 0)
            s.first.endpoint.dma().read(abi::BusAddress{0}, data, {});
    };
    REQUIRE(client.error(region_write(0, 0, Bytes(4))) == 0);
    const auto asked = client.receive();
    REQUIRE(is_asked(asked, Command::dma_read));
    const auto warnings = sc_core::sc_report_handler::get_count(sc_core::SC_WARNING);

    REQUIRE(client.error(region_write(0, 8, Bytes(4))) == 0);
    CHECK(client.ask(region_read(0, 0, 4)).has_value());

    CHECK(sc_core::sc_report_handler::get_count(sc_core::SC_WARNING) == warnings);
    client.send(dma_reply(*asked, Bytes(4)));
    CHECK(s.serve_until([&] { return s.port(0).backlog() == 0; }));
}

TEST_CASE("memory that a client does not give is an access that times out, and no more", "[module][vfio_user]") {
    auto limits = patient;
    limits.memory_reply = std::chrono::milliseconds{1000};
    Served s(limits);
    Client client(s, "first");
    client.enable();
    REQUIRE(client.error(dma_map(0, 1 << 20)) == 0);
    Reading first(s, s.first, 0x100, 16);
    const auto late = client.receive();
    REQUIRE(is_asked(late, Command::dma_read));

    CHECK(s.serve_until([&] { return first.is_over; }));

    CHECK(first.result.status == DmaStatus::timeout);
    CHECK(s.told.empty());
    Reading second(s, s.first, 0x200, 16);
    const auto asked = client.receive();
    REQUIRE(is_asked(asked, Command::dma_read));
    client.send(dma_reply(*late, Bytes(16, std::byte{1})));
    client.send(dma_reply(*asked, Bytes(16, std::byte{2})));
    CHECK(s.serve_until([&] { return second.is_over; }));
    CHECK(second.result.is_ok());
    CHECK(second.bytes[0] == std::byte{2});
    CHECK(identity(client)[2] == std::byte{1});
}

TEST_CASE("an access has one deadline, into however many answers its client cuts it", "[module][vfio_user]") {
    auto limits = patient;
    limits.memory_reply = std::chrono::milliseconds{300};
    Served s(limits);
    ClientSocket client(s.path("first"), s.serving());
    const auto hello = client.ask(version(0, 0, R"({"capabilities":{"max_data_xfer_size":1}})"));
    REQUIRE((hello && error_of(*hello) == 0));
    for (const auto& message :
         {region_write(config_region, 4, Bytes{std::byte{6}, std::byte{0}}), dma_map(0, 1 << 30)}) {
        const auto reply = client.ask(message);
        REQUIRE((reply && error_of(*reply) == 0));
    }

    Reading reading(s, s.first, 0, 16 << 20);
    std::size_t answers = 0;
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (!reading.is_over && std::chrono::steady_clock::now() < patience) {
        pollfd ready{client.file(), POLLIN, 0};
        if (::poll(&ready, 1, 0) == 1)
            if (const auto asked = client.receive(); asked && client.send(dma_reply(*asked, Bytes(1))))
                ++answers;
        s.serve();
    }

    CHECK(reading.is_over); // by its deadline, not by its client's end
    client.close();
    REQUIRE(s.serve_until([&] { return reading.is_over; }));
    CHECK(reading.result.status == DmaStatus::timeout);
    CHECK(answers > 1);
    CHECK(answers < reading.bytes.size());
}

TEST_CASE("a function whose client goes while it waits is reset when the access has failed", "[module][vfio_user]") {
    auto limits = patient;
    limits.memory_reply = std::chrono::minutes{10}; // it ends by its client's end
    Served s(limits);
    auto client = std::make_unique<Client>(s, "first");
    client->enable();
    REQUIRE(client->error(dma_map(0, 4096)) == 0);
    Reading reading(s, s.first, 0, 16);
    REQUIRE(is_asked(client->receive(), Command::dma_read));

    client.reset();
    CHECK(s.serve_until([&] { return reading.is_over; }));

    CHECK_FALSE(reading.result.is_ok());
    CHECK(s.first.function.resets == 1);
    CHECK(s.told == "first: the client has gone\n");
    Client next(s, "first");
    CHECK(identity(next)[2] == std::byte{1});
}

TEST_CASE("what a client had written last when it went is not done", "[module][vfio_user]") {
    Served s;
    auto client = std::make_unique<Client>(s, "first");
    client->enable();
    REQUIRE(client->error(dma_map(0, 4096)) == 0);
    std::string order;
    s.first.function.on_write = [&](unsigned, std::uint64_t offset) {
        order += std::to_string(offset) + " ";
        std::array<std::byte, 4> data{};
        if (offset == 0)
            s.first.endpoint.dma().read(abi::BusAddress{0}, data, {});
    };
    REQUIRE(client->error(region_write(0, 0, Bytes(4))) == 0);
    REQUIRE(is_asked(client->receive(), Command::dma_read));
    REQUIRE(client->error(region_write(0, 32, Bytes(4))) == 0);
    REQUIRE(client->error(region_write(0, 8, Bytes(4))) == 0);

    client.reset();
    CHECK(s.serve_until([&] { return s.first.function.resets == 1; }));

    CHECK(s.port(0).backlog() == 0);
    CHECK(order == "0 ");
}

TEST_CASE("a reset ends what the function waits for", "[module][vfio_user]") {
    Served s;
    Client client(s, "first");
    client.enable();
    REQUIRE(client.error(dma_map(0, 4096)) == 0);
    s.first.function.on_write = [&](unsigned, std::uint64_t) {
        std::array<std::byte, 4> data{};
        s.first.endpoint.dma().read(abi::BusAddress{0}, data, {});
    };
    REQUIRE(client.error(region_write(0, 0, Bytes(4))) == 0);
    REQUIRE(is_asked(client.receive(), Command::dma_read));
    CHECK(s.first.function.resets == 0);

    REQUIRE(client.error(reset()) == 0);
    s.serve();

    CHECK(s.first.function.resets == 1);
    CHECK(s.port(0).backlog() == 0);
}

TEST_CASE("a function is busy until it has been reset after its last client", "[module][vfio_user]") {
    Served s;
    auto client = std::make_unique<Client>(s, "first");
    client->enable();
    sc_core::sc_event end;
    s.first.function.on_write = [&](unsigned, std::uint64_t) { sc_core::wait(end); };
    REQUIRE(client->error(region_write(0, 0, Bytes(4))) == 0);
    client.reset();
    REQUIRE(s.serve_until([&] { return !s.told.empty(); }));

    ClientSocket early(s.path("first"), s.serving());
    const auto refusal = early.ask(version(0, 0, qemu_capabilities));
    REQUIRE(refusal.has_value());
    CHECK(error_of(*refusal) == EBUSY);

    end.notify();
    CHECK(s.serve_until([&] { return s.first.function.resets == 1; }));
    const Client next(s, "first");
}
