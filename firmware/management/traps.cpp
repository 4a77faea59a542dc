#include "firmware/management/traps.h"

#include <algorithm>

namespace firmware::management {

using namespace abi::wire;
using model::management::Datagram;

namespace {
/// IBA 14.2.5.6, SubnetTimeOut: traps of one port are at least 4.096 us * 2^n apart.
model::port::Time interval(const model::management::ManagedPort& port) {
    return std::chrono::nanoseconds{4096} * (std::int64_t{1} << port.subnet_timeout);
}
} // namespace

/// The notice to fill in, or nullptr: no manager wants it, or one of this kind is under way.
Traps::Trap* Traps::begin(std::uint16_t number, model::port::Time at) {
    auto& trap = traps_[number - first_number];
    if (!has_manager_ || port_.lid == 0 || port_.sm_lid == 0 || trap.sendings_left != 0)
        return nullptr;
    trap.notice = {};
    trap.notice.view()
        .set<"is_generic">(1)
        .set<"type">(security_notice)
        .set<"producer_type">(channel_adapter_producer)
        .set<"trap_number">(number)
        .set<"issuer_lid">(port_.lid);
    trap.transaction = ++transactions_;
    trap.sendings_left = most_sendings;
    trap.due = std::max(trap.due, at);
    return &trap;
}

void Traps::bad_m_key(Mad request, model::port::Time at) {
    auto* trap = begin(bad_m_key_trap, at);
    if (trap == nullptr)
        return;
    const abi::ConstView<MadHeader> header(request.first<MadHeader::size>());
    const abi::ConstView<Smp> asked(request);
    const bool is_on_route = static_cast<MadClass>(header.get<"mgmt_class">()) == MadClass::subnet_directed_route;
    // The sender's LID is in the packet's header, which does not come with the datagram; a datagram with a directed
    // route contains it.
    abi::View<BadManagementKeyNotice>(std::span(trap->notice.bytes))
        .set<"dr_slid">(is_on_route ? asked.get<"dr_slid">() : std::uint16_t{0})
        .set<"method">(header.get<"method">())
        .set<"attr_id">(header.get<"attr_id">())
        .set<"attr_mod">(header.get<"attr_mod">())
        .set<"mkey">(asked.get<"mkey">());
    if (trap->due <= at)
        return send(*trap, at);
    if (clock_ != nullptr)
        clock_->wake_at(trap->due);
}

void Traps::bad_key(model::management::Agent::BadKey what, const model::port::Packet& packet, model::port::Time at) {
    const bool is_p_key = what == model::management::Agent::BadKey::p_key;
    auto* trap = begin(is_p_key ? bad_p_key_trap : bad_q_key_trap, at);
    if (trap == nullptr)
        return;
    const auto& path = packet.path;
    const abi::View<BadKeyNotice> notice{std::span(trap->notice.bytes)};
    notice.set<"lid1">(path.source_lid)
        .set<"lid2">(path.destination_lid)
        .set<"key">(is_p_key ? packet.rdma().pkey : packet.rdma().deth.qkey)
        .set<"sl">(path.service_level)
        .set<"qp1">(packet.rdma().service == Service::ud ? packet.rdma().deth.source_qpn.value
                                                         : 0) // other packets do not say
        .set<"qp2">(packet.rdma().destination.value);
    if (path.has_grh)
        notice.set<"gid1">(path.source_gid).set<"gid2">(path.destination_gid);
    if (trap->due <= at)
        return send(*trap, at);
    if (clock_ != nullptr)
        clock_->wake_at(trap->due);
}

void Traps::send(Trap& trap, model::port::Time at) {
    Datagram mad{};
    abi::View<MadHeader>(std::span(mad).first<MadHeader::size>())
        .set<"base_version">(mad_base_version)
        .set<"mgmt_class">(static_cast<std::uint8_t>(MadClass::subnet_lid_routed))
        .set<"class_version">(1)
        .set<"method">(static_cast<std::uint8_t>(MadMethod::trap))
        .set<"tid">(trap.transaction)
        .set<"attr_id">(notice_attribute);
    std::ranges::copy(trap.notice.bytes, mad.begin() + static_cast<std::ptrdiff_t>(Smp::field<"data">::offset));
    hca_.send_management(mad, port_.sm_lid, at); // a trap that finds no room on the wire is repeated like a lost one
    --trap.sendings_left;
    trap.due = at + interval(port_);
    if (clock_ != nullptr && trap.sendings_left != 0)
        clock_->wake_at(trap.due);
}

bool Traps::repress(Mad mad) {
    const abi::ConstView<MadHeader> header(mad.first<MadHeader::size>());
    const auto method = static_cast<MadMethod>(header.get<"method">());
    const auto mad_class = static_cast<MadClass>(header.get<"mgmt_class">());
    if (mad_class != MadClass::subnet_lid_routed || method != MadMethod::trap_repress ||
        header.get<"attr_id">() != notice_attribute)
        return false;
    for (auto& trap : traps_)
        if (trap.sendings_left != 0 && trap.transaction == header.get<"tid">())
            trap.sendings_left = 0;
    return true;
}

void Traps::wake(model::port::Time now) {
    for (auto& trap : traps_) {
        if (trap.sendings_left == 0)
            continue;
        if (trap.due <= now)
            send(trap, now);
        else if (clock_ != nullptr)
            clock_->wake_at(trap.due);
    }
}

void Traps::reset() { traps_ = {}; }

} // namespace firmware::management
