#include "sw/mlx/completion/cq.h"

#include "abi/prm/command.h"
#include "abi/prm/cq.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/wqe.h"
#include "sw/base/barrier.h"
#include "sw/memory/umem.h"
#include "sw/mlx/queue/qp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

namespace sw::mlx {

using namespace abi::prm;

namespace {

constexpr auto statuses = [] {
    std::array<CompletionStatus, 256> table;
    table.fill(CompletionStatus::unknown_error);
    const auto at = [&](CqeSyndrome syndrome) -> CompletionStatus& {
        return table[static_cast<std::uint8_t>(syndrome)];
    };
    at(CqeSyndrome::local_length_err) = CompletionStatus::local_length_error;
    at(CqeSyndrome::local_qp_op_err) = CompletionStatus::local_qp_operation_error;
    at(CqeSyndrome::local_prot_err) = CompletionStatus::local_protection_error;
    at(CqeSyndrome::wr_flush_err) = CompletionStatus::flushed;
    at(CqeSyndrome::mw_bind_err) = CompletionStatus::memory_window_bind_error;
    at(CqeSyndrome::bad_resp_err) = CompletionStatus::bad_response;
    at(CqeSyndrome::local_access_err) = CompletionStatus::local_access_error;
    at(CqeSyndrome::remote_inval_req_err) = CompletionStatus::remote_invalid_request;
    at(CqeSyndrome::remote_access_err) = CompletionStatus::remote_access_error;
    at(CqeSyndrome::remote_op_err) = CompletionStatus::remote_operation_error;
    at(CqeSyndrome::transport_retry_exc_err) = CompletionStatus::transport_retry_exceeded;
    at(CqeSyndrome::rnr_retry_exc_err) = CompletionStatus::rnr_retry_exceeded;
    at(CqeSyndrome::remote_aborted_err) = CompletionStatus::remote_aborted;
    return table;
}();

struct Sent {
    CompletionOperation operation = CompletionOperation::nop;
    bool has_byte_count = false;
};
/// By the opcode of the WQE, which the CQE repeats.
constexpr auto sent_operations = [] {
    std::array<Sent, 256> table{};
    const auto at = [&](WqeOpcode opcode) -> Sent& { return table[static_cast<std::uint8_t>(opcode)]; };
    at(WqeOpcode::send) = at(WqeOpcode::send_imm) = {CompletionOperation::send, false};
    at(WqeOpcode::rdma_write) = at(WqeOpcode::rdma_write_imm) = {CompletionOperation::write, false};
    at(WqeOpcode::rdma_read) = {CompletionOperation::read, true};
    at(WqeOpcode::atomic_cs) = {CompletionOperation::compare_swap, true};
    at(WqeOpcode::atomic_fa) = {CompletionOperation::fetch_add, true};
    at(WqeOpcode::umr) = {CompletionOperation::key_change, false};
    return table;
}();

} // namespace

Result<std::unique_ptr<CompletionQueue>> CompletionQueue::create(Device& device, const CqOptions& options) {
    const auto& capabilities = device.capabilities();
    const auto limit = std::uint32_t{1} << std::min<unsigned>(capabilities.get<"log_max_cq_sz">(), 31);
    if (options.entries == 0 || options.entries > limit)
        return failure(EINVAL, fmt::format("create completion queue: {} entries, the device has at most {}",
                                           options.entries, limit));
    std::unique_ptr<CompletionQueue> queue(new CompletionQueue(device, options));
    const auto entries = std::bit_ceil(options.entries);
    queue->mask_ = entries - 1;
    queue->log_size_ = static_cast<unsigned>(std::countr_zero(entries));
    unsigned log_page = 0;
    const auto listed = queue->ring_pages(log_page);
    if (!listed)
        return failure(listed.error().code, "create completion queue: " + listed.error().what);
    const auto& pages = *listed;
    Input<CreateCqIn> in(Opcode::create_cq, 0, pages.size() * sizeof(std::uint64_t));
    in.view()
        .sub<"cq_context">()
        .set<"cqe_sz">(static_cast<std::uint32_t>(CqeSize::bytes_64))
        .set<"oi">(options.ignore_overrun)
        .set<"log_cq_size">(queue->log_size_)
        .set<"uar_page">(device.uar().index())
        .set<"cq_period">(options.moderation_period)
        .set<"cq_max_count">(options.moderation_count)
        .set<"c_eqn_or_apu_element">(device.completion_eq(options.completion_eq).number().value)
        .set<"log_page_size">(log_page - 12)
        .set<"dbr_addr">(options.place.is_given() ? options.place.record : queue->record_.bus);
    for (std::size_t i = 0; i < pages.size(); ++i)
        in.set_tail64(i, pages[i]);
    const auto out = run<CreateCqOut>(device.commands(), in);
    if (!out)
        return std::unexpected(out.error());
    queue->number_ = abi::Cqn{out->get<"cqn">()};
    queue->exists_ = true;
    device.cqs().insert(queue->number_.value, queue.get());
    return queue;
}

/// The pages of the ring, which begins at one: page_offset stays 0. Sets the size of each.
Result<std::vector<std::uint64_t>> CompletionQueue::ring_pages(unsigned& log_page) {
    const auto bytes = std::size_t{entries()} * Cqe64::size;
    if (options_.place.is_given()) {
        log_page = 12;
        return options_.place.pages(bytes, "this completion queue");
    }
    auto ring = memory::Buffer::allocate(device_.transport(), bytes);
    if (!ring)
        return std::unexpected(std::move(ring.error()));
    ring_ = std::move(*ring);
    for (std::uint32_t i = 0; i < entries(); ++i) // no entry is valid until the device has written it
        abi::View<Cqe64>(std::span(entry(i), Cqe64::size)).set<"opcode">(CqeOpcode::invalid);
    const auto record = device_.doorbell_records().take();
    if (!record)
        return std::unexpected(record.error());
    record_ = *record;
    const auto umem = memory::Umem::from_host(ring_.memory(), 0, ring_.size());
    if (!umem)
        return std::unexpected(umem.error());
    log_page = *umem->best_page_size(abi::Iova{0});
    return umem->pages(log_page);
}

CompletionQueue::~CompletionQueue() {
    if (!destroy()) { // the device is gone or refuses: our tables forget the queue, and memory that it may still reach
                      // stays
        device_.cqs().erase(number_.value);
        device_.forget_completion_events(number_);
        device_.keep_until_closed(std::move(ring_));
    }
    if (record_.data)
        device_.doorbell_records().give_back(record_);
}

Result<void> CompletionQueue::destroy() {
    if (!exists_)
        return {};
    Input<DestroyCqIn> in(Opcode::destroy_cq);
    in.view().set<"cqn">(number_.value);
    if (const auto out = run<DestroyCqOut>(device_.commands(), in); !out)
        return std::unexpected(out.error());
    exists_ = false;
    device_.cqs().erase(number_.value);
    device_.forget_completion_events(number_);
    return {};
}

bool CompletionQueue::is_ready(std::uint32_t index) const {
    const auto own =
        std::to_integer<std::uint32_t>(static_cast<const volatile std::byte*>(entry(index))[cqe_op_own_offset]);
    return own >> 4 != static_cast<std::uint32_t>(CqeOpcode::invalid) && (own & 1) == (index >> log_size_ & 1);
}

bool CompletionQueue::complete(const std::byte* bytes, Completion& into) {
    const abi::ConstView<Cqe64> cqe(std::span<const std::byte>(bytes, Cqe64::size));
    auto* qp = device_.qps().find(cqe.get<"qpn">());
    if (!qp) [[unlikely]] {
        ++unknown_;
        return false;
    }
    const auto opcode = cqe.get<"opcode">();
    const auto counter = cqe.get<"wqe_counter">();
    into.qpn = qp->number();
    into.status = CompletionStatus::success;
    into.syndrome = into.vendor_syndrome = 0;
    into.has_immediate = false;
    into.is_solicited = cqe.get<"se">() != 0;
    into.wqe_counter = counter;
    into.byte_count = 0;
    into.immediate = 0;
    into.source_qpn = {};
    into.source_lid = 0;
    into.timestamp = cqe.get<"timestamp">();
    const auto receive = [&](CompletionOperation operation, bool has_immediate) {
        into.wr_id = qp->complete_receive();
        into.operation = operation;
        into.byte_count = cqe.get<"byte_cnt">();
        into.has_immediate = has_immediate;
        into.immediate = cqe.get<"imm_inval_pkey">();
        into.source_qpn = abi::Qpn{cqe.get<"rqpn">()};
        into.source_lid = cqe.get<"slid">();
    };
    switch (opcode) {
    case CqeOpcode::req: {
        const auto sent = sent_operations[cqe.get<"sop">()];
        into.wr_id = qp->complete_send(counter);
        into.operation = sent.operation;
        if (sent.has_byte_count)
            into.byte_count = cqe.get<"byte_cnt">();
        break;
    }
    case CqeOpcode::resp_wr_imm: receive(CompletionOperation::receive_write_imm, true); break;
    case CqeOpcode::resp_send: receive(CompletionOperation::receive, false); break;
    case CqeOpcode::resp_send_imm: receive(CompletionOperation::receive, true); break;
    case CqeOpcode::req_err:
    case CqeOpcode::resp_err: {
        const abi::ConstView<ErrCqe> error(std::span<const std::byte>(bytes, ErrCqe::size));
        into.syndrome = static_cast<std::uint8_t>(error.get<"syndrome">());
        into.vendor_syndrome = error.get<"vendor_err_synd">();
        into.status = statuses[into.syndrome];
        into.timestamp = 0; // its place holds the syndromes
        if (opcode == CqeOpcode::req_err) {
            into.wr_id = qp->complete_send(counter);
            into.operation = sent_operations[error.get<"sop">()].operation;
        } else {
            into.wr_id = qp->complete_receive();
            into.operation = CompletionOperation::receive;
        }
        break;
    }
    default: // an opcode this queue was never asked for
        ++unknown_;
        return false;
    }
    if (options_.verify_signatures && xor_of(cqe.bytes()) != 0xff) [[unlikely]] {
        ++bad_signatures_;
        into.status = CompletionStatus::unknown_error;
    }
    return true;
}

std::size_t CompletionQueue::poll(std::span<Completion> into) {
    std::size_t count = 0;
    if (options_.place.is_given())
        return 0;
    const auto before = consumer_;
    while (count < into.size() && is_ready(consumer_)) {
        base::dma_rmb(); // owner before entry: the device writes the owner last
        count += complete(entry(consumer_), into[count]);
        ++consumer_;
    }
    if (consumer_ != before) {
        device_.transport().spend(transport::Work::poll, consumer_ - before);
        base::dma_wmb(); // entries read before they are given back: the device may overwrite them
        record_.set_first(consumer_ & queue_index_mask);
    }
    return count;
}

void CompletionQueue::request_notification(bool solicited_only) {
    if (options_.place.is_given())
        return;
    abi::Block<CqDoorbell> doorbell;
    doorbell.view()
        .set<"cmd_sn">(arm_sequence_)
        .set<"cmd">(solicited_only ? ArmCommand::solicited : ArmCommand::next)
        .set<"ci">(consumer_)
        .set<"cqn">(number_.value);
    std::memcpy(record_.data + 4, doorbell.bytes.data(), 4);
    base::mmio_wmb(); // arm word in memory before doorbell: the device reads the record when it is rung
    device_.uar().arm_cq(doorbell);
}

void CompletionQueue::forget(abi::Qpn qpn) {
    if (options_.place.is_given())
        return;
    base::dma_rmb();
    auto end = consumer_;
    while (end - consumer_ <= mask_ && is_ready(end))
        ++end;
    // From the newest to the oldest, entries of others move up over the dropped ones and take the owner bit of their
    // new place.
    std::uint32_t dropped = 0;
    for (auto at = end; at-- != consumer_;) {
        const abi::View<Cqe64> cqe(std::span(entry(at), Cqe64::size));
        if (cqe.get<"qpn">() == qpn.value) {
            ++dropped;
        } else if (dropped) {
            const abi::View<Cqe64> place(std::span(entry(at + dropped), Cqe64::size));
            const auto owner = place.get<"owner">();
            std::ranges::copy(cqe.bytes(), place.bytes().begin());
            place.set<"owner">(owner);
        }
    }
    if (dropped) {
        consumer_ += dropped;
        base::dma_wmb(); // moved entries before the index that gives their old places back
        record_.set_first(consumer_ & queue_index_mask);
    }
}

} // namespace sw::mlx
