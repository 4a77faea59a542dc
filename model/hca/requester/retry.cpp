#include "model/hca/requester/retry.h"

#include "abi/wire/infiniband.h"
#include "model/hca/requester/position.h"

#include <array>

namespace model::hca::requester {

using abi::Psn;
using completion::CqeSyndrome;
using queue::QueuePair;
namespace vendor = completion::vendor;

namespace {

/// 4.096 us * 2^n, or for ever when n is 0 (IBA 9.7.6.1.3).
port::Time ack_timeout(const QueuePair& qp) {
    const auto n = qp.attributes.path.ack_timeout;
    return n == 0 ? port::never : std::chrono::nanoseconds{4096} * (std::int64_t{1} << n);
}

/// Adaptive retransmission is firmware's, and its documents give no times. These were fitted to a ConnectX-6 whose
/// counters were polled: it sends again after some 4 ms at first, comes to 67, 134 and 268 ms, whatever ack_timeout is,
/// and then goes by that. In halves of the first one; each is within a tenth of what was seen.
constexpr std::array<std::int64_t, 8> adaptive_halves{2, 2, 3, 6, 12, 32, 64, 128};

} // namespace

/// Whether the present try is one whose time the card chooses.
bool Retry::is_adaptive(const QueuePair& qp) const {
    return config_.has_adaptive_retransmission() && qp.requester.retry.timeouts < adaptive_halves.size();
}

/// How long the requester waits for an answer to the present try.
port::Time Retry::timeout(const QueuePair& qp) const {
    const auto specified = ack_timeout(qp);
    if (specified == port::never || !is_adaptive(qp))
        return specified;
    return config_.adaptive.first * adaptive_halves[qp.requester.retry.timeouts] / 2;
}

void Retry::watch(QueuePair& qp, port::Time at) {
    if (qp.timer.deadline != port::never)
        return;
    if (const auto span = timeout(qp); span != port::never)
        timers_.set(qp, at + span);
}

void Retry::progress(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    r.retry.retries_left = qp.attributes.retry_count;
    r.retry.rnr_retries_left = qp.attributes.rnr_retry;
    r.retry.asked_again = false;
    r.retry.timeouts = 0;
    if (r.retry.waits_rnr) {
        r.retry.waits_rnr = false; // the peer has accepted a copy of the refused packet meanwhile
        scheduler_.add(qp);
    }
    qp.timer.deadline = port::never;
    if (r.window.oldest_psn != r.window.next_psn)
        watch(qp, at);
}

void Retry::pass_answered(QueuePair& qp) {
    const auto& messages = qp.requester.sends.messages;
    auto& position = qp.requester.position;
    // Of the messages that are still owed, the oldest alone can be answered in part.
    if (messages.is_empty() || position.message != messages.begin())
        return;
    const auto& front = messages.front();
    const auto answered = qp.requester.window.oldest_psn - front.first;
    if (front.packets == 0 || answered <= 0)
        return;
    const auto offset = static_cast<std::uint32_t>(answered) * qp.attributes.mtu_bytes();
    if (offset <= position.offset)
        return;
    if (qp.requester.retry.repeats)
        return resume(qp);
    position.offset = offset;
    if (position.has_wqe && position.loaded == position.message)
        seek(position);
}

void Retry::expire(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    if (!qp.can_send())
        return;
    if (r.retry.waits_rnr) {
        r.retry.waits_rnr = false;
        scheduler_.add(qp);
        return;
    }
    if (r.window.oldest_psn == r.window.next_psn)
        return;
    // Nothing can be sent again before the page is there, or the pause is over, so the time-out starts afresh.
    if (qp.paging.stops_sending() || (r.congestion.control && r.congestion.control->is_silent(at)))
        return watch(qp, at);
    const traces::Cause cause(report_.events, r.sends.messages.front().cause);
    ++report_.counters.timeouts;
    if (!is_adaptive(qp)) {
        ++qp.counters->local_ack_timeout_err;
        return retry(qp, r.window.oldest_psn, "timeout", at);
    }
    ++report_.counters.adaptive_timeouts;
    ++qp.counters->roce_adp_retrans;
    // The first ones are given beside the retries that were asked for.
    if (r.retry.timeouts++ < config_.adaptive.tries)
        return try_again(qp, r.window.oldest_psn, "timeout", at, ~std::uint32_t{0});
    retry(qp, r.window.oldest_psn, "timeout", at);
}

void Retry::go_back(QueuePair& qp, Psn psn, port::Time at) {
    auto& r = qp.requester;
    r.retry.repeats = false;
    for (auto n = r.sends.messages.begin(); n != r.sends.messages.end(); ++n) {
        const auto& message = r.sends.messages[n];
        if (message.packets == 0 || !psn.is_before(message.next()))
            continue;
        r.position.message = n;
        r.position.offset = static_cast<std::uint32_t>(psn - message.first) * qp.attributes.mtu_bytes();
        r.position.has_wqe = r.position.has_wqe && r.position.loaded == n;
        if (r.position.has_wqe)
            seek(r.position);
        break;
    }
    r.position.since_request = 0;
    if (r.congestion.round_trips) [[unlikely]]
        r.congestion.round_trips->repeat_from(psn);
    scheduler_.add(qp);
    watch(qp, at);
}

void Retry::retry(QueuePair& qp, Psn psn, traces::RetryReason reason, port::Time at, std::uint32_t packets) {
    auto& r = qp.requester;
    if (r.retry.retries_left == 0) {
        ++qp.counters->req_transport_retries_exceeded;
        return retirement_.fail_front(qp, {CqeSyndrome::transport_retry_exc_err, vendor::retry}, at);
    }
    --r.retry.retries_left;
    try_again(qp, psn, reason, at, packets);
}

void Retry::try_again(QueuePair& qp, Psn psn, traces::RetryReason reason, port::Time at, std::uint32_t packets) {
    auto& r = qp.requester;
    ++report_.counters.retries;
    report_.events.emit(at, traces::Retried{qp.number.value, psn.value, r.retry.retries_left, reason});
    const bool is_timeout = reason == traces::RetryReason("timeout");
    if (auto* control = r.congestion.control.get(); control != nullptr) [[unlikely]] {
        const auto window = control->window();
        control->lost(is_timeout ? congestion::Loss::timeout : congestion::Loss::refused, at);
        report_.counters.window_cuts += control->window() < window;
    }
    qp.timer.deadline = port::never;
    // An answer that found no page is asked for when the page is there, and not before.
    r.retry.asked_again = qp.paging.stops_sending();
    r.retry.repeat_packets = packets;
    if (is_selective_ && !is_timeout)
        repeat(qp, psn, at);
    else
        go_back(qp, psn, at);
}

/// Has packet `psn` sent again, and nothing else, if it has been sent at all. What it names as missing when another one
/// waits to be sent again, says that that one has come.
void Retry::repeat(QueuePair& qp, Psn psn, port::Time at) {
    auto& r = qp.requester;
    const auto message = r.retry.repeats ? r.retry.resume_message : r.position.message;
    const auto offset = r.retry.repeats ? r.retry.resume_offset : r.position.offset;
    if (!psn.is_before(psn_at(r, message, offset, qp.attributes.mtu_bytes())))
        return watch(qp, at);
    go_back(qp, psn, at);
    r.retry.repeats = true;
    r.retry.resume_message = message;
    r.retry.resume_offset = offset;
}

void Retry::resume(QueuePair& qp) {
    auto& position = qp.requester.position;
    auto& retry = qp.requester.retry;
    retry.repeats = false;
    position.message = retry.resume_message;
    position.offset = retry.resume_offset;
    position.has_wqe = position.has_wqe && position.loaded == position.message;
    if (position.has_wqe)
        seek(position);
}

void Retry::ask_again(QueuePair& qp, Psn until, port::Time at) {
    auto& r = qp.requester;
    if (r.retry.asked_again)
        return;
    ++qp.counters->implied_nak_seq_err;
    const auto& front = r.sends.messages.front();
    const auto missing = front.first + front.answered;
    const auto end = until.is_before(front.next()) ? until : front.next();
    retry(qp, missing, "implied", at, static_cast<std::uint32_t>(end - missing));
    r.retry.asked_again = true;
}

void Retry::wait_for_receiver(QueuePair& qp, Psn psn, std::uint8_t timer, port::Time at) {
    auto& r = qp.requester;
    ++qp.counters->rnr_nak_retry_err;
    if (qp.attributes.rnr_retry != abi::wire::rnr_retry_for_ever) {
        if (r.retry.rnr_retries_left == 0) {
            ++qp.counters->req_rnr_retries_exceeded;
            return retirement_.fail_front(qp, {CqeSyndrome::rnr_retry_exc_err, vendor::retry}, at);
        }
        --r.retry.rnr_retries_left;
    }
    ++report_.counters.rnr_waits;
    report_.events.emit(at, traces::Retried{qp.number.value, psn.value, r.retry.rnr_retries_left, "rnr"});
    go_back(qp, psn, at);
    r.retry.waits_rnr = true;
    timers_.set(qp, at + std::chrono::microseconds{abi::wire::rnr_timer_us[timer & 0x1f]});
}

} // namespace model::hca::requester
