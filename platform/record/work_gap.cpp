#include "platform/record/work_gap.h"

#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/wqe.h"
#include "abi/types.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/opcode.h"
#include "platform/record/accesses.h"
#include "platform/record/packets.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"

#include <algorithm>

namespace platform::record {

using namespace traces::codec;
namespace prm = abi::prm;
namespace tool = traces::tool;

namespace {

/// The number near `known` that has these low bits.
std::uint64_t counted_on(std::uint64_t known, std::uint16_t low) {
    return known + static_cast<std::uint64_t>(static_cast<std::int64_t>(
                       static_cast<std::int16_t>(static_cast<std::uint16_t>(low - static_cast<std::uint16_t>(known)))));
}
constexpr auto psn_mask = abi::Psn::mask;
std::int64_t counted_on(std::int64_t known, std::uint32_t first, std::uint32_t psn) {
    const auto known_psn = (first + static_cast<std::uint32_t>(known)) & psn_mask;
    const auto ahead = static_cast<std::int32_t>((psn - known_psn) << 8) >> 8;
    return known + ahead;
}

bool has_frames(std::uint8_t opcode) {
    using enum prm::WqeOpcode;
    switch (static_cast<prm::WqeOpcode>(opcode)) {
    case rdma_write:
    case rdma_write_imm:
    case send:
    case send_imm:
    case send_inval:
    case rdma_read:
    case atomic_cs:
    case atomic_fa: return true;
    default: return false;
    }
}

} // namespace

const WorkGaps::Note* WorkGaps::find(std::size_t at) const {
    const auto found = notes_.find(at);
    return found == notes_.end() ? nullptr : &found->second;
}

std::size_t WorkGaps::position_of(std::uint64_t number) const {
    const auto found = std::ranges::lower_bound(store_.entries(), number, {}, &RecordStore::Entry::number);
    return static_cast<std::size_t>(found - store_.entries().begin());
}

WorkGaps::Queue* WorkGaps::queue_of(std::uint32_t interface, std::uint32_t qpn, std::size_t* number) {
    const auto found = numbers_.find({interface, qpn});
    if (found == numbers_.end())
        return nullptr;
    *number = found->second;
    return &queues_[found->second];
}

// --- what records are ---

void WorkGaps::take(std::size_t at, const tool::Seen& seen, const tool::Decoder& decoder) {
    const auto& entry = store_.entries()[at];
    if (entry.mark.gate != reads_gate_) {
        reads_gate_ = entry.mark.gate;
        reads_.clear();
        last_.reset();
    }
    if (entry.mark.kind == RecordKind::signal && entry.head_bytes == SignalRecord::size) {
        const auto code = static_cast<Signal>(abi::ConstView<SignalRecord>(store_.head_of(entry)).get<"code">());
        if (last_ && (code == Signal::sent || code == Signal::written)) {
            auto note = *find(*last_);
            note.kind = Kind::part;
            notes_[at] = note;
            last_.reset();
        }
        return;
    }
    if (seen.items.empty()) {
        if (seen.access && seen.access->kind == tool::Access::Kind::answer && seen.access->is_by_device) {
            reads_.push_back(position_of(seen.access->request));
            reads_.push_back(at);
        }
        return;
    }
    const auto& item = seen.items.front();
    std::size_t number = 0;
    switch (item.what) {
    case tool::What::command_done:
        if (seen.command->is_good() && seen.command->opcode() == prm::Opcode::create_qp) {
            numbers_[{entry.interface, item.qpn}] = queues_.size();
            queues_.push_back({.interface = entry.interface, .qpn = item.qpn});
        }
        break;
    case tool::What::send_doorbell:
        if (auto* queue = queue_of(entry.interface, item.qpn, &number)) {
            queue->doorbells.push_back({.at = at, .gate = entry.mark.gate});
            notes_[at] = {.queue = number,
                          .kind = Kind::doorbell,
                          .value = counted_on(queue->producer, static_cast<std::uint16_t>(item.index))};
        }
        break;
    case tool::What::doorbell_record:
        if (auto* queue = item.qpn == tool::no_number ? nullptr : queue_of(entry.interface, item.qpn, &number)) {
            const std::size_t offset = item.index == 0 ? 4 : 0; // the receive counter is in front
            if (entry.payload_bytes < offset + 4)
                break;
            const auto word = abi::load<std::uint32_t, abi::Endian::big>(store_.payload_of(entry).data() + offset);
            queue->producer = counted_on(queue->producer, static_cast<std::uint16_t>(word));
            notes_[at] = {.queue = number, .kind = Kind::counter, .value = queue->producer, .offset = offset};
        }
        break;
    case tool::What::send_wqe: fetched(at, seen); break;
    case tool::What::cqe: {
        auto* queue = queue_of(entry.interface, item.qpn, &number);
        const auto opcode = static_cast<prm::CqeOpcode>(item.opcode);
        if (queue == nullptr || (opcode != prm::CqeOpcode::req && opcode != prm::CqeOpcode::req_err))
            break;
        const auto message = message_of(*queue, static_cast<std::uint16_t>(item.index));
        if (message == queue->messages.size())
            break;
        notes_[at] = {.queue = number, .kind = Kind::completion, .first = message, .last = message};
        last_ = at;
        break;
    }
    case tool::What::frame: frame(at, item, decoder); break;
    default: break;
    }
}

/// The one whose WQE has this index, modulo 2^16; as many as there are: it is a new one.
std::size_t WorkGaps::message_of(const Queue& queue, std::uint16_t low) const {
    const auto& messages = queue.messages;
    if (messages.empty())
        return 0;
    const auto index = counted_on(messages.back().index, low);
    const auto found = std::ranges::lower_bound(messages, index, {}, &Message::index);
    return found != messages.end() && found->index == index ? static_cast<std::size_t>(found - messages.begin())
                                                            : messages.size();
}

void WorkGaps::fetched(std::size_t at, const tool::Seen& seen) {
    const auto& entry = store_.entries()[at];
    std::size_t number = 0;
    auto* queue = queue_of(entry.interface, seen.items.front().qpn, &number);
    if (queue == nullptr || !seen.access)
        return;
    Note note{.queue = number, .kind = Kind::fetch, .first = ~std::size_t{0}};
    for (const auto& item : seen.items) {
        if (!has_frames(item.opcode) || item.bytes.size() < sizeof(Message::start)) {
            numbers_.erase({entry.interface, item.qpn}); // not counted by frames: it stays as it is
            queues_[number].doorbells.clear();
            return;
        }
        auto& messages = queue->messages;
        const auto low = static_cast<std::uint16_t>(item.index);
        const auto message = message_of(*queue, low);
        if (message == messages.size()) {
            messages.push_back({.index = counted_on(messages.empty() ? 0 : messages.back().index, low),
                                .address = seen.access->address +
                                           static_cast<std::uint64_t>(item.bytes.data() - seen.access->bytes.data())});
            std::ranges::copy(item.bytes.first(sizeof(Message::start)), messages.back().start.begin());
            if (!queue->doorbells.empty()) {
                auto& doorbell = queue->doorbells.back();
                if (doorbell.gate == entry.mark.gate && !doorbell.first && queue->sent == message)
                    doorbell.first = message;
            }
        }
        note.first = std::min(note.first, message);
        note.last = std::max(note.last, message);
    }
    const auto request = position_of(seen.access->request);
    notes_[at] = note;
    note.kind = Kind::fetch_request;
    notes_[request] = note;
}

void WorkGaps::frame(std::size_t at, const tool::Item& item, const tool::Decoder& decoder) {
    const auto& entry = store_.entries()[at];
    if (item.qpn == tool::no_number)
        return;
    const auto& traits = abi::wire::traits(static_cast<abi::wire::Operation>(item.opcode & 0x1f));
    const bool is_out = entry.mark.direction == Direction::outbound;
    if (is_out != traits.is_request())
        return; // what it does for its peer
    const auto is_its = [&](const auto& one) {
        return is_out ? decoder.peer(one.first.first, one.first.second) == item.qpn : one.first.second == item.qpn;
    };
    const auto found = std::ranges::find_if(numbers_, is_its);
    if (found == numbers_.end())
        return;
    const auto number = found->second;
    auto& queue = queues_[number];
    if (is_out && queue.sent == 0)
        queue.first_psn = item.number;
    const auto psn = counted_on(std::max<std::int64_t>(queue.last_psn, 0), queue.first_psn, item.number);
    if (is_out && psn > queue.last_psn) {
        queue.last_psn = psn;
        if (traits.is_first && queue.sent < queue.messages.size())
            queue.messages[queue.sent++].psn = psn;
    }
    if (queue.sent == 0)
        return;
    // The last message that begins at this PSN or before it.
    const auto sent = std::span(queue.messages).first(queue.sent);
    const auto behind = std::ranges::upper_bound(sent, psn, {}, [](const Message& one) { return *one.psn; });
    const auto message = static_cast<std::size_t>(std::max<std::ptrdiff_t>(behind - sent.begin(), 1) - 1);
    if (!is_out) {
        notes_[at] = {
            .queue = number, .kind = Kind::answer, .first = std::min(queue.answered, message), .last = message};
        queue.answered = std::max(queue.answered, message + 1);
        return;
    }
    queue.messages[message].last_frame = at;
    notes_[at] = {.queue = number, .kind = Kind::frame, .first = message, .last = message};
    for (const auto read : reads_)
        notes_.try_emplace(read, Note{.queue = number, .kind = Kind::part, .first = message, .last = message});
    reads_.clear();
    last_ = at;
}

// --- gaps ---

std::vector<WorkGaps::Gap> WorkGaps::before(std::size_t position, std::size_t most) const {
    std::vector<Gap> gaps;
    for (std::size_t number = 0; number < queues_.size(); ++number) {
        const auto& queue = queues_[number];
        std::map<std::uint64_t, std::size_t> places; // the first message whose WQE lay there
        for (std::size_t i = 0; i < queue.sent; ++i)
            places.try_emplace(queue.messages[i].address, i);
        std::size_t left = most;
        for (auto doorbell = queue.doorbells.rbegin(); doorbell != queue.doorbells.rend() && left != 0; ++doorbell) {
            if (doorbell->at >= position || !doorbell->first || *doorbell->first >= queue.sent)
                continue;
            const auto begin = places.at(queue.messages[*doorbell->first].address);
            if (begin >= *doorbell->first)
                continue;
            --left;
            gaps.push_back(
                {.queue = number,
                 .begin = begin,
                 .end = *doorbell->first,
                 .behind = begin == 0 ? queue.doorbells.front().at - 1 : queue.messages[begin - 1].last_frame,
                 .upto = doorbell->at});
        }
    }
    std::ranges::stable_sort(gaps, std::ranges::greater(), &Gap::upto);
    return gaps;
}

WorkGaps::Part WorkGaps::part(std::size_t at) const {
    const auto* note = gap_ ? find(at) : nullptr;
    if (note == nullptr || note->queue != gap_->queue || note->kind == Kind::doorbell || note->kind == Kind::counter)
        return Part::none;
    return note->first >= gap_->begin && note->last < gap_->end ? Part::gone : Part::kept;
}

bool WorkGaps::is_answer_to_gone(std::size_t at) const {
    const auto* note = find(at);
    return note != nullptr && note->kind == Kind::answer && part(at) == Part::gone;
}

std::uint64_t WorkGaps::moved(const Queue& queue, std::uint64_t index) const {
    const auto begin = queue.messages[gap_->begin].index, end = queue.messages[gap_->end].index;
    return index < begin ? index : index < end ? begin : index - (end - begin);
}

std::int64_t WorkGaps::moved_psn(const Queue& queue, std::int64_t psn) const {
    const auto begin = *queue.messages[gap_->begin].psn, end = *queue.messages[gap_->end].psn;
    return psn < begin ? psn : psn < end ? begin - 1 : psn - (end - begin);
}

bool WorkGaps::edit(std::size_t at, RecordStore::Edited& edited) const {
    const auto* note = gap_ ? find(at) : nullptr;
    if (note == nullptr || note->queue != gap_->queue)
        return false;
    const auto& queue = queues_[note->queue];
    switch (note->kind) {
    case Kind::fetch: return edit_fetch(*note, edited);
    case Kind::fetch_request: return shorten(*note, edited, true);
    case Kind::frame:
    case Kind::answer: return edit_frame(at, queue, edited);
    case Kind::counter: {
        auto* word = edited.payload.data() + note->offset;
        const auto value = abi::load<std::uint32_t, abi::Endian::big>(word);
        const auto now = static_cast<std::uint16_t>(moved(queue, note->value));
        abi::store<std::uint32_t, abi::Endian::big>(word, (value & ~0xffffu) | now);
        return true;
    }
    case Kind::doorbell: {
        if (edited.payload.size() != prm::SendDoorbell::size)
            return false;
        const auto begin = queue.messages[gap_->begin].index, end = queue.messages[gap_->end].index;
        if (note->value >= begin && note->value < end) { // rings for the last one that is left
            if (gap_->begin != 0)
                std::ranges::copy(queue.messages[gap_->begin - 1].start, edited.payload.begin());
            return true;
        }
        abi::View<prm::SendDoorbell>(edited.payload)
            .set<"wqe_index">(static_cast<std::uint16_t>(moved(queue, note->value)));
        return true;
    }
    case Kind::completion: {
        constexpr std::size_t size = prm::Cqe64::size;
        if (edited.payload.size() < size)
            return false;
        const auto bytes = std::span(edited.payload).last<size>();
        const abi::View<prm::Cqe64> cqe(bytes);
        const auto was = cqe.get<"wqe_counter">();
        const auto now = static_cast<std::uint16_t>(moved(queue, queue.messages[note->first].index));
        cqe.set<"wqe_counter">(now);
        bytes[prm::cqe_signature_offset] ^= static_cast<std::byte>((was ^ now) >> 8 ^ (was ^ now)); // sum of all
        return true;
    }
    default: return false;
    }
}

bool WorkGaps::edit_fetch(const Note& note, RecordStore::Edited& edited) const {
    const auto& queue = queues_[note.queue];
    for (auto message = note.first; message <= note.last; ++message) {
        const auto offset = queue.messages[message].address - queue.messages[note.first].address;
        if (offset + prm::WqeCtrl::size > edited.payload.size())
            return false;
        abi::View<prm::WqeCtrl>(std::span(edited.payload).subspan(offset))
            .set<"wqe_index">(static_cast<std::uint16_t>(moved(queue, queue.messages[message].index)));
    }
    shorten(note, edited, false);
    return true;
}

/// A read of WQEs of which only the first are left.
bool WorkGaps::shorten(const Note& note, RecordStore::Edited& edited, bool is_request) const {
    const auto& messages = queues_[note.queue].messages;
    if (note.first >= gap_->begin || note.last < gap_->begin)
        return false;
    const auto length =
        static_cast<std::uint32_t>((messages[gap_->begin].index - messages[note.first].index) * prm::wqe_bb_bytes);
    const Piece piece{messages[note.first].address, length};
    if (is_request) {
        const abi::ConstView<abi::pcie::MemoryRequest32> was(edited.head);
        const auto head = memory_request(false, piece, static_cast<std::uint16_t>(was.get<"requester">()),
                                         static_cast<std::uint8_t>(was.get<"tag">()));
        edited.head.assign(head.bytes().begin(), head.bytes().end());
        return true;
    }
    const abi::ConstView<abi::pcie::Completion> was(edited.head);
    const auto head = completion(was.get<"status">(), piece, static_cast<std::uint16_t>(was.get<"requester">()),
                                 static_cast<std::uint8_t>(was.get<"tag">()));
    edited.head.assign(head.bytes().begin(), head.bytes().end());
    edited.payload.resize(std::min<std::size_t>(edited.payload.size(), length));
    return true;
}

bool WorkGaps::edit_frame(std::size_t at, const Queue& queue, RecordStore::Edited& edited) const {
    const auto interface = store_.entries()[at].interface;
    const bool is_infiniband = store_.head().interfaces[interface].kind == InterfaceKind::infiniband;
    return change(edited.head, is_infiniband, [&](model::port::Packet& packet) {
        auto& headers = packet.rdma();
        const auto psn = counted_on(queue.last_psn, queue.first_psn, headers.psn.value);
        headers.psn.value = (queue.first_psn + static_cast<std::uint32_t>(moved_psn(queue, psn))) & psn_mask;
        if (headers.traits().has_aeth) {
            const auto begin = static_cast<std::uint32_t>(gap_->begin), end = static_cast<std::uint32_t>(gap_->end);
            const auto msn = headers.aeth.msn;
            headers.aeth.msn = msn < begin ? msn : msn < end ? begin : msn - (end - begin);
        }
    });
}

} // namespace platform::record
