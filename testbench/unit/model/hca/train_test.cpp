// Packets of a WRITE that go as one (port/packet.h, Train): two pairs of cards do the same, one of them with trains,
// and nothing that anybody can see differs.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/seed.h"

#include "model/wire/builder.h"

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

using namespace harness;
using abi::prm::WqeOpcode;

namespace {

constexpr std::uint32_t zone = 96 * 1024;

/// What a case of the random test has at both ends.
struct Shape {
    std::uint8_t mtu = 3;
    std::uint8_t log_ack_request = 0;
    std::uint32_t psn = 100, under_way = 0, turn = 16, mtt_entries = 16384;
    std::uint64_t offset = 0;   ///< of the regions in their first page
    bool has_other_mtu = false; ///< the receiver
};

/// A pair of cards with memory on either side. Keys of `target`: all of it, and one that ends early.
struct Twin {
    Twin(const Shape& shape, bool has_trains) : pair(link_config(shape), card_config(shape, has_trains), Quiet{}) {
        pair.remake([&](auto& attributes) {
            attributes.mtu = shape.mtu;
            attributes.log_ack_request = shape.log_ack_request;
            attributes.retry_count = 1;
        });
        if (shape.has_other_mtu) // a mistake of software, which the responder refuses
            pair.b.core(pair.b_qp).attributes.mtu = shape.mtu == 1 ? 2 : 1;
        pair.connect(shape.psn);
        source = pair.a.allocate(zone + 0x1000) + shape.offset;
        target = pair.b.allocate(zone + 0x1000) + shape.offset;
        pair.a.fill(source, zone, 1);
        lkey = pair.a.make_mr(source, zone);
        scattered = make_scattered(pair.a, source);
        rkey = pair.b.make_mr(target, zone);
        short_rkey = pair.b.make_mr(target, zone / 3);
        holed_rkey = make_holed(pair.b, target);
    }
    static model::net::LinkConfig link_config(const Shape& shape) {
        auto config = HcaPair::clean();
        config.max_under_way = shape.under_way;
        return config;
    }
    static model::hca::HcaConfig card_config(const Shape& shape, bool has_trains) {
        auto config = HcaPair::untimed();
        config.packet_trains = has_trains;
        config.packets_per_turn = shape.turn;
        config.mtt_cache_entries = shape.mtt_entries;
        config.mkey_cache_entries = shape.mtt_entries;
        config.qp_cache_entries = shape.mtt_entries;
        config.on_demand_paging = false;
        return config;
    }
    static model::hca::tpt::MkeyAttributes attributes(std::uint64_t address) {
        model::hca::tpt::MkeyAttributes a;
        a.variant = 0x5a;
        a.rights = Node::all_rights;
        a.pd = Node::pd;
        a.start = address;
        a.length = zone;
        return a;
    }
    /// Every third page is another one, so that pieces have two or three pages.
    static abi::Key make_scattered(Node& node, std::uint64_t address) {
        std::vector<std::uint64_t> mtt;
        for (auto page = address & ~0xfffull; page < address + zone; page += 0x1000)
            mtt.push_back(mtt.size() % 3 == 2 ? address & ~0xfffull : page);
        return node.make_key(attributes(address), std::move(mtt));
    }
    /// The second half has no pages.
    static abi::Key make_holed(Node& node, std::uint64_t address) {
        std::vector<std::uint64_t> mtt;
        for (auto page = address & ~0xfffull; page < address + zone / 2; page += 0x1000)
            mtt.push_back(page);
        return node.make_key(attributes(address), std::move(mtt));
    }

    HcaPair pair;
    std::uint64_t source = 0, target = 0;
    abi::Key lkey, scattered, rkey, short_rkey, holed_rkey;
};

template <class T> std::vector<std::byte> bytes_of(const T& counters) {
    std::vector<std::byte> bytes(sizeof counters);
    std::memcpy(bytes.data(), &counters, sizeof counters);
    return bytes;
}

void check_completions(Node& left, TestCq& left_cq, Node& right, TestCq& right_cq) {
    const auto x = left.drain(left_cq), y = right.drain(right_cq);
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK(x[i].opcode == y[i].opcode);
        CHECK(x[i].syndrome == y[i].syndrome);
        CHECK(x[i].vendor == y[i].vendor);
        CHECK(x[i].index == y[i].index);
        CHECK(x[i].bytes == y[i].bytes);
    }
}

/// Everything that anybody can see.
void check_same(Twin& x, Twin& y) {
    CHECK(x.pair.a.dma.log() == y.pair.a.dma.log());
    CHECK(x.pair.b.dma.log() == y.pair.b.dma.log());
    CHECK(x.pair.b.dma.peek(x.target - x.target % 0x1000, zone + 0x1000) ==
          y.pair.b.dma.peek(y.target - y.target % 0x1000, zone + 0x1000));
    auto &p = x.pair, &q = y.pair;
    check_completions(p.a, p.a_cq, q.a, q.a_cq);
    check_completions(p.b, p.b_cq, q.b, q.b_cq);
    CHECK(bytes_of(p.a.hca.counters()) == bytes_of(q.a.hca.counters()));
    CHECK(bytes_of(p.b.hca.counters()) == bytes_of(q.b.hca.counters()));
    for (unsigned i = 0; i < 2; ++i)
        CHECK(p.link.counters(i) == q.link.counters(i));
    CHECK(p.a.core(p.a_qp).state == q.a.core(q.a_qp).state);
    CHECK(p.b.core(p.b_qp).state == q.b.core(q.b_qp).state);
    CHECK(p.b.core(p.b_qp).responder.order.expected == q.b.core(q.b_qp).responder.order.expected);
}

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }

private:
    std::mt19937_64 engine_;
};

Post random_post(Twin& twin, Random random) {
    const auto length = random.below(10) == 0 ? 0 : 1 + random.below(40'000);
    const auto begin = random.below(zone - length);
    const auto remote = random.below(zone - length);
    const auto key = random.below(8) == 0 ? twin.scattered : twin.lkey;
    Post post{.opcode = random.below(6) == 0 ? WqeOpcode::rdma_write_imm : WqeOpcode::rdma_write,
              .sges = {{twin.source + begin, length, key}},
              .remote = twin.target + remote,
              .rkey = twin.rkey};
    if (const auto cut = length / 3; random.below(4) == 0 && cut != 0)
        post.sges = {{twin.source + begin, cut, key}, {twin.source + begin + cut, length - cut, key}};
    switch (random.below(40)) {
    case 0: post.rkey = twin.short_rkey; break;
    case 1: post.rkey = twin.holed_rkey; break;
    case 2: post.opcode = WqeOpcode::rdma_read; break;
    case 3: post.rkey = abi::Key{0x123456}; break;
    case 4: post.sges.back().length += zone; break; // the local key ends before it
    default: break;
    }
    return post;
}

} // namespace

TEST_CASE("cards with packet trains do what cards without them do, byte for byte and count for count",
          "[unit][transport]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed << " repeats this");
    Random random(seed);
    std::size_t trains = 0, failed = 0, one_by_one = 0;
    for (int round = 0; round < 60; ++round) {
        const Shape shape{.mtu = static_cast<std::uint8_t>(1 + random.below(5)),
                          .log_ack_request = static_cast<std::uint8_t>(random.below(5)),
                          .psn = random.below(3) == 0 ? 0xfffff8u : 100u,
                          .under_way = random.below(2) == 0 ? 2 + random.below(12) : 0u,
                          .turn = random.below(2) == 0 ? 1 + random.below(20) : 16u,
                          .mtt_entries = random.below(4) == 0   ? 0u
                                         : random.below(2) == 0 ? 16u
                                                                : 16384u,
                          .offset = random.below(2) == 0 ? 0u : random.below(0x1000),
                          .has_other_mtu = random.below(10) == 0};
        Twin with(shape, true), without(shape, false);
        for (int turn = 0; turn < 6; ++turn) {
            const auto number = random.below(0x7fffffff);
            const auto posts = 1 + random.below(4);
            for (auto* twin : {&with, &without}) {
                twin->pair.b.post_receive(twin->pair.b_qp, {});
                for (std::uint32_t i = 0; i < posts; ++i)
                    twin->pair.a.post(twin->pair.a_qp, random_post(*twin, Random(number + i)));
                twin->pair.ring();
            }
            check_same(with, without);
        }
        CHECK(without.pair.a.dma.trains() + without.pair.b.dma.trains() == 0);
        trains += with.pair.b.dma.trains();
        one_by_one += with.pair.a.dma.trains() - with.pair.b.dma.trains();
        failed += with.pair.a.core(with.pair.a_qp).state != model::hca::queue::QpState::rts;
    }
    // What was to be tried was tried.
    CHECK(trains > 100);
    CHECK(one_by_one > 10);
    CHECK(failed > 5);
}

TEST_CASE("a train on its way keeps the bytes that its memory had when that was given back", "[unit][transport]") {
    Shape shape;
    Twin twin(shape, true);
    twin.pair.send({.sges = {{twin.source, 64, twin.lkey}}, .remote = twin.target, .rkey = twin.rkey});
    const auto before = twin.pair.a.dma.peek(twin.source, 16 * 1024);
    twin.pair.a.post(twin.pair.a_qp,
                     {.sges = {{twin.source, 16 * 1024, twin.lkey}}, .remote = twin.target, .rkey = twin.rkey});
    twin.pair.a.ring(twin.pair.a_qp, {});
    REQUIRE(twin.pair.a.dma.trains() != 0);
    REQUIRE(twin.pair.link.under_way(0) == 16);
    twin.pair.a.dma.loans().drain();
    twin.pair.a.fill(twin.source, 16 * 1024, 9);
    twin.pair.settle();
    CHECK(twin.pair.b.dma.peek(twin.target, 16 * 1024) == before);
}

TEST_CASE("a train whose packets have to come one by one has nothing left in the book of loans", "[unit][transport]") {
    Shape shape;
    Twin twin(shape, true);
    const auto in_pieces = twin.pair.b.make_key(Twin::attributes(twin.target), [&] {
        std::vector<std::uint64_t> mtt;
        for (std::uint64_t page = 0; page < zone; page += 0x1000)
            mtt.push_back(twin.target + (page ^ 0x1000)); // neighbours have changed places
        return mtt;
    }());
    constexpr std::uint64_t lent_at_once = model::port::MemoryDma::page_bytes;
    const auto source = (twin.source + lent_at_once - 1) / lent_at_once * lent_at_once;
    twin.pair.send({.sges = {{source, 16 * 1024, twin.lkey}}, .remote = twin.target, .rkey = in_pieces});
    CHECK(twin.pair.a.dma.trains() == 1);
    CHECK(twin.pair.b.dma.trains() == 0);
    for (std::uint64_t page = 0; page < 16 * 1024; page += 0x1000)
        CHECK(twin.pair.b.dma.peek(twin.target + (page ^ 0x1000), 0x1000) ==
              twin.pair.a.dma.peek(source + page, 0x1000));
    CHECK(twin.pair.a.dma.loans().requests.is_empty());
}

TEST_CASE("a cable that somebody watches, or that has faults or time, takes packets one by one", "[unit][net]") {
    Shape shape;
    for (const auto change : {0, 1, 2}) {
        auto link = HcaPair::clean();
        link.exact_bytes = change == 0;
        link.reorder = change == 1 ? 1e-9 : 0;
        auto card = Twin::card_config(shape, true);
        link.timed = card.timed = change == 2;
        HcaPair pair(link, card, Quiet{});
        pair.connect();
        const auto source = pair.a.allocate(0x10000), target = pair.b.allocate(0x10000);
        const auto lkey = pair.a.make_mr(source, 0x8000), rkey = pair.b.make_mr(target, 0x8000);
        pair.send({.sges = {{source, 64, lkey}}, .remote = target, .rkey = rkey});
        pair.send({.sges = {{source, 0x8000, lkey}}, .remote = target, .rkey = rkey});
        pair.run();
        CHECK(pair.a.dma.trains() == 0);
        CHECK(pair.link.counters(0).delivered == 33);
    }
}

namespace {

/// A train of `packets` from node a to node b, as if somebody had sent it: its own bytes, all of one value.
model::port::Packet train_of(Twin& twin, abi::Psn psn, std::uint32_t packets, abi::wire::Operation operation,
                             std::byte value) {
    auto& sender = twin.pair.a.core(twin.pair.a_qp);
    const auto unit = sender.attributes.mtu_bytes();
    model::port::Packet train;
    train.path = sender.path;
    auto& head = train.rdma();
    head.operation = operation;
    head.destination = twin.pair.b_qp.number;
    head.psn = psn;
    head.ack_request = true;
    head.reth = {.address = twin.target, .rkey = twin.rkey, .length = packets * unit};
    std::ranges::fill(train.payload.extend(std::size_t{packets} * unit), value);
    train.train = {.packets = packets, .unit = unit, .ends_message = true};
    return train;
}

void deliver(Twin& twin, model::port::Packet train) {
    twin.pair.b.hca.receive(train, {});
    twin.pair.b.hca.received_all({});
}

/// One packet has come, number 100, so that trains are taken as one.
void begin(Twin& twin) {
    twin.pair.send({.sges = {{twin.source, 64, twin.lkey}}, .remote = twin.target + zone - 64, .rkey = twin.rkey});
}

constexpr std::uint32_t packets = 4, bytes = packets * 1024;

} // namespace

TEST_CASE("a train that is not the next one is answered as its packets would be, and writes nothing",
          "[unit][transport]") {
    using abi::wire::Operation;
    Twin twin({}, true);
    begin(twin);
    const auto before = twin.pair.b.dma.peek(twin.target, bytes);
    const auto& counters = twin.pair.b.hca.counters();
    deliver(twin, train_of(twin, abi::Psn{104}, packets, Operation::write_first, std::byte{7}));
    CHECK(twin.pair.b.dma.peek(twin.target, bytes) == before);
    CHECK(counters.naks_sent == 1);

    deliver(twin, train_of(twin, abi::Psn{101}, packets, Operation::write_first, std::byte{8}));
    const std::vector<std::byte> written(bytes, std::byte{8});
    CHECK(twin.pair.b.dma.peek(twin.target, bytes) == written);
    deliver(twin, train_of(twin, abi::Psn{101}, packets, Operation::write_first, std::byte{9}));
    CHECK(twin.pair.b.dma.peek(twin.target, bytes) == written);
    CHECK(counters.duplicates == packets);
    CHECK(twin.pair.b.core(twin.pair.b_qp).responder.order.expected.value == 105);
}

TEST_CASE("a train that goes on with a message that nobody began is refused", "[unit][transport]") {
    Twin twin({}, true);
    begin(twin);
    const auto before = twin.pair.b.dma.peek(twin.target, bytes);
    deliver(twin, train_of(twin, abi::Psn{101}, packets, abi::wire::Operation::write_middle, std::byte{7}));
    CHECK(twin.pair.b.dma.peek(twin.target, bytes) == before);
    CHECK(twin.pair.b.core(twin.pair.b_qp).state == model::hca::queue::QpState::err);
}

TEST_CASE("a train that begins a message in the middle of another one is refused", "[unit][transport]") {
    Twin twin({}, true);
    begin(twin);
    auto first = train_of(twin, abi::Psn{101}, packets, abi::wire::Operation::write_first, std::byte{7});
    first.train.ends_message = false;
    first.rdma().reth.length = zone;
    deliver(twin, std::move(first));
    const auto before = twin.pair.b.dma.peek(twin.target, bytes);
    CHECK(before == std::vector<std::byte>(bytes, std::byte{7}));
    deliver(twin, train_of(twin, abi::Psn{105}, packets, abi::wire::Operation::write_first, std::byte{8}));
    CHECK(twin.pair.b.dma.peek(twin.target, bytes) == before);
    CHECK(twin.pair.b.core(twin.pair.b_qp).state == model::hca::queue::QpState::err);
}

TEST_CASE("a train to a queue pair that takes no WRITEs is refused", "[unit][transport]") {
    Twin twin({}, true);
    begin(twin);
    twin.pair.b.core(twin.pair.b_qp).attributes.remote_write = false;
    const auto before = twin.pair.b.dma.peek(twin.target, bytes);
    deliver(twin, train_of(twin, abi::Psn{101}, packets, abi::wire::Operation::write_first, std::byte{7}));
    CHECK(twin.pair.b.dma.peek(twin.target, bytes) == before);
    CHECK(twin.pair.b.core(twin.pair.b_qp).state == model::hca::queue::QpState::err);
}

TEST_CASE("a train whose message ends behind its region writes nothing of it", "[unit][transport]") {
    Twin twin({}, true);
    begin(twin);
    auto train = train_of(twin, abi::Psn{101}, packets, abi::wire::Operation::write_first, std::byte{7});
    train.train.ends_message = false;
    train.rdma().reth.length = zone + 1;
    const auto before = twin.pair.b.dma.peek(twin.target, bytes);
    deliver(twin, std::move(train));
    CHECK(twin.pair.b.dma.peek(twin.target, bytes) == before);
    CHECK(twin.pair.b.core(twin.pair.b_qp).state == model::hca::queue::QpState::err);
}

TEST_CASE("the first train tells software that the connection is up", "[unit][transport]") {
    Twin twin({}, true);
    auto& receiver = twin.pair.b.core(twin.pair.b_qp);
    receiver.state = model::hca::queue::QpState::rtr;
    twin.pair.b.drain_events();
    deliver(twin, train_of(twin, abi::Psn{100}, packets, abi::wire::Operation::write_first, std::byte{7}));
    const auto events = twin.pair.b.drain_events();
    REQUIRE(events.size() == 1);
    CHECK(events[0].first == abi::prm::EventType::communication_established);
}

TEST_CASE("answers that are under way have the bytes from before a train", "[unit][transport]") {
    Twin twin({}, true);
    auto& dma = twin.pair.b.dma;
    const auto before = dma.peek(twin.target, 64);
    model::port::Payload answer;
    answer.lend({dma.lend(abi::BusAddress{twin.target}, 64, {}).data, 64}, dma.loans().answers);
    // The first packet of a connection comes one by one, so this is the second message.
    deliver(twin, train_of(twin, abi::Psn{100}, packets, abi::wire::Operation::write_first, before[0]));
    answer.clear();
    answer.lend({dma.lend(abi::BusAddress{twin.target}, 64, {}).data, 64}, dma.loans().answers);
    const auto now = dma.peek(twin.target, 64);
    deliver(twin, train_of(twin, abi::Psn{104}, packets, abi::wire::Operation::write_first, std::byte{0xee}));
    CHECK(dma.peek(twin.target, 64) == std::vector<std::byte>(64, std::byte{0xee}));
    std::vector<std::byte> answered(64);
    answer.copy_to(answered);
    CHECK(answered == now);
}

TEST_CASE("a train to a queue pair in the error state writes nothing and gets no answer", "[unit][transport]") {
    Twin twin({}, true);
    begin(twin);
    auto& receiver = twin.pair.b;
    receiver.modify(twin.pair.b_qp, model::hca::queue::QpState::err, {});
    const auto before = receiver.dma.peek(twin.target, bytes);
    const auto sent = receiver.hca.counters().packets_sent;

    deliver(twin, train_of(twin, abi::Psn{101}, packets, abi::wire::Operation::write_first, std::byte{7}));

    CHECK(receiver.dma.peek(twin.target, bytes) == before);
    CHECK(receiver.hca.counters().packets_sent == sent);
}

TEST_CASE("a train whose bytes are in two pieces is written whole", "[unit][transport]") {
    Twin twin({}, true);
    begin(twin);
    auto train = train_of(twin, abi::Psn{101}, packets, abi::wire::Operation::write_first, std::byte{7});
    const std::vector<std::byte> whole(bytes, std::byte{8});
    const std::array<std::uint32_t, 2> sizes{1024, bytes - 1024};
    train.payload.clear();
    train.payload.become_copy(whole, sizes);

    deliver(twin, std::move(train));

    CHECK(twin.pair.b.dma.peek(twin.target, bytes) == whole);
    CHECK(twin.pair.b.core(twin.pair.b_qp).responder.order.expected.value == 105);
}

TEST_CASE("a train that memory does not take at once comes one by one", "[unit][transport]") {
    Twin twin({}, true);
    begin(twin);
    auto& dma = twin.pair.b.dma;
    const auto before = dma.trains();
    dma.fail(0, 1, model::port::DmaStatus::unsupported_request); // of memory that nobody touches

    deliver(twin, train_of(twin, abi::Psn{101}, packets, abi::wire::Operation::write_first, std::byte{7}));

    CHECK(dma.trains() == before);
    CHECK(dma.peek(twin.target, bytes) == std::vector<std::byte>(bytes, std::byte{7}));
    CHECK(twin.pair.b.core(twin.pair.b_qp).responder.order.expected.value == 105);
}
