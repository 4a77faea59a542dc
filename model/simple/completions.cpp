#include "model/simple/completions.h"

#include "abi/layout.h"

#include <algorithm>

namespace model::simple {

using abi::simple::Completion;

void Completions::write(CompletionQueue& queue, const Done& done, port::Time at) {
    const bool is_error = done.outcome != abi::simple::Outcome::success;
    ++(is_error ? counters_.completions_error : counters_.completions_ok);
    abi::Block<Completion> entry;
    entry.view()
        .set<"cookie">(done.cookie)
        .set<"index">(done.index)
        .set<"byte_count">(done.byte_count)
        .set<"immediate">(done.immediate)
        .set<"qpn">(done.qpn.value)
        .set<"source_qpn">(done.source.value)
        .set<"outcome">(done.outcome)
        .set<"operation">(done.operation)
        .set<"is_receive">(done.is_receive)
        .set<"has_immediate">(done.has_immediate)
        .set<"is_solicited">(done.is_solicited)
        .set<"phase">((queue.producer & queue.entries) == 0 ? 1 : 0);
    const auto index = queue.producer++ & (queue.entries - 1);
    queue.written = std::max(queue.written, at);
    // An entry that the function itself cannot write is lost; software sees a queue that stands still.
    (void)memory_.write(abi::BusAddress{queue.ring + std::uint64_t{index} * Completion::size}, entry.bytes,
                        queue.written, port::Purpose::control);
    events_.emit(queue.written, traces::CompletionWritten{.cqn = queue.number.value,
                                                          .qpn = done.qpn.value,
                                                          .opcode = static_cast<std::uint8_t>(done.operation),
                                                          .syndrome = static_cast<std::uint8_t>(done.outcome),
                                                          .wqe_counter = static_cast<std::uint16_t>(done.index),
                                                          .byte_count = done.byte_count});
}

} // namespace model::simple
