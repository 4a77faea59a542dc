// What the tests of the sockets share: both cards of a machine behind them, served from the test's own thread, and a
// client that has shaken hands.
#pragma once

#include "platform/bridge/vfio_user/server.h"

#include "model/tlm/process.h"
#include "testbench/harness/guest_bench.h"
#include "testbench/harness/vfio_user_socket.h"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>

namespace testbench::vfio_user {

namespace bridge = platform::bridge::vfio_user;

struct Directory {
    std::string path = "/tmp/hcasim-socket-" + std::to_string(::getpid());
    ~Directory() { std::filesystem::remove_all(path); }
};

/// Nobody is sent away by them while a busy machine lets a test wait.
inline constexpr bridge::SocketLimits patient{.unread_bytes = 1 << 20,
                                              .handshake = std::chrono::minutes{1},
                                              .message = std::chrono::minutes{1},
                                              .memory_reply = std::chrono::minutes{1},
                                              .turn = std::chrono::milliseconds{1}};

/// Both cards of a machine behind sockets, served from this thread.
struct Served : GuestMachine {
    Directory directory;
    boost::asio::io_context io;
    std::string told;
    std::unique_ptr<bridge::Server> server;

    explicit Served(const bridge::SocketLimits& limits = patient) {
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        std::array guests{&guest};
        bridge::Server::Hooks hooks;
        hooks.disconnected = [this](const auto& function, auto why) {
            told += function.name() + ": " + std::string(why) + "\n";
        };
        auto created = bridge::Server::create(io, guests, directory.path, hooks, limits);
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
        while (sc_core::sc_pending_activity_at_current_time())
            sc_core::sc_start(sc_core::SC_ZERO_TIME);
    }
    /// A card at work: in a process, as all that may wait.
    void begin(std::function<void()> work) {
        sc_core::sc_spawn_options options;
        options.set_stack_size(model::tlm::process_stack_bytes);
        sc_core::sc_spawn(std::move(work), sc_core::sc_gen_unique_name("work"), &options);
        serve();
    }
    /// Until `is_over`; false when that takes too long.
    bool serve_until(const std::function<bool()>& is_over) {
        for (unsigned tries = 0; tries < 60'000 && !is_over(); ++tries) {
            serve();
            ::poll(nullptr, 0, is_over() ? 0 : 1);
        }
        return is_over();
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

inline Bytes identity(ClientSocket& client) {
    const auto reply = client.ask(region_read(config_region, 0, 4));
    REQUIRE(reply.has_value());
    const auto data = data_of(*reply);
    return {data.begin(), data.end()};
}

} // namespace testbench::vfio_user
