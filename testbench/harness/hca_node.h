// One host without SystemC: a memory, an HCA core, and the test in the parts of firmware and driver. Buffers are laid out by
// a bump allocator; queues are rings in that memory; regions have guards around them that say whether anybody wrote there.
#pragma once

#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/eqe.h"
#include "abi/prm/wqe.h"
#include "model/hca/hca.h"
#include "model/port/memory_dma.h"
#include "testbench/harness/address.h"
#include "testbench/harness/test_ports.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace harness {

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
    struct Address {
        abi::Qpn destination;
        std::uint32_t q_key = 0;
        std::uint8_t source_index = 0;
        std::uint16_t node = 2; ///< number of the node that it is on
    };
    std::optional<Address> datagram{};     ///< datagram services: where it goes
    std::optional<std::uint32_t> xrc_srq{}; ///< XRC
};

/// One queue pair and the rings behind it, as a driver would keep them.
struct TestQp {
    abi::Qpn number{};
    std::uint64_t buffer = 0, record = 0;
    std::uint16_t sq_producer = 0, rq_producer = 0;
    unsigned log_sq = 6, log_rq = 6, log_stride = 6;
};

/// A shared receive queue as a driver keeps it: a list of WQEs, the free ones appended at its end.
struct TestSrq {
    std::uint32_t number = 0;
    std::uint64_t buffer = 0, record = 0;
    std::uint16_t producer = 0;
    unsigned log_size = 3, log_stride = 6;
};

struct TestCq {
    abi::Cqn number{};
    std::uint64_t buffer = 0, record = 0;
    std::uint32_t consumer = 0;
    unsigned log_size = 7, log_entry = 6;
};

/// A piece of memory with a key for exactly its bytes, and guards on both sides.
struct Region {
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    abi::Key key{};
    Post::Sge sge() const { return {address, length, key}; }
    Post::Sge sge(std::uint32_t offset, std::uint32_t bytes) const { return {address + offset, bytes, key}; }
};

/// A completion as a driver reads it.
struct Done {
    abi::prm::CqeOpcode opcode{};
    abi::prm::CqeSyndrome syndrome{};
    std::uint8_t vendor = 0;
    std::uint32_t qpn = 0;
    std::uint16_t index = 0;
    std::uint8_t send_opcode = 0;
    std::uint32_t bytes = 0, immediate = 0;
    bool solicited = false;
    bool is_ok() const { return opcode != abi::prm::CqeOpcode::req_err && opcode != abi::prm::CqeOpcode::resp_err; }
};

class Node {
public:
    static constexpr std::uint32_t uar = 20;
    static constexpr abi::Pd pd{7};
    static constexpr abi::Eqn eqn{1};
    static constexpr unsigned log_eq = 8;
    static constexpr std::uint32_t guard = 64;

    Node(const model::hca::HcaConfig& config, TestClock& clock, model::port::Wire& wire, std::uint16_t source,
         model::port::Wire* inside = nullptr)
        : hca(config, {dma, clock, wire, interrupts, inside}, traces::Events{&events, source}),
          peer(source == 1 ? 2 : 1) {
        settle_in(hca.identity(), source);
    }

    // --- memory ---
    std::uint64_t allocate(std::uint64_t bytes) {
        const auto at = next_;
        next_ += (bytes + 0xfff) & ~0xfffull;
        return at;
    }
    abi::BusAddress bus(std::uint64_t address) const { return abi::BusAddress{address}; }
    void write_be32(std::uint64_t address, std::uint32_t value) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, abi::Endian::big>(bytes.data(), value);
        dma.poke(address, bytes);
    }
    void write_be64(std::uint64_t address, std::uint64_t value) {
        std::array<std::byte, 8> bytes;
        abi::store<std::uint64_t, abi::Endian::big>(bytes.data(), value);
        dma.poke(address, bytes);
    }
    std::uint64_t read_be64(std::uint64_t address) { return abi::load<std::uint64_t, abi::Endian::big>(dma.peek(address, 8).data()); }
    void fill(std::uint64_t address, std::size_t length, unsigned seed) {
        std::vector<std::byte> bytes(length);
        for (std::size_t i = 0; i < length; ++i)
            bytes[i] = static_cast<std::byte>((i * 31 + seed * 7 + i / 251) & 0xff);
        dma.poke(address, bytes);
    }
    /// A region that starts in the middle of a page, so that pages are crossed wherever they can be. Seed 0: all zero.
    Region make_region(std::uint32_t length, unsigned seed = 0, model::hca::tpt::Rights rights = all_rights) {
        const auto base = allocate(std::uint64_t{length} + 0x2000);
        const Region region{base + 0xdc8, length, make_mr(base + 0xdc8, std::max(length, 1u), rights)};
        dma.poke(region.address - guard, std::vector(guard, std::byte{0xa5}));
        dma.poke(region.address + length, std::vector(guard, std::byte{0xa5}));
        if (seed != 0)
            fill(region.address, length, seed);
        return region;
    }
    std::vector<std::byte> bytes(const Region& region) { return dma.peek(region.address, region.length); }
    std::vector<std::byte> bytes(const Region& region, std::uint32_t offset, std::uint32_t length) { return dma.peek(region.address + offset, length); }
    bool has_guards(const Region& region) {
        const std::vector<std::byte> untouched(guard, std::byte{0xa5});
        return dma.peek(region.address - guard, guard) == untouched && dma.peek(region.address + region.length, guard) == untouched;
    }

    // --- objects ---
    static constexpr model::hca::tpt::Rights all_rights{true, true, true, true, true};
    TestCq make_cq(TestCq cq = {}, bool overrun_ignore = false) {
        cq.number = abi::Cqn{next_number_++};
        cq.buffer = allocate(std::uint64_t{1} << (cq.log_size + cq.log_entry));
        cq.record = allocate(8);
        for (std::uint64_t i = 1; i <= 1ull << cq.log_size; ++i)
            dma.poke(cq.buffer + (i << cq.log_entry) - 1, std::array{std::byte{0xf1}});
        model::hca::completion::Attributes a;
        a.buffer = {{bus(cq.buffer)}, std::max(16u, cq.log_size + cq.log_entry), 0};
        a.log_size = static_cast<std::uint8_t>(cq.log_size);
        a.log_entry_bytes = static_cast<std::uint8_t>(cq.log_entry);
        a.overrun_ignore = overrun_ignore;
        a.doorbell_record = bus(cq.record);
        a.uar_page = uar;
        a.eqn = eqn;
        hca.create_cq(cq.number, a);
        return cq;
    }
    void make_eq() {
        eq_buffer = allocate(64ull << log_eq);
        for (std::uint64_t i = 0; i < 1ull << log_eq; ++i)
            dma.poke(eq_buffer + i * 64 + 63, std::array{std::byte{1}});
        model::hca::event::Attributes a;
        a.buffer = {{bus(eq_buffer)}, 16, 0};
        a.log_size = log_eq;
        a.vector = 3;
        a.uar_page = uar;
        a.events = ~0ull;
        hca.event_queues().create(eqn, a);
    }
    model::hca::queue::QueuePairAttributes attributes(const TestCq& cq) {
        model::hca::queue::QueuePairAttributes a;
        a.pd = pd;
        a.mtu = 3; // 1024
        a.log_rq_size = a.log_rq_stride = a.log_sq_size = 6;
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
        TestQp qp{.number = abi::Qpn{next_number_++}, .log_sq = a.log_sq_size, .log_rq = a.log_rq_size, .log_stride = a.log_rq_stride};
        const auto size = (64ull << qp.log_sq) + std::max<std::uint64_t>(64, std::uint64_t{1} << (qp.log_rq + qp.log_stride));
        qp.buffer = allocate(size);
        qp.record = allocate(8);
        a.buffer = {{bus(qp.buffer)}, 24, 0};
        a.doorbell_record = bus(qp.record);
        hca.create_qp(qp.number, a);
        return qp;
    }
    /// A key of the test's own making.
    abi::Key make_key(model::hca::tpt::MkeyAttributes a, std::vector<std::uint64_t> mtt) {
        const auto index = next_number_++;
        hca.mkeys().create(index, a, std::move(mtt));
        return abi::Key{index, a.variant};
    }
    /// A key for [address, address + length) with 4 KiB pages, identity mapped.
    abi::Key make_mr(std::uint64_t address, std::uint64_t length, model::hca::tpt::Rights rights = all_rights) {
        model::hca::tpt::MkeyAttributes a;
        a.variant = 0x5a;
        a.rights = rights;
        a.pd = pd;
        a.start = address;
        a.length = length;
        std::vector<std::uint64_t> mtt;
        for (auto page = address & ~0xfffull; page < address + length; page += 0x1000)
            mtt.push_back(page);
        return make_key(a, std::move(mtt));
    }
    model::hca::queue::QueuePair& core(const TestQp& qp) { return *hca.queue_pairs().find(qp.number.value); }
    model::hca::completion::CompletionQueue& core(const TestCq& cq) { return *hca.completion_queues().find(cq.number.value); }
    model::hca::event::EventQueue& core_eq() { return *hca.event_queues().table().find(eqn.value); }
    model::hca::QCounters& q_counters() { return *hca.q_counters().find(0); }
    void connect(const TestQp& qp, abi::Qpn remote, std::uint32_t send_psn, std::uint32_t receive_psn, Time at) {
        using model::hca::queue::QpState;
        auto& object = core(qp);
        auto a = object.attributes;
        a.remote_qpn = remote;
        a.next_send_psn = abi::Psn{send_psn};
        a.next_receive_psn = abi::Psn{receive_psn};
        lead_to(a.path, peer);
        for (const auto state : {QpState::init, QpState::rtr, QpState::rts})
            hca.modify_qp(object, a, state, at, state == QpState::rtr);
    }
    void modify(const TestQp& qp, model::hca::queue::QpState to, Time at) { hca.modify_qp(core(qp), core(qp).attributes, to, at); }

    // --- send queue ---
    /// The bytes of a WQE as a driver would write them, before they go into a ring.
    static std::vector<std::byte> encode(const Post& wr, abi::Qpn number, std::uint16_t index) {
        using namespace abi::prm;
        std::vector<std::byte> wqe(1024);
        std::size_t at = 16;
        const auto tail = [&] { return std::span(wqe).subspan(at); };
        if (wr.datagram) {
            abi::View<WqeAv>(tail())
                .set<"q_key">(wr.datagram->q_key)
                .set<"extended">(1)
                .set<"dqp_dct">(wr.datagram->destination.value)
                .set<"src_addr_index">(wr.datagram->source_index)
                .set<"rmac">(mac_of_node(wr.datagram->node))
                .set<"rgid_rip">(gid_of_node(wr.datagram->node));
            at += WqeAv::size;
        }
        if (wr.xrc_srq) {
            abi::View<WqeXrc>(tail()).set<"xrc_srqn">(*wr.xrc_srq);
            at += WqeXrc::size;
        }
        if (wr.opcode != WqeOpcode::send && wr.opcode != WqeOpcode::send_imm && wr.opcode != WqeOpcode::send_inval && wr.opcode != WqeOpcode::nop) {
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
        abi::View<WqeCtrl>(std::span(wqe))
            .set<"wqe_index">(index)
            .set<"opcode">(wr.opcode)
            .set<"qpn">(number.value)
            .set<"ds">(static_cast<std::uint32_t>(at / 16))
            .set<"fm">(wr.fence)
            .set<"ce">(wr.signalled ? CompletionEvent::always : CompletionEvent::on_error)
            .set<"se">(wr.solicited)
            .set<"imm">(wr.immediate);
        wqe.resize((at + 63) / 64 * 64);
        return wqe;
    }
    /// Writes the WQE into the ring and moves the counter, without a doorbell. Returns its index.
    std::uint16_t post(TestQp& qp, const Post& wr) { return post_bytes(qp, encode(wr, qp.number, qp.sq_producer)); }
    std::uint16_t post_bytes(TestQp& qp, std::span<const std::byte> wqe) {
        const auto index = qp.sq_producer;
        for (std::size_t at = 0; at < wqe.size(); at += 64)
            dma.poke(sq_address(qp, qp.sq_producer++), wqe.subspan(at, std::min<std::size_t>(64, wqe.size() - at)));
        write_be32(qp.record + 4, qp.sq_producer);
        return index;
    }
    std::uint64_t sq_address(const TestQp& qp, std::uint16_t index) const {
        return qp.buffer + core_sq_offset(qp) + (index & ((1u << qp.log_sq) - 1)) * 64ull;
    }
    void ring(const TestQp& qp, Time at) {
        std::array<std::byte, 8> bytes{};
        abi::store<std::uint32_t, abi::Endian::big>(bytes.data() + 4, qp.number.value << 8);
        hca.write_uar(uar, 0x800, bytes, at);
    }

    // --- receive queue ---
    void post_receive(TestQp& qp, const std::vector<Post::Sge>& sges) {
        std::vector<std::byte> wqe(std::size_t{1} << qp.log_stride);
        for (std::size_t i = 0; i < sges.size(); ++i)
            abi::View<abi::prm::WqeData>(std::span(wqe).subspan(i * 16))
                .set<"byte_count">(sges[i].length)
                .set<"lkey">(sges[i].key.value)
                .set<"addr">(sges[i].address);
        if (sges.size() < wqe.size() / 16)
            abi::View<abi::prm::WqeData>(std::span(wqe).subspan(sges.size() * 16)).set<"lkey">(0x100);
        dma.poke(qp.buffer + (qp.rq_producer & ((1u << qp.log_rq) - 1)) * wqe.size(), wqe);
        write_be32(qp.record, ++qp.rq_producer);
    }

    /// Entry i is followed by i + `step`, modulo the size: a driver's list need not be in order.
    TestSrq make_srq(model::hca::queue::SharedReceiveQueueAttributes a = {}, std::uint16_t step = 1) {
        TestSrq srq{.number = next_number_++};
        srq.buffer = allocate(1ull << (srq.log_size + srq.log_stride));
        srq.record = allocate(8);
        for (std::uint16_t i = 0; i < 1u << srq.log_size; ++i) {
            std::array<std::byte, 16> head{};
            abi::View<abi::prm::WqeSrqNext>(std::span(head)).set<"next_wqe_index">(static_cast<std::uint16_t>((i + step) & ((1u << srq.log_size) - 1)));
            dma.poke(srq.buffer + (std::uint64_t{i} << srq.log_stride), head);
        }
        a.pd = pd;
        a.log_size = static_cast<std::uint8_t>(srq.log_size);
        a.log_stride = static_cast<std::uint8_t>(srq.log_stride);
        a.doorbell_record = bus(srq.record);
        a.buffer = {{bus(srq.buffer)}, 24, 0};
        hca.create_srq(srq.number, std::move(a));
        return srq;
    }
    /// Puts segments into entry `index` and moves the counter.
    void post_receive(TestSrq& srq, std::uint16_t index, const std::vector<Post::Sge>& sges) {
        std::vector<std::byte> wqe((std::size_t{1} << srq.log_stride) - 16);
        for (std::size_t i = 0; i < sges.size(); ++i)
            abi::View<abi::prm::WqeData>(std::span(wqe).subspan(i * 16))
                .set<"byte_count">(sges[i].length)
                .set<"lkey">(sges[i].key.value)
                .set<"addr">(sges[i].address);
        if (sges.size() < wqe.size() / 16)
            abi::View<abi::prm::WqeData>(std::span(wqe).subspan(sges.size() * 16)).set<"lkey">(0x100);
        dma.poke(srq.buffer + (std::uint64_t{index} << srq.log_stride) + 16, wqe);
        write_be32(srq.record, ++srq.producer);
    }

    // --- completions and events ---
    /// The next completion, if software owns it; consumes it.
    std::optional<abi::Block<abi::prm::Cqe64>> poll(TestCq& cq) {
        abi::Block<abi::prm::Cqe64> cqe;
        const auto entry = std::uint64_t{cq.consumer & ((1u << cq.log_size) - 1)} << cq.log_entry;
        dma.peek(cq.buffer + entry + (1ull << cq.log_entry) - 64, cqe.bytes);
        const auto owner = cq.consumer >> cq.log_size & 1;
        if (cqe.view().get<"opcode">() == abi::prm::CqeOpcode::invalid || cqe.view().get<"owner">() != owner)
            return std::nullopt;
        write_be32(cq.record, ++cq.consumer & 0xffffff);
        return cqe;
    }
    /// Everything that has completed so far, oldest first.
    std::vector<Done> drain(TestCq& cq) {
        std::vector<Done> all;
        while (auto cqe = poll(cq)) {
            const auto v = cqe->view();
            Done done{.opcode = v.get<"opcode">(), .qpn = v.get<"qpn">(), .index = v.get<"wqe_counter">(), .send_opcode = static_cast<std::uint8_t>(v.get<"sop">()), .solicited = v.get<"se">() != 0};
            if (done.is_ok()) {
                done.bytes = v.get<"byte_cnt">();
                done.immediate = v.get<"imm_inval_pkey">();
            } else {
                const abi::ConstView<abi::prm::ErrCqe> error{cqe->bytes};
                done.syndrome = error.get<"syndrome">();
                done.vendor = error.get<"vendor_err_synd">();
            }
            all.push_back(done);
        }
        return all;
    }
    /// `sequence`: events of this queue that the driver has seen.
    void arm(const TestCq& cq, bool solicited_only, Time at, std::uint32_t sequence = 0) {
        using namespace abi::prm;
        abi::Block<CqDoorbell> doorbell;
        doorbell.view()
            .set<"cmd_sn">(sequence)
            .set<"cmd">(solicited_only ? ArmCommand::solicited : ArmCommand::next)
            .set<"ci">(cq.consumer)
            .set<"cqn">(cq.number.value);
        hca.write_uar(uar, uar_cq_doorbell, doorbell.bytes, at);
    }
    /// The next event, if software owns it.
    std::optional<abi::Block<abi::prm::Eqe>> poll_event() {
        abi::Block<abi::prm::Eqe> eqe;
        dma.peek(eq_buffer + (eq_consumer & ((1u << log_eq) - 1)) * 64ull, eqe.bytes);
        if (eqe.view().get<"owner">() != (eq_consumer >> log_eq & 1))
            return std::nullopt;
        ++eq_consumer;
        return eqe;
    }
    /// Types of all events so far, with the queue or CQ number that each carries at 0x38 (0x20 for a CQ error).
    std::vector<std::pair<abi::prm::EventType, std::uint32_t>> drain_events() {
        std::vector<std::pair<abi::prm::EventType, std::uint32_t>> all;
        while (const auto eqe = poll_event()) {
            const auto type = eqe->view().get<"event_type">();
            const auto at = type == abi::prm::EventType::cq_error ? 0x20 : 0x38;
            all.emplace_back(type, abi::load<std::uint32_t, abi::Endian::big>(eqe->bytes.data() + at) & 0xffffff);
        }
        return all;
    }
    void ring_eq(std::uint32_t consumer, bool arm, Time at) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, abi::Endian::big>(bytes.data(), eqn.value << 24 | (consumer & 0xffffff));
        hca.write_uar(uar, arm ? 0x40 : 0x48, bytes, at);
    }

    model::port::MemoryDma dma;
    InterruptLog interrupts;
    EventLog events;
    std::uint64_t eq_buffer = 0;
    std::uint32_t eq_consumer = 0;
    model::hca::Hca hca;
    std::uint16_t peer; ///< number of the node that connections lead to

private:
    std::uint64_t core_sq_offset(const TestQp& qp) const { return std::max<std::uint64_t>(64, std::uint64_t{1} << (qp.log_rq + qp.log_stride)); }

    std::uint64_t next_ = 0x100000;
    std::uint32_t next_number_ = 0x40;
};

} // namespace harness
