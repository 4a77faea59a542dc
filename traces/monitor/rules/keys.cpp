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
    keys_[{done.at.interface, index}] = read(context, done.at.record);
}

Keys::MemoryKey Keys::read(ConstView<Mkc> context, std::uint64_t record) {
    return {.variant = static_cast<std::uint8_t>(context.get<"mkey_7_0">()),
            .is_free = context.get<"free">() != 0,
            .is_unbounded = context.get<"length64">() != 0,
            .can_read = context.get<"rr">() != 0,
            .can_write = context.get<"rw">() != 0,
            .can_atomic = context.get<"a">() != 0,
            .begin = context.get<"start_addr">(),
            .length = context.get<"len">(),
            .made = record};
}

void Keys::on(const ObjectGone& gone) {
    const ObjectKey object{gone.at.interface, gone.number};
    if (gone.kind == ObjectKind::mkey)
        keys_.erase(object);
    if (gone.kind != ObjectKind::qp)
        return;
    accesses_.erase(object), reads_.erase(object);
    if (const auto found = changes_.extract(object))
        for (const auto& change : found.mapped())
            settle(gone.at.interface, change, false, 0);
}

void Keys::on(const UmrFetched& fetched) {
    const ObjectKey object{fetched.at.interface, fetched.key};
    const auto key = keys_.find(object);
    if (key == keys_.end())
        return;
    auto& changes = changes_[{fetched.at.interface, fetched.qp.number.value}];
    if (std::ranges::find(changes, fetched.index, &Change::index) != changes.end())
        return; // read again
    changes.push_back({fetched.index, fetched.key, fetched.control.get<"mkey_mask">(), read(fetched.context, 0)});
    ++key->second.changes;
    if (changes.size() > most_changes) {
        settle(fetched.at.interface, changes.front(), false, 0);
        changes.pop_front();
    }
}

void Keys::settle(std::uint32_t link, const Change& change, bool is_done, std::uint64_t record) {
    const auto found = keys_.find({link, change.key});
    if (found == keys_.end() || found->second.changes == 0)
        return;
    auto& key = found->second;
    --key.changes;
    if (!is_done) {
        key.is_lost = true;
        return;
    }
    const auto& value = change.value;
    const auto take = [&](MkeyMask field, auto member) {
        if ((change.mask & static_cast<std::uint64_t>(field)) != 0)
            key.*member = value.*member;
    };
    take(MkeyMask::key, &MemoryKey::variant);
    take(MkeyMask::free, &MemoryKey::is_free);
    take(MkeyMask::len, &MemoryKey::length);
    take(MkeyMask::len, &MemoryKey::is_unbounded);
    take(MkeyMask::start_addr, &MemoryKey::begin);
    take(MkeyMask::rr, &MemoryKey::can_read);
    take(MkeyMask::rw, &MemoryKey::can_write);
    take(MkeyMask::a, &MemoryKey::can_atomic);
    key.made = record;
}

/// Changes are over with their own completion, or with that of a later request of their queue.
void Keys::on(const CqeWritten& written) {
    const auto opcode = written.entry.get<"opcode">();
    const auto link = written.at.interface;
    if (opcode == CqeOpcode::resp_send_inv) {
        if (const auto key = keys_.find({link, written.entry.get<"imm_inval_pkey">() >> 8}); key != keys_.end()) {
            key->second.is_free = true;
            key->second.made = written.at.record;
            key->second.invalidated_by = 0;
        }
        return;
    }
    if (opcode != CqeOpcode::req && opcode != CqeOpcode::req_err)
        return;
    const auto found = changes_.find({link, written.entry.get<"qpn">()});
    if (found == changes_.end())
        return;
    const auto index = written.entry.get<"wqe_counter">();
    for (auto& changes = found->second; !changes.empty(); changes.pop_front()) {
        const auto& change = changes.front();
        if (static_cast<std::int16_t>(change.index - index) > 0)
            break;
        settle(link, change, opcode == CqeOpcode::req || change.index != index, written.at.record);
    }
}

std::string Keys::find_fault(const MemoryKey& key, const Access& access) {
    if (key.is_free)
        return "the key is free, and no memory behind it: it was invalidated, or not filled yet";
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
    const auto found = keys_.find({seen.qp->link, access.key.index()});
    const bool is_known = found != keys_.end();
    if (is_known && (found->second.changes != 0 || found->second.invalidated_by != 0 || found->second.is_lost))
        return;
    judges();
    const auto reason = is_known ? find_fault(found->second, access)
                                 : "there is no such key: it was never made, or was destroyed before";
    if (reason.empty())
        return;
    Refused refused{
        seen.at.record, is_known ? found->second.made : 0,
        fmt::format("QP {:#x}, key {:#x}", key.second, access.key.value),
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
    if (packet.is_whole && traits.has_invalidate)
        if (const auto key = keys_.find({seen.qp->link, packet.invalidates.index()}); key != keys_.end())
            key->second.invalidated_by = seen.at.record;
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
