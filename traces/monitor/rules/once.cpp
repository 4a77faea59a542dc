#include "traces/monitor/rules/once.h"

namespace traces::monitor {

using namespace abi::prm;

void Once::on(const Posted& posted) {
    auto& queue = queues_[{posted.qp.link, posted.qp.number.value}][posted.is_send ? 1 : 0];
    if (static_cast<std::int16_t>(posted.end - queue.posted) > 0)
        queue.posted = posted.end;
    queue.is_known = true;
}

void Once::on(const CqeWritten& written) {
    const auto opcode = written.entry.get<"opcode">();
    const bool is_send = opcode == CqeOpcode::req || opcode == CqeOpcode::req_err;
    if (opcode == CqeOpcode::resize_cq || opcode == CqeOpcode::sig_err || opcode == CqeOpcode::invalid ||
        written.entry.get<"cqe_format">() == CqeFormat::compressed)
        return;
    const auto qpn = written.entry.get<"qpn">();
    const auto found = queues_.find({written.at.interface, qpn});
    if (found == queues_.end())
        return;
    auto& queue = found->second[is_send ? 1 : 0];
    if (!queue.is_known)
        return;
    judges();
    const auto index = written.entry.get<"wqe_counter">();
    const auto open = static_cast<std::uint16_t>(queue.posted - queue.head),
               ahead = static_cast<std::uint16_t>(index - queue.head);
    if (ahead >= open)
        violated(
            written.at, {queue.completed},
            fmt::format("QP {:#x}, {} queue, CQ {:#x}", qpn, is_send ? "send" : "receive", written.queue.number.value),
            fmt::format("work request {:#x} completes, but {}: software frees its buffer twice, or one that is in "
                        "use",
                        index,
                        open == 0 ? fmt::format("all up to {:#x} have completed and no more are posted", queue.head)
                                  : fmt::format("only {:#x} to {:#x} are posted and not completed", queue.head,
                                                static_cast<std::uint16_t>(queue.posted - 1))));
    else
        queue.head = static_cast<std::uint16_t>(index + 1);
    queue.completed = written.at.record;
}

void Once::on(const ObjectGone& gone) {
    if (gone.kind == ObjectKind::qp)
        queues_.erase({gone.at.interface, gone.number});
}

} // namespace traces::monitor
