#include "traces/monitor/rules/atomics.h"

#include <algorithm>

namespace traces::monitor {

using Kind = abi::wire::OperationTraits::Kind;

void Atomics::on(const PacketSeen& seen) {
    const auto& packet = seen.packet;
    const bool is_request = seen.direction == Direction::inbound && packet.traits().kind == Kind::atomic;
    const bool is_answer = seen.direction == Direction::outbound && packet.traits().has_atomic_ack;
    if (seen.qp == nullptr || !(is_request || is_answer) || (is_request && !packet.is_whole))
        return;
    auto& operations = operations_[{seen.qp->link, seen.qp->number.value}];
    const auto found = std::ranges::find(operations, packet.psn, &Operation::psn);
    const auto objects = [&] { return fmt::format("QP {:#x}, PSN {:#x}", seen.qp->number.value, packet.psn.value); };
    if (is_request) {
        if (found == operations.end()) {
            operations.push_back({packet.psn, seen.at.record});
            if (operations.size() > most_kept)
                operations.pop_front();
        } else if (found->answer != 0) {
            duplicate_ = {seen.at.record, found->request, objects()};
        }
    } else if (found != operations.end()) {
        if (found->answer == 0) {
            found->answer = seen.at.record, found->original = packet.original;
            return;
        }
        judges();
        if (found->original != packet.original)
            violated(
                seen.at, {found->request, found->answer}, objects(),
                fmt::format("{} is answered with {:#x}, and was answered with {:#x} before: it was executed again, "
                            "or its result was not kept",
                            packet.traits().name, packet.original, found->original));
    }
}

void Atomics::on(const MemoryWritten& written) {
    if (written.at.cause != 0 && written.at.cause == duplicate_.record && written.place == Place::elsewhere)
        violated(
            written.at, {duplicate_.record, duplicate_.request}, duplicate_.objects,
            fmt::format("an atomic operation that comes again writes {:#x}: it is executed twice", written.address));
}

void Atomics::on(const ObjectGone& gone) {
    if (gone.kind == ObjectKind::qp)
        operations_.erase({gone.at.interface, gone.number});
}

} // namespace traces::monitor
