// The cards of two machines behind their sockets, driven by the driver stack in another thread; what the cards hold is
// looked at from inside.
#include "platform/bridge/vfio_user/pump.h"
#include "platform/bridge/vfio_user/server.h"

#include "platform/topology/platform_module.h"
#include "sw/gpu/gpu.h"
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
#include <optional>
#include <thread>

using namespace std::chrono_literals;
using sw::Result;
using sw::transport::vfio_user::SocketTransport;
namespace bridge = platform::bridge::vfio_user;
namespace mlx = sw::mlx;

namespace {

#define TRY(expression)                                                                                                \
    if (auto&& tried = (expression); !tried)                                                                           \
    return std::unexpected(tried.error())

platform::topology::Config untimed() {
    platform::topology::Config config;
    config.timed = false;
    config.gpu.vram_bytes = 64 << 20;
    config.link.encapsulation = model::port::Encapsulation::infiniband;
    return config;
}

struct Bench {
    platform::observe::Sources sources;
    platform::topology::Platform platform{untimed(), nullptr, sources, platform::topology::Served::all};
    std::string directory = "/tmp/hcasim-driven-" + std::to_string(::getpid());
    boost::asio::io_context io;
    std::optional<bridge::Pump> pump;
    std::unique_ptr<bridge::Server> server;

    Bench() {
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

void check(const Result<void>& outcome) {
    INFO((outcome ? "" : outcome.error().what));
    CHECK(outcome.has_value());
}

/// Nothing is held, and the next two drivers find cards as new.
void check_clean(Bench& bench) {
    CHECK(bench.held(0) == 0);
    CHECK(bench.held(1) == 0);
    const auto again = bench.drive([&]() -> Result<void> {
        Pair next;
        TRY(next.open(bench));
        TRY(next.move());
        TRY(next.a.close());
        return next.b.close();
    });
    check(again);
    CHECK(bench.held(0) == 0);
    CHECK(bench.held(1) == 0);
}

} // namespace

TEST_CASE("a driver that takes its device down leaves nothing in the card", "[module][vfio_user]") {
    Bench bench;
    std::optional<Pair> pair(std::in_place);
    check(bench.run([&]() -> Result<void> {
        TRY(pair->open(bench));
        return pair->move();
    }));
    CHECK(bench.held(0) >= 6);
    check(bench.run([&] { return pair->a.close(); }));
    CHECK(bench.held(0) == 0);
    CHECK(bench.held(1) >= 6);
    check(bench.drive([&]() -> Result<void> {
        TRY(pair->b.close());
        pair.reset();
        return {};
    }));
    check_clean(bench);
}

TEST_CASE("a driver that is killed while it sends leaves nothing in the card", "[module][vfio_user]") {
    Bench bench;
    const auto outcome = bench.drive([&]() -> Result<void> {
        Pair pair;
        TRY(pair.open(bench));
        TRY(pair.a.post(pair.b, 64));
        pair.a.cable.cut();
        return pair.b.close();
    });
    check(outcome);
    check_clean(bench);
}

TEST_CASE("a driver that is killed while its peer writes to it is an error of transport at the peer",
          "[module][vfio_user]") {
    Bench bench;
    std::optional<mlx::Completion> last;
    const auto outcome = bench.drive([&]() -> Result<void> {
        Pair pair;
        TRY(pair.open(bench));
        TRY(pair.a.post(pair.b, 64));
        pair.b.cable.cut();
        const auto goes_on = [&] { return last && last->status == mlx::CompletionStatus::success; };
        for (unsigned i = 0; i < 64 && (i == 0 || goes_on()); ++i)
            last = pair.a.wait();
        for (unsigned i = 0; i < 1000 && goes_on(); ++i) { // all had been written before the server saw the end
            TRY(pair.a.post(pair.b, 1));
            last = pair.a.wait();
        }
        return pair.a.close();
    });
    check(outcome);
    REQUIRE(last.has_value());
    CHECK(last->status == mlx::CompletionStatus::transport_retry_exceeded);
    check_clean(bench);
}

TEST_CASE("a function that is reset while it sends has nothing left", "[module][vfio_user]") {
    Bench bench;
    std::optional<Pair> pair(std::in_place);
    check(bench.run([&]() -> Result<void> {
        TRY(pair->open(bench));
        TRY(pair->a.post(pair->b, 64));
        TRY(pair->a.transport->reset());
        return pair->b.close(); // takes longer than what a reset leaves to be done
    }));
    CHECK(bench.held(0) == 0);
    CHECK(bench.held(1) == 0);
    check(bench.drive([&]() -> Result<void> {
        pair->a.cable.cut();
        pair.reset();
        return {};
    }));
    check_clean(bench);
}

TEST_CASE("an HCA reaches VRAM of its machine through two sessions, and none of another's", "[module][vfio_user]") {
    Bench bench;
    std::array<std::byte, 8> by_server{};
    bool is_elsewhere = true;
    const auto outcome = bench.drive([&]() -> Result<void> {
        Pair pair;
        TRY(pair.open(bench));
        auto& a = pair.a;
        auto card = SocketTransport::connect(bench.path("hostA.gpu"), a.bus);
        TRY(card);
        auto gpu = sw::gpu::Gpu::open(**card);
        TRY(gpu);
        auto vram = gpu->allocate(Side::message).value();
        std::optional target =
            a.context
                ->reg_vram_mr(a.pd, gpu->export_buffer(vram).value(), 0, Side::message, {.access = mlx::all_access})
                .value();

        // B writes from its memory into A's VRAM; A's processor looks through its own mapping of the BAR.
        std::ranges::fill(pair.b.memory.bytes(), std::byte{0x5e});
        mlx::Sge sge{.address = pair.b.region->iova().value, .length = Side::message, .lkey = pair.b.region->lkey()};
        mlx::SendRequest request{.sge = &sge,
                                 .sge_count = 1,
                                 .operation = mlx::SendOperation::write,
                                 .flags = mlx::send_flag::signaled,
                                 .rkey = target->rkey(),
                                 .remote_address = target->iova().value};
        TRY(pair.b.qp->post_send(&request));
        if (const auto done = pair.b.wait(); !done || done->status != mlx::CompletionStatus::success)
            return sw::failure(EIO, "the WRITE into VRAM did not complete");
        std::vector<std::byte> seen(Side::message);
        TRY(gpu->download(vram, 0, seen));
        if (!std::ranges::all_of(seen, [](std::byte x) { return x == std::byte{0x5e}; }))
            return sw::failure(EIO, "VRAM holds something else");
        std::ranges::copy(bench.platform.card("A.gpu").vram().bytes().subspan(vram.ranges().front().offset + 100, 8),
                          by_server.begin());
        is_elsewhere = pair.b.transport->map_peer((*card)->bar_address(1), 4096).has_value();

        // The GPU's program goes: a posted write to where its BAR was is lost, and no device hears of that.
        card->reset();
        TRY(pair.b.qp->post_send(&request));
        const auto late = pair.b.wait();
        if (!late || late->status != mlx::CompletionStatus::success)
            return sw::failure(EIO, "a device heard that a posted write was lost");
        target.reset();
        TRY(a.close());
        return pair.b.close();
    });
    check(outcome);
    CHECK(by_server == std::array{std::byte{0x5e}, std::byte{0x5e}, std::byte{0x5e}, std::byte{0x5e}, std::byte{0x5e},
                                  std::byte{0x5e}, std::byte{0x5e}, std::byte{0x5e}});
    CHECK_FALSE(is_elsewhere);
    check_clean(bench);
}
