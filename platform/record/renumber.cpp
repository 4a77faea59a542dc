#include "platform/record/renumber.h"

#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/eqe.h"
#include "traces/tool/decoder.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace platform::record {

using namespace traces::codec;
namespace tool = traces::tool;

namespace {

constexpr auto index_mask = abi::prm::queue_index_mask;
constexpr std::size_t owner_byte = 0x3f;
constexpr std::byte owner_bit{1};
static_assert(abi::prm::Cqe64::field<"owner">::offset == 0x3c && abi::prm::Eqe::field<"owner">::offset == 0x3c);

/// Entries are written one by one: the last 64 bytes of what is written, or all of it.
constexpr std::size_t entry_bytes = abi::prm::Cqe64::size;
static_assert(abi::prm::Eqe::size == entry_bytes);

enum class Kind : std::uint8_t { event, completion }; ///< of a queue

} // namespace

std::uint32_t Renumbering::Queue::moved(std::uint32_t index) const {
    const auto known = std::min<std::size_t>(index, entries.size());
    return index - (static_cast<std::uint32_t>(known) - kept[known]);
}

Renumbering::Renumbering(const RecordStore& store) : store_(store), work_(store), objects_(store) {
    tool::Decoder decoder(store.head());
    std::map<std::tuple<std::uint32_t, Kind, std::uint32_t>, std::size_t> queues; // by interface and number
    for (std::size_t at = 0; at < store.entries().size(); ++at) {
        const auto& entry = store.entries()[at];
        const auto& seen = decoder.take(store.record_of(entry));
        work_.take(at, seen, decoder);
        objects_.take(at, seen);
        if (seen.items.size() != 1)
            continue;
        const auto& item = seen.items.front();
        const auto queue_of = [&](Kind kind, std::uint32_t number) {
            const auto found = queues.find({entry.interface, kind, number});
            return found == queues.end() ? none : found->second;
        };
        const auto create = [&](Kind kind, std::uint32_t number) {
            queues[{entry.interface, kind, number}] = queues_.size();
            queues_.push_back({.is_signed = kind == Kind::completion});
        };
        Place place{.position = at};
        const auto name = [&](std::size_t queue, std::size_t offset) {
            if (queue != none)
                place.indices.push_back({queue, offset});
        };
        switch (item.what) {
        case tool::What::command_done:
            if (seen.command->is_good() && seen.command->opcode() == abi::prm::Opcode::create_eq)
                create(Kind::event, item.eqn);
            else if (seen.command->is_good() && seen.command->opcode() == abi::prm::Opcode::create_cq)
                create(Kind::completion, item.cqn);
            break;
        case tool::What::eqe: place.queue = queue_of(Kind::event, item.eqn); break;
        case tool::What::cqe: place.queue = queue_of(Kind::completion, item.cqn); break;
        case tool::What::eq_doorbell: name(queue_of(Kind::event, item.eqn), 0); break;
        case tool::What::cq_doorbell:
            if (entry.payload_bytes == abi::prm::CqDoorbell::size) // in one store
                name(queue_of(Kind::completion, item.cqn), 0);
            break;
        case tool::What::doorbell_record:
            if (item.cqn == tool::no_number)
                break;
            for (std::size_t word = 0; word + 4 <= entry.payload_bytes; word += 4)
                name(queue_of(Kind::completion, item.cqn), word);
            if (const auto queue = queue_of(Kind::completion, item.cqn); queue != none && item.index == 0)
                queues_[queue].looks.push_back({.request = work_.position_of(seen.access->request),
                                                .answer = at,
                                                .entries = queues_[queue].entries.size(),
                                                .consumer = item.number & index_mask});
            break;
        default: break;
        }
        if (place.queue != none) {
            auto& entries = queues_[place.queue].entries;
            place.number = static_cast<std::uint32_t>(entries.size());
            entries.push_back(at);
        }
        if (place.queue != none || !place.indices.empty())
            places_.push_back(std::move(place));
    }
}

void Renumbering::choose(const std::function<bool(std::size_t)>& is_kept) {
    objects_.choose(is_kept);
    unread_.clear();
    for (auto& queue : queues_) {
        queue.kept.assign(1, 0);
        for (const auto at : queue.entries)
            queue.kept.push_back(queue.kept.back() + (is_kept(at) && !is_gone(at) ? 1 : 0));
    }
    if (work_.chosen())
        for (const auto& queue : queues_)
            look_when_full(queue);
}

/// The first look was when the queue was full; with fewer entries it is so later, or never.
void Renumbering::look_when_full(const Queue& queue) {
    if (queue.looks.empty())
        return;
    const auto size = queue.looks.front().entries;
    std::uint32_t consumer = 0;
    for (const auto& look : queue.looks) {
        if (queue.kept[look.entries] - consumer >= size) {
            consumer = queue.moved(look.consumer);
        } else {
            unread_.insert(look.request);
            unread_.insert(look.answer);
        }
    }
}

const Renumbering::Place* Renumbering::find(std::size_t position) const {
    const auto found = std::ranges::lower_bound(places_, position, {}, &Place::position);
    return found != places_.end() && found->position == position ? &*found : nullptr;
}

/// Into the place of the entry that was written when as many were before it as now are.
bool Renumbering::move(const Place& place, Edited& edited) const {
    const auto& queue = queues_[place.queue];
    const auto number = queue.moved(place.number);
    if (number == place.number)
        return false;
    const auto& there = store_.entries()[queue.entries[number]];
    const auto payload = store_.payload_of(there);
    if (there.head_bytes != edited.head.size() || payload.size() != edited.payload.size() ||
        payload.size() < entry_bytes)
        return false; // an entry of another length: where this one would lie is not known
    std::ranges::copy(store_.head_of(there), edited.head.begin());
    const auto begin = payload.size() - entry_bytes;
    auto& owner = edited.payload[begin + owner_byte];
    const auto change = (owner ^ payload[begin + owner_byte]) & owner_bit;
    owner ^= change;
    if (queue.is_signed)
        edited.payload[begin + abi::prm::cqe_signature_offset] ^= change;
    return true;
}

std::optional<Renumbering::Edited> Renumbering::edited(std::size_t at) const {
    const auto* place = find(at);
    const bool is_work = work_.is_its_work(at), names_any = objects_.names_any(at);
    if (place == nullptr && !is_work && !names_any)
        return std::nullopt;
    const auto& entry = store_.entries()[at];
    const auto head = store_.head_of(entry), payload = store_.payload_of(entry);
    Edited edited{{head.begin(), head.end()}, {payload.begin(), payload.end()}};
    bool is_other = is_work && work_.edit(at, edited);
    is_other |= names_any && objects_.edit(at, edited);
    if (place == nullptr)
        return is_other ? std::optional(std::move(edited)) : std::nullopt;
    is_other |= place->queue != none && move(*place, edited);
    for (const auto& index : place->indices) {
        auto* word = edited.payload.data() + index.at;
        const auto value = abi::load<std::uint32_t, abi::Endian::big>(word);
        const auto now = queues_[index.queue].moved(value & index_mask);
        is_other |= now != (value & index_mask);
        abi::store<std::uint32_t, abi::Endian::big>(word, (value & ~index_mask) | (now & index_mask));
    }
    return is_other ? std::optional(std::move(edited)) : std::nullopt;
}

} // namespace platform::record
