#include "model/hca/completion/cqe_writer.h"

#include "abi/prm/doorbell.h"
#include "model/hca/doorbell/doorbell_record.h"

#include <algorithm>
#include <utility>

namespace model::hca::completion {

using queue::CompletionState;

namespace {

constexpr auto index_mask = abi::prm::queue_index_mask;

/// The entry that a 24-bit index means: the one nearest to `producer`.
std::uint64_t extend(std::uint32_t index, std::uint64_t producer) {
    const auto ahead = static_cast<std::int32_t>((index - static_cast<std::uint32_t>(producer)) << 8) >> 8;
    return producer + static_cast<std::uint64_t>(std::int64_t{ahead});
}
/// Whether A comes after B, also when the index was extended to a place before the first entry.
bool is_ahead(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b) > 0; }

} // namespace

void encode(const Completion& c, std::uint64_t timestamp, bool owner, CompletionEntry& out) {
    const abi::View<abi::prm::Cqe64> cqe(out.cqe());
    if (c.syndrome != CqeSyndrome{}) {
        abi::View<abi::prm::ErrCqe>(out.cqe())
            .set<"srqn_uidx">(c.user_index)
            .set<"vendor_err_synd">(c.vendor_syndrome)
            .set<"syndrome">(c.syndrome)
            .set<"sop">(c.send_opcode)
            .set<"qpn">(c.qpn.value)
            .set<"wqe_counter">(c.wqe_counter)
            .set<"opcode">(c.opcode)
            .set<"owner">(owner);
    } else {
        // Bits before the bytes beside them: what shares a word with bits is read back when those are set.
        cqe.set<"opcode">(c.opcode)
            .set<"se">(c.solicited)
            .set<"owner">(owner)
            .set<"wqe_counter">(c.wqe_counter)
            .set<"srqn_uidx">(c.user_index)
            .set<"imm_inval_pkey">(c.immediate)
            .set<"byte_cnt">(c.byte_count)
            .set<"timestamp">(timestamp)
            .set<"sop">(c.send_opcode)
            .set<"qpn">(c.qpn.value);
        if (c.is_datagram)
            cqe.set<"slid">(c.source_lid)
                .set<"ml_path">(c.path_bits)
                .set<"grh">(c.has_grh)
                .set<"sl">(c.service_level)
                .set<"rqpn">(c.source_qpn.value);
        if (!c.data.empty()) [[unlikely]] {
            // A driver tells by the format alone where the bytes are: in the CQE64 itself or in front of it.
            const bool is_small = c.data.size() <= abi::prm::cqe_inline_32;
            if (!is_small)
                std::ranges::fill(std::span(out.bytes).first<abi::prm::cqe_inline_64>(), std::byte{});
            std::ranges::copy(c.data, is_small ? out.cqe().data() : out.bytes.data());
            cqe.set<"cqe_format">(is_small ? abi::prm::CqeFormat::inline_32 : abi::prm::CqeFormat::inline_64);
        }
    }
    cqe.set<"signature">(abi::prm::cqe_signature(out.cqe()));
}

CqeWriter::CqeWriter(const HcaConfig& config, port::Dma& dma, port::Clock& clock, icm::ContextMemory& contexts,
                     event::EventQueues& event_queues, Counters& counters, const traces::Events& events)
    : dma_(dma), moderation_(clock), contexts_(contexts), event_queues_(event_queues), counters_(counters),
      events_(events), latency_(config.timed ? config.cqe_latency : port::Time{}),
      picoseconds_per_tick_(
          std::max<std::int64_t>(1, 1'000'000'000 / std::max<std::uint32_t>(1, config.internal_timer_khz))) {}

CqeWriter::Room CqeWriter::room(CompletionQueue& cq, port::Time at) {
    const auto used = [&cq] { return (static_cast<std::uint32_t>(cq.producer) - cq.consumer_seen) & index_mask; };
    if (cq.attributes.overrun_ignore || used() < cq.size()) [[likely]]
        return {true, at};
    const auto consumer = doorbell::read_record(dma_, cq.attributes.doorbell_record, doorbell::Record::consumer, at);
    if (!consumer)
        return {false, at};
    cq.consumer_seen = consumer->value & index_mask;
    return {used() < cq.size(), consumer->at};
}

void CqeWriter::fail(CompletionQueue& cq, CompletionState state, port::Time at) {
    cq.state = state;
    events_.emit(at, traces::CompletionOverrun{cq.number.value});
    using abi::prm::CqErrorSyndrome;
    const auto syndrome =
        state == CompletionState::overrun ? CqErrorSyndrome::overrun : CqErrorSyndrome::access_violation;
    event_queues_.broadcast(abi::prm::EventType::cq_error, 0, cq.number.value, at, [&](abi::View<abi::prm::Eqe> eqe) {
        abi::prm::event_data<abi::prm::CqErrorEventData>(eqe).set<"cqn">(cq.number.value).set<"syndrome">(syndrome);
    });
}

void CqeWriter::say(CompletionQueue& cq, const Completion& completion, port::Time at) const {
    const auto opcode = static_cast<std::uint8_t>(completion.opcode),
               syndrome = static_cast<std::uint8_t>(completion.syndrome);
    cq.newest_event =
        events_.emit(at, traces::CompletionWritten{cq.number.value, completion.qpn.value, opcode, syndrome,
                                                   completion.wqe_counter, completion.byte_count});
    if (completion.syndrome != CqeSyndrome{} && completion.syndrome != CqeSyndrome::wr_flush_err)
        events_.emit(at, traces::CompletionFailed{cq.number.value, completion.qpn.value, opcode, syndrome,
                                                  completion.vendor_syndrome, completion.send_opcode,
                                                  completion.wqe_counter});
}

bool CqeWriter::write(CompletionQueue& cq, const Completion& completion, port::Time at) {
    const traces::Cause cause(events_, completion.cause != 0 ? completion.cause : events_.cause());
    at = contexts_.completion_queue(cq.number, at) + latency_;
    if (cq.state != CompletionState::ready)
        return false;
    const auto room = this->room(cq, at);
    at = cq.entries.issue(room.at);
    if (!room.is_there) {
        fail(cq, CompletionState::overrun, at);
        return false;
    }
    assert(completion.data.size() <= cq.inline_bytes() && "whoever has the bytes asks whether the entry has room");
    CompletionEntry entry;
    encode(completion, static_cast<std::uint64_t>(at.count() / picoseconds_per_tick_), owner(cq), entry);
    const auto written = put(cq, entry, completion.data.size() > abi::prm::cqe_inline_32, at);
    if (!written.is_ok())
        return false;
    at = written.done;
    const bool is_error = completion.syndrome != CqeSyndrome{};
    ++(is_error ? counters_.completions_error : counters_.completions_ok);
    if (completion.solicited || is_error)
        cq.last_solicited = cq.producer;
    if (events_.is_on()) [[unlikely]]
        say(cq, completion, at);
    if (cq.arm.is_set) [[unlikely]]
        notify(cq, at);
    return true;
}

/// Writes the next entry, of a 128-byte one the first half only when something stands there. When it cannot be
/// written, the queue has failed.
port::DmaResult CqeWriter::put(CompletionQueue& cq, CompletionEntry& entry, bool has_front, port::Time at) {
    // A 128-byte entry holds the CQE in its second half (PRM "CQE", cqe_sz).
    const auto end = ((cq.producer & (cq.size() - 1)) + 1) << cq.attributes.log_entry_bytes;
    const auto bytes = has_front ? std::span<const std::byte>(entry.bytes) : entry.cqe();
    const auto written = cq.attributes.buffer.write(dma_, end - bytes.size(), bytes, at);
    if (!written.is_ok())
        fail(cq, CompletionState::write_failed, at);
    else
        ++cq.producer;
    return written;
}

std::optional<doorbell::RecordRead> CqeWriter::outstanding(CompletionQueue& cq, port::Time at) {
    const auto consumer = doorbell::read_record(dma_, cq.attributes.doorbell_record, doorbell::Record::consumer, at);
    if (!consumer)
        return std::nullopt;
    cq.consumer_seen = consumer->value & index_mask;
    return doorbell::RecordRead{(static_cast<std::uint32_t>(cq.producer) - cq.consumer_seen) & index_mask,
                                consumer->at};
}

bool CqeWriter::resize(CompletionQueue& cq, memory::PagedBuffer buffer, std::uint8_t log_size, port::Time at) {
    const auto room = this->room(cq, at);
    if (!room.is_there)
        return false;
    CompletionEntry entry;
    const abi::View<abi::prm::Cqe64> cqe(entry.cqe());
    cqe.set<"opcode">(CqeOpcode::resize_cq)
        .set<"owner">(owner(cq))
        .set<"signature">(abi::prm::cqe_signature(entry.cqe()));
    if (!put(cq, entry, false, cq.entries.issue(room.at)).is_ok())
        return false;
    cq.attributes.buffer = std::move(buffer);
    cq.attributes.log_size = log_size;
    return true;
}

void CqeWriter::moderate_anew(CompletionQueue& cq, port::Time at) {
    moderation_.forget(cq);
    if (cq.arm.is_set)
        notify(cq, at);
}

void CqeWriter::wake(port::Time now) {
    moderation_.expire(now, [&](CompletionQueue& cq) {
        if (cq.arm.is_set)
            notify(cq, now, true);
    });
}

bool CqeWriter::arm(CompletionQueue& cq, const doorbell::ArmRequest& request, port::Time at) {
    auto& arm = cq.arm;
    const auto consumer = extend(request.consumer, cq.producer);
    // The same request again, late or repeated: its event is out, and software will see it (PRM "CQ doorbell", cmd_sn).
    // Software that does not count its events is still served once it has consumed something.
    if (arm.has_fired && request.sequence == arm.sequence && !is_ahead(consumer, arm.consumer))
        return false;
    // A request for the next completion is not weakened by one for the next solicited completion (IBA 11.4.2.2).
    const bool solicited_only = request.solicited_only && !(arm.is_set && !arm.solicited_only);
    arm = {.is_set = true, .solicited_only = solicited_only, .sequence = request.sequence, .consumer = consumer};
    events_.emit(at, traces::CompletionArmed{cq.number.value, request.consumer, request.solicited_only});
    notify(cq, at);
    return true;
}

void CqeWriter::notify(CompletionQueue& cq, port::Time at, bool at_once) {
    // Both conditions matter: without the first a completion that came before the arm is never reported; without the
    // second an arm before polling reports the same completion twice.
    const auto newest = cq.arm.solicited_only ? cq.last_solicited : cq.producer;
    if (!is_ahead(newest, cq.arm.consumer) || !is_ahead(newest, cq.last_notified))
        return;
    const auto told = is_ahead(cq.arm.consumer, cq.last_notified) ? cq.arm.consumer : cq.last_notified;
    if (!at_once && moderation_.holds_back(cq, newest - told, at))
        return;
    moderation_.forget(cq);
    at = cq.entries.issue(at); // whoever is told finds the entry
    cq.arm.is_set = false;
    cq.arm.has_fired = true;
    cq.last_notified = cq.producer;
    const traces::Cause cause(events_, cq.newest_event);
    event_queues_.write(cq.attributes.eqn, abi::prm::EventType::completion, 0, cq.number.value, at,
                        [&cq](abi::View<abi::prm::Eqe> eqe) {
                            abi::prm::event_data<abi::prm::CompletionEventData>(eqe).set<"cqn">(cq.number.value);
                        });
}

} // namespace model::hca::completion
