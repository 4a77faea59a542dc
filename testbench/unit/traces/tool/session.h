// A driver's session at a device's boundary, written as a recorder writes it: commands, a send, its frames, its
// completion, event and interrupt. What the tool says of it is known beforehand.
#pragma once

#include "abi/prm/cq.h"
#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/eq.h"
#include "abi/prm/eqe.h"
#include "abi/prm/init_segment.h"
#include "abi/prm/qp.h"
#include "abi/prm/wqe.h"
#include "abi/wire/ethernet.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/ip.h"
#include "abi/wire/opcode.h"
#include "abi/wire/udp.h"
#include "platform/record/journal.h"
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace trace_tool_bench {

using namespace abi::prm;
using namespace std::chrono_literals;
namespace codec = traces::codec;
using codec::Direction;
using codec::RecordKind;
using codec::Signal;
using model::port::Time;
using platform::record::Journal;
using platform::record::LinkLog;
using platform::record::RecordNumber;
using trace_bench::Bytes;

inline constexpr std::uint64_t bar = 0x1000000000, queue = 0x10000, in_box = 0x20000, out_box = 0x30000,
                               eq_ring = 0x40000, cq_ring = 0x50000, qp_ring = 0x60000, records = 0x70000,
                               buffer = 0x80000, uar = 0x6000;
inline constexpr std::uint32_t eqn = 5, cqn = 0x42, qpn = 0x11, peer = 0x99, lkey = 0x1234, rkey = 0x5678, psn = 100;

inline constexpr std::size_t roce_head =
    abi::wire::Ethernet::size + abi::wire::Ipv4::size + abi::wire::Udp::size + abi::wire::Bth::size;

template <class L> Bytes bytes_of(const abi::Block<L>& block) { return {block.bytes.begin(), block.bytes.end()}; }

/// Numbers of the records that tests ask about.
struct Marks {
    RecordNumber doorbell = 0, wqe = 0, request_frame = 0, ack_frame = 0, cqe = 0, eqe = 0, interrupt = 0,
                 create_qp = 0;
};

class Session {
public:
    /// `speakers`: who says events.
    explicit Session(std::vector<std::string> speakers = {"host0.hca0"}) : names(std::move(speakers)) {
        link.signal(Direction::inbound, Signal::bar_address, now, {.value = bar});
    }

    std::vector<std::string> names;
    trace_bench::MemoryDestination destination;
    codec::Writer writer{destination,
                         {.identity = {.revision = "test"},
                          .configuration = "mtu = 1024\n",
                          .names = names,
                          .interfaces = {{codec::InterfaceKind::pcie, "host0.hca0"},
                                         {codec::InterfaceKind::ethernet, "host0.hca0.port1"},
                                         {codec::InterfaceKind::events, "events"},
                                         {codec::InterfaceKind::ethernet, "host1.hca0.port1"}}},
                         {}};
    Journal journal{writer};
    LinkLog link{journal, 0};
    Time now = 1us;
    Marks marks;
    std::uint32_t completed_bytes = 64; ///< what a CQE says
    std::uint64_t timestamp = 0;        ///< the same

    Bytes bytes() {
        REQUIRE(writer.close());
        return destination.bytes;
    }

    RecordNumber store(Journal::Call& call, std::uint64_t offset, std::span<const std::byte> data) {
        const auto number = link.write(Direction::inbound, bar + offset, data, now);
        call.is(number);
        return number;
    }
    RecordNumber store32(Journal::Call& call, std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> data;
        abi::store<std::uint32_t, std::endian::big>(data.data(), value);
        return store(call, offset, data);
    }
    RecordNumber last() const { return static_cast<RecordNumber>(writer.records()); }
    /// The record of the answer.
    RecordNumber dma_read(std::uint64_t address, std::span<const std::byte> data, Time latency = 100ns) {
        const auto request = link.read(Direction::outbound, address, data.size(), now);
        now += latency;
        link.answer(Direction::inbound, address, data, {model::port::DmaStatus::ok, now}, request);
        return last();
    }
    RecordNumber dma_write(std::uint64_t address, std::span<const std::byte> data) {
        return link.write(Direction::outbound, address, data, now);
    }

    void start() {
        Journal::Call call(journal);
        store32(call, 0x10, queue >> 32);
        Journal::Call again(journal);
        store32(again, 0x14, queue);
    }
    /// A command in slot 0 whose output is `out`; returns the record that ends it.
    RecordNumber command(std::span<const std::byte> in, std::span<const std::byte> out) {
        now += 1us;
        Journal::Call call(journal);
        store32(call, 0x18, 1);
        abi::Block<CommandQueueEntry> entry;
        entry.view()
            .set<"type">(command_transport_pcie)
            .set<"input_length">(static_cast<std::uint32_t>(in.size()))
            .set<"output_length">(static_cast<std::uint32_t>(out.size()))
            .set<"owner">(1);
        std::ranges::copy(in.first(16), entry.bytes.begin() + 0x10);
        if (in.size() > 16)
            entry.view().set<"input_mailbox">(in_box);
        dma_read(queue, entry.bytes);
        for (std::size_t at = 16, box = in_box; at < in.size(); at += 512, box += 1024) {
            abi::Block<CommandMailbox> block;
            std::ranges::copy(in.subspan(at, std::min<std::size_t>(512, in.size() - at)), block.bytes.begin());
            block.view().set<"next">(at + 512 < in.size() ? box + 1024 : 0);
            dma_read(box, block.bytes);
        }
        dma_write(queue + 0x20, out.first(16));
        return dma_write(queue + status_own_offset, std::array{std::byte{0}});
    }
    template <class In> static Bytes with_page(const abi::Block<In>& in, std::uint64_t page) {
        auto all = bytes_of(in);
        all.resize(all.size() + 8);
        abi::store<std::uint64_t, std::endian::big>(all.data() + In::size, page);
        return all;
    }
    void create_queues() {
        abi::Block<CreateEqIn> eq;
        abi::Block<CreateEqOut> eq_out;
        eq.view().set<"opcode">(Opcode::create_eq).sub<"eq_context_entry">().set<"log_eq_size">(4).set<"intr">(3);
        eq_out.view().set<"eq_number">(eqn);
        command(with_page(eq, eq_ring), eq_out.bytes);
        abi::Block<CreateCqIn> cq;
        abi::Block<CreateCqOut> cq_out;
        cq.view().set<"opcode">(Opcode::create_cq).sub<"cq_context">().set<"log_cq_size">(4).set<"dbr_addr">(records);
        cq_out.view().set<"cqn">(cqn);
        command(with_page(cq, cq_ring), cq_out.bytes);
        abi::Block<CreateQpIn> qp;
        abi::Block<CreateQpOut> qp_out;
        qp.view()
            .set<"opcode">(Opcode::create_qp)
            .sub<"qpc">()
            .set<"log_rq_size">(4)
            .set<"log_rq_stride">(2)
            .set<"log_sq_size">(4)
            .set<"dbr_addr">(records + 8);
        qp_out.view().set<"qpn">(qpn);
        marks.create_qp = command(with_page(qp, qp_ring), qp_out.bytes);
        connect(qpn, peer);
    }
    void connect(std::uint32_t own, std::uint32_t other) {
        abi::Block<Init2rtrQpIn> in;
        abi::Block<Init2rtrQpOut> out;
        in.view().set<"opcode">(Opcode::init2rtr_qp).set<"qpn">(own).sub<"qpc">().set<"remote_qpn">(other);
        command(in.bytes, out.bytes);
    }

    /// A RoCE frame with four bytes behind its BTH, and a checksum.
    static Bytes roce(abi::wire::Operation operation, std::uint32_t to, std::uint32_t number) {
        using namespace abi::wire;
        Bytes frame(roce_head + 4 + 4);
        const std::span<std::byte> all(frame);
        abi::View<Ethernet>(all).set<"type">(static_cast<std::uint16_t>(EtherType::ipv4));
        abi::View<Ipv4>(all.subspan(Ethernet::size)).set<"version">(4).set<"ihl">(5).set<"protocol">(ip_protocol_udp);
        abi::View<Udp>(all.subspan(Ethernet::size + Ipv4::size)).set<"destination_port">(roce_v2_port);
        abi::View<Bth>(all.subspan(Ethernet::size + Ipv4::size + Udp::size))
            .set<"opcode">(static_cast<std::uint32_t>(operation))
            .set<"destination_qp">(to)
            .set<"psn">(number);
        return frame;
    }
    RecordNumber frame(Direction direction, abi::wire::Operation operation, std::uint32_t to, std::uint32_t number) {
        return journal.put(1, RecordKind::frame, direction, now, roce(operation, to, number));
    }
    static Bytes acknowledgement(std::uint32_t number, std::uint8_t credits) {
        auto bytes = roce(abi::wire::Operation::acknowledge, qpn, number);
        abi::View<abi::wire::Aeth>(std::span(bytes).subspan(roce_head)).set<"syndrome">(credits);
        return bytes;
    }
    /// An RDMA WRITE: WQE `index` of the queue, and what follows from it until the interrupt.
    void write(std::uint32_t index, Time latency = 5us) {
        now += 1us;
        abi::Block<SendDoorbell> ring;
        ring.view().set<"opcode">(8).set<"wqe_index">(index).set<"qpn">(qpn).set<"ds">(3);
        {
            Journal::Call call(journal);
            marks.doorbell = store(call, uar + uar_bfreg, ring.bytes);
            fetch(index);
        }
        now += latency;
        acknowledge(index);
    }
    /// The device reads WQE `index`, and sends its packet.
    void fetch(std::uint32_t index) {
        Bytes wqe(64);
        const std::span<std::byte> all(wqe);
        abi::View<WqeCtrl>(all)
            .set<"opcode">(WqeOpcode::rdma_write)
            .set<"wqe_index">(index)
            .set<"qpn">(qpn)
            .set<"ds">(3);
        abi::View<WqeRaddr>(all.subspan(16)).set<"raddr">(0xabc000).set<"rkey">(rkey);
        abi::View<WqeData>(all.subspan(32)).set<"byte_count">(64).set<"lkey">(lkey).set<"addr">(buffer);
        marks.wqe = dma_read(qp_ring + 0x400 + index % 16 * 64, wqe);
        dma_read(buffer, Bytes(64));
        marks.request_frame = frame(Direction::outbound, abi::wire::Operation::write_only, peer, psn + index);
    }
    /// Its acknowledgement arrives; what follows from it.
    void acknowledge(std::uint32_t index) {
        Journal::Call call(journal);
        marks.ack_frame = frame(Direction::inbound, abi::wire::Operation::acknowledge, qpn, psn + index);
        call.is(marks.ack_frame);
        abi::Block<Cqe64> cqe;
        cqe.view()
            .set<"qpn">(qpn)
            .set<"wqe_counter">(static_cast<std::uint16_t>(index))
            .set<"byte_cnt">(completed_bytes)
            .set<"timestamp">(timestamp)
            .set<"signature">(static_cast<std::uint8_t>(timestamp))
            .set<"sop">(8)
            .set<"opcode">(CqeOpcode::req);
        marks.cqe = dma_write(cq_ring + index % 16 * 64, cqe.bytes);
        abi::Block<Eqe> eqe;
        eqe.view().set<"event_type">(EventType::completion);
        event_data<CompletionEventData>(eqe.view()).set<"cqn">(cqn);
        marks.eqe = dma_write(eq_ring + index % 16 * 64, eqe.bytes);
        marks.interrupt = link.signal(Direction::outbound, Signal::interrupt, now, {.number = 3});
    }
    /// The whole session, with so many writes.
    void run(std::uint32_t writes) {
        start();
        create_queues();
        for (std::uint32_t i = 0; i < writes; ++i)
            write(i);
    }
};

inline std::string text_of(const trace_bench::MemoryDestination& destination) {
    return {reinterpret_cast<const char*>(destination.bytes.data()), destination.bytes.size()};
}
/// The line of a text that has this.
inline std::string line_with(const std::string& text, const std::string& part) {
    const auto at = text.find(part);
    if (at == std::string::npos)
        return "no line has \"" + part + "\" in:\n" + text;
    const auto begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
}
inline std::size_t lines_with(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

} // namespace trace_tool_bench
