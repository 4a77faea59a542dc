// Two HCA cores on one cable, without SystemC: each has a memory of its own, and the test plays firmware and driver.
// Addresses of buffers are laid out by a bump allocator; queues are rings in that memory.
#pragma once

#include "abi/prm/cqe.h"
#include "abi/prm/eqe.h"
#include "abi/prm/wqe.h"
#include "model/hca/hca.h"
#include "model/net/link.h"
#include "model/port/memory_dma.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace harness {

using namespace std::chrono_literals;
using model::port::Time;

/// Time that only the test moves.
class TestClock final : public model::port::Clock {
public:
    Time now() const override { return now_; }
    void wake_at(Time at) override { next_ = std::min(next_, at); }
    Time next() const { return next_; }
    void set(Time now) {
        now_ = now;
        if (next_ <= now_)
            next_ = model::port::never;
    }

private:
    Time now_{};
    Time next_ = model::port::never;
};

struct InterruptLog final : model::port::Interrupts {
    void raise(std::uint16_t vector, Time) override { vectors.push_back(vector); }
    std::vector<std::uint16_t> vectors;
};

/// Keeps every event for matching.
struct EventLog final : traces::Sink {
    void on(const traces::Stamp& stamp, const traces::Event& event) override { entries.push_back({stamp, event}); }
    template <class E> std::vector<E> all() const {
        std::vector<E> found;
        for (const auto& [stamp, event] : entries)
            if (const auto* e = std::get_if<E>(&event))
                found.push_back(*e);
        return found;
    }
    std::vector<std::pair<traces::Stamp, traces::Event>> entries;
};

/// A send work request as a test writes it.
struct Post {
    abi::prm::WqeOpcode opcode = abi::prm::WqeOpcode::rdma_write;
    struct Sge {
        std::uint64_t address = 0;
        std::uint32_t length = 0;
        abi::Key key{};
    };
    std::vector<Sge> sges{};
    std::uint64_t remote = 0;
    abi::Key rkey{};
    std::uint32_t immediate = 0;
    std::uint64_t swap_or_add = 0, compare = 0;
    bool signalled = true;
    bool solicited = false;
    abi::prm::FenceMode fence{};
    std::vector<std::byte> inline_data{};
};

class Node;

/// One queue pair and the rings behind it, as a driver would keep them.
struct TestQp {
    static constexpr unsigned log_sq = 6, log_rq = 6, log_stride = 6;
    abi::Qpn number{};
    std::uint64_t buffer = 0, record = 0;
    std::uint16_t sq_producer = 0, rq_producer = 0;
};

struct TestCq {
    static constexpr unsigned log_size = 7;
    abi::Cqn number{};
    std::uint64_t buffer = 0, record = 0;
    std::uint32_t consumer = 0;
};

/// One host: memory, HCA, and what a driver does to them.
class Node {
public:
    static constexpr std::uint32_t uar = 20;
    static constexpr abi::Pd pd{7};

    Node(const model::hca::HcaConfig& config, TestClock& clock, model::port::Wire& wire, std::uint16_t source)
        : hca(config, {dma, clock, wire, interrupts}, traces::Events{&events, source}) {}

    std::uint64_t allocate(std::uint64_t bytes) {
        const auto at = next_;
        next_ += (bytes + 0xffff) & ~0xffffull;
        return at;
    }
    abi::BusAddress bus(std::uint64_t address) const { return abi::BusAddress{address}; }

    TestCq make_cq(unsigned log_size = TestCq::log_size) {
        TestCq cq{.number = abi::Cqn{next_number_++}, .buffer = allocate(64ull << log_size), .record = allocate(64)};
        for (std::uint64_t i = 0; i < 1ull << log_size; ++i)
            dma.poke(cq.buffer + i * 64 + 63, std::array{std::byte{0xf1}});
        model::hca::completion::Attributes a;
        a.buffer = {{bus(cq.buffer)}, 16, 0};
        a.log_size = static_cast<std::uint8_t>(log_size);
        a.doorbell_record = bus(cq.record);
        a.uar_page = uar;
        a.eqn = eqn;
        hca.create_cq(cq.number, a);
        return cq;
    }
    void make_eq() {
        eq_buffer = allocate(64 << 8);
        for (std::uint64_t i = 0; i < 256; ++i)
            dma.poke(eq_buffer + i * 64 + 63, std::array{std::byte{1}});
        model::hca::event::Attributes a;
        a.buffer = {{bus(eq_buffer)}, 16, 0};
        a.log_size = 8;
        a.vector = 3;
        a.uar_page = uar;
        a.events = ~0ull;
        hca.event_queues().table().create(eqn.value, eqn, a);
    }
    model::hca::queue::QueuePairAttributes attributes(const TestCq& cq) {
        model::hca::queue::QueuePairAttributes a;
        a.pd = pd;
        a.mtu = 3; // 1024
        a.log_rq_size = TestQp::log_rq;
        a.log_rq_stride = TestQp::log_stride;
        a.log_sq_size = TestQp::log_sq;
        a.uar_page = uar;
        a.send_cq = a.receive_cq = cq.number;
        a.log_reads_requester = a.log_reads_responder = 4;
        a.retry_count = 7;
        a.rnr_retry = 7;
        a.min_rnr_nak = 12;
        a.path.ack_timeout = 14;
        a.remote_read = a.remote_write = a.remote_atomic = true;
        return a;
    }
    TestQp make_qp(model::hca::queue::QueuePairAttributes a) {
        TestQp qp{.number = abi::Qpn{next_number_++}};
        const auto bytes = (64ull << TestQp::log_sq) + (std::uint64_t{1} << (TestQp::log_rq + TestQp::log_stride));
        qp.buffer = allocate(bytes);
        qp.record = allocate(8);
        a.buffer = {{bus(qp.buffer)}, 16, 0};
        a.doorbell_record = bus(qp.record);
        hca.create_qp(qp.number, a);
        return qp;
    }
    /// A region over [address, address + length) with 4 KiB pages, identity mapped.
    abi::Key make_mr(std::uint64_t address, std::uint64_t length, model::hca::tpt::Rights rights = {true, true, true, true, true}) {
        model::hca::tpt::MkeyAttributes a;
        a.variant = 0x5a;
        a.rights = rights;
        a.pd = pd;
        a.start = address;
        a.length = length;
        std::vector<std::uint64_t> mtt;
        for (auto page = address & ~0xfffull; page < address + length; page += 0x1000)
            mtt.push_back(page);
        const auto index = next_number_++;
        hca.mkeys().create(index, a, std::move(mtt));
        return abi::Key{index, a.variant};
    }
    model::hca::queue::QueuePair& core(const TestQp& qp) { return *hca.queue_pairs().find(qp.number.value); }
    void connect(const TestQp& qp, abi::Qpn remote, std::uint32_t send_psn, std::uint32_t receive_psn, Time at) {
        using model::hca::queue::QpState;
        auto& object = core(qp);
        auto a = object.attributes;
        a.remote_qpn = remote;
        a.next_send_psn = abi::Psn{send_psn};
        a.next_receive_psn = abi::Psn{receive_psn};
        for (const auto state : {QpState::init, QpState::rtr, QpState::rts})
            hca.modify_qp(object, a, state, at);
    }

    /// Writes the WQE into the ring and moves the counter, without a doorbell.
    void post(TestQp& qp, const Post& wr) {
        using namespace abi::prm;
        std::array<std::byte, 1024> wqe{};
        std::size_t at = 16;
        const auto tail = [&] { return std::span(wqe).subspan(at); };
        if (wr.opcode != WqeOpcode::send && wr.opcode != WqeOpcode::send_imm && wr.opcode != WqeOpcode::nop) {
            abi::View<WqeRaddr>(tail()).set<"raddr">(wr.remote).set<"rkey">(wr.rkey.value);
            at += 16;
        }
        if (wr.opcode == WqeOpcode::atomic_cs || wr.opcode == WqeOpcode::atomic_fa) {
            abi::View<WqeAtomic>(tail()).set<"swap_add">(wr.swap_or_add).set<"compare">(wr.compare);
            at += 16;
        }
        if (!wr.inline_data.empty()) {
            abi::View<WqeInline>(tail()).set<"inline">(1).set<"byte_count">(static_cast<std::uint32_t>(wr.inline_data.size()));
            std::ranges::copy(wr.inline_data, wqe.begin() + static_cast<std::ptrdiff_t>(at) + 4);
            at += (4 + wr.inline_data.size() + 15) / 16 * 16;
        }
        for (const auto& sge : wr.sges) {
            abi::View<WqeData>(tail()).set<"byte_count">(sge.length).set<"lkey">(sge.key.value).set<"addr">(sge.address);
            at += 16;
        }
        abi::View<WqeCtrl>(std::span<std::byte>(wqe))
            .set<"wqe_index">(qp.sq_producer)
            .set<"opcode">(wr.opcode)
            .set<"qpn">(qp.number.value)
            .set<"ds">(static_cast<std::uint32_t>(at / 16))
            .set<"fm">(wr.fence)
            .set<"ce">(wr.signalled ? CompletionEvent::always : CompletionEvent::on_error)
            .set<"se">(wr.solicited)
            .set<"imm">(wr.immediate);
        for (std::size_t block = 0; block * 64 < at; ++block, ++qp.sq_producer)
            dma.poke(sq_address(qp, qp.sq_producer), std::span(wqe).subspan(block * 64, 64));
        write_be32(qp.record + 4, qp.sq_producer);
    }
    std::uint64_t sq_address(const TestQp& qp, std::uint16_t index) const {
        return qp.buffer + (1ull << (TestQp::log_rq + TestQp::log_stride)) + (index & ((1u << TestQp::log_sq) - 1)) * 64ull;
    }
    void ring(const TestQp& qp, Time at) {
        std::array<std::byte, 8> bytes{};
        abi::store<std::uint32_t, abi::Endian::big>(bytes.data() + 4, qp.number.value << 8);
        hca.write_uar(uar, 0x800, bytes, at);
    }
    void post_receive(TestQp& qp, const std::vector<Post::Sge>& sges) {
        std::array<std::byte, 1 << TestQp::log_stride> wqe{};
        for (std::size_t i = 0; i < sges.size(); ++i)
            abi::View<abi::prm::WqeData>(std::span(wqe).subspan(i * 16))
                .set<"byte_count">(sges[i].length)
                .set<"lkey">(sges[i].key.value)
                .set<"addr">(sges[i].address);
        if (sges.size() < wqe.size() / 16)
            abi::View<abi::prm::WqeData>(std::span(wqe).subspan(sges.size() * 16)).set<"lkey">(0x100);
        dma.poke(qp.buffer + (qp.rq_producer & ((1u << TestQp::log_rq) - 1)) * wqe.size(), wqe);
        write_be32(qp.record, ++qp.rq_producer);
    }
    /// The next completion, if software owns it; consumes it.
    std::optional<abi::Block<abi::prm::Cqe64>> poll(TestCq& cq, unsigned log_size = TestCq::log_size) {
        abi::Block<abi::prm::Cqe64> cqe;
        dma.peek(cq.buffer + (cq.consumer & ((1u << log_size) - 1)) * 64, cqe.bytes);
        const auto owner = cq.consumer >> log_size & 1;
        if (cqe.view().get<"opcode">() == abi::prm::CqeOpcode::invalid || cqe.view().get<"owner">() != owner)
            return std::nullopt;
        write_be32(cq.record, ++cq.consumer & 0xffffff);
        return cqe;
    }
    void write_be32(std::uint64_t address, std::uint32_t value) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, abi::Endian::big>(bytes.data(), value);
        dma.poke(address, bytes);
    }
    void fill(std::uint64_t address, std::size_t length, unsigned seed) {
        std::vector<std::byte> bytes(length);
        for (std::size_t i = 0; i < length; ++i)
            bytes[i] = static_cast<std::byte>((i * 31 + seed * 7 + i / 251) & 0xff);
        dma.poke(address, bytes);
    }

    static constexpr abi::Eqn eqn{1};
    model::port::MemoryDma dma;
    InterruptLog interrupts;
    EventLog events;
    std::uint64_t eq_buffer = 0;
    model::hca::Hca hca;

private:
    std::uint64_t next_ = 0x100000;
    std::uint32_t next_number_ = 0x40;
};

/// Node a and node b on one cable, with one connected pair of queue pairs.
class HcaPair {
public:
    static model::hca::HcaConfig untimed() {
        model::hca::HcaConfig config;
        config.timed = false;
        return config;
    }
    static model::net::LinkConfig clean() {
        model::net::LinkConfig config;
        config.timed = false;
        return config;
    }
    explicit HcaPair(model::net::LinkConfig link_config = clean(), model::hca::HcaConfig config = untimed())
        : link(link_config, clock, {}), a(config, clock, link.end(0), 1), b(config, clock, link.end(1), 2) {
        link.attach(0, a.hca);
        link.attach(1, b.hca);
        for (auto* node : {&a, &b})
            node->make_eq();
        a_cq = a.make_cq();
        b_cq = b.make_cq();
        a_qp = a.make_qp(a.attributes(a_cq));
        b_qp = b.make_qp(b.attributes(b_cq));
    }
    /// Brings both queue pairs to RTS.
    void connect(std::uint32_t psn = 100) {
        a.connect(a_qp, b_qp.number, psn, psn + 5000, clock.now());
        b.connect(b_qp, a_qp.number, psn + 5000, psn, clock.now());
    }
    void ring() {
        a.ring(a_qp, clock.now());
        settle();
    }
    /// Lets everything happen that needs no time.
    void settle() { link.pump(clock.now()); }
    /// Lets time pass until nothing is due any more, or `limit` is reached.
    void run(Time limit = 10s) {
        settle();
        while (clock.next() <= limit) {
            const auto now = std::max(clock.next(), clock.now());
            clock.set(now);
            link.wake(now);
            a.hca.wake(now);
            b.hca.wake(now);
            settle();
        }
    }

    TestClock clock;
    model::net::Link link;
    Node a, b;
    TestCq a_cq, b_cq;
    TestQp a_qp, b_qp;
};

} // namespace harness
