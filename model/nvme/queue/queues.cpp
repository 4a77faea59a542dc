#include "model/nvme/queue/queues.h"

#include "abi/nvme/completion.h"
#include "abi/nvme/registers.h"

#include <algorithm>

namespace model::nvme {

using abi::BusAddress;
using abi::nvme::Completion;
using abi::nvme::MemoryUse;
using port::Time;

namespace {
/// 2^3 commands a turn, weights of one, as long as the host says nothing.
constexpr std::uint32_t default_arbitration = 3;
constexpr unsigned submission_shift = 6, completion_shift = 4;
constexpr Time coalescing_unit = std::chrono::microseconds{100};
} // namespace

Queues::Queues(const NvmeConfig& config, ControllerMemory& dma, port::Interrupts& interrupts, QueueListener& listener,
               traces::Events events)
    : config_(config), dma_(dma), interrupts_(interrupts), listener_(listener), events_(events) {
    reset();
}

void Queues::reset() {
    const std::size_t count = config_.queue_pairs + 1;
    submission_.clear(), completion_.clear();
    submission_.resize(count), completion_.resize(count);
    for (auto& waiting : waiting_)
        waiting.resize(count);
    credits_ = {};
    submission_limit_ = completion_limit_ = config_.queue_pairs;
    arbitration_ = default_arbitration, coalescing_ = 0;
    immediate_.assign(config_.vectors, false);
    due_.clear();
    due_.reserve(count);
    has_shadow_ = false;
    recheck_ = port::never;
}

void Queues::start_admin(std::uint64_t submission, std::uint32_t submission_entries, std::uint64_t completion,
                         std::uint32_t completion_entries, Time at) {
    submission_[0] =
        std::make_unique<SubmissionQueue>(SubmissionQueue{.base = submission, .size = submission_entries, .since = at});
    completion_[0] = std::make_unique<CompletionQueue>(CompletionQueue{
        .has_interrupt = true, .base = completion, .size = completion_entries, .since = at, .submission_queues = 1});
}

Refusal Queues::create(abi::ConstView<abi::nvme::CreateCq> command, unsigned entry_shift, Time at) {
    using L = abi::nvme::CreateCq;
    const auto id = command.get<"qid">();
    const std::uint32_t size = command.get<"qsize">() + 1u;
    if (id == 0 || id > completion_limit_ || completion_[id])
        return refuse(Status::invalid_queue_id, parameter_of<L, "qid">());
    if (size < 2 || size > config_.queue_entries || entry_shift != completion_shift)
        return refuse(Status::invalid_queue_size, parameter_of<L, "qsize">());
    if (!command.get<"pc">())
        return refuse(Status::invalid_field, parameter_of<L, "pc">());
    if (command.get<"prp1">() % page_bytes_ != 0)
        return refuse(Status::invalid_prp_offset, parameter_of<L, "prp1">());
    if (!dma_.takes(command.get<"prp1">(), std::uint64_t{size} << completion_shift, MemoryUse::completion_queues))
        return refuse(Status::invalid_cmb_use, parameter_of<L, "prp1">());
    if (command.get<"iv">() >= config_.vectors) // whether or not it is used
        return refuse(Status::invalid_interrupt_vector, parameter_of<L, "iv">());
    auto queue = std::make_unique<CompletionQueue>(CompletionQueue{.id = id,
                                                                   .vector = command.get<"iv">(),
                                                                   .has_interrupt = command.get<"ien">(),
                                                                   .base = command.get<"prp1">(),
                                                                   .size = size,
                                                                   .since = at});
    completion_[id] = std::move(queue);
    return {};
}

Refusal Queues::create(abi::ConstView<abi::nvme::CreateSq> command, unsigned entry_shift, Time at) {
    using L = abi::nvme::CreateSq;
    const auto id = command.get<"qid">(), cqid = command.get<"cqid">();
    const std::uint32_t size = command.get<"qsize">() + 1u;
    if (cqid == 0 || cqid >= completion_.size() || !completion_[cqid])
        return refuse(Status::invalid_completion_queue, parameter_of<L, "cqid">());
    if (id == 0 || id > submission_limit_ || submission_[id])
        return refuse(Status::invalid_queue_id, parameter_of<L, "qid">());
    if (size < 2 || size > config_.queue_entries || entry_shift != submission_shift)
        return refuse(Status::invalid_queue_size, parameter_of<L, "qsize">());
    if (!command.get<"pc">())
        return refuse(Status::invalid_field, parameter_of<L, "pc">());
    if (command.get<"prp1">() % page_bytes_ != 0)
        return refuse(Status::invalid_prp_offset, parameter_of<L, "prp1">());
    if (!dma_.takes(command.get<"prp1">(), std::uint64_t{size} << submission_shift, MemoryUse::submission_queues))
        return refuse(Status::invalid_cmb_use, parameter_of<L, "prp1">());
    submission_[id] = std::make_unique<SubmissionQueue>(SubmissionQueue{
        .id = id,
        .cqid = cqid,
        .base = command.get<"prp1">(),
        .size = size,
        .priority = static_cast<std::uint8_t>(is_weighted_ ? command.get<"qprio">() : std::uint32_t{medium}),
        .since = at});
    ++completion_[cqid]->submission_queues;
    if (has_shadow_) {
        shadow(*submission_[id], at);
        if (!completion_[cqid]->is_shadowed)
            shadow(*completion_[cqid], at);
    }
    return {};
}

Refusal Queues::delete_submission(std::uint16_t id) {
    if (id == 0 || !has_submission(id))
        return refuse(Status::invalid_queue_id, parameter_of<abi::nvme::DeleteQueue, "qid">());
    for (auto& waiting : waiting_)
        waiting.remove(id);
    auto& completions = *completion_[submission_[id]->cqid];
    --completions.submission_queues;
    submission_[id].reset();
    // No completion comes behind that of the deletion, which says of all commands that they have ended (NVMe base 2.0
    // "Delete I/O Submission Queue command").
    if (std::erase_if(completions.held, [&](const CompletionEntry& entry) { return entry.sqid == id; }) != 0 &&
        completions.held.empty())
        list_all(completions);
    return {};
}

Refusal Queues::delete_completion(std::uint16_t id) {
    if (id == 0 || id >= completion_.size() || !completion_[id])
        return refuse(Status::invalid_queue_id, parameter_of<abi::nvme::DeleteQueue, "qid">());
    if (completion_[id]->submission_queues != 0)
        return refuse(Status::invalid_queue_deletion, parameter_of<abi::nvme::DeleteQueue, "qid">());
    std::erase(due_, id);
    completion_[id].reset();
    return {};
}

bool Queues::has_io_queues() const {
    const auto is_there = [](const auto& queue) { return queue != nullptr; };
    return std::ranges::any_of(submission_.begin() + 1, submission_.end(), is_there) ||
           std::ranges::any_of(completion_.begin() + 1, completion_.end(), is_there);
}

void Queues::ring(std::uint64_t offset, std::uint32_t value, Time at) {
    const auto unit = 4ull << config_.doorbell_stride;
    if (offset % unit != 0)
        return; // no doorbell stands there
    const auto index = offset / unit;
    const auto id = static_cast<std::uint32_t>(index / 2);
    const bool is_completion = index % 2 != 0;
    if (id >= submission_.size() || (is_completion ? completion_[id] == nullptr : submission_[id] == nullptr))
        return listener_.bad_doorbell({id, is_completion, value}, "no such queue", at);
    const traces::Cause cause(
        events_, events_.emit(at, traces::NvmeDoorbellRung{static_cast<std::uint16_t>(id), is_completion, value}));
    if (!is_completion)
        ring_submission(id, value, at);
    else
        ring_completion(id, value, at);
}

void Queues::ring_submission(std::uint32_t id, std::uint32_t value, Time at) {
    auto* queue = submission_[id].get();
    queue->doorbell = events_.cause();
    if (queue->is_shadowed)
        list(*queue); // the tail is in memory, and may be newer than the one that is written here
    else
        take_tail(*queue, value, at);
}

bool Queues::check_tail(const SubmissionQueue& queue, std::uint32_t tail, Time at) {
    const auto distance = tail >= queue.head ? tail - queue.head : tail + queue.size - queue.head;
    if (tail >= queue.size)
        listener_.bad_doorbell({queue.id, false, tail}, "the value is no entry of the queue", at);
    else if (distance < queue.waiting())
        listener_.bad_doorbell({queue.id, false, tail}, "the tail takes entries back", at);
    return tail < queue.size && distance >= queue.waiting();
}

void Queues::take_tail(SubmissionQueue& queue, std::uint32_t tail, Time at) {
    if (!check_tail(queue, tail, at))
        return;
    note_rung(queue, tail, at);
    queue.tail = tail;
    if (queue.head != queue.tail)
        list(queue);
}

/// Until the new tail the host has rung now.
void Queues::note_rung(SubmissionQueue& queue, std::uint32_t tail, Time at) const {
    if (!grants_->is_watched()) [[likely]]
        return;
    queue.rung.resize(queue.size);
    for (auto entry = queue.tail; entry != tail; entry = entry + 1 == queue.size ? 0 : entry + 1)
        queue.rung[entry] = at;
}

void Queues::ring_completion(std::uint32_t id, std::uint32_t value, Time at) {
    auto* queue = completion_[id].get();
    if (queue->is_shadowed)
        refresh_head(*queue, at);
    else if (!take_head(*queue, value, at))
        return;
    drain(*queue, at);
}

bool Queues::take_head(CompletionQueue& queue, std::uint32_t head, Time at) {
    const auto written = queue.tail >= queue.head ? queue.tail - queue.head : queue.tail + queue.size - queue.head;
    const auto taken = head >= queue.head ? head - queue.head : head + queue.size - queue.head;
    if (head >= queue.size) {
        listener_.bad_doorbell({queue.id, true, head}, "the value is no entry of the queue", at);
        return false;
    }
    if (taken > written) {
        listener_.bad_doorbell({queue.id, true, head}, "the head passes completions that are not there", at);
        return false;
    }
    queue.head = head;
    return true;
}

void Queues::list(SubmissionQueue& queue) {
    if (queue.is_listed)
        return;
    queue.is_listed = true;
    waiting_[queue.id == 0 ? std::uint8_t{admin} : queue.priority].push(queue.id);
}

bool Queues::has_work() const {
    return std::ranges::any_of(waiting_, [](const auto& waiting) { return !waiting.is_empty(); });
}

std::uint32_t Queues::burst() const {
    const abi::Block<abi::nvme::ArbitrationFeature> feature{[this] {
        std::array<std::byte, 4> bytes{};
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), arbitration_);
        return bytes;
    }()};
    const auto shift = feature.view().get<"ab">();
    return shift >= 7 ? most_fetched : std::min<std::uint32_t>(1u << shift, most_fetched);
}

/// The admin queue first, then urgent ones, then by credits (NVMe base 2.0 "Weighted Round Robin with Urgent Priority
/// Class Arbitration"); without weights all I/O queues are of one class.
SubmissionQueue* Queues::pick(Room room) {
    const auto take = [&](Class which) {
        auto& queue = *submission_[waiting_[which].pop()];
        queue.is_listed = false;
        return &queue;
    };
    if (!waiting_[admin].is_empty() && room.has_admin)
        return take(admin);
    if (!room.has_io)
        return nullptr;
    if (!waiting_[urgent].is_empty())
        return take(urgent);
    for (const bool is_refilled : {false, true}) {
        for (const auto which : {high, medium, low})
            if (!waiting_[which].is_empty() && (!is_weighted_ || credits_[which] != 0))
                return take(which);
        if (!is_refilled)
            credits_[high] = (arbitration_ >> 24 & 0xff) + 1, credits_[medium] = (arbitration_ >> 16 & 0xff) + 1,
            credits_[low] = (arbitration_ >> 8 & 0xff) + 1;
    }
    return nullptr;
}

std::optional<Queues::Batch> Queues::fetch(Time now, Room room) {
    while (auto* queue = pick(room)) {
        if (queue->is_shadowed && !refresh_tail(*queue, now))
            continue;
        if (queue->head == queue->tail) {
            if (queue->is_shadowed && !queue->is_armed)
                arm(*queue, now);
            continue;
        }
        if (!completion_[queue->cqid]->held.empty())
            continue; // its completions have no room; drain() lists it again
        queue->is_armed = false;
        auto count = std::min({queue->waiting(), queue->size - queue->head, burst()});
        if (is_weighted_ && queue->id != 0 && queue->priority != urgent) {
            count = std::min(count, credits_[queue->priority]);
            credits_[queue->priority] -= count;
        }
        const auto entries = std::span(batch_).first(count * abi::nvme::command_bytes);
        const auto first = queue->head;
        const auto from = queue->base + std::uint64_t{first} * abi::nvme::command_bytes;
        grants_->use_queue(port::GrantKind::submission_queue, queue->id, from, entries.size(), queue->since);
        const auto result = dma_.read(BusAddress{from}, entries, now);
        if (!result.is_ok()) {
            listener_.fatal("a submission queue cannot be read", from, now);
            return std::nullopt;
        }
        queue->head = queue->head + count == queue->size ? 0 : queue->head + count;
        if (queue->head != queue->tail || queue->is_shadowed)
            list(*queue);
        return Batch{queue->id, entries, result.done, first, queue->doorbell};
    }
    return std::nullopt;
}

void Queues::post(const CompletionEntry& entry, Time at) {
    if (!has_submission(entry.sqid))
        return;
    auto& queue = *completion_[submission_[entry.sqid]->cqid];
    if (queue.held.empty() && queue.is_full() && queue.is_shadowed)
        refresh_head(queue, at);
    if (!queue.held.empty() || queue.is_full()) {
        queue.held.push_back(entry);
        if (queue.is_shadowed && queue.held.size() == 1)
            arm(queue, at);
        return;
    }
    write(queue, entry, at);
}

bool Queues::write(CompletionQueue& queue, const CompletionEntry& entry, Time at) {
    abi::Block<Completion> block;
    block.view()
        .set<"dw0">(entry.dw0)
        .set<"sqhd">(static_cast<std::uint16_t>(submission_[entry.sqid] ? submission_[entry.sqid]->head : 0))
        .set<"sqid">(entry.sqid)
        .set<"cid">(entry.cid)
        .set<"p">(queue.phase)
        .set<"status">(entry.status)
        .set<"m">(entry.more)
        .set<"dnr">(entry.dnr);
    const auto to = queue.base + std::uint64_t{queue.tail} * Completion::size;
    grants_->use_queue(port::GrantKind::completion_queue, queue.id, to, block.bytes.size(), queue.since);
    const traces::Cause cause(events_, entry.cause != 0 ? entry.cause : events_.cause());
    const auto result = dma_.write(BusAddress{to}, block.bytes, at);
    if (!result.is_ok()) {
        listener_.fatal("a completion queue cannot be written", to, at);
        return false;
    }
    events_.emit(at, traces::NvmeCommandCompleted{entry.sqid, entry.cid, queue.id,
                                                  static_cast<std::uint16_t>(entry.status), entry.dnr, entry.dw0});
    if (++queue.tail == queue.size)
        queue.tail = 0, queue.phase = !queue.phase;
    if (!queue.has_interrupt)
        return true;
    queue.written = std::max(queue.written, result.done);
    if (queue.unsaid++ == 0)
        queue.deadline = at + (coalescing_ >> 8 & 0xff) * coalescing_unit;
    if (!queue.is_due)
        queue.is_due = true, due_.push_back(queue.id);
    return true;
}

void Queues::drain(CompletionQueue& queue, Time at) {
    if (queue.held.empty())
        return;
    while (!queue.held.empty() && !queue.is_full()) {
        if (!write(queue, queue.held.front(), at))
            return;
        queue.held.pop_front();
    }
    if (!queue.held.empty()) {
        if (queue.is_shadowed)
            arm(queue, at);
        return;
    }
    list_all(queue);
}

/// Submission queues that waited for room in their completion queue.
void Queues::list_all(const CompletionQueue& queue) {
    for (const auto& submission : submission_) // seldom: the queue was full
        if (submission && submission->cqid == queue.id && (submission->is_shadowed || submission->waiting() != 0))
            list(*submission);
}

/// Feature 08h: an interrupt waits until so many entries are there, or so much time has passed; not of the admin queue.
Time Queues::raise(Time now) {
    auto next = port::never;
    const auto threshold = (coalescing_ & 0xff) + 1;
    const bool is_coalescing = (coalescing_ & 0xff) != 0 && (coalescing_ >> 8 & 0xff) != 0;
    std::erase_if(due_, [&](std::uint16_t id) {
        auto& queue = *completion_[id];
        if (is_coalescing && id != 0 && !immediate_[queue.vector] && queue.unsaid < threshold && queue.deadline > now) {
            next = std::min(next, queue.deadline);
            return false;
        }
        interrupts_.raise(queue.vector, std::max(now, queue.written));
        queue.is_due = false, queue.unsaid = 0;
        return true;
    });
    return next;
}

} // namespace model::nvme
