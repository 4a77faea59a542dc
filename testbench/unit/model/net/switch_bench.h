// A switch of four ports between cables that keep what it sends; nothing is plugged into port 4.
#pragma once

#include "abi/wire/infiniband.h"
#include "model/wire/builder.h"
#include "model/net/infiniband_switch.h"
#include "testbench/harness/test_ports.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace harness {

using namespace abi::wire;
using abi::prm::PortPhysicalState;
using abi::prm::PortState;
using model::net::InfinibandSwitch;
using model::port::Packet;

/// The sending side of a cable that keeps what is sent.
struct Kept final : model::port::Wire {
    Packet slot;
    std::vector<Packet> packets;
    bool takes_data = true;
    std::size_t most = ~std::size_t{0}; ///< packets that it takes
    std::vector<std::uint64_t> credits; ///< bytes that the other end may send again
    bool can_send(Time) override { return takes_data && packets.size() < most; }
    void give_credit(std::uint64_t bytes, Time) override { credits.push_back(bytes); }
    Packet& next() override {
        slot.clear();
        return slot;
    }
    Time send(Time at) override {
        packets.push_back(slot);
        ++traffic.packets;
        traffic.bytes += model::wire::frame_length(slot);
        return at;
    }
    bool set_on(bool on, Time) override {
        sent_before_change = traffic.packets;
        return is_on = on;
    }
    bool is_on = true;
    std::uint64_t sent_before_change = 0;
    model::port::Traffic sent() const override { return traffic; }
    model::port::Traffic traffic;
};

struct SwitchBench {
    explicit SwitchBench(bool is_managed = true)
        : device({.agent = {.ports = 4, .guid = 0x1234, .is_managed = is_managed}, .latency = {}}, {&log, 1}) {
        for (unsigned number = 1; number <= 3; ++number) // nothing is plugged into port 4
            device.connect(number, out[number]);
        if (!is_managed) {
            device.agent().set_route(10, 1);
            device.agent().set_route(11, 2);
            device.agent().flood_groups();
        }
    }
    void send(unsigned ingress, Packet packet) {
        device.receiver(ingress).receive(packet, {});
        device.receiver(ingress).received_all({});
    }
    static Packet packet(std::uint16_t to) {
        Packet p;
        p.path.encapsulation = model::port::Encapsulation::infiniband;
        p.path.source_lid = 10;
        p.path.destination_lid = to;
        p.rdma().destination = abi::Qpn{0x55};
        p.payload.append_copy(std::vector(16, std::byte{7}));
        return p;
    }
    using Mad = std::array<std::byte, mad_bytes>;
    static abi::View<MadHeader> header(Mad& mad) {
        return abi::View<MadHeader>(std::span<std::byte, mad_bytes>(mad).first<MadHeader::size>());
    }
    static Mad mad(SmAttribute attribute, std::uint32_t modifier = 0, MadMethod method = MadMethod::get) {
        Mad m{};
        header(m)
            .set<"base_version">(1)
            .set<"mgmt_class">(static_cast<std::uint8_t>(MadClass::subnet_directed_route))
            .set<"class_version">(1)
            .set<"method">(static_cast<std::uint8_t>(method))
            .set<"hop_ptr">(1)
            .set<"hop_cnt">(1)
            .set<"attr_id">(static_cast<std::uint16_t>(attribute))
            .set<"attr_mod">(modifier);
        return m;
    }
    static Packet management(const Mad& mad, std::uint16_t to = permissive_lid) {
        Packet p = packet(to);
        p.rdma().service = Service::ud;
        p.rdma().operation = Operation::send_only;
        p.rdma().destination = abi::Qpn{0};
        p.payload.clear();
        p.payload.append_copy(mad);
        return p;
    }
    Mad answer(unsigned port) {
        REQUIRE(out[port].packets.size() == 1);
        Mad m{};
        REQUIRE(out[port].packets[0].payload.size() == m.size());
        out[port].packets[0].payload.copy_to(m);
        out[port].packets.clear();
        return m;
    }
    /// Sets and gets an attribute from port 1; returns the answer's data.
    template <class L> abi::View<L> exchange(Mad& m) {
        send(1, management(m));
        m = answer(1);
        return data<L>(m);
    }
    template <class L> static abi::View<L> data(Mad& m) { return abi::View<L>(std::span(m).subspan(0x40, L::size)); }
    static unsigned status(Mad& m) { return header(m).get<"status">() & ~unsigned{smp_direction}; }
    std::vector<std::string_view> reasons() const {
        std::vector<std::string_view> all;
        for (const auto& dropped : log.all<traces::PacketDropped>())
            all.push_back(dropped.reason.text());
        return all;
    }
    void bring_up(unsigned port) {
        for (const auto state : {PortState::armed, PortState::active}) {
            auto m = mad(SmAttribute::port_info, port, MadMethod::set);
            data<PortInfo>(m).set<"port_state">(static_cast<std::uint32_t>(state));
            exchange<PortInfo>(m);
            REQUIRE(status(m) == 0);
        }
    }

    EventLog log;
    std::array<Kept, 5> out;
    InfinibandSwitch device;
};

} // namespace harness
