#include "sw/mlx/verbs.h"
#include "testbench/unit/sw/mlx/fake_hca.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cerrno>

using namespace std::chrono_literals;
using namespace sw::mlx;
using testbench::be32;
using testbench::be64;
using testbench::FakeHca;
using testbench::put32;

namespace {

struct Rig {
    FakeHca hca;
    std::unique_ptr<Context> context;
    std::unique_ptr<CompletionQueue> cq;
    std::unique_ptr<QueuePair> qp, other;
    Sge element{.address = 0x1000, .length = 8, .lkey = 1};

    explicit Rig(std::uint32_t entries = 8, CqOptions options = {}) {
        context = *Context::open(hca.transport);
        options.entries = entries;
        cq = *context->create_cq(options);
        qp = make_qp();
        other = make_qp();
    }
    std::unique_ptr<QueuePair> make_qp() {
        auto made =
            *context->create_qp({.send_cq = cq.get(), .receive_cq = cq.get(), .max_send = 64, .max_receive = 64});
        REQUIRE(context->connect(*made, {}, abi::Psn{0}));
        return made;
    }
    void send(QueuePair& on, std::uint64_t wr_id) {
        REQUIRE(on.post_send({.wr_id = wr_id,
                              .sge = &element,
                              .sge_count = 1,
                              .operation = SendOperation::write,
                              .flags = send_flag::signaled}));
    }
    void receive(QueuePair& on, std::uint64_t wr_id) {
        REQUIRE(on.post_receive({.wr_id = wr_id, .sge = &element, .sge_count = 1}));
    }
    void complete_send(QueuePair& on, std::uint16_t counter, std::uint8_t opcode = 0x08) {
        hca.post_completion(cq->number().value, [&](std::span<std::byte> cqe) {
            put32(cqe, 0x38, std::uint32_t{opcode} << 24 | on.number().value);
            put32(cqe, 0x3c, std::uint32_t{counter} << 16);
        });
    }
    std::vector<Completion> poll(std::size_t at_most = 64) {
        std::vector<Completion> list(at_most);
        list.resize(cq->poll(list));
        return list;
    }
    std::uint32_t record(unsigned word) {
        return be32(hca.transport.at(hca.cqs.at(cq->number().value).record, 8), word * 4);
    }
};

} // namespace

TEST_CASE("a completion queue starts without valid entries, and its context names ring, record and event queue",
          "[unit][mlx][cq]") {
    Rig rig(1000);
    const auto& ring = rig.hca.cqs.at(rig.cq->number().value);

    CHECK(rig.cq->entries() == 1024);
    CHECK(ring.log_size == 10);
    CHECK(ring.eqn == rig.context->device().completion_eq(0).number().value);
    CHECK(ring.pages.size() * ring.page_bytes == 65536);
    for (std::uint32_t i = 0; i < 1024; ++i)
        REQUIRE((rig.hca.entry(ring, i)[63] & std::byte{0xf0}) == std::byte{0xf0});
    CHECK(rig.poll().empty());
}

TEST_CASE("completions come out with the wr_id of their WQE through many laps of the ring", "[unit][mlx][cq]") {
    Rig rig(8);
    std::uint64_t next = 0;
    std::uint16_t counter = 0;

    for (int lap = 0; lap < 10; ++lap) {
        for (int i = 0; i < 5; ++i)
            rig.send(*rig.qp, 1000 + next + static_cast<std::uint64_t>(i));
        for (int i = 0; i < 5; ++i)
            rig.complete_send(*rig.qp, counter++);
        const auto list = rig.poll();

        REQUIRE(list.size() == 5);
        for (const auto& completion : list) {
            CHECK(completion.wr_id == 1000 + next++);
            CHECK(completion.status == CompletionStatus::success);
            CHECK(completion.operation == CompletionOperation::write);
            CHECK(completion.qpn == rig.qp->number());
        }
        CHECK(rig.record(0) == next);
        CHECK(rig.poll().empty());
    }
}

TEST_CASE("a poll takes no more than it has room for and the record says how far it came", "[unit][mlx][cq]") {
    Rig rig(8);
    for (std::uint16_t i = 0; i < 5; ++i) {
        rig.send(*rig.qp, i);
        rig.complete_send(*rig.qp, i);
    }

    std::vector<std::size_t> spent;
    rig.hca.transport.on_spend = [&](sw::transport::Work work, std::size_t count) {
        CHECK(work == sw::transport::Work::poll);
        spent.push_back(count);
    };
    CHECK(rig.poll(2).size() == 2);
    CHECK(rig.record(0) == 2);
    CHECK(rig.poll(64).size() == 3);
    CHECK(rig.record(0) == 5);
    CHECK(rig.poll(64).empty());
    CHECK(spent == std::vector<std::size_t>{2, 3});
}

TEST_CASE("a signalled completion frees the unsignalled WQEs before it", "[unit][mlx][cq]") {
    Rig rig(8);
    const SendRequest quiet{.wr_id = 1, .sge = &rig.element, .sge_count = 1, .operation = SendOperation::write};
    for (int i = 0; i < 63; ++i)
        REQUIRE(rig.qp->post_send(quiet));
    rig.send(*rig.qp, 64);
    REQUIRE_FALSE(rig.qp->post_send(quiet));

    rig.complete_send(*rig.qp, 63);
    const auto list = rig.poll();

    REQUIRE(list.size() == 1);
    CHECK(list[0].wr_id == 64);
    for (int i = 0; i < 64; ++i)
        REQUIRE(rig.qp->post_send(quiet));
    CHECK_FALSE(rig.qp->post_send(quiet));
}

TEST_CASE("receives complete in order with byte count, immediate and source", "[unit][mlx][cq]") {
    Rig rig(8);
    for (std::uint64_t i = 0; i < 3; ++i)
        rig.receive(*rig.qp, 70 + i);
    const auto receive = [&](std::uint8_t opcode, std::uint16_t index) {
        rig.hca.post_completion(rig.cq->number().value, [&](std::span<std::byte> cqe) {
            testbench::put_be(cqe, 0x16, 2, 0x21);   // slid
            put32(cqe, 0x18, 0x0f00abcd);            // service level 15, source queue pair
            put32(cqe, 0x24, 0x11223344);            // immediate
            put32(cqe, 0x2c, 4096);                  // byte count
            testbench::put_be(cqe, 0x30, 8, 0x1122); // timestamp
            put32(cqe, 0x38, rig.qp->number().value);
            put32(cqe, 0x3c, std::uint32_t{index} << 16 | std::uint32_t{opcode} << 4 | 2);
        });
    };
    receive(2, 0);
    receive(3, 1);
    receive(1, 2);

    const auto list = rig.poll();

    REQUIRE(list.size() == 3);
    CHECK(list[0].wr_id == 70);
    CHECK(list[0].operation == CompletionOperation::receive);
    CHECK_FALSE(list[0].has_immediate);
    CHECK(list[0].byte_count == 4096);
    CHECK(list[0].is_solicited);
    CHECK(list[0].source_qpn == abi::Qpn{0xabcd});
    CHECK(list[0].source_lid == 0x21);
    CHECK(list[0].timestamp == 0x1122);
    CHECK(list[1].wr_id == 71);
    CHECK(list[1].has_immediate);
    CHECK(list[1].immediate == 0x11223344);
    CHECK(list[2].wr_id == 72);
    CHECK(list[2].operation == CompletionOperation::receive_write_imm);
    CHECK(list[2].immediate == 0x11223344);
}

TEST_CASE("an error CQE gives status, syndrome and vendor syndrome, for requester and responder", "[unit][mlx][cq]") {
    Rig rig(8);
    rig.send(*rig.qp, 5);
    rig.receive(*rig.qp, 6);
    const auto fail = [&](std::uint8_t opcode, std::uint8_t syndrome) {
        rig.hca.post_completion(rig.cq->number().value, [&](std::span<std::byte> cqe) {
            cqe[0x36] = std::byte{0x89};
            cqe[0x37] = static_cast<std::byte>(syndrome);
            put32(cqe, 0x38, 0x08u << 24 | rig.qp->number().value);
            cqe[0x3f] = static_cast<std::byte>(opcode << 4);
        });
    };
    fail(0xd, 0x13);
    fail(0xe, 0x05);

    const auto list = rig.poll();

    REQUIRE(list.size() == 2);
    CHECK(list[0].wr_id == 5);
    CHECK(list[0].status == CompletionStatus::remote_access_error);
    CHECK(list[0].operation == CompletionOperation::write);
    CHECK(list[0].syndrome == 0x13);
    CHECK(list[0].vendor_syndrome == 0x89);
    CHECK(name(list[0].status) == "remote access error");
    CHECK(list[1].wr_id == 6);
    CHECK(list[1].status == CompletionStatus::flushed);
    CHECK(list[1].operation == CompletionOperation::receive);
}

TEST_CASE("READ and atomic completions carry their byte count, WRITE and SEND none", "[unit][mlx][cq]") {
    Rig rig(8);
    const std::array<std::pair<std::uint8_t, CompletionOperation>, 6> rows{{{0x10, CompletionOperation::read},
                                                                            {0x11, CompletionOperation::compare_swap},
                                                                            {0x12, CompletionOperation::fetch_add},
                                                                            {0x0a, CompletionOperation::send},
                                                                            {0x09, CompletionOperation::write},
                                                                            {0x00, CompletionOperation::nop}}};
    for (std::uint16_t i = 0; i < rows.size(); ++i) {
        rig.send(*rig.qp, i);
        rig.hca.post_completion(rig.cq->number().value, [&](std::span<std::byte> cqe) {
            put32(cqe, 0x2c, 8);
            put32(cqe, 0x38, std::uint32_t{rows[i].first} << 24 | rig.qp->number().value);
            put32(cqe, 0x3c, std::uint32_t{i} << 16);
        });
    }

    const auto list = rig.poll();

    REQUIRE(list.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(list[i].operation == rows[i].second);
        CHECK(list[i].byte_count == (i < 3 ? 8u : 0u));
    }
}

TEST_CASE("CQEs of an unknown queue pair or opcode are skipped and counted", "[unit][mlx][cq]") {
    Rig rig(8);
    rig.send(*rig.qp, 9);
    rig.hca.post_completion(rig.cq->number().value, [](std::span<std::byte> cqe) { put32(cqe, 0x38, 0xfffffe); });
    rig.hca.post_completion(rig.cq->number().value, [&](std::span<std::byte> cqe) {
        put32(cqe, 0x38, rig.qp->number().value);
        cqe[0x3f] = std::byte{0xc0};
    });
    rig.complete_send(*rig.qp, 0);

    const auto list = rig.poll();

    REQUIRE(list.size() == 1);
    CHECK(list[0].wr_id == 9);
    CHECK(rig.cq->unknown_completions() == 2);
}

TEST_CASE("a CQE whose bytes do not XOR to 0xff is found when asked for", "[unit][mlx][cq]") {
    Rig rig(8, {.verify_signatures = true});
    rig.send(*rig.qp, 1);
    rig.send(*rig.qp, 2);
    rig.complete_send(*rig.qp, 0);
    rig.complete_send(*rig.qp, 1);
    rig.hca.entry(rig.hca.cqs.at(rig.cq->number().value), 1)[0x10] = std::byte{1};

    const auto list = rig.poll();

    REQUIRE(list.size() == 2);
    CHECK(list[0].status == CompletionStatus::success);
    CHECK(list[1].status == CompletionStatus::unknown_error);
    CHECK(rig.cq->bad_signatures() == 1);
}

TEST_CASE("asking for notification writes the arm word, then the doorbell with the same word and the queue's number",
          "[unit][mlx][cq]") {
    Rig rig(8);
    rig.send(*rig.qp, 1);
    rig.complete_send(*rig.qp, 0);
    REQUIRE(rig.poll().size() == 1);
    rig.hca.doorbells.clear();

    rig.cq->request_notification();
    rig.cq->request_notification(true);

    REQUIRE(rig.hca.doorbells.size() == 2);
    const auto& [offset, bytes] = rig.hca.doorbells[0];
    CHECK(offset == FakeHca::uar_page * 4096 + 0x20);
    CHECK(bytes.size() == 8);
    CHECK(be32(bytes, 0) == 0x00000001);
    CHECK(be32(bytes, 4) == rig.cq->number().value);
    CHECK(be32(rig.hca.doorbells[1].second, 0) == 0x01000001);
    CHECK(rig.record(1) == 0x01000001);
}

TEST_CASE("a completion event reaches its queue, wakes the waiter and advances the arm sequence", "[unit][mlx][cq]") {
    Rig rig(8);
    const auto eqn = rig.context->device().completion_eq(0).number().value;
    CHECK(rig.context->get_cq_event(1ms) == nullptr);

    for (std::uint32_t sequence = 1; sequence <= 5; ++sequence) {
        rig.hca.post_event(eqn, 0, [&](std::span<std::byte> event) { put32(event, 0x38, rig.cq->number().value); });
        CHECK(rig.context->get_cq_event(1ms) == rig.cq.get());
        CHECK(rig.context->get_cq_event(1ms) == nullptr);
        rig.cq->request_notification();
        CHECK(rig.record(1) >> 28 == (sequence & 3));
    }
    CHECK(rig.cq->events() == 5);
}

TEST_CASE("a queue pair that goes takes its unpolled completions along and leaves the others' in order",
          "[unit][mlx][cq]") {
    Rig rig(8);
    // Bring the ring to its end, so that what follows wraps.
    for (std::uint16_t i = 0; i < 5; ++i) {
        rig.send(*rig.other, 0);
        rig.complete_send(*rig.other, i);
    }
    REQUIRE(rig.poll().size() == 5);
    for (std::uint16_t i = 0; i < 3; ++i) {
        rig.send(*rig.qp, 100u + i);
        rig.send(*rig.other, 200u + i);
        rig.complete_send(*rig.qp, i);
        rig.complete_send(*rig.other, static_cast<std::uint16_t>(5 + i));
    }

    REQUIRE(rig.qp->destroy());
    const auto list = rig.poll();

    REQUIRE(list.size() == 3);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(list[i].wr_id == 200 + i);
    CHECK(rig.record(0) == 11);
    CHECK(rig.cq->unknown_completions() == 0);
    // The ring goes on as the device left it.
    rig.send(*rig.other, 300);
    rig.complete_send(*rig.other, 8);
    const auto next = rig.poll();
    REQUIRE(next.size() == 1);
    CHECK(next[0].wr_id == 300);
}

TEST_CASE("completion queues beyond the device's limits are refused before any command", "[unit][mlx][cq]") {
    Rig rig;
    const auto commands = rig.hca.commands.size();

    const auto refused = rig.context->create_cq({.entries = (1u << 22) + 1});

    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == EINVAL);
    CHECK_FALSE(rig.context->create_cq({.entries = 0}));
    CHECK(rig.hca.commands.size() == commands);
}
