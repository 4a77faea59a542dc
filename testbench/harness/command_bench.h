// The firmware with a driver's hands on it, without PCIe or SystemC: a memory, the device, and functions that fill
// command queue entries and mailboxes as a driver does. Tests of commands and the fuzz target sit here.
#pragma once

#include "abi/prm/access_register.h"
#include "abi/prm/adapter.h"
#include "abi/prm/command.h"
#include "abi/prm/cq.h"
#include "abi/prm/eq.h"
#include "abi/prm/init_segment.h"
#include "abi/prm/mkey.h"
#include "abi/prm/multicast.h"
#include "abi/prm/pages.h"
#include "abi/prm/q_counter.h"
#include "abi/prm/qp.h"
#include "abi/prm/rmp.h"
#include "abi/prm/uar_pd.h"
#include "abi/prm/user_context.h"
#include "abi/prm/vport.h"
#include "abi/prm/xrc_srq.h"
#include "abi/wire/mad.h"
#include "firmware/command_table.h"
#include "model/wire/builder.h"
#include "model/port/memory_dma.h"
#include "platform/card/mlx5_device.h"
#include "testbench/harness/command_bytes.h"
#include "testbench/harness/hca_pair.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace harness {

namespace prm = abi::prm;

/// A cable that swallows everything; the last packet can be looked at.
class DeadWire final : public model::port::Wire {
public:
    bool can_send(Time) override { return has_room; }
    model::port::Packet& next() override {
        packet_.clear();
        return packet_;
    }
    Time send(Time at) override {
        ++traffic_.packets;
        traffic_.bytes += model::wire::frame_length(packet_);
        return at;
    }
    bool set_on(bool on, Time) override {
        is_on = on;
        sent_before_change = traffic_.packets;
        return on && is_peer_on;
    }
    model::port::Traffic sent() const override { return traffic_; }
    model::port::Hindered hindered() const override { return was_hindered; }
    const model::port::Packet& last() const { return packet_; }

    model::port::Hindered was_hindered; ///< what the cable says of packets that it did not take
    bool has_room = true;
    bool is_on = true, is_peer_on = true; ///< the ends of the cable
    std::uint64_t sent_before_change = 0;

private:
    model::port::Packet packet_;
    model::port::Traffic traffic_;
};

inline model::hca::HcaConfig untimed() {
    model::hca::HcaConfig config;
    config.timed = false;
    return config;
}

class CommandBench {
public:
    static constexpr std::uint64_t queue = 0x10000, in_boxes = 0x100000, out_boxes = 0x8000000, rings = 0x10000000;
    static constexpr std::uint64_t box_stride = 1024;

    explicit CommandBench(const model::hca::HcaConfig& config = untimed())
        : card(config, {memory, clock, interrupts, wires}, traces::Events{&log, 1}) {
        set_queue_address();
    }

    void set_queue_address() {
        write32(0x10, queue >> 32);
        write32(0x14, queue & 0xfffff000);
    }
    void write32(std::uint64_t offset, std::uint64_t value) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, std::endian::big>(bytes.data(), static_cast<std::uint32_t>(value));
        card.bar_write(0, offset, bytes, clock.now());
    }
    std::uint32_t read32(std::uint64_t offset) {
        std::array<std::byte, 4> bytes{};
        card.bar_read(0, offset, bytes, clock.now());
        return abi::load<std::uint32_t, std::endian::big>(bytes.data());
    }

    /// Where the block `number` of a slot's chains stands.
    static std::uint64_t in_box(unsigned slot, std::size_t number) {
        return in_boxes + (slot * std::uint64_t{2048} + number) * box_stride;
    }
    static std::uint64_t out_box(unsigned slot, std::size_t number) {
        return out_boxes + (slot * std::uint64_t{2048} + number) * box_stride;
    }

    /// Writes the mailboxes and the entry of a slot; the slot is the device's afterwards.
    void fill(std::span<const std::byte> in, std::size_t out_length, unsigned slot = 0, bool sign = false) {
        const auto token = static_cast<std::uint8_t>(0x41 + slot);
        abi::Block<prm::CommandQueueEntry> entry;
        entry.view()
            .set<"type">(prm::command_transport_pcie)
            .set<"input_length">(static_cast<std::uint32_t>(in.size()))
            .set<"output_length">(static_cast<std::uint32_t>(out_length))
            .set<"token">(token)
            .set<"owner">(1);
        std::ranges::copy(in.first(std::min<std::size_t>(in.size(), 16)), entry.bytes.begin() + 0x10);
        if (in.size() > 16) {
            entry.view().set<"input_mailbox">(in_box(slot, 0));
            chain(in.subspan(16), in.size() - 16, token, sign, in_box, slot);
        }
        if (out_length > 16) {
            entry.view().set<"output_mailbox">(out_box(slot, 0));
            chain({}, out_length - 16, token, sign, out_box, slot);
        }
        if (sign)
            entry.view().set<"signature">(static_cast<std::uint8_t>(~prm::xor_of(entry.bytes)));
        memory.poke(queue + slot * 64, entry.bytes);
    }
    void ring(std::uint32_t vector) { write32(0x18, vector); }
    void set_token_of(std::uint64_t box, std::uint8_t token) { memory.poke(box + 0x23d, std::array{std::byte{token}}); }

    template <class Out> Output<Out> collect(std::size_t out_length = Out::size, unsigned slot = 0) {
        abi::Block<prm::CommandQueueEntry> entry;
        memory.peek(queue + slot * 64, entry.bytes);
        Output<Out> out;
        out.delivery = entry.view().get<"delivery_status">();
        out.is_back = entry.view().get<"owner">() == 0;
        out.bytes.resize(std::max<std::size_t>({out_length, 16, Out::size}));
        std::copy_n(entry.bytes.begin() + 0x20, 16, out.bytes.begin());
        for (std::size_t at = 16, n = 0; at < out_length; at += 512, ++n)
            memory.peek(out_box(slot, n),
                        std::span(out.bytes).subspan(at, std::min<std::size_t>(512, out_length - at)));
        return out;
    }

    /// One command, from doorbell to answer.
    template <class Out, class In>
    Output<Out> run(const Input<In>& in, std::size_t out_length = Out::size, unsigned slot = 0) {
        fill(in.bytes, out_length, slot);
        ring(1u << slot);
        wait_for_answer(slot);
        return collect<Out>(out_length, slot);
    }
    /// Runs the clock until the device has given the slot back.
    void wait_for_answer(unsigned slot) {
        const auto is_back = [&] {
            return (memory.peek(queue + slot * 64 + prm::status_own_offset, 1)[0] & std::byte{1}) == std::byte{0};
        };
        while (!is_back() && clock.next() != model::port::never) {
            clock.set(clock.next());
            card.wake(clock.now());
        }
    }

    // --- the start-up recipe ---
    /// Gives `count` pages at `first`; returns whether the device took them.
    bool give(std::uint64_t first, std::size_t count) {
        Input<prm::ManagePagesIn> in(prm::Opcode::manage_pages, static_cast<std::uint16_t>(prm::PageAction::give));
        in.set<"input_num_entries">(static_cast<std::uint32_t>(count));
        for (std::size_t i = 0; i < count; ++i)
            in.add(first + i * 4096);
        return run<prm::ManagePagesOut>(in, 16, 31).is_ok();
    }
    std::uint32_t missing(prm::PageQuery which) {
        return run<prm::QueryPagesOut>(
                   Input<prm::QueryPagesIn>(prm::Opcode::query_pages, static_cast<std::uint16_t>(which)))
            .template get<"num_pages">();
    }
    bool enable() { return run<prm::EnableHcaOut>(Input<prm::EnableHcaIn>(prm::Opcode::enable_hca)).is_ok(); }
    bool boot() {
        return enable() &&
               run<prm::SetIssiOut>(Input<prm::SetIssiIn>(prm::Opcode::set_issi).set<"current_issi">(1u)).is_ok() &&
               give(0x40000000, missing(prm::PageQuery::boot));
    }
    bool initialize() {
        return boot() && give(0x50000000, missing(prm::PageQuery::init)) &&
               run<prm::InitHcaOut>(Input<prm::InitHcaIn>(prm::Opcode::init_hca)).is_ok();
    }

    // --- objects ---
    /// `uid` is the user context that asks; 0: the kernel.
    std::uint32_t alloc_uar(std::uint16_t uid = 0) {
        Input<prm::AllocUarIn> in(prm::Opcode::alloc_uar);
        abi::View<prm::CommandIn>(std::span(in.bytes)).template set<"uid">(uid);
        return run<prm::AllocUarOut>(in).template get<"uar">();
    }
    std::uint32_t alloc_pd() {
        return run<prm::AllocPdOut>(Input<prm::AllocPdIn>(prm::Opcode::alloc_pd)).template get<"pd">();
    }
    static Input<prm::CreateEqIn> eq_input(std::uint32_t uar, std::uint64_t events, std::uint32_t log_size = 6) {
        Input<prm::CreateEqIn> in(prm::Opcode::create_eq);
        in.view().sub<"eq_context_entry">().set<"log_eq_size">(log_size).set<"uar_page">(uar);
        in.set<"event_bitmask">(events);
        for (std::uint64_t page = 0; page < ((64ull << log_size) + 4095) / 4096; ++page)
            in.add(rings + page * 4096);
        return in;
    }
    static Input<prm::CreateCqIn> cq_input(std::uint32_t uar, std::uint32_t eqn, std::uint32_t log_size = 6) {
        Input<prm::CreateCqIn> in(prm::Opcode::create_cq);
        in.view()
            .sub<"cq_context">()
            .set<"log_cq_size">(log_size)
            .set<"uar_page">(uar)
            .set<"c_eqn_or_apu_element">(eqn)
            .set<"dbr_addr">(0x20000000);
        for (std::uint64_t page = 0; page < ((64ull << log_size) + 4095) / 4096; ++page)
            in.add(rings + 0x100000 + page * 4096);
        return in;
    }
    /// An MTT key over `pages` pages of 4 KiB, local and remote rights.
    static Input<prm::CreateMkeyIn> mkey_input(std::uint32_t pd, std::uint64_t start, std::uint64_t length,
                                               std::size_t pages) {
        Input<prm::CreateMkeyIn> in(prm::Opcode::create_mkey);
        const auto mkc = in.view().sub<"memory_key_mkey_entry">();
        prm::set_access_mode(mkc, prm::AccessMode::mtt);
        mkc.set<"lr">(1)
            .set<"lw">(1)
            .set<"rr">(1)
            .set<"rw">(1)
            .set<"qpn">(prm::mkey_any_qpn)
            .set<"pd">(pd)
            .set<"start_addr">(start)
            .set<"len">(length);
        mkc.set<"translations_octword_size">(static_cast<std::uint32_t>((pages + 1) / 2)).set<"log_page_size">(12u);
        in.set<"translations_octword_actual_size">(static_cast<std::uint32_t>((pages + 1) / 2));
        for (std::size_t i = 0; i < (pages + 1) / 2 * 2; ++i)
            in.add(i < pages ? 0x70000000 + i * 4096 : 0);
        return in;
    }
    /// Send queue of 64 WQEBBs, receive queue of 64 WQEs of 64 bytes: two pages.
    static Input<prm::CreateQpIn> qp_input(std::uint32_t pd, std::uint32_t uar, std::uint32_t cqn) {
        Input<prm::CreateQpIn> in(prm::Opcode::create_qp);
        in.view()
            .sub<"qpc">()
            .set<"st">(prm::QpType::rc)
            .set<"pd">(pd)
            .set<"log_rq_size">(6u)
            .set<"log_rq_stride">(2u)
            .set<"log_sq_size">(6u)
            .set<"uar_page">(uar)
            .set<"user_index">(0x123u)
            .set<"cqn_snd">(cqn)
            .set<"cqn_rcv">(cqn)
            .set<"dbr_addr">(0x20000100u);
        in.add(rings + 0x200000).add(rings + 0x201000);
        return in;
    }
    /// An entry of the RoCE address table: IPv4 10.0.0.<index + 1>.
    bool set_gid(std::uint32_t index = 0) {
        Input<prm::SetRoceAddressIn> in(prm::Opcode::set_roce_address);
        std::array<std::byte, 16> gid{};
        gid[10] = gid[11] = std::byte{0xff};
        gid[12] = std::byte{10};
        gid[15] = static_cast<std::byte>(index + 1);
        in.set<"roce_address_index">(index);
        in.view().sub<"roce_address">().set<"source_l3_address">(gid).set<"roce_version">(2u).set<"source_mac_31_0">(
            0x11223344u);
        return run<prm::SetRoceAddressOut>(in).is_ok();
    }

    /// Everything a queue pair needs, after initialize().
    /// A pool of 8 linked WQEs of 64 bytes.
    static Input<prm::CreateRmpIn> rmp_input(std::uint32_t pd) {
        Input<prm::CreateRmpIn> in(prm::Opcode::create_rmp);
        in.view().sub<"ctx">().set<"state">(prm::RmpState::ready);
        in.view()
            .sub<"ctx">()
            .sub<"wq">()
            .set<"wq_type">(prm::WqType::linked_list)
            .set<"pd">(pd)
            .set<"dbr_addr">(0x20000200u)
            .set<"log_wq_stride">(6u)
            .set<"log_wq_sz">(3u);
        in.add(rings + 0x300000);
        return in;
    }
    /// The same in an XRC domain.
    static Input<prm::CreateXrcSrqIn> xrc_srq_input(std::uint32_t pd, std::uint32_t cqn, std::uint32_t xrcd) {
        Input<prm::CreateXrcSrqIn> in(prm::Opcode::create_xrc_srq);
        in.view()
            .sub<"xrc_srq_context_entry">()
            .set<"log_xrc_srq_size">(3u)
            .set<"log_rq_stride">(2u)
            .set<"xrcd">(xrcd)
            .set<"cqn">(cqn)
            .set<"user_index">(0x321u)
            .set<"pd">(pd)
            .set<"db_record_addr_l">(0x20000300u >> 2);
        in.add(rings + 0x301000);
        return in;
    }
    std::uint16_t create_uctx() {
        return static_cast<std::uint16_t>(
            run<prm::CreateUctxOut>(Input<prm::CreateUctxIn>(prm::Opcode::create_uctx)).template get<"uid">());
    }
    /// User memory of `pages` pages of 4 KiB, one behind the other from `address` on, readable and writable.
    static Input<prm::CreateUmemIn> umem_input(std::uint16_t uid, std::uint64_t address, std::uint64_t pages = 1) {
        Input<prm::CreateUmemIn> in(prm::Opcode::create_umem);
        in.set<"uid">(uid);
        in.view().sub<"umem">().set<"num_of_mtt">(pages);
        for (std::uint64_t page = 0; page < pages; ++page)
            in.add((address + page * 4096) | 3);
        return in;
    }
    std::uint32_t create_umem(std::uint16_t uid, std::uint64_t address, std::uint64_t pages = 1) {
        return run<prm::CreateUmemOut>(umem_input(uid, address, pages)).template get<"umem_id">();
    }
    std::uint32_t alloc_xrcd() {
        return run<prm::AllocXrcdOut>(Input<prm::AllocXrcdIn>(prm::Opcode::alloc_xrcd)).template get<"xrcd">();
    }

    /// MAD_IFC with a LID-routed subnet management packet, no key ignored.
    static Input<prm::MadIfcIn> mad_input(abi::wire::MadMethod method, abi::wire::SmAttribute attribute) {
        Input<prm::MadIfcIn> in(prm::Opcode::mad_ifc);
        in.template set<"port">(1u);
        abi::View<abi::wire::MadHeader>(std::span(in.bytes).subspan(0x10, abi::wire::MadHeader::size))
            .template set<"base_version">(abi::wire::mad_base_version)
            .template set<"mgmt_class">(static_cast<std::uint8_t>(abi::wire::MadClass::subnet_lid_routed))
            .template set<"class_version">(std::uint8_t{1})
            .template set<"method">(static_cast<std::uint8_t>(method))
            .template set<"attr_id">(static_cast<std::uint16_t>(attribute));
        return in;
    }

    struct Objects {
        std::uint32_t uar = 0, pd = 0, eqn = 0, cqn = 0;
    };
    Objects make_objects() {
        Objects o;
        o.uar = alloc_uar();
        o.pd = alloc_pd();
        o.eqn = run<prm::CreateEqOut>(eq_input(o.uar, 0)).template get<"eq_number">();
        o.cqn = run<prm::CreateCqOut>(cq_input(o.uar, o.eqn)).template get<"cqn">();
        return o;
    }
    std::uint32_t make_qp(const Objects& o) {
        return run<prm::CreateQpOut>(qp_input(o.pd, o.uar, o.cqn)).template get<"qpn">();
    }

    /// A transition with every mandatory field filled in.
    static Input<prm::Rst2initQpIn> transition_input(prm::Opcode opcode, std::uint32_t qpn) {
        Input<prm::Rst2initQpIn> in(opcode);
        in.set<"qpn">(qpn);
        const auto qpc = in.view().sub<"qpc">();
        qpc.set<"mtu">(prm::Mtu::bytes_1024)
            .set<"log_msg_max">(30u)
            .set<"remote_qpn">(0x77u)
            .set<"rre">(1u)
            .set<"rwe">(1u);
        qpc.set<"next_rcv_psn">(0x1000u)
            .set<"next_send_psn">(0x2000u)
            .set<"log_rra_max">(2u)
            .set<"log_sra_max">(3u)
            .set<"retry_count">(7u)
            .set<"rnr_retry">(6u);
        qpc.set<"min_rnr_nak">(12u).set<"log_ack_req_freq">(3u);
        qpc.sub<"primary_address_path">()
            .set<"ack_timeout">(14u)
            .set<"vhca_port_num">(1u)
            .set<"hop_limit">(64u)
            .set<"rmac_31_0">(0x55667788u);
        return in;
    }
    Output<prm::Rst2initQpOut> transit(prm::Opcode opcode, std::uint32_t qpn) {
        return run<prm::Rst2initQpOut>(transition_input(opcode, qpn));
    }
    Output<prm::Qp2rstOut> leave(prm::Opcode opcode, std::uint32_t qpn) {
        return run<prm::Qp2rstOut>(Input<prm::Qp2rstIn>(opcode).set<"qpn">(qpn));
    }
    prm::QpState state_of(std::uint32_t qpn) {
        return run<prm::QueryQpOut>(Input<prm::QueryQpIn>(prm::Opcode::query_qp).set<"qpn">(qpn))
            .view()
            .template sub<"qpc">()
            .template get<"state">();
    }

    model::port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    DeadWire wire;
    const std::array<model::port::Wire*, 1> wires{&wire};
    EventLog log;
    platform::card::Mlx5Device card;
    model::hca::Hca& hca = card.hca();
    firmware::Device& device = card.firmware();

private:
    void chain(std::span<const std::byte> data, std::size_t length, std::uint8_t token, bool sign,
               std::uint64_t (*address)(unsigned, std::size_t), unsigned slot) {
        const auto blocks = (length + 511) / 512;
        for (std::size_t n = 0; n < blocks; ++n) {
            abi::Block<prm::CommandMailbox> box;
            const auto part = data.subspan(std::min(data.size(), n * 512),
                                           std::min<std::size_t>(data.size() - std::min(data.size(), n * 512), 512));
            std::ranges::copy(part, box.bytes.begin());
            box.view()
                .set<"next">(n + 1 < blocks ? address(slot, n + 1) : 0)
                .set<"block_num">(static_cast<std::uint32_t>(n))
                .set<"token">(token);
            if (sign) {
                box.view().set<"ctrl_sig">(static_cast<std::uint8_t>(~prm::xor_of(std::span(box.bytes).subspan(512))));
                box.view().set<"sig">(static_cast<std::uint8_t>(~prm::xor_of(box.bytes)));
            }
            memory.poke(address(slot, n), box.bytes);
        }
    }
};

} // namespace harness
