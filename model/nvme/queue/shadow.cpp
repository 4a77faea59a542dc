// Shadow doorbells: the host writes tails and heads to memory, and the controller writes beside them up to where it has
// looked. A register is written only when the host passes that event index (NVMe base 2.0 "Doorbell Buffer Config
// command", "Updating Controller Doorbell Properties using a Shadow Doorbell Buffer").
#include "abi/nvme/registers.h"
#include "model/nvme/queue/queues.h"

#include <algorithm>
#include <atomic>

namespace model::nvme {

using abi::BusAddress;
using port::Time;

namespace {
/// Never passed but once a turn of the ring: the controller looks for itself.
constexpr std::uint32_t never_ring = 0xffff;
} // namespace

std::uint64_t Queues::slot(std::uint32_t id, bool is_completion) const {
    return abi::nvme::doorbell_offset(id, is_completion, config_.doorbell_stride);
}

bool Queues::fits_shadow(std::uint32_t id) const { return slot(id, true) + 4 <= page_bytes_; }

void Queues::set_shadow(std::uint64_t doorbells, std::uint64_t events, Time at) {
    has_shadow_ = true, shadow_doorbells_ = doorbells, shadow_events_ = events, shadow_since_ = at;
    // Queue 0 keeps its registers, which is what hosts use for it.
    for (const auto& queue : submission_)
        if (queue && queue->id != 0)
            shadow(*queue, at);
    for (const auto& queue : completion_)
        if (queue && queue->id != 0)
            shadow(*queue, at);
}

/// The shadow begins with what the register had: hosts leave old values in the page.
void Queues::shadow(SubmissionQueue& queue, Time at) {
    if (!fits_shadow(queue.id))
        return;
    write_dword(shadow_doorbells_ + slot(queue.id, false), queue.tail, at);
    write_dword(shadow_events_ + slot(queue.id, false), queue.tail, at);
    queue.is_shadowed = true, queue.is_armed = true;
}

void Queues::shadow(CompletionQueue& queue, Time at) {
    if (!fits_shadow(queue.id))
        return;
    write_dword(shadow_doorbells_ + slot(queue.id, true), queue.head, at);
    write_dword(shadow_events_ + slot(queue.id, true), never_ring, at);
    queue.is_shadowed = true;
}

Time Queues::write_dword(std::uint64_t address, std::uint32_t value, Time at) {
    std::array<std::byte, 4> bytes{};
    abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), value);
    grants_->use_queue(port::GrantKind::shadow_doorbells, 0, address, bytes.size(), shadow_since_);
    const auto result = dma_.write(BusAddress{address}, bytes, at);
    if (!result.is_ok())
        listener_.fatal("a shadow doorbell cannot be reached", address, at);
    return result.done;
}

/// Writes an event index; returns when the host sees it, which nobody tells who writes. A read that follows pushes it
/// ahead (PCIe 6.0 §2.4.1). Reads look at memory when they are asked for here, so that the one that matters is asked
/// for when one of no bytes has come back.
Time Queues::show_event(std::uint64_t address, std::uint32_t value, Time at) {
    const auto sent = write_dword(address, value, at);
    return sent > at ? dma_.read(BusAddress{address}, {}, sent).done : at;
}

std::optional<std::uint32_t> Queues::read_dword(std::uint64_t address, Time at) {
    std::array<std::byte, 4> bytes{};
    grants_->use_queue(port::GrantKind::shadow_doorbells, 0, address, bytes.size(), shadow_since_);
    if (!dma_.read(BusAddress{address}, bytes, at).is_ok()) {
        listener_.fatal("a shadow doorbell cannot be reached", address, at);
        return std::nullopt;
    }
    return abi::load<std::uint32_t, abi::Endian::little>(bytes.data());
}

bool Queues::refresh_tail(SubmissionQueue& queue, Time at) {
    const auto tail = read_dword(shadow_doorbells_ + slot(queue.id, false), at);
    if (!tail)
        return false;
    const auto value = *tail & 0xffff;
    if (check_tail(queue, value, at))
        note_rung(queue, value, at), queue.tail = value;
    return true;
}

void Queues::refresh_head(CompletionQueue& queue, Time at) {
    if (const auto head = read_dword(shadow_doorbells_ + slot(queue.id, true), at))
        take_head(queue, *head & 0xffff, at);
}

/// The host rings at the next entry. It may have written a tail before it could see this, so the queue is looked at
/// once more when it can.
void Queues::arm(SubmissionQueue& queue, Time at) {
    queue.is_armed = true;
    const auto seen = show_event(shadow_events_ + slot(queue.id, false), queue.tail, at);
    if (seen > at) {
        recheck_ = std::min(recheck_, seen);
        return;
    }
    // Event index before tail: with the same order of the host, one of the two sees what the other wrote.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    list(queue);
}

void Queues::arm(CompletionQueue& queue, Time at) {
    const auto seen = show_event(shadow_events_ + slot(queue.id, true), queue.head, at);
    if (seen > at) {
        recheck_ = std::min(recheck_, seen);
        return;
    }
    // Event index before head, as above.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const auto before = queue.head;
    refresh_head(queue, at);
    if (queue.head != before)
        drain(queue, at);
}

void Queues::recheck(Time now) {
    if (recheck_ > now)
        return;
    recheck_ = port::never;
    for (const auto& queue : submission_)
        if (queue && queue->is_shadowed && queue->is_armed)
            list(*queue);
    for (const auto& queue : completion_)
        if (queue && queue->is_shadowed && !queue->held.empty()) {
            const auto before = queue->head;
            refresh_head(*queue, now);
            if (queue->head != before)
                drain(*queue, now);
        }
}

} // namespace model::nvme
