#include "sw/nvme/queue_pair.h"

#include "abi/nvme/completion.h"
#include "abi/nvme/registers.h"
#include "sw/base/barrier.h"
#include "sw/transport/mmio.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <utility>

namespace sw::nvme {

namespace {

using abi::nvme::command_bytes;
using Cqe = abi::nvme::Completion;
constexpr unsigned registers_bar = 0;
constexpr std::size_t owner_dword = Cqe::field<"p">::offset;

/// A word that the controller reads or writes at any time.
std::uint32_t load_word(const std::byte* at) {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(const_cast<std::byte*>(at)))
        .load(std::memory_order_relaxed);
}
void store_word(std::byte* at, std::uint32_t value) {
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at)).store(value, std::memory_order_relaxed);
}
static_assert(abi::Endian::native == abi::Endian::little, "words of shadow doorbells are little endian");

Result<void> place(transport::Transport& transport, QueueMemory& memory, memory::Buffer& own, std::size_t bytes,
                   const char* what) {
    if (memory.size == 0) {
        auto made = memory::Buffer::allocate(transport, bytes);
        if (!made)
            return std::unexpected(made.error());
        own = std::move(*made);
        memory = QueueMemory::of(own.memory());
        return {};
    }
    if (memory.size < bytes || memory.bus % page_bytes != 0 || (!memory.is_pointer() && memory.function == nullptr))
        return failure(EINVAL, fmt::format("{} at {:#x}: needs {} bytes, page aligned, that the processor reaches",
                                           what, memory.bus, bytes));
    // What it held would pass for completions of the first turn.
    memory.store(0, std::vector<std::byte>(bytes));
    return {};
}

} // namespace

Result<std::unique_ptr<QueuePair>> QueuePair::make(transport::Transport& transport, std::uint16_t number,
                                                   unsigned stride, const ShadowDoorbells& shadow,
                                                   const QueueOptions& options) {
    if (options.entries < 2 || options.entries > 0x10000)
        return failure(EINVAL, fmt::format("queue {}: {} entries; there can be 2 to 65536", number, options.entries));
    std::unique_ptr<QueuePair> queue(new QueuePair(transport, number, stride, shadow, options));
    if (auto placed = place(transport, queue->submissions_, queue->own_submissions_, options.entries * command_bytes,
                            "submission queue");
        !placed)
        return std::unexpected(placed.error());
    if (auto placed = place(transport, queue->completions_, queue->own_completions_, options.entries * Cqe::size,
                            "completion queue");
        !placed)
        return std::unexpected(placed.error());
    auto lists = memory::Buffer::allocate(transport, queue->list_bytes_ * (options.entries - 1));
    if (!lists)
        return std::unexpected(lists.error());
    queue->lists_ = std::move(*lists);
    return queue;
}

QueuePair::QueuePair(transport::Transport& transport, std::uint16_t number, unsigned stride,
                     const ShadowDoorbells& shadow, const QueueOptions& options)
    : transport_(&transport), number_(number), stride_(stride), shadow_(shadow), entries_(options.entries),
      vector_(options.vector), priority_(options.priority), largest_transfer_(options.largest_transfer),
      submissions_(options.submissions), completions_(options.completions),
      list_bytes_(list_bytes(options.largest_transfer)), is_under_way_(options.entries - 1) {
    for (auto id = static_cast<std::uint32_t>(entries_ - 1); id-- != 0;)
        free_.push_back(static_cast<std::uint16_t>(id));
    for (const bool is_completion : {false, true})
        if (shadow_.doorbells != nullptr) {
            // A queue that is new begins with both at zero, whoever had its number before.
            const auto at = abi::nvme::doorbell_offset(number_, is_completion, stride_);
            store_word(shadow_.doorbells + at, 0);
            store_word(shadow_.events + at, 0);
        }
}

Result<std::uint16_t> QueuePair::submit(Command& command, std::span<const Segment> data, Scheme scheme) {
    if (free_.empty())
        return failure(EAGAIN, fmt::format("queue {}: {} commands are under way", number_, under_way_));
    const auto id = free_.back();
    const auto list = id * list_bytes_;
    if (auto pointed = point_to(command.view(), scheme, data, {lists_.data() + list, lists_.bus() + list, list_bytes_});
        !pointed)
        return std::unexpected(pointed.error());
    transport_->spend(transport::Work::post, 1);
    free_.pop_back();
    is_under_way_[id] = true;
    ++under_way_;
    command.view().set<"cid">(id);
    submissions_.store(tail_ * command_bytes, command.bytes);
    tail_ = tail_ + 1 == entries_ ? 0 : tail_ + 1;
    return id;
}

/// Rings a doorbell. `told` is the value that it has.
void QueuePair::move_doorbell(bool is_completion, std::uint16_t& told, std::uint32_t value) {
    const auto at = abi::nvme::doorbell_offset(number_, is_completion, stride_);
    const auto now = static_cast<std::uint16_t>(value), before = std::exchange(told, now);
    if (shadow_.doorbells != nullptr) {
        base::dma_wmb(); // entries before shadow doorbell: the controller fetches as far as that says
        store_word(shadow_.doorbells + at, now);
        base::dma_mb(); // shadow doorbell before event index: the controller looks at them the other way round
        const auto event = static_cast<std::uint16_t>(load_word(shadow_.events + at));
        // It asks for the register when the doorbell passes the index (NVMe base 2.0 "Shadow Doorbell").
        if (static_cast<std::uint16_t>(now - event - 1) >= static_cast<std::uint16_t>(now - before))
            return;
    }
    base::mmio_wmb(); // entries before doorbell: the controller fetches as soon as it sees the register written
    transport::write32<abi::Endian::little>(*transport_, registers_bar, abi::nvme::doorbells_offset + at, now);
    ++register_writes_;
}

void QueuePair::ring() {
    if (told_tail_ == tail_)
        return;
    if (!submissions_.is_pointer()) {
        // Entries in another function's BAR before the doorbell in ours: nothing orders writes to two functions, but a
        // read does not pass the writes before it (PCIe 6.0 §2.4.1).
        std::array<std::byte, 4> last;
        submissions_.load((tail_ == 0 ? entries_ : tail_) * command_bytes - last.size(), last);
    }
    move_doorbell(false, told_tail_, tail_);
}

bool QueuePair::is_posted(std::uint32_t slot) const {
    std::uint32_t owner;
    if (completions_.is_pointer()) {
        owner = load_word(completions_.data + slot * Cqe::size + owner_dword);
    } else {
        std::array<std::byte, 4> bytes;
        completions_.load(slot * Cqe::size + owner_dword, bytes);
        owner = std::bit_cast<std::uint32_t>(bytes);
    }
    using Phase = Cqe::field<"p">;
    return ((owner >> Phase::low & 1) != 0) == phase_;
}

std::size_t QueuePair::poll(std::span<Completion> into) {
    std::size_t count = 0;
    const auto begin = head_;
    while (count < into.size() && is_posted(head_)) {
        base::dma_rmb(); // phase before entry: what is read earlier may be what stood there before
        abi::Block<Cqe> entry;
        completions_.load(head_ * Cqe::size, entry.bytes);
        if (++head_ == entries_)
            head_ = 0, phase_ = !phase_;
        const auto view = entry.view();
        const auto id = view.get<"cid">();
        if (id >= is_under_way_.size() || !is_under_way_[id] || view.get<"sqid">() != number_) {
            ++strays_;
            continue;
        }
        is_under_way_[id] = false;
        free_.push_back(id);
        --under_way_;
        into[count++] = {
            .status = view.get<"status">(), .id = id, .result = view.get<"dw0">(), .do_not_retry = view.get<"dnr">()};
    }
    if (count != 0)
        transport_->spend(transport::Work::poll, count);
    if (head_ != begin)
        move_doorbell(true, told_head_, head_);
    return count;
}

std::size_t QueuePair::wait(std::span<Completion> into, std::chrono::nanoseconds timeout) {
    const auto deadline = transport_->now() + timeout;
    for (;;) {
        if (const auto count = poll(into); count != 0)
            return count;
        const auto now = transport_->now();
        if (now >= deadline)
            return 0;
        if (vector_)
            transport_->wait_interrupt(*vector_, deadline - now);
        else
            transport_->relax();
    }
}

Result<Completion> QueuePair::execute(Command& command, std::span<const Segment> data, Scheme scheme,
                                      std::chrono::nanoseconds timeout) {
    const auto id = submit(command, data, scheme);
    if (!id)
        return std::unexpected(id.error());
    ring();
    std::array<Completion, 1> one;
    for (const auto deadline = transport_->now() + timeout; wait(one, deadline - transport_->now()) != 0;)
        if (one[0].id == *id)
            return one[0];
    return failure(ETIMEDOUT, fmt::format("queue {}: command {} of opcode {:#x} did not end", number_, *id,
                                          command.view().get<"opcode">()));
}

} // namespace sw::nvme
