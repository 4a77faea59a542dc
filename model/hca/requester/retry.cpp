// Recovery (IBA 9.7.5.1, 9.7.5.2.8, 9.9.2.1): deadlines, going back to a packet, retry counts.
#include "abi/wire/infiniband.h"
#include "model/hca/requester/requester.h"

namespace model::hca::requester {

using abi::Psn;
using completion::CqeSyndrome;
using queue::QueuePair;
namespace vendor = completion::vendor;

namespace {

/// IBA 9.7.6.1.3: 4.096 us * 2^n; 0 waits for ever.
port::Time ack_timeout(const QueuePair& qp) {
    const auto n = qp.attributes.path.ack_timeout;
    return n == 0 ? port::never : std::chrono::nanoseconds{4096} * (std::int64_t{1} << n);
}

} // namespace

/// A packet left at `at`: an answer has to come within the time-out.
void Requester::watch(QueuePair& qp, port::Time at) {
    if (qp.timer.deadline != port::never)
        return;
    if (const auto timeout = ack_timeout(qp); timeout != port::never)
        path_.timers.set(qp, at + timeout);
}

/// The peer answered: retry counts start afresh, the time-out runs from now on or ends.
void Requester::progress(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    r.retries_left = qp.attributes.retry_count;
    r.rnr_retries_left = qp.attributes.rnr_retry;
    r.asked_again = false;
    if (r.waits_rnr) {
        r.waits_rnr = false; // a copy of the refused packet was accepted meanwhile
        path_.scheduler.add(qp);
    }
    qp.timer.deadline = port::never;
    if (r.oldest_psn != r.next_psn)
        watch(qp, at);
}

void Requester::expire(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    if (!qp.can_send())
        return;
    if (r.waits_rnr) {
        r.waits_rnr = false;
        path_.scheduler.add(qp);
        return;
    }
    if (r.oldest_psn == r.next_psn)
        return;
    if (qp.paging.stops_sending())
        return watch(qp, at); // nothing is sent again before the page is there
    ++path_.counters.timeouts;
    ++path_.count(qp).local_ack_timeout_err;
    retry(qp, r.oldest_psn, "timeout", at);
}

/// Puts the sending position to the packet `psn`.
void Requester::go_back(QueuePair& qp, Psn psn, port::Time at) {
    auto& r = qp.requester;
    for (auto n = r.messages.begin(); n != r.messages.end(); ++n) {
        const auto& message = r.messages[n];
        if (message.packets == 0 || !psn.is_before(message.next()))
            continue;
        r.message = n;
        r.offset = static_cast<std::uint32_t>(psn - message.first) * qp.attributes.mtu_bytes();
        r.has_request = r.has_request && r.loaded == n;
        if (r.has_request)
            seek(r, r.offset);
        break;
    }
    r.since_request = 0;
    path_.scheduler.add(qp);
    watch(qp, at);
}

void Requester::retry(QueuePair& qp, Psn psn, traces::RetryReason reason, port::Time at) {
    auto& r = qp.requester;
    if (r.retries_left == 0) {
        ++path_.count(qp).req_transport_retries_exceeded;
        return fail_front(qp, {CqeSyndrome::transport_retry_exc_err, vendor::retry}, at);
    }
    --r.retries_left;
    ++path_.counters.retries;
    path_.events.emit(at, traces::Retried{qp.number.value, psn.value, r.retries_left, reason});
    qp.timer.deadline = port::never;
    r.asked_again = qp.paging.stops_sending(); // answers that find no page are asked for when it is there
    go_back(qp, psn, at);
}

/// RNR NAK (IBA 9.7.5.2.8): the receiver had no buffer; the same packet again after the time it asks for.
void Requester::wait_for_receiver(QueuePair& qp, Psn psn, std::uint8_t timer, port::Time at) {
    auto& r = qp.requester;
    constexpr std::uint8_t for_ever = 7;
    ++path_.count(qp).rnr_nak_retry_err;
    if (qp.attributes.rnr_retry != for_ever) {
        if (r.rnr_retries_left == 0) {
            ++path_.count(qp).req_rnr_retries_exceeded;
            return fail_front(qp, {CqeSyndrome::rnr_retry_exc_err, vendor::retry}, at);
        }
        --r.rnr_retries_left;
    }
    ++path_.counters.rnr_waits;
    path_.events.emit(at, traces::Retried{qp.number.value, psn.value, r.rnr_retries_left, "rnr"});
    go_back(qp, psn, at);
    r.waits_rnr = true;
    path_.timers.set(qp, at + std::chrono::microseconds{abi::wire::rnr_timer_us[timer & 0x1f]});
}

} // namespace model::hca::requester
