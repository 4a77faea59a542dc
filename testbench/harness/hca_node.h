// One host without SystemC: a memory, an HCA core, and the test in the parts of firmware and driver. Buffers are laid
// out by a bump allocator; queues are rings in that memory; regions have guards around them that say whether anybody
// wrote there.
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
    std::optional<Address> datagram{};      ///< datagram services: where it goes
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
    std::uint8_t path_bits = 0;
    bool is_ok() const { return opcode != abi::prm::CqeOpcode::req_err && opcode != abi::prm::CqeOpcode::resp_err; }
};

/// Nobody listens to events.
struct Quiet {};

class Node {
public:
    static constexpr std::uint32_t uar = 20;
    static constexpr abi::Pd pd{7};
    static constexpr abi::Eqn eqn{1};
    static constexpr unsigned log_eq = 8;
    static constexpr std::uint32_t guard = 64;

    /// Its events go to `sink`, which other nodes may share, or into its own log.
    Node(const model::hca::HcaConfig& config, TestClock& clock, model::port::Wire& wire, std::uint16_t source,
         model::port::Wire* inside = nullptr, traces::Sink* sink = nullptr);
    Node(const model::hca::HcaConfig& config, TestClock& clock, model::port::Wire& wire, std::uint16_t source, Quiet);
    ~Node();

    // --- memory ---
    std::uint64_t allocate(std::uint64_t bytes);
    abi::BusAddress bus(std::uint64_t address) const { return abi::BusAddress{address}; }
    void write_be32(std::uint64_t address, std::uint32_t value);
    void write_be64(std::uint64_t address, std::uint64_t value);
    std::uint64_t read_be64(std::uint64_t address) {
        return abi::load<std::uint64_t, abi::Endian::big>(dma.peek(address, 8).data());
    }
    void fill(std::uint64_t address, std::size_t length, unsigned seed);
    /// A region that starts in the middle of a page, so that pages are crossed wherever they can be. Seed 0: all zero.
    Region make_region(std::uint32_t length, unsigned seed = 0, model::hca::tpt::Rights rights = all_rights);
    std::vector<std::byte> bytes(const Region& region) { return dma.peek(region.address, region.length); }
    std::vector<std::byte> bytes(const Region& region, std::uint32_t offset, std::uint32_t length) {
        return dma.peek(region.address + offset, length);
    }
    bool has_guards(const Region& region);

    // --- objects ---
    static constexpr model::hca::tpt::Rights all_rights{true, true, true, true, true};
    TestCq make_cq(TestCq cq = {}, bool overrun_ignore = false);
    void make_eq();
    model::hca::queue::QueuePairAttributes attributes(const TestCq& cq);
    TestQp make_qp(model::hca::queue::QueuePairAttributes a);
    /// A key of the test's own making.
    abi::Key make_key(model::hca::tpt::MkeyAttributes a, std::vector<std::uint64_t> mtt);
    /// A key for [address, address + length) with 4 KiB pages, identity mapped.
    abi::Key make_mr(std::uint64_t address, std::uint64_t length, model::hca::tpt::Rights rights = all_rights);
    model::hca::queue::QueuePair& core(const TestQp& qp) { return *hca.queue_pairs().find(qp.number.value); }
    model::hca::queue::CompletionQueue& core(const TestCq& cq) {
        return *hca.completion_queues().find(cq.number.value);
    }
    model::hca::event::EventQueue& core_eq() { return *hca.event_queues().table().find(eqn.value); }
    model::hca::QCounters& q_counters() { return *hca.q_counters().find(0); }
    void connect(const TestQp& qp, abi::Qpn remote, std::uint32_t send_psn, std::uint32_t receive_psn, Time at);
    void modify(const TestQp& qp, model::hca::queue::QpState to, Time at) {
        hca.modify_qp(core(qp), core(qp).attributes, to, at);
    }

    // --- send queue ---
    /// The bytes of a WQE as a driver would write them, before they go into a ring.
    static std::vector<std::byte> encode(const Post& wr, abi::Qpn number, std::uint16_t index);
    /// Writes the WQE into the ring and moves the counter, without a doorbell. Returns its index.
    std::uint16_t post(TestQp& qp, const Post& wr) { return post_bytes(qp, encode(wr, qp.number, qp.sq_producer)); }
    std::uint16_t post_bytes(TestQp& qp, std::span<const std::byte> wqe);
    std::uint64_t sq_address(const TestQp& qp, std::uint16_t index) const;
    void ring(const TestQp& qp, Time at);

    // --- receive queue ---
    void post_receive(TestQp& qp, const std::vector<Post::Sge>& sges);

    /// Entry i is followed by i + `step`, modulo the size: a driver's list need not be in order.
    TestSrq make_srq(model::hca::queue::SharedReceiveQueueAttributes a = {}, std::uint16_t step = 1);
    /// Puts segments into entry `index` and moves the counter.
    void post_receive(TestSrq& srq, std::uint16_t index, const std::vector<Post::Sge>& sges);

    // --- completions and events ---
    /// The next completion, if software owns it; consumes it.
    std::optional<abi::Block<abi::prm::Cqe64>> poll(TestCq& cq);
    /// Everything that has completed so far, oldest first.
    std::vector<Done> drain(TestCq& cq);
    /// `sequence`: events of this queue that the driver has seen.
    void arm(const TestCq& cq, bool solicited_only, Time at, std::uint32_t sequence = 0);
    /// The next event, if software owns it.
    std::optional<abi::Block<abi::prm::Eqe>> poll_event();
    /// Types of all events so far, with the queue or CQ number that each carries at 0x38 (0x20 for a CQ error).
    std::vector<std::pair<abi::prm::EventType, std::uint32_t>> drain_events();
    void ring_eq(std::uint32_t consumer, bool arm, Time at);

    model::port::MemoryDma dma;
    InterruptLog interrupts;
    EventLog events;
    std::uint64_t eq_buffer = 0;
    std::uint32_t eq_consumer = 0;
    model::hca::Hca hca;
    std::uint16_t peer; ///< number of the node that connections lead to

private:
    Node(const model::hca::HcaConfig& config, TestClock& clock, model::port::Wire& wire, model::port::Wire* inside,
         std::uint16_t source, traces::Sink* sink);
    std::uint64_t core_sq_offset(const TestQp& qp) const {
        return std::max<std::uint64_t>(64, std::uint64_t{1} << (qp.log_rq + qp.log_stride));
    }

    std::uint64_t next_ = 0x100000;
    std::uint32_t next_number_ = 0x40;
};

} // namespace harness
