// Two HCAs on a cable whose software posts anything: bytes in the work queues, counters in the doorbell records, depths
// of the queues. Nothing may crash or hang; the device reads and writes only what its keys and queues allow; what it
// took from a send queue completes in order or is flushed; and after a reset the pair does a clean WRITE.
#include "testbench/fuzz/require.h"
#include "testbench/fuzz/tape.h"
#include "testbench/harness/hca_pair.h"

#include <algorithm>
#include <deque>

using namespace harness;
using abi::prm::EventType;
using model::hca::queue::QpState;
using model::port::MemoryDma;
using model::port::Purpose;

namespace {

using fuzz::require;
using fuzz::Tape;

/// A send WQE that the device took, as its first 16 bytes had it when the doorbell rang.
struct Taken {
    std::uint16_t index = 0;
    bool is_signalled = false;
};

/// One side: its memory and its queues, and what is known about them.
struct Side {
    Side(Node& owner, TestCq& completions, TestQp& queues) : node(owner), cq(completions), qp(queues) {
        constexpr model::hca::tpt::Rights local{true, true, false, false, false},
            read_only{true, false, true, false, false};
        regions = {node.make_region(9000, 1), node.make_region(3000, 2, local), node.make_region(2000, 3, read_only)};
    }

    Node& node;
    TestCq& cq;
    TestQp& qp;
    std::array<Region, 3> regions; ///< every right; no remote rights; no write rights
    std::deque<Taken> taken;       ///< since the last look at the completions
    bool is_known = true;          ///< nothing was posted over what the device took meanwhile
    bool saw_error = false;        ///< a send failed: everything after it is flushed
    bool saw_overrun = false;      ///< the CQ error is out
};

model::hca::HcaConfig small() {
    auto config = HcaPair::untimed();
    config.uar_pages = 32;
    config.mkey_cache_entries = config.mtt_cache_entries = 8;
    return config;
}

class Bench {
public:
    explicit Bench(Tape& tape)
        : tape_(tape), pair_(HcaPair::clean(), small()),
          sides_{Side(pair_.a, pair_.a_cq, pair_.a_qp), Side(pair_.b, pair_.b_cq, pair_.b_qp)} {
        make_queues();
    }
    void step() {
        const auto choice = tape_.take<std::uint8_t>();
        auto& side = sides_[choice & 1];
        switch (choice / 2 % 10) {
        case 0: return post_bytes(side);
        case 1:
        case 2: return post_wqe(side);
        case 3: return ring(side, side.qp.sq_producer);
        case 4: return ring(side, tape_.take<std::uint32_t>());
        case 5: return post_receive(side);
        case 6: return side.node.write_be32(side.qp.record, tape_.take<std::uint16_t>());
        case 7: return run_and_check();
        case 8: return side.node.arm(side.cq, (choice & 0x80) != 0, pair_.clock.now(), choice / 20u);
        default: return change_state(side);
        }
    }
    /// What every input must leave possible.
    void finish() {
        run_and_check();
        reset();
        auto& [a, b] = sides_;
        const auto source = a.node.make_region(3000, 9), target = b.node.make_region(3000);
        pair_.send({.sges = {source.sge()}, .remote = target.address, .rkey = target.key});
        require(b.node.bytes(target) == a.node.bytes(source) && b.node.has_guards(target),
                "a WRITE after a reset does not arrive");
        const auto done = a.node.drain(a.cq);
        require(done.size() == 1 && done[0].is_ok() && b.node.drain(b.cq).empty(),
                "a WRITE after a reset does not complete once");
    }

private:
    void make_queues() {
        auto bits = tape_.take<std::uint32_t>();
        const auto take = [&bits](std::uint32_t values) {
            const auto value = bits % values;
            bits /= values;
            return static_cast<std::uint8_t>(value);
        };
        const auto log_message_max = static_cast<std::uint8_t>(12 + take(4)),
                   mtu = static_cast<std::uint8_t>(1 + take(5));
        for (auto& side : sides_) {
            const bool overrun_ignore = take(4) == 3;
            side.cq = side.node.make_cq({.log_size = take(8), .log_entry = 6u + take(2)}, overrun_ignore);
            auto attributes = side.node.attributes(side.cq);
            attributes.mtu = mtu;
            attributes.log_message_max = log_message_max;
            attributes.log_sq_size = take(7);
            attributes.log_rq_size = take(4);
            attributes.log_rq_stride = static_cast<std::uint8_t>(4 + take(6));
            attributes.log_reads_requester = take(3);
            attributes.retry_count = attributes.rnr_retry = 2;
            attributes.min_rnr_nak = 1;
            attributes.path.ack_timeout = 8; // 1 ms
            side.qp = side.node.make_qp(attributes);
            side.saw_overrun = false;
        }
        connect();
    }
    void connect() {
        for (auto& side : sides_)
            side.taken.clear(), side.is_known = true, side.saw_error = false;
        pair_.connect(0xffffff - 5010); // the other side passes the end of the sequence numbers
    }
    /// Both queue pairs through RST; with other queues when a CQ is lost.
    void reset() {
        for (auto& side : sides_)
            side.node.modify(side.qp, QpState::rst, pair_.clock.now());
        if (std::ranges::any_of(sides_, &Side::saw_overrun))
            return make_queues();
        for (auto& [node, cq, qp, regions, taken, is_known, saw_error, saw_overrun] : sides_) {
            qp.sq_producer = qp.rq_producer = 0;
            node.write_be64(qp.record, 0);
            cq.consumer = node.core(cq).producer;
            node.write_be32(cq.record, cq.consumer);
        }
        connect();
    }

    /// A scatter/gather element: as it stands on the tape, or with a key and an address that mean something.
    void repair_segment(std::span<std::byte> segment, const Side& side, std::uint8_t choice) {
        if (choice % 4 == 3)
            return;
        const auto& region = side.regions[choice % 4];
        const abi::View<abi::prm::WqeData> data(segment);
        const auto limit = region.length + 8; // a little beyond the end too
        const std::uint64_t offset = data.get<"addr">() % limit, length = data.get<"byte_count">() % limit;
        const bool is_at_end = (choice & 0x40) != 0 && length < region.length;
        data.set<"lkey">(region.key.value)
            .set<"addr">(region.address + (is_at_end ? region.length - length + offset % 3 : offset))
            .set<"byte_count">(static_cast<std::uint32_t>(length));
    }
    /// Software is about to post. Over WQEs that the device has not done yet, it will see what it will see.
    void touch(Side& side) { side.is_known = side.is_known && side.taken.empty(); }
    void post_bytes(Side& side) {
        touch(side);
        std::array<std::byte, 256> bytes{};
        const auto wqe = std::span(bytes).first(64u * (1 + tape_.take<std::uint8_t>() % 4));
        tape_.fill(wqe);
        side.node.post_bytes(side.qp, wqe);
    }
    /// A WQE that is nearly right: number and index match, keys and addresses may.
    void post_wqe(Side& side) {
        using namespace abi::prm;
        constexpr std::array opcodes{WqeOpcode::nop,        WqeOpcode::send,           WqeOpcode::send_imm,
                                     WqeOpcode::rdma_write, WqeOpcode::rdma_write_imm, WqeOpcode::rdma_read,
                                     WqeOpcode::atomic_cs,  WqeOpcode::atomic_fa};
        touch(side);
        std::array<std::byte, 1024> bytes{};
        const auto opcode = opcodes[tape_.take<std::uint8_t>() % opcodes.size()];
        const auto size = tape_.take<std::uint8_t>() % 64u, flags = std::uint32_t{tape_.take<std::uint8_t>()};
        const bool has_remote =
            opcode >= WqeOpcode::rdma_write && opcode != WqeOpcode::send && opcode != WqeOpcode::send_imm;
        const bool has_atomic = opcode == WqeOpcode::atomic_cs || opcode == WqeOpcode::atomic_fa;
        const std::span wqe(bytes);
        std::size_t at = 16;
        if (has_remote) {
            const auto& region = sides_[&side == &sides_[0]].regions[flags & 3 ? 0 : 2];
            const auto place = tape_.take<std::uint16_t>();
            const auto offset = place & 0x8000 ? region.length - place % 64 : place % (region.length + 8);
            abi::View<WqeRaddr>(wqe.subspan(at))
                .set<"raddr">(region.address + (has_atomic ? (offset & ~7u) : offset))
                .set<"rkey">(region.key.value);
            at += 16;
        }
        if (has_atomic) {
            tape_.fill(wqe.subspan(at, 8));
            at += 16;
        }
        while (at + 16 <= size * 16) {
            const auto choice = tape_.take<std::uint8_t>();
            if (choice & 0x80) { // inline, perhaps beyond the end
                const auto length = tape_.take<std::uint8_t>();
                abi::View<WqeInline>(wqe.subspan(at)).set<"inline">(1).set<"byte_count">(length);
                at += (4u + length + 15) / 16 * 16;
            } else {
                const auto segment = wqe.subspan(at, 16);
                const auto length = tape_.take<std::uint16_t>();
                abi::View<WqeData>(segment)
                    .set<"byte_count">(has_atomic ? 8 : length)
                    .set<"addr">(tape_.take<std::uint16_t>())
                    .set<"lkey">(choice);
                repair_segment(segment, side, choice);
                at += 16;
            }
        }
        abi::View<WqeCtrl>(wqe)
            .set<"wqe_index">(side.qp.sq_producer)
            .set<"opcode">(opcode)
            .set<"qpn">(side.qp.number.value)
            .set<"ds">(size)
            .set<"fm">(static_cast<FenceMode>(flags >> 2 & 7))
            .set<"ce">(static_cast<CompletionEvent>(flags >> 5 & 3))
            .set<"se">(flags >> 7)
            .set<"imm">(flags);
        side.node.post_bytes(side.qp, wqe.first((size * 16 + 63) / 64 * 64));
    }
    void post_receive(Side& side) {
        auto& qp = side.qp;
        std::array<std::byte, 512> bytes{};
        const auto wqe = std::span(bytes).first(std::size_t{1} << qp.log_stride);
        const auto count = tape_.take<std::uint8_t>() % (wqe.size() / 16 + 1);
        for (std::size_t i = 0; i < count; ++i) {
            const auto choice = tape_.take<std::uint8_t>();
            const auto segment = wqe.subspan(i * 16, 16);
            const auto shape = tape_.take<std::uint32_t>();
            abi::View<abi::prm::WqeData>(segment)
                .set<"byte_count">(shape & 0xffff)
                .set<"addr">(shape >> 16)
                .set<"lkey">(choice);
            repair_segment(segment, side, choice);
        }
        if (count < wqe.size() / 16)
            abi::View<abi::prm::WqeData>(wqe.subspan(count * 16)).set<"lkey">(0x100);
        side.node.dma.poke(qp.buffer + (qp.rq_producer & ((1u << qp.log_rq) - 1)) * wqe.size(), wqe);
        side.node.write_be32(qp.record, ++qp.rq_producer);
    }

    /// Rings with this counter in the record, and notes what the device took.
    void ring(Side& side, std::uint32_t producer) {
        if (!side.taken.empty())
            run_and_check();
        const auto before = side.node.core(side.qp).requester.sends.producer;
        const auto count = static_cast<std::uint16_t>(producer - before);
        std::deque<Taken> posted;
        for (std::uint16_t at = 0; at < count && count <= 1u << side.qp.log_sq;) {
            const auto index = static_cast<std::uint16_t>(before + at);
            std::array<std::byte, 16> bytes;
            side.node.dma.peek(side.node.sq_address(side.qp, index), bytes);
            const abi::ConstView<abi::prm::WqeCtrl> ctrl{bytes};
            posted.push_back({index, ctrl.get<"ce">() >= abi::prm::CompletionEvent::always});
            at = static_cast<std::uint16_t>(at + std::max(1u, (ctrl.get<"ds">() + 3) / 4));
        }

        side.qp.sq_producer = static_cast<std::uint16_t>(producer);
        side.node.write_be32(side.qp.record + 4, producer);
        side.node.ring(side.qp, pair_.clock.now());

        const auto taken = static_cast<std::uint16_t>(side.node.core(side.qp).requester.sends.producer - before);
        require(taken == count || (taken == 0 && side.node.core(side.qp).state == QpState::err), "a doorbell is lost");
        if (taken != 0)
            side.taken = std::move(posted);
    }

    void change_state(Side& side) {
        const auto choice = tape_.take<std::uint8_t>() % 4;
        if (choice < 2)
            return side.node.modify(side.qp, QpState::err, pair_.clock.now());
        run_and_check();
        if (choice == 2)
            return reset();
        for (auto& each : sides_)
            each.node.modify(each.qp, QpState::rst, pair_.clock.now());
        make_queues();
    }

    /// Lets everything happen that can, then holds what the device did against what it may do.
    void run_and_check() {
        pair_.run(pair_.clock.now() + 20ms);
        for (auto& side : sides_) {
            check_accesses(side);
            check_events(side);
            check_completions(side);
            const auto& r = side.node.core(side.qp).requester;
            require(r.sends.completed == r.sends.producer && r.sends.fetched == r.sends.producer &&
                        r.sends.messages.is_empty(),
                    "work is neither done nor flushed");
            require(r.window.reads_outstanding == 0, "a READ is outstanding in an idle queue");
            side.node.events.entries.clear();
        }
    }
    void check_accesses(Side& side) {
        auto& node = side.node;
        const auto& [all, local, read_only] = side.regions;
        for (const auto& access : node.dma.log()) {
            const auto is_in = [&access](std::uint64_t begin, std::uint64_t length) {
                return access.address >= begin && access.address + access.length <= begin + length;
            };
            const bool is_write = access.kind == MemoryDma::Kind::write;
            bool is_allowed = false;
            if (access.purpose == Purpose::payload)
                is_allowed = is_in(all.address, all.length) || is_in(local.address, local.length) ||
                             (!is_write && is_in(read_only.address, read_only.length));
            else if (is_write)
                is_allowed = is_in(side.cq.buffer, 1ull << (side.cq.log_size + side.cq.log_entry)) ||
                             is_in(node.eq_buffer, 64ull << Node::log_eq);
            else
                is_allowed =
                    is_in(side.qp.record, 8) || is_in(side.cq.record, 8) ||
                    is_in(side.qp.buffer, node.sq_address(side.qp, 0) - side.qp.buffer + (64ull << side.qp.log_sq));
            require(is_allowed, is_write ? "a write outside of keys and queues" : "a read outside of keys and queues");
        }
        node.dma.clear_log();
    }
    void check_events(Side& side) {
        bool is_overrun = false;
        for (const auto& [type, number] : side.node.drain_events()) {
            if (type != EventType::cq_error)
                continue;
            require(!is_overrun && !side.saw_overrun && number == side.cq.number.value,
                    "a CQ error is reported twice, or of another CQ");
            is_overrun = true;
        }
        side.saw_overrun = side.saw_overrun || is_overrun;
        side.node.ring_eq(side.node.eq_consumer, true, pair_.clock.now());
        using model::hca::queue::CompletionState;
        require(side.node.core(side.cq).state == (side.saw_overrun ? CompletionState::overrun : CompletionState::ready),
                "a CQ is in error without an event");
        require(!is_overrun || side.node.core(side.qp).state == QpState::err,
                "an overrun CQ leaves its queue pair working");
    }
    /// Send completions come in order, none is missing where one was asked for, and what is behind a failure is
    /// flushed.
    void check_completions(Side& side) {
        auto& node = side.node;
        const bool is_lossy = side.saw_overrun || node.core(side.cq).attributes.overrun_ignore;
        const auto all = is_lossy ? std::vector<Done>{} : node.drain(side.cq);
        if (is_lossy || !side.is_known) {
            side.taken.clear();
            side.is_known = true;
            side.saw_error = node.core(side.qp).state == QpState::err;
            return;
        }
        for (const auto& done : all) {
            require(done.qpn == side.qp.number.value, "a completion of another queue pair");
            using enum abi::prm::CqeOpcode;
            if (done.opcode != req && done.opcode != req_err)
                continue;
            require(!side.saw_error || done.syndrome == abi::prm::CqeSyndrome::wr_flush_err,
                    "a send behind a failed one is not flushed");
            for (; !side.taken.empty() && side.taken.front().index != done.index; side.taken.pop_front())
                require(!side.taken.front().is_signalled && !side.saw_error, "a completion is missing");
            require(!side.taken.empty(), "a completion of nothing that was posted");
            side.taken.pop_front();
            side.saw_error = side.saw_error || !done.is_ok();
        }
        for (const auto& left : side.taken)
            require(!left.is_signalled && !side.saw_error, "a posted send has no completion");
        side.taken.clear();
        require(!side.saw_error || node.core(side.qp).state == QpState::err,
                "a failed send leaves its queue pair working");
    }

    Tape& tape_;
    HcaPair pair_;
    std::array<Side, 2> sides_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Tape tape(data, size);
    Bench bench(tape);
    for (unsigned steps = 0; !tape.is_over() && steps < 100; ++steps)
        bench.step();
    bench.finish();
    return 0;
}
