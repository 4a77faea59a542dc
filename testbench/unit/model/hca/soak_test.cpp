// Random work on several connections over a bad cable, with queue pairs reset, broken and destroyed in the middle.
// Beside it runs the simplest model there is: bytes in arrays, every operation at once and in order. Completions have
// to come in order, and memory has to be the same byte for byte. `--rng-seed N` repeats a run.
#include "testbench/harness/hca_pair.h"
#include "testbench/unit/model/hca/soak_flow.h"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

using namespace soak_test;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::FenceMode;
using abi::prm::WqeOpcode;
using model::hca::queue::QpState;

namespace {

/// A queue pair at either end, and a flow each way.
struct Connection {
    TestQp a, b;
    std::unique_ptr<Flow> forth, back;
};

class Soak {
public:
    Soak(std::uint64_t seed, bool is_timed, bool is_selective)
        : random_(seed), pair_(cable(seed, is_timed), config(is_timed, is_selective)) {
        pair_.a_cq = pair_.a.make_cq({.log_size = 9});
        pair_.b_cq = pair_.b.make_cq({.log_size = 9});
        for (auto& connection : connections_) {
            connection.forth = std::make_unique<Flow>(pair_.a, pair_.b, connection.a, connection.b);
            connection.back = std::make_unique<Flow>(pair_.b, pair_.a, connection.b, connection.a);
            make_queues(connection);
            connect(connection);
            flows_.push_back(connection.forth.get());
            flows_.push_back(connection.back.get());
        }
    }
    /// Some work on every flow until it is done; perhaps one connection breaks meanwhile.
    void round() {
        renew_sources();
        for (auto work = random_.between(10, 80); work != 0; --work) {
            auto& flow = *flows_[random_.below(static_cast<std::uint32_t>(flows_.size()))];
            post(flow, random_.chance(80));
            if (random_.chance(50))
                flow.from.ring(flow.from_qp, pair_.clock.now());
            if (random_.chance(20))
                pass(random_.below(20));
        }
        if (random_.chance(25))
            break_connection(connections_[random_.below(static_cast<std::uint32_t>(connections_.size()))]);
        for (auto* flow : flows_) {
            if (!flow->posted.empty())
                post(*flow, true); // the last one says that all is done
            flow->from.ring(flow->from_qp, pair_.clock.now());
        }
        pass(random_.below(100));
        for (auto* flow : flows_)
            post_receives(*flow);
        pair_.run(pair_.clock.now() + 600s);
        take_completions();
        for (auto* flow : flows_)
            check_done(*flow);
        for (auto* node : {&pair_.a, &pair_.b}) {
            for (const auto& [type, number] : node->drain_events())
                CHECK(type == abi::prm::EventType::communication_established);
            node->ring_eq(node->eq_consumer, true, pair_.clock.now());
            node->events.entries.clear();
            node->dma.clear_log();
        }
    }
    const model::net::LinkCounters& link(unsigned direction) const { return pair_.link.counters(direction); }
    const model::hca::Counters& counters() const { return pair_.a.hca.counters(); }
    std::uint32_t broken = 0, completed = 0;

private:
    static model::net::LinkConfig cable(std::uint64_t seed, bool is_timed) {
        auto config = HcaPair::clean();
        config.timed = is_timed;
        config.loss = config.reorder = config.duplicate = 0.02;
        config.corrupt = 0.01;
        config.seed = seed;
        return config;
    }
    static model::hca::HcaConfig config(bool is_timed, bool is_selective) {
        auto config = HcaPair::untimed();
        config.timed = is_timed;
        config.selective_repeat = is_selective;
        config.reorder_packets = 24; // fewer than may be under way
        config.mkey_cache_entries = config.mtt_cache_entries = 16;
        return config;
    }

    // --- connections ---
    void make_queues(Connection& connection) {
        auto attributes = pair_.a.attributes(pair_.a_cq);
        attributes.mtu = static_cast<std::uint8_t>(random_.between(1, 5));
        attributes.log_sq_size = static_cast<std::uint8_t>(random_.between(9, 10));
        attributes.log_reads_requester = attributes.log_reads_responder = static_cast<std::uint8_t>(random_.below(5));
        attributes.log_ack_request = static_cast<std::uint8_t>(random_.below(4));
        attributes.min_rnr_nak = static_cast<std::uint8_t>(random_.between(1, 12));
        attributes.path.ack_timeout = static_cast<std::uint8_t>(random_.between(8, 12));
        connection.a = pair_.a.make_qp(attributes);
        attributes.send_cq = attributes.receive_cq = pair_.b_cq.number;
        connection.b = pair_.b.make_qp(attributes);
    }
    void connect(Connection& connection) {
        const auto psn = [this] { return random_.chance(30) ? 0xffffff - random_.below(50) : random_.below(1 << 24); };
        const auto forth = psn(), back = psn();
        pair_.a.connect(connection.a, connection.b.number, forth, back, pair_.clock.now());
        pair_.b.connect(connection.b, connection.a.number, back, forth, pair_.clock.now());
    }
    /// Both ends go to the error state, are reset or destroyed, whatever is under way; then the connection is made
    /// again.
    void break_connection(Connection& connection) {
        ++broken;
        enum class How : std::uint8_t { error, reset, destroy };
        const auto how = std::array{How{static_cast<std::uint8_t>(random_.below(3))},
                                    How{static_cast<std::uint8_t>(random_.below(3))}};
        const std::array ends{std::pair{&pair_.a, &connection.a}, std::pair{&pair_.b, &connection.b}};
        for (std::size_t i = 0; i < 2; ++i) {
            auto& [node, qp] = ends[i];
            if (how[i] == How::destroy)
                node->hca.destroy_qp(qp->number);
            else
                node->modify(*qp, how[i] == How::error ? QpState::err : QpState::rst, pair_.clock.now());
            if (how[i] == How::error)
                node->ring(*qp, pair_.clock.now()); // what was posted without a doorbell is flushed too
        }
        pair_.run(pair_.clock.now() + 200us); // nothing of it is on the cable any more
        take_completions();
        for (std::size_t i = 0; i < 2; ++i) {
            auto& sent = i == 0 ? *connection.forth : *connection.back;
            auto& received = i == 0 ? *connection.back : *connection.forth;
            check_broken(sent);
            if (how[i] != How::error)
                continue;
            // Each of them, signalled or not; unless the last ones were done before, without a word.
            const bool is_silent =
                std::ranges::none_of(sent.posted, [](const Work& work) { return work.wr.signalled; });
            CHECK((sent.flushed == sent.posted.size() || (sent.flushed == 0 && is_silent)));
            CHECK(received.flushed_receives == received.receives.size());
        }
        for (auto* flow : {connection.forth.get(), connection.back.get()})
            flow->forget();
        if (how[0] == How::destroy || how[1] == How::destroy) {
            for (std::size_t i = 0; i < 2; ++i)
                if (how[i] != How::destroy)
                    ends[i].first->hca.destroy_qp(ends[i].second->number);
            make_queues(connection);
        } else {
            for (auto& [node, qp] : ends) {
                qp->sq_producer = qp->rq_producer = 0;
                node->write_be64(qp->record, 0);
                node->modify(*qp, QpState::rst, pair_.clock.now());
            }
        }
        connect(connection);
    }

    // --- work ---
    /// Something happens, in time or on the cable.
    void pass(std::uint32_t microseconds) { pair_.run(pair_.clock.now() + microseconds * 1us); }
    /// Nothing is under way: software may write what it sends.
    void renew_sources() {
        for (auto* flow : flows_) {
            const auto length = random_.below(zone);
            auto& source = flow->source;
            flow->from.fill(source.region.address, length, random_.below(1000));
            const auto bytes = flow->from.bytes(source.region, 0, length);
            std::ranges::copy(bytes, source.expected.begin());
        }
    }
    std::uint32_t pick_length(std::uint32_t most) {
        const std::array limits{64u, 1500u, 5000u, 20000u};
        return random_.below(std::min(most, limits[random_.below(limits.size())]) + 1);
    }
    /// `length` bytes of a memory in up to `pieces` pieces that do not overlap.
    std::vector<Post::Sge> pick_sges(const Memory& memory, std::uint32_t length, std::uint32_t pieces) {
        std::vector<Post::Sge> sges;
        auto at = random_.below(zone - length + 1);
        for (auto left = length; left != 0;) {
            const auto piece = sges.size() + 1 == pieces ? left : random_.between(1, left);
            sges.push_back(memory.region.sge(at, piece));
            at += piece;
            left -= piece;
        }
        if (random_.chance(50))
            std::ranges::reverse(sges);
        return sges;
    }
    void post(Flow& flow, bool is_signalled) {
        constexpr std::array opcodes{WqeOpcode::rdma_write, WqeOpcode::rdma_write, WqeOpcode::rdma_write_imm,
                                     WqeOpcode::send,       WqeOpcode::send_imm,   WqeOpcode::rdma_read,
                                     WqeOpcode::rdma_read,  WqeOpcode::atomic_cs,  WqeOpcode::atomic_fa,
                                     WqeOpcode::nop};
        Work work{.wr = {.opcode = opcodes[random_.below(opcodes.size())],
                         .immediate = static_cast<std::uint32_t>(random_.number()),
                         .signalled = is_signalled}};
        auto& wr = work.wr;
        const bool is_atomic = wr.opcode == WqeOpcode::atomic_cs || wr.opcode == WqeOpcode::atomic_fa;
        const bool is_send = wr.opcode == WqeOpcode::send || wr.opcode == WqeOpcode::send_imm;
        const bool takes_receive = is_send || wr.opcode == WqeOpcode::rdma_write_imm;
        const bool is_answered = is_atomic || wr.opcode == WqeOpcode::rdma_read;
        if (wr.opcode != WqeOpcode::nop)
            work.length = is_atomic ? 8 : pick_length(is_send ? largest_send : zone);
        if (!is_answered && work.length != 0 && work.length <= 200 && random_.chance(50)) {
            wr.inline_data.resize(work.length);
            for (auto& byte : wr.inline_data)
                byte = static_cast<std::byte>(random_.number());
        } else {
            wr.sges = pick_sges(is_answered ? flow.landing : flow.source, work.length, random_.between(1, 8));
        }
        wr.rkey = flow.target.region.key;
        const auto offset = random_.below(zone - work.length + 1);
        wr.remote =
            is_atomic ? (flow.target.region.address + offset) & ~std::uint64_t{7} : flow.target.region.address + offset;
        wr.swap_or_add = random_.number();
        if (wr.opcode == WqeOpcode::atomic_cs && random_.chance(50))
            wr.compare =
                abi::load<std::uint64_t, abi::Endian::big>(flow.target.at({wr.remote, 8}).data()); // may succeed
        fence(flow, work);
        if (takes_receive) {
            if (is_send)
                work.receive = pick_sges(flow.inbox, random_.between(std::max(work.length, 1u), largest_send + 500),
                                         random_.between(1, 4));
            else if (random_.chance(50))
                work.receive = pick_sges(flow.inbox, 10, 1);
            const auto opcode = !is_send                       ? CqeOpcode::resp_wr_imm
                                : wr.opcode == WqeOpcode::send ? CqeOpcode::resp_send
                                                               : CqeOpcode::resp_send_imm;
            flow.unposted.push_back(
                {work.receive, opcode, work.length, wr.opcode == WqeOpcode::send ? 0 : wr.immediate});
            if (random_.chance(60))
                post_receives(flow);
        }
        work.index = flow.from.post(flow.from_qp, wr);
        flow.posted.push_back(std::move(work));
    }
    /// A READ that is asked for again reads again: what changes its bytes has to wait for it (IBA 10.8.3.3).
    void fence(Flow& flow, Work& work) {
        const auto begin = static_cast<std::uint32_t>(work.wr.remote - flow.target.region.address);
        const auto end = begin + work.length;
        if (work.wr.opcode == WqeOpcode::rdma_read) {
            flow.reads.emplace_back(begin, end);
            return;
        }
        const bool is_needed =
            std::ranges::any_of(flow.reads, [&](const auto& read) { return read.first < end && begin < read.second; });
        if (!is_needed && !random_.chance(10))
            return;
        work.wr.fence = FenceMode::fence;
        flow.reads.clear();
    }
    void post_receives(Flow& flow) {
        for (; !flow.unposted.empty(); flow.unposted.pop_front()) {
            flow.unposted.front().index = flow.to_qp.rq_producer;
            flow.to.post_receive(flow.to_qp, flow.unposted.front().sges);
            flow.receives.push_back(flow.unposted.front());
        }
    }

    // --- checks ---
    void take_completions() {
        for (auto* node : {&pair_.a, &pair_.b})
            for (const auto& done : node->drain(node == &pair_.a ? pair_.a_cq : pair_.b_cq)) {
                const bool is_send = done.opcode == CqeOpcode::req || done.opcode == CqeOpcode::req_err;
                const auto flow = std::ranges::find_if(flows_, [&](const Flow* f) {
                    return is_send ? &f->from == node && f->from_qp.number.value == done.qpn
                                   : &f->to == node && f->to_qp.number.value == done.qpn;
                });
                REQUIRE(flow != flows_.end());
                is_send ? sent(**flow, done) : received(**flow, done);
            }
    }
    void sent(Flow& flow, const Done& done) {
        if (!done.is_ok()) { // of a connection that we broke
            CHECK(done.syndrome == CqeSyndrome::wr_flush_err);
            REQUIRE(flow.flushed < flow.posted.size());
            while (flow.flushed == 0 && flow.posted.front().index != done.index) { // done, without a word
                REQUIRE_FALSE(flow.posted.front().wr.signalled);
                finish(flow);
                REQUIRE_FALSE(flow.posted.empty());
            }
            CHECK(flow.posted[flow.flushed++].index == done.index);
            return;
        }
        REQUIRE(flow.flushed == 0);
        while (true) {
            REQUIRE_FALSE(flow.posted.empty());
            const auto& front = flow.posted.front();
            const bool is_it = front.index == done.index;
            REQUIRE(is_it == front.wr.signalled); // in order, and none is missing
            if (is_it) {
                const bool has_count = front.wr.opcode == WqeOpcode::rdma_read ||
                                       front.wr.opcode == WqeOpcode::atomic_cs ||
                                       front.wr.opcode == WqeOpcode::atomic_fa;
                CHECK(done.send_opcode == static_cast<unsigned>(front.wr.opcode));
                CHECK(done.bytes == (has_count ? front.length : 0));
            }
            finish(flow);
            if (is_it)
                return;
        }
    }
    /// The oldest operation is done: the reference does it too.
    void finish(Flow& flow) {
        for (const auto& [memory, offset, bytes] : flow.effects(flow.posted.front()))
            std::ranges::copy(bytes, memory->expected.begin() + offset);
        flow.posted.pop_front();
        ++completed;
    }
    void received(Flow& flow, const Done& done) {
        if (!done.is_ok()) {
            CHECK(done.syndrome == CqeSyndrome::wr_flush_err);
            REQUIRE(flow.flushed_receives < flow.receives.size());
            CHECK(flow.receives[flow.flushed_receives++].index == done.index);
            return;
        }
        REQUIRE(flow.flushed_receives == 0);
        REQUIRE_FALSE(flow.receives.empty());
        const auto& front = flow.receives.front();
        CHECK(done.opcode == front.opcode);
        CHECK(done.index == front.index);
        CHECK(done.bytes == front.length);
        CHECK(done.immediate == front.immediate);
        flow.receives.pop_front();
    }
    void check_done(Flow& flow) {
        REQUIRE(flow.posted.empty());
        CHECK(flow.receives.empty());
        CHECK(flow.unposted.empty());
        flow.reads.clear();
        for (auto* memory : flow.memories()) {
            const auto actual = memory->node.bytes(memory->region);
            REQUIRE(memory->expected.size() == zone);
            if (std::memcmp(actual.data(), memory->expected.data(), zone) != 0) {
                const auto first_difference = std::ranges::mismatch(actual, memory->expected).in1 - actual.begin();
                REQUIRE(first_difference == zone);
            }
            REQUIRE(memory->node.has_guards(memory->region));
        }
    }
    /// Some of what is posted was done, in order, the last of it perhaps in part: every byte is one that it then had.
    void check_broken(Flow& flow) {
        std::vector<Bytes> actual;
        std::vector<std::vector<bool>> is_explained;
        const auto memories = flow.memories();
        for (auto* memory : memories) {
            REQUIRE(memory->node.has_guards(memory->region));
            actual.push_back(memory->node.bytes(memory->region));
            auto& explained = is_explained.emplace_back(zone);
            for (std::uint32_t i = 0; i < zone; ++i)
                explained[i] = actual.back()[i] == memory->expected[i];
        }
        for (const auto& work : flow.posted)
            for (const auto& [memory, offset, bytes] : flow.effects(work)) {
                const auto which = static_cast<std::size_t>(std::ranges::find(memories, memory) - memories.begin());
                for (std::uint32_t i = 0; i < bytes.size(); ++i) {
                    memory->expected[offset + i] = bytes[i];
                    if (actual[which][offset + i] == bytes[i])
                        is_explained[which][offset + i] = true;
                }
            }
        for (std::size_t i = 0; i < memories.size(); ++i) {
            CHECK(std::ranges::find(is_explained[i], false) == is_explained[i].end());
            memories[i]->expected = std::move(actual[i]);
        }
    }

    Random random_;
    HcaPair pair_;
    std::array<Connection, 4> connections_;
    std::vector<Flow*> flows_;
};

void soak(bool is_timed, unsigned rounds, bool is_selective = false) {
    INFO("seed " << Catch::getSeed());
    Soak soak(Catch::getSeed(), is_timed, is_selective);

    for (unsigned i = 0; i < rounds; ++i) {
        INFO("round " << i);
        soak.round();
    }

    CHECK(soak.completed > rounds * 30); // the test is not empty
    CHECK(soak.broken != 0);
    CHECK(soak.counters().retries != 0);
    CHECK(soak.counters().rnr_waits != 0);
    CHECK(soak.counters().duplicates != 0);
    for (unsigned direction = 0; direction < 2; ++direction) {
        const auto& link = soak.link(direction);
        CHECK((link.lost != 0 && link.duplicated != 0 && link.reordered != 0 && link.corrupted != 0));
    }
}

} // namespace

TEST_CASE("random work on several connections is done in order and to the byte, over a bad cable without time",
          "[unit][soak]") {
    soak(false, 150);
}

TEST_CASE("random work on several connections is done in order and to the byte, over a bad cable with latency and rate",
          "[unit][soak]") {
    soak(true, 150);
}

TEST_CASE("with selective repeat random work is done in order and to the byte, too, over a bad cable without time",
          "[unit][soak]") {
    soak(false, 100, true);
}

TEST_CASE("with selective repeat random work is done in order and to the byte, too, over a bad cable with latency",
          "[unit][soak]") {
    soak(true, 100, true);
}
