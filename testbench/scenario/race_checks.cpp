#include "testbench/scenario/race_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace scenario::race {

using sw::mlx::CompletionStatus;
using namespace rdma_rows;

// --- what both ends must be told ---

/// Packets did not arrive, or not as they were sent: so may have been what would have told the requester.
bool Race::has_lost_packets() const {
    return std::ranges::any_of(cluster_.log.entries, [](const auto& entry) {
        return std::holds_alternative<traces::LinkFault>(entry.second);
    });
}

bool Race::has_right_end(const Transfer& transfer) const {
    if (transfer.is_done())
        return true;
    if (outcome_.is_reached && std::ranges::any_of(setup_.actions, [&](const Action* action) {
            return action != nullptr && static_cast<const RdmaAction*>(action)->is_right(*this, transfer);
        }))
        return true;
    return transfer.is(CompletionStatus::transport_retry_exceeded) && has_lost_packets();
}

void Race::check_status() {
    for (const auto& transfer : transfers_) {
        const std::string said(transfer.completion ? sw::mlx::name(transfer.completion->status) : "");
        if (!transfer.is_done() || outcome_.completion.empty())
            outcome_.completion = said;
        if (!has_right_end(transfer))
            violate(transfer.completion ? fmt::format("the completion is {}", said) : "there is no completion");
    }
}

// --- the bytes ---

void Race::check_victim(const Transfer& transfer) {
    const auto begin = transfer.begin, end = transfer.begin + size_;
    if (transfer.is_given_back) {
        const auto now = memory_->held();
        for (auto i = begin; i < end; ++i)
            if (now[i] != content(next_content(), i))
                return violate(fmt::format("byte {} of the buffer was written after the action had returned", i));
        if (has(release))
            return; // what it held is lost
    }
    if (operation_.is_atomic)
        return; // its words are looked at in check_atomic
    for (auto i = begin; i < end; ++i) {
        const bool is_old = snapshot_[i] == content(before, i), is_new = snapshot_[i] == content(sent, i);
        if (is_target() ? (transfer.is_done() ? !is_new : !is_old && !is_new) : !is_new)
            return violate(fmt::format("byte {} of the buffer is {:#04x}, which nobody {}", i,
                                       static_cast<unsigned>(snapshot_[i]), is_target() ? "sent" : "put there"));
    }
}

void Race::check_peer(const Transfer& transfer) {
    const auto now = transfer.peer->bytes();
    const bool is_given_back = !transfer.peer_snapshot.empty();
    if (is_given_back && !std::ranges::equal(now, contents(after, transfer)))
        violate("the peer's memory was written after its card had gone");
    if (operation_.is_atomic)
        return check_atomic(transfer);
    const auto bytes = is_given_back ? std::span<const std::byte>(transfer.peer_snapshot) : now;
    for (std::uint64_t i = 0; i < size_; ++i) {
        const auto byte = bytes[i];
        const auto at = transfer.begin + i;
        const bool is_old = byte == content(before, at), is_new = byte == content(sent, at);
        if (is_target() ? !is_new : (transfer.is_done() ? !is_new : !is_old && !is_new))
            return violate(fmt::format("byte {} at the peer is {:#04x}{}", i, static_cast<unsigned>(byte),
                                       byte == content(after, at) ? ", which is the next owner's" : ""));
    }
}

void Race::check_atomic(const Transfer& transfer) {
    const auto word = [](std::span<const std::byte> from) {
        return abi::load<std::uint64_t, abi::Endian::little>(from.data());
    };
    const auto initial = [&](unsigned kind) { return word(contents(kind, transfer)); };
    const bool is_peer_gone = !transfer.peer_snapshot.empty();
    const auto victims = word(std::span(snapshot_).subspan(transfer.begin, size_)),
               peers = is_peer_gone ? word(transfer.peer_snapshot) : word(transfer.peer->bytes());
    // The responder's word, and what the requester was told.
    const auto target = is_responder() ? victims : peers, told = is_responder() ? peers : victims;
    const auto old_target = initial(is_responder() ? before : sent), old_told = initial(is_responder() ? sent : before);
    const bool is_lost = transfer.is_given_back && has(release); // what the victim's word was
    const bool has_target = !is_lost || !is_responder(), is_told = !is_lost || is_responder();
    if (transfer.is_done() && ((has_target && target != old_target + addend) || (is_told && told != old_target)))
        violate("the atomic has another result than it must");
    if (!transfer.is_done() && ((has_target && target != old_target && target != old_target + addend) ||
                                (is_told && told != old_told && told != old_target)))
        violate("an atomic that failed left a word that is neither old nor new");
}

/// Nothing beside the region has changed.
void Race::check_around() {
    const auto now = memory_->all();
    auto expected = around_;
    memory_->each_byte(
        [&](std::uint64_t, std::byte& byte) { expected[static_cast<std::size_t>(&byte - now.data())] = byte; });
    if (const auto [was, is] = std::ranges::mismatch(expected, now); was != expected.end())
        violate(fmt::format("byte {:#x} around the buffer was written", was - expected.begin()));
}

/// Of the access by the old key.
bool Race::is_write_lost() const {
    return std::ranges::any_of(cluster_.log.entries | std::views::drop(probe_begin_), [](const auto& entry) {
        return std::holds_alternative<traces::WriteLost>(entry.second);
    });
}

/// The old key leads nowhere: nothing comes out by it, and who tries is told.
void Race::check_probe() {
    if (!probing_.a || !outcome_.is_reached)
        return;
    if (!probed_)
        return violate("an access by the old key has no completion");
    const auto status = probed_->status;
    // A posted write that the remapping unit refuses is silently dropped: only the unit knows.
    if (status == CompletionStatus::success && has(release) && is_target() && is_write_lost())
        return;
    const bool is_right =
        status == CompletionStatus::transport_retry_exceeded
            ? has_lost_packets()
            : status == (has(revoke) || has(unmap) ? (is_responder() ? CompletionStatus::remote_access_error
                                                                     : CompletionStatus::local_protection_error)
                                                   : (is_responder() ? CompletionStatus::remote_operation_error
                                                                     : CompletionStatus::local_qp_operation_error));
    if (!is_right)
        violate(fmt::format("an access by the old key, afterwards, ends with {}", sw::mlx::name(status)));
    if (!std::ranges::equal(probe_memory_->bytes(), probe_before_))
        violate("an access by the old key, afterwards, brings bytes");
}

} // namespace scenario::race
