// The cards of two machines behind their sockets, driven by the driver stack in another thread: the bench of tests that
// look at the cards from inside.
#pragma once

#include "platform/bridge/vfio_user/pump.h"
#include "platform/bridge/vfio_user/server.h"

#include "platform/record/recording.h"
#include "platform/topology/platform_module.h"
#include "sw/mlx/verbs.h"
#include "sw/transport/vfio_user/transport.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace driven {

using namespace std::chrono_literals;
using sw::Result;
using sw::transport::vfio_user::SocketTransport;
namespace bridge = platform::bridge::vfio_user;
namespace mlx = sw::mlx;

#define TRY(expression)                                                                                                \
    if (auto&& tried = (expression); !tried)                                                                           \
    return std::unexpected(tried.error())

inline platform::topology::Config untimed() {
    platform::topology::Config config;
    config.timed = false;
    config.gpu.vram_bytes = 64 << 20;
    config.link.encapsulation = model::port::Encapsulation::infiniband;
    return config;
}

struct Bench {
    platform::observe::Sources sources;
    platform::topology::Platform platform;
    std::string directory = "/tmp/hcasim-driven-" + std::to_string(::getpid());
    boost::asio::io_context io;
    std::optional<bridge::Pump> pump;
    std::function<void(bridge::Pump&)> on_pump; ///< before it serves a program
    std::unique_ptr<bridge::Server> server;

    /// `recording` is of all its cards; nullptr: there is none.
    explicit Bench(platform::record::Recording* recording = nullptr,
                   const platform::topology::Config& config = untimed())
        : platform(config, recording != nullptr ? recording->events() : nullptr, sources,
                   platform::topology::Served::all, recording) {
        std::array guests{platform.machine("A").guest.get(), platform.machine("B").guest.get()};
        bridge::Server::Hooks hooks;
        hooks.before = [this] {
            if (pump)
                pump->catch_up();
        };
        auto created = bridge::Server::create(io, guests, directory, hooks);
        REQUIRE(created.has_value());
        server = std::move(*created);
    }
    ~Bench() {
        server->close();
        io.restart();
        io.poll();
        std::filesystem::remove_all(directory);
    }

    /// Serves until `program`, in a thread of its own, has returned.
    Result<void> run(const std::function<Result<void>()>& program) {
        Result<void> outcome;
        pump.emplace(io);
        if (on_pump)
            on_pump(*pump);
        std::thread thread([&] {
            outcome = program();
            boost::asio::post(io, [&] { pump->stop(); });
        });
        pump->run();
        thread.join();
        return outcome;
    }
    /// And until every client has been seen off.
    Result<void> drive(const std::function<Result<void>()>& program) {
        auto outcome = run(program);
        see_off();
        return outcome;
    }
    void see_off() {
        const auto has_client = [](const auto& listener) { return listener->has_client(); };
        for (unsigned i = 0; i < 1000 && std::ranges::any_of(server->listeners(), has_client); ++i)
            serve_for(1ms);
    }
    void serve_for(std::chrono::milliseconds time) {
        pump.emplace(io);
        boost::asio::steady_timer timer(io, time);
        timer.async_wait([this](auto) { pump->stop(); });
        pump->run();
    }
    std::string path(const char* name) const { return directory + "/" + name + ".sock"; }
    platform::topology::PlacedCard& hca(unsigned i) { return platform.card(i == 0 ? "A.hca" : "B.hca"); }

    /// Objects that a card's driver has made.
    std::size_t held(unsigned i) {
        std::size_t all = 0;
        for (const auto& kind : hca(i).mlx5().firmware().state().registry.counts())
            all += kind.objects;
        return all;
    }
};

/// A socket that can be cut while a transport has it, as when its program is killed.
struct Cable {
    sw::transport::File copy;
    sw::transport::vfio_user::Socket connect(const std::string& path) {
        auto socket = sw::transport::vfio_user::Socket::connect(path).value();
        copy = sw::transport::File(::fcntl(socket.number(), F_DUPFD_CLOEXEC, 0));
        return socket;
    }
    void cut() const { ::shutdown(copy.number(), SHUT_RDWR); }
};

/// One side: a device with a queue pair and memory of 16 MiB.
struct Side {
    static constexpr std::size_t bytes = 16 << 20;
    static constexpr std::uint32_t message = 1 << 20;
    sw::transport::BusMap bus;
    Cable cable;
    std::unique_ptr<SocketTransport> transport;
    std::unique_ptr<mlx::Context> context;
    abi::Pd pd{};
    std::unique_ptr<mlx::CompletionQueue> cq;
    std::unique_ptr<mlx::QueuePair> qp;
    sw::memory::Buffer memory;
    std::optional<mlx::MemoryRegion> region;

    Result<void> open(const std::string& path) {
        auto opened = SocketTransport::open(cable.connect(path), path, bus);
        TRY(opened);
        transport = std::move(*opened);
        auto device = mlx::Context::open(*transport);
        TRY(device);
        context = std::move(*device);
        pd = context->alloc_pd().value();
        cq = std::move(context->create_cq({.entries = 128}).value());
        qp = std::move(
            context->create_qp({.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get(), .max_send = 64}).value());
        memory = std::move(context->allocate(bytes).value());
        region = context->reg_mr(pd, memory, mlx::all_access).value();
        return {};
    }
    mlx::Peer peer() {
        return {.path = {.is_ethernet = false, .remote_lid = context->query_port().value().lid},
                .qpn = qp->number(),
                .psn = abi::Psn{0}};
    }
    /// `count` WRITEs of a MiB into the other side, in one go.
    Result<void> post(const Side& to, unsigned count) {
        std::vector<mlx::Sge> sges(count);
        std::vector<mlx::SendRequest> requests(count);
        for (unsigned i = 0; i < count; ++i) {
            const auto offset = std::uint64_t{i % (bytes / message)} * message;
            sges[i] = {.address = region->iova().value + offset, .length = message, .lkey = region->lkey()};
            requests[i] = {.wr_id = i,
                           .next = i + 1 < count ? &requests[i + 1] : nullptr,
                           .sge = &sges[i],
                           .sge_count = 1,
                           .operation = mlx::SendOperation::write,
                           .flags = mlx::send_flag::signaled,
                           .rkey = to.region->rkey(),
                           .remote_address = to.region->iova().value + offset};
        }
        return qp->post_send(requests.data());
    }
    /// The next completion, or nothing within ten seconds.
    std::optional<mlx::Completion> wait() {
        std::array<mlx::Completion, 1> one;
        for (const auto deadline = transport->now() + 10s; transport->now() < deadline; transport->relax())
            if (cq->poll(one) == 1)
                return one[0];
        return {};
    }
    Result<void> close() {
        region.reset();
        qp.reset();
        cq.reset();
        TRY(context->dealloc_pd(pd));
        return context->close();
    }
};

struct Pair {
    Side a, b;
    Result<void> open(const Bench& bench) {
        TRY(a.open(bench.path("hostA.hca")));
        TRY(b.open(bench.path("hostB.hca")));
        TRY(a.context->connect(*a.qp, b.peer(), abi::Psn{0}));
        return b.context->connect(*b.qp, a.peer(), abi::Psn{0});
    }
    /// One WRITE, whole.
    Result<void> move() {
        std::ranges::fill(a.memory.bytes(), std::byte{0x3c});
        TRY(a.post(b, 1));
        const auto done = a.wait();
        if (!done || done->status != mlx::CompletionStatus::success)
            return sw::failure(EIO, "the WRITE did not complete");
        if (!std::ranges::all_of(b.memory.bytes().first(Side::message),
                                 [](std::byte x) { return x == std::byte{0x3c}; }))
            return sw::failure(EIO, "the bytes did not arrive");
        return {};
    }
};

inline void check(const Result<void>& outcome) {
    INFO((outcome ? "" : outcome.error().what));
    CHECK(outcome.has_value());
}

} // namespace driven
