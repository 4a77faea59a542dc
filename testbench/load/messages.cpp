#include "testbench/load/messages.h"

#include "model/tlm/time.h"
#include "testbench/load/bytes.h"

#include <fmt/format.h>

#include <systemc>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace load {

using platform::topology::TrafficAccess;
using sw::verbs::SendOperation;

namespace {

SendOperation operation_of(Verb verb) {
    switch (verb) {
    case Verb::write: return SendOperation::write;
    case Verb::read: return SendOperation::read;
    case Verb::send: return SendOperation::send;
    case Verb::fetch_add: return SendOperation::fetch_add;
    case Verb::compare_swap: return SendOperation::compare_swap;
    }
    return SendOperation::nop;
}

/// Of messages and of contents that READs find: each end has numbers of its own.
std::uint64_t content_of(const End& end, std::uint64_t number) { return (std::uint64_t{end.number} << 40) + number; }
std::uint64_t source_content_of(const End& end, std::uint64_t slot) { return content_of(end, (1ull << 39) + slot); }

/// Ranks of a Zipf law lie side by side in no memory: a multiple that has no divisor in common with the count.
std::uint64_t scatter(std::uint64_t rank, std::uint64_t count) {
    std::uint64_t factor = 0x9e37'79b1;
    while (std::gcd(factor, count) != 1)
        ++factor;
    return static_cast<std::uint64_t>(static_cast<Wide>(rank) * factor % count);
}

} // namespace

Messages::Messages(Node& node, Shared& shared) : node_(node), shared_(shared), work_(shared.work) {}

Request Messages::draw_request(End& end, std::uint64_t number, model::port::Time at) const {
    const auto verb = work_.verbs.draw(end.random);
    return {at, verb, is_atomic(verb) ? atomic_bytes : work_.sizes.draw(end.random, number)};
}

void Messages::compose(End& end, Message& message, sw::verbs::SendRequest& request, sw::verbs::Sge& sge) {
    choose_places(end, message);
    request.operation = operation_of(message.verb);
    request.sge = &sge;
    request.sge_count = 1;
    request.flags = (message.number + 1) % work_.how.signal_every == 0 ? sw::verbs::send_flag::signaled : 0;
    const auto& node = *end.node;
    const auto& peer = *end.peer;
    Place near, far;
    switch (message.verb) {
    case Verb::write:
    case Verb::send:
        near = node.out().slot(end.out.first + message.near);
        if (work_.is_ping_pong())
            request.operation = message.verb == Verb::write ? SendOperation::write_imm : SendOperation::send;
        if (message.verb == Verb::write)
            far = peer.node->in().slot(peer.target.first + message.far);
        break;
    case Verb::read:
        near = node.out().slot(end.landing.first + message.near);
        far = peer.node->in().slot(peer.source.first + message.far);
        break;
    case Verb::fetch_add:
    case Verb::compare_swap:
        near = node.results().slot(end.results + message.near);
        far = peer.node->counters().slot(message.far);
        request.compare = message.compare;
        request.swap_or_add = message.verb == Verb::fetch_add ? 1 : message.compare + 1;
        break;
    }
    sge = {.address = near.address, .length = message.bytes, .lkey = near.key};
    request.rkey = far.key;
    request.remote_address = far.address;
    if (work_.how.inline_bytes != 0 && message.bytes <= work_.how.inline_bytes &&
        (message.verb == Verb::write || message.verb == Verb::send)) {
        request.flags |= sw::verbs::send_flag::inline_data;
        sge.address = reinterpret_cast<std::uint64_t>(near.data);
    }
}

std::uint64_t Messages::draw(End& end, std::uint64_t number, std::uint64_t count) {
    switch (work_.how.access) {
    case TrafficAccess::sequential: return number % count;
    case TrafficAccess::uniform: return end.random.below(count);
    case TrafficAccess::zipf:
        if (std::exchange(zipf_count_, count) != count)
            zipf_.emplace(count, work_.how.zipf);
        return scatter(zipf_->draw(end.random), count);
    }
    return 0;
}

/// Where a message is here and there, and what its bytes are.
void Messages::choose_places(End& end, Message& message) {
    auto& peer = *end.peer;
    const bool verifies = work_.how.verifies;
    switch (message.verb) {
    case Verb::write:
    case Verb::send:
        message.near = draw(end, message.number, end.out.count);
        if (message.verb == Verb::write)
            message.far = message.near % peer.target.count;
        if (!verifies)
            break;
        fill_source(end, message);
        if (message.verb == Verb::write)
            peer.target_slots[message.far].writer = message.number;
        break;
    case Verb::read:
        message.near = end.reads++ % end.landing.count;
        message.far = draw(end, message.number, peer.source.count);
        if (!verifies)
            break;
        message.content = source_content_of(peer, message.far);
        if (!peer.source_filled[message.far]) { // nobody changes it afterwards
            const auto place = peer.node->in().slot(peer.source.first + message.far);
            load::fill({place.data, work_.stride()}, message.content);
            peer.node->in().note_filled(place, work_.stride());
            peer.source_filled[message.far] = true;
        }
        if (auto& slot = end.landing_slots[message.near]; slot.under_way++ == 0) {
            // What the READ before has brought is not to be taken for what this one brings.
            const auto place = end.node->out().slot(end.landing.first + message.near);
            std::fill_n(place.data, message.bytes, std::byte{});
            end.node->out().note_filled(place, message.bytes);
        }
        end.landing_slots[message.near].writer = message.number;
        break;
    case Verb::fetch_add:
    case Verb::compare_swap:
        message.near = message.number % work_.depth;
        message.far = draw(end, message.number, work_.how.counters);
        message.compare = end.believed[message.far];
        break;
    }
    ++shared_.under_way;
    if (message.verb == Verb::send || (message.verb == Verb::write && work_.is_ping_pong())) {
        peer.expected.push_back({message.bytes, message.content});
        ++shared_.under_way; // there, too
    }
}

/// A slot that no message reads has new bytes; where one does, both have the same.
void Messages::fill_source(End& end, Message& message) {
    auto& slot = end.out_slots[message.near];
    if (slot.under_way++ == 0)
        slot.content = content_of(end, end.contents++), slot.bytes = 0;
    message.content = slot.content;
    if (slot.bytes >= message.bytes)
        return;
    auto place = end.node->out().slot(end.out.first + message.near);
    load::fill({place.data + slot.bytes, message.bytes - slot.bytes}, slot.content, slot.bytes);
    place.offset += slot.bytes;
    end.node->out().note_filled(place, message.bytes - slot.bytes);
    slot.bytes = message.bytes;
}

void Messages::finish(End& end, const Message& message) {
    --shared_.under_way;
    if (is_atomic(message.verb))
        account_atomic(end, message);
    else if (work_.how.verifies && message.verb == Verb::read)
        verify_read(end, message);
    else if (work_.how.verifies) {
        --end.out_slots[message.near].under_way;
        if (message.verb == Verb::write)
            verify_write(end, message);
    }
}

/// What another message has been sent over meanwhile, is looked at when that one is done.
void Messages::verify_write(const End& end, const Message& message) {
    const auto& peer = *end.peer;
    if (peer.target_slots[message.far].writer != message.number)
        return;
    const auto place = peer.node->in().slot(peer.target.first + message.far);
    auto wrong = find_foreign({place.data, message.bytes}, message.content);
    // An acknowledgement says that the peer's card has the bytes. Its processor sees them when they are behind the
    // card's earlier writes (PCIe 6.0 2.4.1), as completions of what the peer has received; and these may wait until
    // contexts have come from memory, each behind those of many other queue pairs.
    constexpr model::port::Time soon = std::chrono::microseconds{10};
    constexpr unsigned most_looks = 100;
    for (unsigned look = 0; wrong && look < most_looks; ++look) {
        sc_core::wait(model::tlm::to_sc(soon));
        if (peer.target_slots[message.far].writer != message.number)
            return;
        wrong = find_foreign({place.data, message.bytes}, message.content);
    }
    ++shared_.verified;
    if (wrong)
        shared_.fail(fmt::format("byte {} of the {} bytes of WRITE {} of {} to {} is wrong where it was written",
                                 *wrong, message.bytes, message.number, node_.planned().name,
                                 peer.node->planned().name));
}

void Messages::verify_read(End& end, const Message& message) {
    auto& slot = end.landing_slots[message.near];
    --slot.under_way;
    if (slot.writer != message.number)
        return;
    const auto place = end.node->out().slot(end.landing.first + message.near);
    ++shared_.verified;
    if (const auto wrong = find_foreign({place.data, message.bytes}, message.content))
        shared_.fail(fmt::format("byte {} of the {} bytes of READ {} of {} from {} is wrong", *wrong, message.bytes,
                                 message.number, node_.planned().name, end.peer->node->planned().name));
}

void Messages::account_atomic(End& end, const Message& message) {
    std::uint64_t found = 0;
    std::memcpy(&found, node_.results().slot(end.results + message.near).data, sizeof found);
    end.believed[message.far] = found;
    if (message.verb == Verb::compare_swap && found != message.compare)
        return; // somebody was faster
    end.believed[message.far] = found + 1;
    auto& tally = end.peer->node->tallies()[message.far];
    ++tally.added;
    tally.seen += found;
}

void Messages::receive(End& end, std::uint32_t bytes) {
    const auto expected = end.expected.front();
    end.expected.pop_front();
    const auto number = end.received++;
    const auto& sender = end.peer->node->planned().name;
    --shared_.under_way;
    if (bytes != expected.bytes)
        shared_.fail(fmt::format("{}: {} bytes were received from {}, and {} sent", node_.planned().name, bytes, sender,
                                 expected.bytes));
    if (!work_.how.verifies || end.receive.count == 0) // a WRITE with immediate data is looked at by its sender
        return;
    const auto place = node_.in().slot(end.receive.first + number % end.receive.count);
    ++shared_.verified;
    if (const auto wrong = find_foreign({place.data, expected.bytes}, expected.content))
        shared_.fail(fmt::format("byte {} of the {} bytes of SEND {} of {} to {} is wrong where it was received",
                                 *wrong, expected.bytes, number, sender, node_.planned().name));
}

} // namespace load
