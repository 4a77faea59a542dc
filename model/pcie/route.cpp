#include "model/pcie/route.h"

#include <algorithm>
#include <utility>

namespace model::pcie {

Route::Route(const HopList& hops, std::uint64_t header, TlpSizes sizes, port::Time read_latency)
    : sizes_(sizes), header_(header), read_latency_(read_latency), hops_(hops) {
    for (const auto& hop : this->hops()) {
        const auto& link = hop.link->config();
        is_timed_ |= link.timed;
        has_few_credits_ |= link.timed && ((hop.has_requests && link.nonposted_credits != 0) ||
                                           (hop.has_answers && link.completion_credits != 0));
        hop.link->users_.push_back({this, hop});
    }
}

Route::~Route() {
    for (const auto& hop : hops()) {
        if (hop.has_requests)
            hop.link->count(hop.direction, forward());
        if (hop.has_answers)
            hop.link->count(reverse(hop.direction), backward());
        std::erase_if(hop.link->users_, [this](const Link::User& user) { return user.route == this; });
    }
}

void Route::leave(const Link& link) {
    const auto end = hops_.hops.begin() + static_cast<std::ptrdiff_t>(hops_.count);
    const auto kept = std::remove_if(hops_.hops.begin(), end, [&](const Hop& hop) { return hop.link == &link; });
    hops_.count = static_cast<std::size_t>(kept - hops_.hops.begin());
    if (landing_.link == &link)
        landing_ = {};
    if (asked_.link == &link)
        asked_ = {};
}

port::Time Route::request_from(std::size_t hops, std::uint64_t address, std::uint64_t length, port::Time at) {
    const auto requests = pcie::read_requests(address, length, sizes_);
    read_requests_ += requests;
    if (!is_timed_)
        return at;
    return has_few_credits_ ? charge_requests(requests, at, hops)
                            : charge_forward({requests * (header_ + framing_bytes), requests}, at, hops);
}

Route::Crossing Route::write_from(std::size_t hops, std::uint64_t address, std::uint64_t length, port::Time at,
                                  port::Purpose purpose) {
    const auto packets = pcie::write_packets(address, length, sizes_);
    const auto dwords = dword_bytes(address, length);
    write_packets_ += packets;
    write_dword_bytes_ += dwords;
    volume_.written[static_cast<std::size_t>(purpose)] += length;
    return is_timed_ ? charge_posted({packets * (header_ + framing_bytes) + dwords, packets}, posted_credits(dwords),
                                     at, hops)
                     : Crossing{at, at};
}

port::Time Route::read_from(std::size_t hops, std::uint64_t address, std::uint64_t length, port::Time at,
                            port::Purpose purpose) {
    const auto there = request_from(hops, address, length, at);
    return complete(address, length, is_timed_ ? there + read_latency_ : there, purpose);
}

Route::Crossing Route::approach(std::uint64_t address, std::uint64_t length, bool is_write, port::Time at) {
    if (!is_timed_)
        return {at, at};
    const auto header = header_ + framing_bytes;
    if (is_write) {
        const auto dwords = dword_bytes(address, length);
        const auto packets = pcie::write_packets(address, length, sizes_);
        return charge_posted({packets * header + dwords, packets}, posted_credits(dwords), at);
    }
    const auto requests = pcie::read_requests(address, length, sizes_);
    const auto there =
        has_few_credits_ ? charge_requests(requests, at, 0) : charge_forward({requests * header, requests}, at);
    return {there, there};
}

port::Time Route::refuse(std::uint64_t address, std::uint64_t length, bool is_write, port::Time at,
                         port::Purpose purpose) {
    if (is_write) {
        land(at);
        return write_from(hops_.count, address, length, at, purpose).there;
    }
    read_requests_ += pcie::read_requests(address, length, sizes_);
    ++completions_;
    leave_end(at);
    return is_timed_ ? charge_backward({completion_header + framing_bytes, 1}, at) : at;
}

port::Time Route::complete(std::uint64_t address, std::uint64_t length, port::Time at, port::Purpose purpose) {
    const auto answers = completions(address, length, sizes_);
    const auto dwords = dword_bytes(address, length);
    completions_ += answers;
    read_dword_bytes_ += dwords;
    volume_.read[static_cast<std::size_t>(purpose)] += length;
    if (!is_timed_)
        return at;
    const Link::Cargo answer{answers * (completion_header + framing_bytes) + dwords, answers};
    return has_few_credits_ ? charge_answer(answer, dwords, at) : charge_backward(answer, at);
}

Traffic Route::forward() const {
    return {write_packets_ + read_requests_,
            (write_packets_ + read_requests_) * (header_ + framing_bytes) + write_dword_bytes_,
            volume_.written[0] + volume_.written[1]};
}

Traffic Route::backward() const {
    return {completions_, completions_ * (completion_header + framing_bytes) + read_dword_bytes_,
            volume_.read[0] + volume_.read[1]};
}

port::Time Route::charge_forward(const Link::Cargo& cargo, port::Time at, std::size_t first) const {
    Link::Front front{at, at};
    for (const auto& hop : hops().subspan(std::min(first, hops_.count)))
        if (hop.has_requests && hop.link->config().timed)
            front = hop.link->transfer(hop.direction, cargo, front);
    return front.tail;
}

Route::Crossing Route::charge_posted(const Link::Cargo& cargo, std::uint64_t credits, port::Time at,
                                     std::size_t first) {
    Link::Front front{at, at};
    auto sent = at;
    landing_.link = nullptr; // from here on: where it is as long as it has not left for the next link
    for (const auto& hop : hops().subspan(std::min(first, hops_.count))) {
        if (!hop.has_requests || !hop.link->config().timed)
            continue;
        auto& receiver = hop.link->posted_credits(hop.direction);
        const auto latency = hop.link->config().latency;
        const auto span = hop.link->span_of(hop.direction, cargo);
        const auto passage = receiver.passage(credits, span, 2 * latency);
        const auto came = front.head;
        const auto began = receiver.room(passage.credits, came);
        front = hop.link->transfer(hop.direction, cargo, {began, std::max(front.tail, began + passage.least)});
        const auto left = front.tail - latency;
        if (landing_.link == nullptr)
            sent = left;
        else
            give_back(landing_, left);
        // A packet takes its credits when it leaves (§2.6.1), not while it waits for the link.
        const auto leaving = std::max(span, passage.least);
        landing_ = {hop.link, hop.direction, passage.credits, came, std::max(began, left - leaving)};
    }
    return {sent, front.tail};
}

/// Requests of a read leave in lots, as many as find credits; a blocked one keeps nothing from the links, so that
/// posted writes and completions pass it (§2.4.1, table 2-40). Returns when the last lot is at the end, where it is
/// until charge_answer() or leave_end(); those before it leave the end when they have come.
port::Time Route::charge_requests(std::uint64_t requests, port::Time at, std::size_t first) {
    auto first_there = port::never, there = at;
    while (requests != 0) {
        auto lot = requests;
        for (const auto& hop : hops().subspan(std::min(first, hops_.count)))
            if (hop.has_requests && hop.link->config().timed)
                lot = std::min(lot, hop.link->request_credits(hop.direction).at_once(at));
        there = std::max(there, charge_lot(lot, at, first));
        first_there = std::min(first_there, there);
        requests -= lot;
        if (requests != 0)
            leave_end(there + read_latency_);
    }
    spread_ = there - first_there;
    return there;
}

port::Time Route::charge_lot(std::uint64_t requests, port::Time at, std::size_t first) {
    Link::Front front{at, at};
    Room behind; // where they are as long as they have not left for the next link
    for (const auto& hop : hops().subspan(std::min(first, hops_.count))) {
        if (!hop.has_requests || !hop.link->config().timed)
            continue;
        const auto came = front.head;
        front.head = hop.link->request_credits(hop.direction).take(requests, came);
        front.tail = std::max(front.tail, front.head);
        const Room room{hop.link, hop.direction, requests, came, front.head};
        front = hop.link->transfer(hop.direction, {requests * (header_ + framing_bytes), requests}, front);
        if (behind.link != nullptr)
            give_request_back(behind, front.tail - hop.link->config().latency);
        behind = room;
    }
    asked_ = behind;
    return front.tail;
}

void Route::leave_end(port::Time at) {
    if (asked_.link != nullptr)
        give_request_back(asked_, at);
    asked_ = {};
}

/// The sender learns of it one latency later.
void Route::give_request_back(const Room& room, port::Time at) {
    room.link->request_credits(room.direction).give(room.credits, room.began, at + room.link->config().latency);
}

/// Completions: those of the first requests begin as soon as these are answered. A switch that has no more room for
/// them holds them back on the link above it; endpoints and root complexes take all (§2.6.1).
port::Time Route::charge_answer(const Link::Cargo& cargo, std::uint64_t data, port::Time at) {
    leave_end(at);
    Link::Front front{at - std::exchange(spread_, {}), at};
    const auto credits = posted_credits(data);
    Room behind;
    for (auto i = hops_.count; i-- > 0;) {
        const auto& hop = hops_.hops[i];
        if (!hop.has_answers || !hop.link->config().timed)
            continue;
        const auto direction = reverse(hop.direction);
        const auto latency = hop.link->config().latency;
        Room room;
        if (auto* receiver = hop.link->completion_credits(direction)) {
            const auto passage = receiver->passage(credits, hop.link->span_of(direction, cargo), 2 * latency);
            const auto came = front.head;
            front.head = receiver->room(passage.credits, came);
            front.tail = std::max(front.tail, front.head + passage.least);
            room = {hop.link, direction, passage.credits, came, front.head};
        }
        front = hop.link->transfer(direction, cargo, front);
        if (behind.link != nullptr)
            give_completion_back(behind, front.tail - latency);
        behind = room;
    }
    if (behind.link != nullptr)
        give_completion_back(behind, front.tail);
    return front.tail;
}

void Route::give_completion_back(const Room& room, port::Time at) {
    room.link->completion_credits(room.direction)
        ->take(room.credits, room.came, room.began, at + room.link->config().latency);
}

/// The sender learns of it one latency later.
void Route::give_back(const Room& room, port::Time at) {
    room.link->posted_credits(room.direction)
        .take(room.credits, room.came, room.began, at + room.link->config().latency);
}

port::Time Route::charge_backward(const Link::Cargo& cargo, port::Time at) const {
    Link::Front front{at, at};
    for (auto i = hops_.count; i-- > 0;)
        if (hops_.hops[i].has_answers && hops_.hops[i].link->config().timed)
            front = hops_.hops[i].link->transfer(reverse(hops_.hops[i].direction), cargo, front);
    return front.tail;
}

} // namespace model::pcie
