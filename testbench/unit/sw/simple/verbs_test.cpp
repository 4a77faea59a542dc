// The driver of the simple HCA on the device itself: what the verbs promise, over a cable that may lose packets.
#include "testbench/harness/simple_hca.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace harness;
using namespace sw::verbs;

namespace {

constexpr std::uint32_t address_a = 0x0a000001, address_b = 0x0a000002;

struct Pair {
    explicit Pair(const model::net::LinkConfig& cable = {}, const ConnectOptions& options = {},
                  const model::simple::SimpleConfig& config = {})
        : hca_a(simple_hca(1, config)), hca_b(simple_hca(2, config)), hosts(hca_a, hca_b, cable),
          a(hosts.a, hca_a, address_a), b(hosts.b, hca_b, address_b) {
        a.connect(b, options);
        b.connect(a, options);
    }
    const model::simple::Counters& counters(const VerbsHost& host) const {
        return static_cast<const model::simple::Device&>(*host.device).counters();
    }
    AnyHca hca_a, hca_b;
    VerbsHosts hosts;
    VerbsEnd a, b;
};

void fill(std::span<std::byte> bytes, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
}

SendRequest request(SendOperation operation, const Sge& sge, const VerbsEnd& peer, std::uint64_t offset) {
    return {.wr_id = 7,
            .sge = &sge,
            .sge_count = 1,
            .operation = operation,
            .flags = send_flag::signaled,
            .rkey = peer.region->rkey(),
            .remote_address = peer.region->iova().value + offset};
}

} // namespace

TEST_CASE("a WRITE and a READ of any length put the bytes where they belong and none beside them", "[unit][simple]") {
    const auto operation = GENERATE(SendOperation::write, SendOperation::read);
    const auto length = GENERATE(0u, 1u, 3u, 255u, 256u, 257u, 4096u, 4097u, 100'000u);
    const auto mtu = GENERATE(256u, 4096u);
    CAPTURE(length, mtu);
    Pair pair({}, {.mtu_bytes = mtu});
    auto& source = operation == SendOperation::write ? pair.a : pair.b;
    auto& target = operation == SendOperation::write ? pair.b : pair.a;
    fill(source.at(0x1005, length), length + 1);

    const auto sge = pair.a.sge(operation == SendOperation::write ? 0x1005 : 0x2003, length);
    must(pair.a.qp->post_send(request(operation, sge, pair.b, operation == SendOperation::write ? 0x2003 : 0x1005)));
    const auto done = pair.a.wait(1);

    REQUIRE(done.size() == 1);
    CHECK(done[0].status == CompletionStatus::success);
    CHECK(done[0].wr_id == 7);
    CHECK(done[0].operation ==
          (operation == SendOperation::write ? CompletionOperation::write : CompletionOperation::read));
    CHECK(std::ranges::equal(source.at(0x1005, length), target.at(0x2003, length)));
    const auto is_zero = [](std::byte byte) { return byte == std::byte{}; };
    CHECK(std::ranges::all_of(target.at(0, 0x2003), is_zero));
    CHECK(std::ranges::all_of(target.at(0x2003 + length, 0x1000), is_zero));
    CHECK(pair.b.wait(1).empty());
}

TEST_CASE("a SEND fills the oldest receive, and immediate data come with it", "[unit][simple]") {
    const bool has_immediate = GENERATE(false, true);
    const auto length = GENERATE(0u, 100u, 10'000u);
    Pair pair({}, {.mtu_bytes = 1024});
    fill(pair.a.at(0, length), 3);
    for (std::uint64_t i = 0; i < 2; ++i) {
        const auto sge = pair.b.sge(0x10000 * (i + 1), 0x8000);
        must(pair.b.qp->post_receive({.wr_id = i, .sge = &sge, .sge_count = 1}));
    }

    const auto sge = pair.a.sge(0, length);
    auto one = request(has_immediate ? SendOperation::send_imm : SendOperation::send, sge, pair.b, 0);
    one.immediate = 0x12345678;
    must(pair.a.qp->post_send(one));

    CHECK(pair.a.wait(1).at(0).status == CompletionStatus::success);
    const auto received = pair.b.wait(2);
    REQUIRE(received.size() == 1);
    CHECK(received[0].wr_id == 0);
    CHECK(received[0].byte_count == length);
    CHECK(received[0].operation == CompletionOperation::receive);
    CHECK(received[0].has_immediate == has_immediate);
    CHECK(received[0].immediate == (has_immediate ? 0x12345678u : 0u));
    CHECK(received[0].source_qpn == pair.a.qp->number());
    CHECK(std::ranges::equal(pair.a.at(0, length), pair.b.at(0x10000, length)));
    CHECK(pair.b.at(0x10000 + length, 1)[0] == std::byte{});
}

TEST_CASE("a WRITE with immediate data takes a receive and writes where it was told", "[unit][simple]") {
    Pair pair({}, {.mtu_bytes = 256});
    fill(pair.a.at(0, 1000), 4);
    must(pair.b.qp->post_receive({.wr_id = 9}));

    const auto sge = pair.a.sge(0, 1000);
    auto one = request(SendOperation::write_imm, sge, pair.b, 0x3000);
    one.immediate = 5;
    must(pair.a.qp->post_send(one));

    CHECK(pair.a.wait(1).at(0).status == CompletionStatus::success);
    const auto received = pair.b.wait(1);
    REQUIRE(received.size() == 1);
    CHECK(received[0].operation == CompletionOperation::receive_write_imm);
    CHECK(received[0].byte_count == 1000);
    CHECK(received[0].immediate == 5);
    CHECK(std::ranges::equal(pair.a.at(0, 1000), pair.b.at(0x3000, 1000)));
}

TEST_CASE("whatever the cable loses, doubles, reorders or damages, every message is done once and in order",
          "[unit][simple]") {
    const auto seed = GENERATE(range(1u, 9u));
    CAPTURE(seed);
    const model::net::LinkConfig cable{.loss = 0.03, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.02, .seed = seed};
    Pair pair(cable, {.mtu_bytes = 256, .ack_timeout = 5});
    std::mt19937 random(seed);
    constexpr std::uint32_t messages = 200, slot = 4096;
    std::uint32_t posted = 0, done = 0, received = 0, given = 0;
    std::vector<SendOperation> operations(messages);
    std::vector<std::uint32_t> lengths(messages), sends;
    const auto give = [&] {
        const auto sge = pair.b.sge(0x80000 + (given % 32) * slot, slot);
        must(pair.b.qp->post_receive({.wr_id = given++, .sge = &sge, .sge_count = 1}));
    };
    for (int i = 0; i < 32; ++i)
        give();
    constexpr std::array kinds{SendOperation::write, SendOperation::read, SendOperation::send, SendOperation::nop};
    while (done < messages) {
        for (; posted < messages && posted - done < 32; ++posted) {
            const auto length = static_cast<std::uint32_t>(random() % 2000);
            const auto offset = (posted % 32) * slot;
            operations[posted] = kinds[random() % kinds.size()], lengths[posted] = length;
            auto& from = operations[posted] == SendOperation::read ? pair.b : pair.a;
            fill(from.at(offset, length), posted);
            if (operations[posted] == SendOperation::send)
                sends.push_back(posted);
            const auto sge = pair.a.sge(operations[posted] == SendOperation::read ? 0x40000 + offset : offset, length);
            auto one = request(operations[posted], sge, pair.b,
                               operations[posted] == SendOperation::read ? offset : 0x40000 + offset);
            one.wr_id = posted;
            must(pair.a.qp->post_send(one));
        }
        for (const auto& completion : pair.a.wait(1)) {
            REQUIRE(completion.status == CompletionStatus::success);
            REQUIRE(completion.wr_id == done);
            const auto offset = (done % 32) * slot;
            std::vector<std::byte> expected(lengths[done]);
            fill(expected, done);
            if (operations[done] == SendOperation::read)
                REQUIRE(std::ranges::equal(expected, pair.a.at(0x40000 + offset, expected.size())));
            if (operations[done] == SendOperation::write)
                REQUIRE(std::ranges::equal(expected, pair.b.at(0x40000 + offset, expected.size())));
            ++done;
        }
        Completion one;
        while (pair.b.cq->poll({&one, 1}) == 1) {
            REQUIRE(one.wr_id == received);
            std::vector<std::byte> expected(lengths[sends.at(received)]);
            fill(expected, sends[received]);
            REQUIRE(one.byte_count == expected.size());
            REQUIRE(std::ranges::equal(expected, pair.b.at(0x80000 + (received % 32) * slot, expected.size())));
            ++received;
            give();
        }
    }
    CHECK(received == sends.size());
    CHECK(pair.counters(pair.hosts.a).retries > 0);
    CHECK(pair.counters(pair.hosts.b).duplicates > 0);
}

TEST_CASE("a peer that is gone ends the request after the retries, and what was posted behind it is flushed",
          "[unit][simple]") {
    Pair pair({.loss = 1}, {.ack_timeout = 4, .retry_count = 2});

    const auto sge = pair.a.sge(0, 64);
    auto one = request(SendOperation::write, sge, pair.b, 0);
    must(pair.a.qp->post_send(one));
    one.wr_id = 8;
    must(pair.a.qp->post_send(one));
    const auto done = pair.a.wait(2);

    REQUIRE(done.size() == 2);
    CHECK(done[0].status == CompletionStatus::transport_retry_exceeded);
    CHECK(done[0].wr_id == 7);
    CHECK(done[1].status == CompletionStatus::flushed);
    CHECK(done[1].wr_id == 8);
    CHECK(pair.counters(pair.hosts.a).timeouts == 3);
    // 65.5 us each, three times.
    CHECK(pair.hosts.clock.now() > 3 * 65us);
}

TEST_CASE("a SEND that finds no receive comes again when the peer has one", "[unit][simple]") {
    Pair pair;
    const auto sge = pair.a.sge(0, 64);
    fill(pair.a.at(0, 64), 5);
    must(pair.a.qp->post_send(request(SendOperation::send, sge, pair.b, 0)));
    pair.hosts.run(pair.hosts.clock.now() + 300us);
    CHECK(pair.counters(pair.hosts.a).rnr_waits == 1);

    const auto into = pair.b.sge(0x1000, 64);
    must(pair.b.qp->post_receive({.wr_id = 1, .sge = &into, .sge_count = 1}));

    CHECK(pair.a.wait(1).at(0).status == CompletionStatus::success);
    CHECK(pair.b.wait(1).at(0).byte_count == 64);
    CHECK(std::ranges::equal(pair.a.at(0, 64), pair.b.at(0x1000, 64)));
}

TEST_CASE("a SEND that never finds a receive ends when its patience does", "[unit][simple]") {
    Pair pair({}, {.rnr_retry = 2});
    const auto sge = pair.a.sge(0, 64);

    must(pair.a.qp->post_send(request(SendOperation::send, sge, pair.b, 0)));

    CHECK(pair.a.wait(1).at(0).status == CompletionStatus::rnr_retry_exceeded);
    CHECK(pair.counters(pair.hosts.a).rnr_waits == 3);
}

TEST_CASE("an access that the peer's key does not allow is refused, ends both ends, and moves nothing",
          "[unit][simple]") {
    const auto [what, operation, key_change, address_change] =
        GENERATE(table<const char*, SendOperation, std::uint32_t, std::uint64_t>(
            {{"another variant of the key", SendOperation::write, 1, 0},
             {"another key", SendOperation::read, 0x100, 0},
             {"behind the end", SendOperation::write, 0, VerbsEnd::bytes - 63},
             {"behind the end", SendOperation::read, 0, VerbsEnd::bytes - 63},
             {"before the begin", SendOperation::write, 0, ~std::uint64_t{0}},
             {"round the end of all addresses", SendOperation::read, 0, ~std::uint64_t{0} / 2}}));
    CAPTURE(what);
    Pair pair;
    fill(pair.a.at(0, 64), 6);
    const auto sge = pair.a.sge(0, 64);
    auto one = request(operation, sge, pair.b, address_change);
    one.rkey ^= key_change;
    must(pair.b.qp->post_receive({.wr_id = 3}));

    must(pair.a.qp->post_send(one));

    CHECK(pair.a.wait(1).at(0).status == CompletionStatus::remote_access_error);
    const auto flushed = pair.b.wait(1);
    REQUIRE(flushed.size() == 1);
    CHECK(flushed[0].status == CompletionStatus::flushed);
    CHECK(std::ranges::all_of(pair.b.at(0, VerbsEnd::bytes), [](std::byte b) { return b == std::byte{}; }));
}

TEST_CASE("rights of the region and of the queue pair count", "[unit][simple]") {
    const auto operation = GENERATE(SendOperation::write, SendOperation::read);
    const bool is_of_region = GENERATE(true, false);
    Pair pair({}, {.access = is_of_region ? all_access : Access::none});
    if (is_of_region) {
        pair.b.region.reset();
        pair.b.region = must(pair.b.context->reg_mr(pair.b.pd, pair.b.buffer.memory(), 0, VerbsEnd::bytes,
                                                    {.access = Access::local_write}));
    }
    const auto sge = pair.a.sge(0, 64);

    must(pair.a.qp->post_send(request(operation, sge, pair.b, 0)));

    // What the queue pair does not take at all is an invalid request (IBA 9.9.3).
    CHECK(pair.a.wait(1).at(0).status ==
          (is_of_region ? CompletionStatus::remote_access_error : CompletionStatus::remote_invalid_request));
}

TEST_CASE("a local key that does not allow it ends the request before anything is sent", "[unit][simple]") {
    const auto operation = GENERATE(SendOperation::write, SendOperation::send);
    Pair pair;
    auto sge = pair.a.sge(VerbsEnd::bytes - 10, 64);

    must(pair.a.qp->post_send(request(operation, sge, pair.b, 0)));

    CHECK(pair.a.wait(1).at(0).status == CompletionStatus::local_protection_error);
    CHECK(pair.counters(pair.hosts.a).packets_sent == 0);
}

TEST_CASE("a message longer than its receive is an error at both ends", "[unit][simple]") {
    Pair pair;
    const auto into = pair.b.sge(0x1000, 63);
    must(pair.b.qp->post_receive({.wr_id = 4, .sge = &into, .sge_count = 1}));
    const auto sge = pair.a.sge(0, 64);

    must(pair.a.qp->post_send(request(SendOperation::send, sge, pair.b, 0)));

    CHECK(pair.b.wait(1).at(0).status == CompletionStatus::local_length_error);
    CHECK(pair.a.wait(1).at(0).status == CompletionStatus::remote_invalid_request);
}

TEST_CASE("what the device has not is refused by its name", "[unit][simple]") {
    Pair pair;
    const auto sge = pair.a.sge(0, 8);

    const auto atomic = pair.a.qp->post_send(request(SendOperation::fetch_add, sge, pair.b, 0));
    auto inlined = request(SendOperation::write, sge, pair.b, 0);
    inlined.flags |= send_flag::inline_data;
    const auto in_line = pair.a.qp->post_send(inlined);

    CHECK(atomic.error().code == EOPNOTSUPP);
    CHECK(atomic.error().what.find("no atomics") != std::string::npos);
    CHECK(in_line.error().code == EOPNOTSUPP);
    CHECK(pair.a.context->alloc_doorbell_page().error().code == EOPNOTSUPP);
    CHECK(pair.a.context->reg_dmabuf_mr(pair.a.pd, {}, 0, 64, {}).error().code == EOPNOTSUPP);
    CHECK_FALSE(pair.a.context->capabilities().has_atomics);
    CHECK(pair.a.context
              ->create_qp({.pd = pair.a.pd,
                           .send_cq = pair.a.cq.get(),
                           .receive_cq = pair.a.cq.get(),
                           .max_send = 1,
                           .max_receive = 1,
                           .max_inline = 8})
              .error()
              .code == EOPNOTSUPP);
}

TEST_CASE("a queue pair whose completions may not find room in the queue is refused", "[unit][simple]") {
    Pair pair;
    const auto cq = must(pair.a.context->create_cq(64));
    const auto make = [&](std::uint32_t sends, std::uint32_t receives) {
        return pair.a.context->create_qp(
            {.pd = pair.a.pd, .send_cq = cq.get(), .receive_cq = cq.get(), .max_send = sends, .max_receive = receives});
    };
    CHECK(make(40, 25).error().code == ENOMEM);
    auto fits = make(40, 24);
    REQUIRE(fits);
    CHECK(make(1, 0).error().code == ENOMEM);
    fits->reset();
    CHECK(make(40, 24));
}

TEST_CASE("a queue takes as much as it was made for, and more when completions were polled", "[unit][simple]") {
    Pair pair;
    const auto sge = pair.a.sge(0, 8);
    const auto one = request(SendOperation::write, sge, pair.b, 0);
    for (int i = 0; i < 64; ++i)
        must(pair.a.qp->post_send(one));

    CHECK(pair.a.qp->post_send(one).error().code == ENOMEM);
    CHECK(pair.a.wait(64).size() == 64);
    CHECK(pair.a.qp->post_send(one));
}

TEST_CASE("what was made is given back: memory of the host and of the card", "[unit][simple]") {
    const auto hca = simple_hca(1), other = simple_hca(2);
    VerbsHosts hosts(hca, other);
    const auto& device = static_cast<const model::simple::Device&>(*hosts.a.device);
    const auto before = device.objects().memory.free();
    {
        const VerbsEnd end(hosts.a, hca, address_a);
        CHECK(device.objects().memory.free() < before);
    }
    CHECK(device.objects().memory.free() == before);
    CHECK(hosts.a.live_allocations == 0);
}

TEST_CASE("completions of a queue pair that has gone are not another's", "[unit][simple]") {
    Pair pair;
    const auto sge = pair.a.sge(0, 8);
    must(pair.a.qp->post_send(request(SendOperation::write, sge, pair.b, 0)));
    pair.hosts.run(pair.hosts.clock.now() + 100us);

    pair.a.qp.reset();

    CHECK(pair.a.wait(1).empty());
}
