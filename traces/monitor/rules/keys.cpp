#include "traces/monitor/rules/keys.h"

#include <algorithm>

namespace traces::monitor {

using namespace abi::prm;
using abi::ConstView;
using Kind = abi::wire::OperationTraits::Kind;

void Keys::on(const CommandDone& done) {
    if (done.opcode == Opcode::init_hca)
        followed_.insert(done.at.interface);
    if (done.opcode != Opcode::create_mkey || done.in.size() < CreateMkeyIn::size ||
        done.out.size() < CreateMkeyOut::size)
        return;
    const auto context = ConstView<CreateMkeyIn>(done.in).sub<"memory_key_mkey_entry">();
    const auto index = ConstView<CreateMkeyOut>(done.out).get<"mkey_index">();
    keys_[{done.at.interface, index}] = {.variant = static_cast<std::uint8_t>(context.get<"mkey_7_0">()),
                                         .is_changeable = context.get<"umr_en">() != 0 || context.get<"free">() != 0,
                                         .is_unbounded = context.get<"length64">() != 0,
                                         .can_read = context.get<"rr">() != 0,
                                         .can_write = context.get<"rw">() != 0,
                                         .can_atomic = context.get<"a">() != 0,
                                         .begin = context.get<"start_addr">(),
                                         .length = context.get<"len">(),
                                         .made = done.at.record};
}

void Keys::on(const ObjectGone& gone) {
    if (gone.kind == ObjectKind::mkey)
        keys_.erase({gone.at.interface, gone.number});
    if (gone.kind == ObjectKind::qp)
        accesses_.erase({gone.at.interface, gone.number}), reads_.erase({gone.at.interface, gone.number});
}

/// What is wrong with an access; empty: nothing that this trace knows.
std::string Keys::find_fault(std::uint32_t link, const Access& access, std::uint64_t& made) const {
    const auto found = keys_.find({link, access.key.index()});
    if (found == keys_.end())
        return "there is no such key: it was never made, or was destroyed before";
    const auto& key = found->second;
    made = key.made;
    if (key.is_changeable)
        return {};
    if (key.variant != access.key.variant())
        return fmt::format("the key of this index ends in {:02x}", key.variant);
    if (!key.is_unbounded && (access.address < key.begin || access.length > key.length ||
                              access.address - key.begin > key.length - access.length))
        return fmt::format("the key reaches from {:#x} for {} bytes", key.begin, key.length);
    const bool may = access.kind == Kind::read_request ? key.can_read
                     : access.kind == Kind::atomic     ? key.can_atomic
                                                       : key.can_write;
    return may ? std::string() : "the key does not have this right";
}

void Keys::judge(const PacketSeen& seen, const Access& access) {
    const ObjectKey key{seen.qp->link, seen.qp->number.value};
    const bool is_read = access.kind == Kind::read_request;
    if (is_read)
        reads_.erase(key);
    if (access.length == 0) // no memory is reached (IBA 9.7.4.1.5)
        return;
    std::uint64_t made = 0;
    const auto reason = find_fault(seen.qp->link, access, made);
    if (reason.empty())
        return;
    Refused refused{
        seen.at.record, made, fmt::format("QP {:#x}, key {:#x}", key.second, access.key.value),
        fmt::format("{} of {} bytes at {:#x}: {}", seen.packet.traits().name, access.length, access.address, reason)};
    if (is_read) {
        const auto mtu = std::max<std::uint64_t>(1, seen.qp->mtu);
        const auto packets = static_cast<std::uint32_t>((access.length + mtu - 1) / mtu);
        reads_[key] = {refused, seen.packet.psn, seen.packet.psn + packets};
    }
    refused_[seen.qp->link] = std::move(refused);
}

/// An answer is known by its PSN: it may be sent when other things are going on.
void Keys::answers(const PacketSeen& seen) {
    const auto found = reads_.find({seen.qp->link, seen.qp->number.value});
    if (seen.packet.traits().kind != Kind::read_response || found == reads_.end())
        return;
    const auto& [request, begin, end] = found->second;
    if (seen.packet.psn.is_before(begin) || !seen.packet.psn.is_before(end))
        return;
    violated(seen.at, {request.record, request.made}, request.objects,
             fmt::format("{} bytes of memory are sent to a peer whose key does not reach them: {}",
                         seen.packet.payload_bytes, request.reason));
}

void Keys::on(const PacketSeen& seen) {
    if (seen.qp == nullptr || !followed_.contains(seen.qp->link))
        return;
    if (seen.direction == Direction::outbound) {
        answers(seen);
        return;
    }
    const auto& packet = seen.packet;
    const auto& traits = packet.traits();
    if (!packet.is_whole ||
        (traits.kind != Kind::write && traits.kind != Kind::read_request && traits.kind != Kind::atomic))
        return;
    const ObjectKey key{seen.qp->link, seen.qp->number.value};
    if (traits.has_reth || traits.has_atomic)
        accesses_[key] = {packet.rkey, packet.remote_address, packet.length, traits.kind};
    if (const auto found = accesses_.find(key); found != accesses_.end())
        judge(seen, found->second);
}

void Keys::on(const MemoryWritten& written) {
    const auto found = refused_.find(written.at.interface);
    if (written.place != Place::elsewhere || found == refused_.end() || written.at.cause == 0 ||
        found->second.record != written.at.cause)
        return;
    violated(written.at, {found->second.record, found->second.made}, found->second.objects,
             fmt::format("{} bytes at {:#x} are written for a peer whose key does not reach them: {}",
                         written.bytes.size(), written.address, found->second.reason));
}

} // namespace traces::monitor
