// What the driver's commands say of queues, and what stands in them: the part of the decoder that knows objects.
#include "traces/tool/decoder.h"

#include "abi/prm/cq.h"
#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/eq.h"
#include "abi/prm/eqe.h"
#include "abi/prm/qp.h"
#include "abi/prm/user_context.h"
#include "abi/prm/wqe.h"
#include "abi/wire/ethernet.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"
#include "traces/codec/layouts.h"

#include <algorithm>

namespace traces::tool {

using namespace codec;
using namespace abi::prm;

namespace {

/// Page addresses behind a command's structure.
std::vector<std::uint64_t> list_behind(std::span<const std::byte> in, std::size_t begin) {
    std::vector<std::uint64_t> pages;
    for (auto at = begin; at + 8 <= in.size(); at += 8)
        pages.push_back(abi::load<std::uint64_t, abi::Endian::big>(in.data() + at) & ~std::uint64_t{0xfff});
    return pages;
}

/// A ring as its context says: pages of 2^(12 + log_page_size) bytes; the offset counts in 64ths of one.
template <class View> Pages ring_of(const View& context, std::span<const std::byte> in, std::size_t list) {
    const unsigned log_bytes = 12 + context.template get<"log_page_size">();
    return {list_behind(in, list), log_bytes, std::uint64_t{context.template get<"page_offset">()} << (log_bytes - 6)};
}

bool is_any(Opcode opcode, std::initializer_list<Opcode> of) { return std::ranges::find(of, opcode) != of.end(); }

} // namespace

void Decoder::finished(Function& function, const Command& command) {
    using enum Opcode;
    const auto row = [&](std::string_view name) {
        return static_cast<std::uint32_t>(
            output(command, name).or_else([&] { return input(command, name); }).value_or(no_number));
    };
    auto& item = seen_.items.front();
    item.qpn = row("qpn");
    item.cqn = row("cqn");
    item.eqn = row("eq_number");
    if (const auto key = row("mkey_index"); key != no_number)
        seen_.keys.push_back(key << 8);
    if (!command.is_good())
        return;
    const auto opcode = command.opcode();
    if (is_any(opcode, {disable_hca, teardown_hca}))
        function.forget_objects();
    else if (opcode == destroy_eq)
        function.areas.remove(AreaKind::event_queue, item.eqn);
    else if (opcode == destroy_cq)
        function.areas.remove(AreaKind::completion_queue, item.cqn),
            function.areas.remove(AreaKind::cq_record, item.cqn);
    else if (opcode == destroy_umem)
        function.umems.erase(row("umem_id"));
    else if (opcode == init2rtr_qp)
        function.peers[item.qpn] = row("remote_qpn");
    else if (opcode == destroy_qp) {
        for (const auto kind : {AreaKind::send_queue, AreaKind::receive_queue, AreaKind::queue_record})
            function.areas.remove(kind, item.qpn);
        function.peers.erase(item.qpn), function.transports.erase(item.qpn);
    } else {
        created(function, command, opcode == create_umem ? row("umem_id") : 0);
    }
}

void Decoder::created(Function& function, const Command& command, std::uint32_t number) {
    const std::span<const std::byte> in = command.in;
    const auto& item = seen_.items.front();
    const auto umem_or = [&](bool is_valid, std::uint32_t id, std::uint64_t offset, auto&& otherwise) {
        if (!is_valid)
            return otherwise();
        auto pages = function.umems[id];
        pages.first_byte += offset;
        return pages;
    };
    const auto record = [&](AreaKind kind, std::uint32_t of, std::uint64_t address, bool is_in_umem, std::uint32_t id) {
        Pages pages{{address & ~std::uint64_t{0xfff}}, 12, address & 0xfff};
        if (is_in_umem) {
            pages = function.umems[id];
            pages.first_byte += address;
        }
        function.areas.add(kind, of, 8, pages, 0, 8);
    };
    const auto opcode = command.opcode();
    if (opcode == Opcode::create_eq && in.size() >= CreateEqIn::size) {
        const auto eqc = abi::ConstView<CreateEqIn>(in).sub<"eq_context_entry">();
        function.areas.remove(AreaKind::event_queue, item.eqn);
        function.areas.add(AreaKind::event_queue, item.eqn, Eqe::size, ring_of(eqc, in, CreateEqIn::size), 0,
                           std::uint64_t{Eqe::size} << eqc.get<"log_eq_size">());
        function.vectors[eqc.get<"intr">()] = item.eqn;
    } else if (opcode == Opcode::create_cq && in.size() >= CreateCqIn::size) {
        const abi::ConstView<CreateCqIn> view(in);
        const auto cqc = view.sub<"cq_context">();
        const auto stride = cqc.get<"cqe_sz">() == static_cast<std::uint32_t>(CqeSize::bytes_128) ? 128u : 64u;
        const auto pages = umem_or(view.get<"cq_umem_valid">() != 0, view.get<"cq_umem_id">(),
                                   view.get<"cq_umem_offset">(), [&] { return ring_of(cqc, in, CreateCqIn::size); });
        function.areas.remove(AreaKind::completion_queue, item.cqn);
        function.areas.add(AreaKind::completion_queue, item.cqn, stride, pages, 0,
                           std::uint64_t{stride} << cqc.get<"log_cq_size">());
        record(AreaKind::cq_record, item.cqn, cqc.get<"dbr_addr">(), cqc.get<"dbr_umem_valid">() != 0,
               cqc.get<"dbr_umem_id">());
    } else if (opcode == Opcode::create_qp && in.size() >= CreateQpIn::size) {
        const abi::ConstView<CreateQpIn> view(in);
        const auto qpc = view.sub<"qpc">();
        const auto pages = umem_or(view.get<"wq_umem_valid">() != 0, view.get<"wq_umem_id">(),
                                   view.get<"wq_umem_offset">(), [&] { return ring_of(qpc, in, CreateQpIn::size); });
        const auto log_stride = qpc.get<"log_rq_stride">() + log_least_rq_stride;
        const auto receive = qpc.get<"rq_type">() == ReceiveQueueType::regular
                                 ? std::uint64_t{1} << (qpc.get<"log_rq_size">() + log_stride)
                                 : 0;
        function.areas.add(AreaKind::receive_queue, item.qpn, 1u << log_stride, pages, 0, receive);
        if (qpc.get<"no_sq">() == 0)
            function.areas.add(AreaKind::send_queue, item.qpn, wqe_bb_bytes, pages, receive,
                               wqe_bb_bytes << qpc.get<"log_sq_size">());
        record(AreaKind::queue_record, item.qpn, qpc.get<"dbr_addr">(), qpc.get<"dbr_umem_valid">() != 0,
               qpc.get<"dbr_umem_id">());
        function.transports[item.qpn] = static_cast<std::uint8_t>(qpc.get<"st">());
    } else if (opcode == Opcode::create_umem && in.size() >= CreateUmemIn::size) {
        const auto umem = abi::ConstView<CreateUmemIn>(in).sub<"umem">();
        function.umems[number] = {list_behind(in, CreateUmemIn::size), 12 + umem.get<"log_page_size">(),
                                  umem.get<"page_offset">()};
    }
}

void Decoder::send_queue(Function& function, const Area& area) {
    const auto bytes = seen_.access->bytes;
    auto at = (wqe_bb_bytes - area.offset % wqe_bb_bytes) % wqe_bb_bytes;
    while (at + WqeCtrl::size <= bytes.size()) {
        const abi::ConstView<WqeCtrl> ctrl(bytes.subspan(at));
        const std::size_t length = ctrl.get<"ds">() * wqe_ds_bytes;
        if (length == 0 || ctrl.get<"qpn">() != area.number) { // nothing was posted here
            at += wqe_bb_bytes;
            continue;
        }
        const Item item{.what = What::send_wqe,
                        .layout = &abi::layout_info<WqeCtrl>,
                        .bytes = bytes.subspan(at, std::min(length, bytes.size() - at)),
                        .qpn = area.number,
                        .index = ctrl.get<"wqe_index">(),
                        .opcode = static_cast<std::uint8_t>(ctrl.get<"opcode">())};
        seen_.items.push_back(item);
        segments(function, item);
        at += (length + wqe_bb_bytes - 1) / wqe_bb_bytes * wqe_bb_bytes;
    }
}

void Decoder::segments(const Function& function, const Item& wqe) {
    using enum WqeOpcode;
    const auto opcode = static_cast<WqeOpcode>(wqe.opcode);
    if (opcode == umr) {
        seen_.keys.push_back(abi::ConstView<WqeCtrl>(wqe.bytes).get<"imm">());
        return;
    }
    const auto transport = function.transports.find(wqe.qpn);
    const auto service = transport == function.transports.end() ? QpType::rc : static_cast<QpType>(transport->second);
    std::size_t at = WqeCtrl::size;
    if (service == QpType::ud)
        at += WqeAv::size;
    else if (service == QpType::xrc)
        at += WqeXrc::size;
    else if (service == QpType::raw && at + WqeEth::size <= wqe.bytes.size()) {
        // Headers that the WQE carries itself begin in the segment and go on behind it.
        const auto inlined = abi::ConstView<WqeEth>(wqe.bytes.subspan(at)).get<"inline_hdr_sz">();
        const auto behind =
            inlined > WqeEth::field<"inline_hdr_start">::bytes ? inlined - WqeEth::field<"inline_hdr_start">::bytes : 0;
        at += WqeEth::size + (behind + wqe_ds_bytes - 1) / wqe_ds_bytes * wqe_ds_bytes;
    }
    const bool is_atomic = opcode == atomic_cs || opcode == atomic_fa;
    if (is_atomic || opcode == rdma_write || opcode == rdma_write_imm || opcode == rdma_read) {
        if (at + WqeRaddr::size <= wqe.bytes.size())
            seen_.keys.push_back(abi::ConstView<WqeRaddr>(wqe.bytes.subspan(at)).get<"rkey">());
        at += WqeRaddr::size + (is_atomic ? WqeAtomic::size : 0);
    }
    for (; at + WqeData::size <= wqe.bytes.size(); at += WqeData::size) {
        const abi::ConstView<WqeData> data(wqe.bytes.subspan(at));
        if (data.get<"inline">() != 0)
            return; // what follows is the message itself
        seen_.keys.push_back(data.get<"lkey">());
    }
}

void Decoder::frame(const Record& record) {
    using namespace abi::wire;
    Item item{.what = What::frame, .bytes = record.head};
    auto left = record.head;
    const auto drop = [&](std::size_t count) { left = left.subspan(std::min(count, left.size())); };
    bool has_bth = false;
    if (head_.interfaces[record.interface].kind == InterfaceKind::infiniband) {
        if (left.size() >= Lrh::size) {
            const auto next = abi::ConstView<Lrh>(left).get<"next_header">();
            drop(Lrh::size);
            if (next == LinkNextHeader::global)
                drop(Grh::size);
            has_bth = next == LinkNextHeader::global || next == LinkNextHeader::local;
        }
    } else if (left.size() >= Ethernet::size) {
        const auto type = abi::ConstView<Ethernet>(left).get<"type">();
        drop(Ethernet::size);
        if (type == static_cast<std::uint16_t>(EtherType::ipv4) && left.size() >= Ipv4::size) {
            has_bth = abi::ConstView<Ipv4>(left).get<"protocol">() == ip_protocol_udp;
            drop(abi::ConstView<Ipv4>(left).get<"ihl">() * std::size_t{4});
        } else if (type == static_cast<std::uint16_t>(EtherType::ipv6) && left.size() >= Ipv6::size) {
            has_bth = abi::ConstView<Ipv6>(left).get<"next_header">() == ip_protocol_udp;
            drop(Ipv6::size);
        }
        has_bth =
            has_bth && left.size() >= Udp::size && abi::ConstView<Udp>(left).get<"destination_port">() == roce_v2_port;
        drop(Udp::size);
    }
    if (has_bth && left.size() >= Bth::size) {
        const abi::ConstView<Bth> bth(left);
        item.layout = &abi::layout_info<Bth>;
        item.bytes = left;
        item.qpn = bth.get<"destination_qp">();
        item.number = bth.get<"psn">();
        item.opcode = static_cast<std::uint8_t>(bth.get<"opcode">());
    }
    seen_.items.push_back(item);
}

} // namespace traces::tool
