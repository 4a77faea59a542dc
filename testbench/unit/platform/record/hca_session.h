// Two HCAs with their firmware on a cable, driven by the stack that drives silicon: a session of messages from probe to
// teardown, recorded at both devices, and the way to play one of them.
#pragma once

#include "platform/record/replay.h"

#include "sw/mlx/verbs.h"
#include "testbench/harness/direct_host.h"
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>

namespace hca_session {

using namespace harness;
using namespace platform::record;
using model::hca::HcaConfig;
using model::port::Encapsulation;
namespace codec = traces::codec;
namespace mlx = sw::mlx;

template <class T> T must(sw::Result<T> result) {
    if (!result)
        FAIL(result.error().what);
    return std::move(*result);
}
inline void must(sw::Result<void> result) {
    if (!result)
        FAIL(result.error().what);
}

inline const DeviceInterfaces left_interfaces{.functions = {0}, .ports = {{1, Encapsulation::roce_v2_ipv4}}};
inline const DeviceInterfaces right_interfaces{.functions = {2}, .ports = {{3, Encapsulation::roce_v2_ipv4}}};

struct Recording {
    trace_bench::MemoryDestination destination;
    codec::Writer writer;
    Journal journal{writer};
    Boundary left{journal, left_interfaces}, right{journal, right_interfaces};

    /// The names are those that a platform of two hosts has.
    explicit Recording(std::string configuration = {})
        : writer(destination,
                 {.identity = {.revision = "test"},
                  .configuration = std::move(configuration),
                  .names = {},
                  .interfaces = {{codec::InterfaceKind::pcie, "A.root.switch.hca"},
                                 {codec::InterfaceKind::ethernet, "A.root.switch.hca.port1"},
                                 {codec::InterfaceKind::pcie, "B.root.switch.hca"},
                                 {codec::InterfaceKind::ethernet, "B.root.switch.hca.port1"}}},
                 {}) {}
};

/// Two hosts on a cable.
struct Hosts {
    TestClock clock;
    model::net::Link link;
    DirectHost a, b;

    Hosts(const HcaConfig& config, const HcaConfig& other, Recording* recording)
        : link(cable(config), clock, {}),
          a(config, clock, link, 0, 64 << 20, {}, recording != nullptr ? &recording->left : nullptr),
          b(other, clock, link, 1, 64 << 20, {}, recording != nullptr ? &recording->right : nullptr) {
        a.step = b.step = [this](Time until) {
            while (clock.next() <= until)
                wake(std::max(clock.next(), clock.now()));
            wake(until);
        };
    }
    void wake(Time at) {
        clock.set(at);
        link.wake(at);
        a.wake();
        b.wake();
    }
    static model::net::LinkConfig cable(const HcaConfig& config) {
        auto link = HcaPair::clean();
        link.timed = config.timed;
        return link;
    }
    static HcaConfig neighbour(HcaConfig config) {
        ++config.node_guid;
        return config;
    }
};

struct Side {
    Side(DirectHost& on, std::uint32_t ipv4)
        : host(on), context(must(mlx::Context::open(on))), pd(must(context->alloc_pd())),
          cq(must(context->create_cq({.entries = 64}))), buffer(must(context->allocate(1 << 20))),
          region(must(context->reg_mr(pd, buffer, mlx::all_access))),
          qp(must(context->create_qp({.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get()}))) {
        const auto gid = mlx::gid_of_ipv4(ipv4);
        const auto mac = must(context->query_port()).mac;
        must(context->set_roce_address(0, {.gid = gid, .mac = mac}));
        peer = {.path = {.remote_gid = gid, .remote_mac = mac},
                .qpn = qp->number(),
                .psn = abi::Psn{77},
                .reads = context->reads_answered()};
    }
    void wait() {
        mlx::Completion completion;
        const auto deadline = host.now() + 1s;
        while (cq->poll({&completion, 1}) == 0) {
            REQUIRE(host.now() < deadline);
            host.relax();
        }
        CHECK(completion.status == mlx::CompletionStatus::success);
    }
    void close() {
        must(qp->destroy());
        must(cq->destroy());
        must(region.destroy());
        must(context->dealloc_pd(pd));
        must(context->close());
    }
    DirectHost& host;
    std::unique_ptr<mlx::Context> context;
    abi::Pd pd;
    std::unique_ptr<mlx::CompletionQueue> cq;
    sw::memory::Buffer buffer;
    mlx::MemoryRegion region;
    std::unique_ptr<mlx::QueuePair> qp;
    mlx::Peer peer{};
};

/// Probe, WRITEs and `more` of them, READs and a SEND each way, an event, teardown. Returns the simulated time at its
/// end.
inline Time session(const HcaConfig& config, const HcaConfig& other, Recording* recording, std::uint32_t bytes,
                    unsigned more = 0) {
    Hosts hosts(config, other, recording);
    Side left(hosts.a, 0x0a000001), right(hosts.b, 0x0a000002);
    must(left.context->connect(*left.qp, right.peer, abi::Psn{77}));
    must(right.context->connect(*right.qp, left.peer, abi::Psn{77}));
    for (std::size_t i = 0; i < bytes; ++i)
        left.buffer.bytes()[i] = static_cast<std::byte>(i * 7 + i / 256);
    const auto post = [](Side& from, Side& to, mlx::SendOperation operation, std::uint32_t length) {
        const mlx::Sge sge{from.region.iova().value, length, from.region.lkey()};
        must(from.qp->post_send({.sge = &sge,
                                 .sge_count = 1,
                                 .operation = operation,
                                 .flags = mlx::send_flag::signaled,
                                 .rkey = to.region.rkey(),
                                 .remote_address = to.region.iova().value}));
        from.wait();
    };
    post(left, right, mlx::SendOperation::write, bytes);
    CHECK(std::ranges::equal(left.buffer.bytes().first(bytes), right.buffer.bytes().first(bytes)));
    post(left, right, mlx::SendOperation::write, bytes);
    for (unsigned i = 0; i < more; ++i)
        post(left, right, mlx::SendOperation::write, bytes);
    post(right, left, mlx::SendOperation::read, 5000);
    left.cq->request_notification();
    post(left, right, mlx::SendOperation::write, 13);
    const mlx::Sge target{right.region.iova().value + 512, 4096, right.region.lkey()};
    must(right.qp->post_receive({.sge = &target, .sge_count = 1}));
    post(left, right, mlx::SendOperation::send, 3001);
    right.wait();
    left.close();
    right.close();
    return hosts.clock.now();
}

inline Time session(const HcaConfig& config, Recording* recording, std::uint32_t bytes = 100'000, unsigned more = 0) {
    return session(config, Hosts::neighbour(config), recording, bytes, more);
}

inline HcaConfig configured(bool is_timed) {
    auto config = HcaPair::untimed();
    config.timed = is_timed;
    return config;
}

inline Replay::Result play(const trace_bench::Bytes& trace, const HcaConfig& config, const DeviceInterfaces& interfaces,
                           Replay::Mode mode = Replay::Mode::strict) {
    trace_bench::MemorySource source(trace);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    Replay replay(reader, interfaces, mode);
    platform::card::Mlx5Device device(config, replay.ports(), {});
    return replay.run(device);
}
inline std::string why(const Replay::Result& result) {
    return result.divergence ? result.divergence->text() : result.fault ? result.fault->text() : std::string();
}

inline trace_bench::Bytes recorded(const HcaConfig& config, unsigned more = 0, std::uint32_t bytes = 100'000) {
    Recording recording;
    session(config, &recording, bytes, more);
    REQUIRE(recording.writer.close());
    return recording.destination.bytes;
}

} // namespace hca_session
