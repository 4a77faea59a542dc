// Events: completion events and their arming through MSI-X to the driver, asynchronous events, overrun completion
// queues.
#include "testbench/harness/cluster.h"

#include "abi/pcie/capability.h"
#include "platform/host/enumerate.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace harness;
using namespace std::chrono_literals;
using abi::prm::EventType;
using abi::prm::QpState;
using sw::mlx::CompletionStatus;
using sw::mlx::SendOperation;
namespace send_flag = sw::mlx::send_flag;

namespace {

constexpr unsigned completion_vector = 1; ///< the driver's: vector 0 has commands and asynchronous events

/// Completion events that A's or B's device has written so far.
std::size_t completion_events(Cluster& cluster, std::string_view source) {
    return static_cast<std::size_t>(
        std::ranges::count_if(cluster.events<traces::EventWritten>(source), [](const auto& event) {
            return event.type == static_cast<unsigned>(EventType::completion);
        }));
}
/// Interrupts of the completion vector.
std::size_t interrupts(Cluster& cluster, std::string_view source) {
    return static_cast<std::size_t>(
        std::ranges::count_if(cluster.events<traces::InterruptRaised>(source),
                              [](const auto& raised) { return raised.vector == completion_vector; }));
}

/// B has receives for `count` SENDs of A without bytes.
struct Pings {
    Pings(Cluster& cluster, std::uint32_t count) : connection(cluster.connect()) {
        for (std::uint32_t i = 0; i < count; ++i)
            post_receive(*connection.b, i, {});
    }
    void send(std::uint32_t flags = 0) { post(*connection.a, {.operation = SendOperation::send, .flags = flags}, {}); }
    Connection connection;
};

} // namespace

TEST_CASE("an armed completion queue raises one event and one interrupt", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side&, Side& b) {
        Pings pings(cluster, 3);
        b.receive_cq->request_notification();
        CHECK(b.context->get_cq_event(10us) == nullptr);

        pings.send();
        CHECK(b.context->get_cq_event(10us) == b.receive_cq.get());
        pings.send();
        pings.send();

        CHECK(b.context->get_cq_event(10us) == nullptr);
        CHECK(b.wait(*b.receive_cq, 3).size() == 3);
        CHECK(completion_events(cluster, "B.hca") == 1);
        CHECK(interrupts(cluster, "B.hca.pcie") == 1);
    });
}

TEST_CASE("a completion queue that is not armed raises nothing", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        Pings pings(cluster, 1);

        pings.send(send_flag::signaled | send_flag::solicited);

        CHECK(b.received().is_solicited);
        CHECK(a.sent().status == CompletionStatus::success);
        CHECK(completion_events(cluster, "B.hca") == 0);
        CHECK(completion_events(cluster, "A.hca") == 0);
        CHECK(interrupts(cluster, "B.hca.pcie") == 0);
    });
}

TEST_CASE("a queue armed for solicited completions sleeps through others", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side&, Side& b) {
        Pings pings(cluster, 3);
        b.receive_cq->request_notification(true);

        pings.send();
        pings.send();
        CHECK(b.context->get_cq_event(10us) == nullptr);
        pings.send(send_flag::solicited);

        CHECK(b.context->get_cq_event(10us) == b.receive_cq.get());
        const auto all = b.wait(*b.receive_cq, 3);
        REQUIRE(all.size() == 3);
        CHECK_FALSE(all[1].is_solicited);
        CHECK(all[2].is_solicited);
    });
}

TEST_CASE("an error wakes a queue armed for solicited completions", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side&, Side& b) {
        Pings pings(cluster, 1);
        b.receive_cq->request_notification(true);

        must(pings.connection.b->modify(QpState::err));

        CHECK(b.context->get_cq_event(10us) == b.receive_cq.get());
        CHECK(b.received().status == CompletionStatus::flushed);
    });
}

TEST_CASE("a completion between poll and arm is not missed", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side&, Side& b) {
        Pings pings(cluster, 1);
        pings.send();
        cluster.let(1us);

        b.receive_cq->request_notification(); // one is there that was never polled

        CHECK(b.context->get_cq_event(10us) == b.receive_cq.get());
        CHECK(b.received().wr_id == 0);
    });
}

TEST_CASE("arm, wait, poll and arm again sees every message of a slow sender", "[scenario][event]") {
    platform::topology::Config timed;
    Cluster cluster(timed);
    cluster.run([&](Side&, Side& b) {
        constexpr std::uint32_t count = 20;
        Pings pings(cluster, count);
        std::size_t seen = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            b.receive_cq->request_notification();
            pings.send(send_flag::solicited);
            REQUIRE(b.context->get_cq_event(1ms) == b.receive_cq.get());
            seen += b.wait(*b.receive_cq, 2, 0ns).size();
        }

        CHECK(seen == count);
        CHECK(completion_events(cluster, "B.hca") == count);
    });
}

TEST_CASE("completion queues find their own event queues and vectors", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side&) {
        a.close();
        a.open({.completion_vectors = 4});
        std::array<std::unique_ptr<sw::mlx::CompletionQueue>, 4> cqs;
        std::vector<Connection> connections;
        for (unsigned i = 0; i < cqs.size(); ++i) {
            cqs[i] = must(a.context->create_cq({.entries = 16, .completion_eq = i}));
            connections.push_back(cluster.connect(quick, {.send_cq = cqs[i].get()}));
            cqs[i]->request_notification();
        }

        for (unsigned i = 0; i < cqs.size(); ++i) {
            post(*connections[i].a, {.wr_id = i, .operation = SendOperation::write, .flags = send_flag::signaled}, {});
            CHECK(a.context->get_cq_event(10us, i) == cqs[i].get());
            CHECK(a.next(*cqs[i]).wr_id == i);
        }

        const auto raised = cluster.events<traces::InterruptRaised>("A.hca.pcie");
        for (unsigned i = 0; i < cqs.size(); ++i)
            CHECK(std::ranges::count(raised, i + 1, &traces::InterruptRaised::vector) == 1);
        connections.clear();
    });
}

TEST_CASE("an interrupt raised while MSI-X is masked comes when the mask goes", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side&, Side& b) {
        Pings pings(cluster, 1);
        struct Config final : platform::host::ConfigAccess {
            Side& side;
            explicit Config(Side& of) : side(of) {}
            std::uint32_t read(abi::pcie::Bdf, std::uint16_t offset, unsigned bytes) override {
                return side.hca_function->config_read(offset, bytes);
            }
            void write(abi::pcie::Bdf, std::uint16_t offset, unsigned bytes, std::uint32_t value) override {
                side.hca_function->config_write(offset, bytes, value);
            }
        } config(b);
        const auto control = static_cast<std::uint16_t>(
            platform::host::find_capability(config, b.hca_card.bdf(), abi::pcie::CapabilityId::msix) + 2);
        constexpr std::uint32_t function_mask = 1u << 14; // PCIe 6.0 §7.7.2.2
        const auto before = b.hca_function->config_read(control, 2);
        b.receive_cq->request_notification();

        b.hca_function->config_write(control, 2, before | function_mask);
        pings.send();
        const bool came_while_masked = b.hca_function->wait_interrupt(completion_vector, 10us);
        b.hca_function->config_write(control, 2, before);

        CHECK_FALSE(came_while_masked);
        CHECK(b.hca_function->wait_interrupt(completion_vector, 10us));
        CHECK(b.context->get_cq_event(0us) == b.receive_cq.get());
        CHECK(b.received().wr_id == 0);
    });
}

TEST_CASE("a queue pair's error reaches the driver as an event with its number", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(64), to = b.dram(64);
        const auto innocent = cluster.connect(), connection = cluster.connect();
        CHECK_FALSE(b.context->get_async_event(10us));

        post(*connection.a,
             {.operation = SendOperation::write,
              .flags = send_flag::signaled,
              .rkey = to->rkey() ^ 1,
              .remote_address = to->address()},
             {from->sge()});

        CHECK(a.sent().status == CompletionStatus::remote_access_error);
        const auto event = b.event();
        CHECK(event.type == EventType::wq_access_error);
        CHECK(event.number == connection.b->number().value);
        CHECK_FALSE(b.context->get_async_event(10us));
        CHECK(must(innocent.b->query()).view().get<"state">() == QpState::rts);
    });
}

TEST_CASE("an overrun completion queue is told and takes its queue pair along", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side& b) {
        constexpr std::uint32_t entries = 4;
        const auto small = must(a.context->create_cq({.entries = entries}));
        const auto to = b.dram(64);
        {
            const auto [qa, qb] = cluster.connect(quick, {.send_cq = small.get()});
            for (std::uint64_t i = 0; i < entries + 1; ++i) // one more than there is room for, and nobody polls
                post(*qa, {.wr_id = i, .operation = SendOperation::write, .flags = send_flag::signaled}, {});

            const auto first = a.event();
            CHECK(first.type == EventType::cq_error);
            CHECK(first.number == small->number().value);
            CHECK(first.detail == 1); // PRM "CQ error event": overrun
            const auto second = a.event();
            CHECK(second.type == EventType::wq_catastrophic_error);
            CHECK(second.number == qa->number().value);
            CHECK(must(qa->query()).view().get<"state">() == QpState::err);
            const auto kept = a.wait(*small, entries + 1, 10us);
            REQUIRE(kept.size() == entries);
            for (std::uint64_t i = 0; i < entries; ++i)
                CHECK(kept[i].wr_id == i);
        }
        must(small->destroy());
    });
}

TEST_CASE("a queue that ignores overrun goes on", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side&) {
        const auto small = must(a.context->create_cq({.entries = 4, .ignore_overrun = true}));
        {
            const auto [qa, qb] = cluster.connect(quick, {.send_cq = small.get()});
            for (std::uint64_t i = 0; i < 6; ++i)
                post(*qa, {.wr_id = i, .operation = SendOperation::write, .flags = send_flag::signaled}, {});

            CHECK_FALSE(a.context->get_async_event(10us));
            CHECK(must(qa->query()).view().get<"state">() == QpState::rts);
        }
        must(small->destroy());
    });
}

TEST_CASE("a completion queue goes round its ring many times", "[scenario][event]") {
    Cluster cluster;
    cluster.run([&](Side& a, Side&) {
        const auto small = must(a.context->create_cq({.entries = 4, .verify_signatures = true}));
        {
            const auto [qa, qb] = cluster.connect(quick, {.send_cq = small.get()});
            for (std::uint64_t i = 0; i < 50; ++i) {
                post(*qa, {.wr_id = i, .operation = SendOperation::write, .flags = send_flag::signaled}, {});
                REQUIRE(a.next(*small).wr_id == i);
            }
        }
        CHECK(small->bad_signatures() == 0);
        must(small->destroy());
    });
}
