#include "sw/simple/queues.h"

#include "sw/base/barrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>

namespace sw::simple {

using namespace abi::simple;
using verbs::CompletionOperation;
using verbs::CompletionStatus;
using verbs::SendOperation;

namespace {

constexpr std::uint32_t most_cq_entries = 1 << 22;

/// By the outcome in the entry.
constexpr std::array statuses{CompletionStatus::success,
                              CompletionStatus::local_length_error,
                              CompletionStatus::local_qp_operation_error,
                              CompletionStatus::local_protection_error,
                              CompletionStatus::flushed,
                              CompletionStatus::bad_response,
                              CompletionStatus::remote_invalid_request,
                              CompletionStatus::remote_access_error,
                              CompletionStatus::remote_operation_error,
                              CompletionStatus::transport_retry_exceeded,
                              CompletionStatus::rnr_retry_exceeded};

CompletionOperation operation_of(Operation operation) {
    switch (operation) {
    case Operation::write:
    case Operation::write_imm: return CompletionOperation::write;
    case Operation::read: return CompletionOperation::read;
    case Operation::send:
    case Operation::send_imm: return CompletionOperation::send;
    case Operation::nop: break;
    }
    return CompletionOperation::nop;
}

/// Nothing: the device has no such operation.
std::optional<Operation> operation_of(SendOperation operation) {
    switch (operation) {
    case SendOperation::nop: return Operation::nop;
    case SendOperation::send: return Operation::send;
    case SendOperation::send_imm: return Operation::send_imm;
    case SendOperation::write: return Operation::write;
    case SendOperation::write_imm: return Operation::write_imm;
    case SendOperation::read: return Operation::read;
    case SendOperation::compare_swap:
    case SendOperation::fetch_add: break;
    }
    return std::nullopt;
}

} // namespace

// --- completion queues ----------------------------------------------------------------------------------------------

Result<std::unique_ptr<CompletionQueue>> CompletionQueue::create(Device& device, std::uint32_t entries) {
    if (entries == 0 || entries > most_cq_entries)
        return failure(EINVAL, fmt::format("create completion queue: {} entries, the device has at most {}", entries,
                                           most_cq_entries));
    std::unique_ptr<CompletionQueue> queue(new CompletionQueue(device));
    queue->entries_ = std::bit_ceil(entries);
    auto ring = memory::Buffer::allocate(device.transport(), std::size_t{queue->entries_} * Completion::size);
    if (!ring)
        return std::unexpected(std::move(ring.error()));
    queue->ring_ = std::move(*ring); // zeroes: phase 0, and the first pass is phase 1
    abi::Block<CreateCq> arguments;
    arguments.view()
        .set<"ring">(queue->ring_.bus())
        .set<"log_entries">(static_cast<std::uint32_t>(std::countr_zero(queue->entries_)));
    const auto number = device.run(Command::create_cq, arguments);
    if (!number)
        return std::unexpected(number.error());
    queue->number_ = *number;
    queue->exists_ = true;
    return queue;
}

CompletionQueue::~CompletionQueue() {
    if (!exists_)
        return;
    abi::Block<OneNumber> arguments;
    arguments.view().set<"number">(number_);
    (void)device_.run(Command::destroy_cq, arguments);
}

bool CompletionQueue::reserve(std::uint32_t entries) {
    if (entries > entries_ - reserved_)
        return false;
    reserved_ += entries;
    return true;
}

const std::byte* CompletionQueue::next() const {
    using Phase = Completion::field<"phase">;
    const auto* entry = ring_.data() + std::size_t{consumer_ & (entries_ - 1)} * Completion::size;
    const auto* word = static_cast<const volatile std::byte*>(entry + Phase::offset);
    const auto phase = std::to_integer<unsigned>(word[3]) >> 7; // the highest bit of a little endian dword
    return phase == ((consumer_ & entries_) == 0 ? 1u : 0u) ? entry : nullptr;
}

bool CompletionQueue::complete(const std::byte* bytes, verbs::Completion& into) {
    const abi::ConstView<Completion> entry(std::span<const std::byte>(bytes, Completion::size));
    auto* qp = device_.find(entry.get<"qpn">());
    if (qp == nullptr)
        return false;
    const auto outcome = static_cast<std::size_t>(entry.get<"outcome">());
    const bool is_receive = entry.get<"is_receive">();
    const auto operation = entry.get<"operation">();
    into = {.wr_id = entry.get<"cookie">(),
            .status = outcome < statuses.size() ? statuses[outcome] : CompletionStatus::unknown_error,
            .operation = !is_receive                         ? operation_of(operation)
                         : operation == Operation::write_imm ? CompletionOperation::receive_write_imm
                                                             : CompletionOperation::receive,
            .has_immediate = entry.get<"has_immediate">(),
            .is_solicited = entry.get<"is_solicited">(),
            .syndrome = static_cast<std::uint8_t>(outcome),
            .wqe_counter = static_cast<std::uint16_t>(entry.get<"index">()),
            .byte_count = entry.get<"byte_count">(),
            .immediate = entry.get<"immediate">(),
            .qpn = abi::Qpn{entry.get<"qpn">()},
            .source_qpn = abi::Qpn{entry.get<"source_qpn">()}};
    if (is_receive)
        qp->complete_receive(entry.get<"index">());
    else
        qp->complete_send(entry.get<"index">());
    return true;
}

std::size_t CompletionQueue::poll(std::span<verbs::Completion> into) {
    std::size_t count = 0;
    for (; count < into.size() && !kept_.empty(); kept_.pop_front())
        into[count++] = kept_.front();
    const auto before = consumer_;
    while (count < into.size()) {
        const auto* entry = next();
        if (entry == nullptr)
            break;
        base::dma_rmb(); // phase before entry: the device writes both at once
        count += complete(entry, into[count]);
        ++consumer_;
    }
    if (consumer_ != before)
        device_.transport().spend(transport::Work::poll, consumer_ - before);
    return count;
}

void CompletionQueue::forget(std::uint32_t qpn) {
    std::erase_if(kept_, [qpn](const verbs::Completion& one) { return one.qpn.value == qpn; });
    for (const auto* entry = next(); entry != nullptr; entry = next()) {
        base::dma_rmb(); // phase before entry
        verbs::Completion one;
        if (complete(entry, one) && one.qpn.value != qpn)
            kept_.push_back(one);
        ++consumer_;
    }
}

// --- queue pairs ----------------------------------------------------------------------------------------------------

Result<std::unique_ptr<QueuePair>> QueuePair::create(Device& device, const verbs::QpOptions& options) {
    if (options.max_inline != 0)
        return failure(EOPNOTSUPP, "create queue pair: this device has no inline data");
    if (options.doorbell_page != nullptr)
        return failure(EOPNOTSUPP, "create queue pair: this device has no doorbells with work requests");
    if (options.send_cq == nullptr || options.receive_cq == nullptr)
        return failure(EINVAL, "create queue pair: a completion queue is missing");
    const auto most = std::uint32_t{1} << device.registers().view().get<"log_entries">();
    if (options.max_send == 0 || options.max_send > most || options.max_receive > most)
        return failure(EINVAL, fmt::format("create queue pair: {} sends and {} receives, the device has 1 to {}",
                                           options.max_send, options.max_receive, most));
    std::unique_ptr<QueuePair> qp(new QueuePair(device, options));
    if (auto done = qp->reserve(); !done)
        return failure(done.error().code, "create queue pair: " + done.error().what);
    qp->send_places_ = std::bit_ceil(options.max_send);
    qp->receive_places_ = std::bit_ceil(std::max(1u, options.max_receive));
    for (auto [ring, places] :
         {std::pair{&qp->sends_, qp->send_places_}, std::pair{&qp->receives_, qp->receive_places_}}) {
        auto buffer = memory::Buffer::allocate(device.transport(), std::size_t{places} * Descriptor::size);
        if (!buffer)
            return std::unexpected(std::move(buffer.error()));
        *ring = std::move(*buffer);
    }
    abi::Block<CreateQp> arguments;
    arguments.view()
        .set<"send_ring">(qp->sends_.bus())
        .set<"receive_ring">(qp->receives_.bus())
        .set<"pd">(options.pd.value)
        .set<"log_sends">(static_cast<std::uint32_t>(std::countr_zero(qp->send_places_)))
        .set<"log_receives">(static_cast<std::uint32_t>(std::countr_zero(qp->receive_places_)))
        .set<"send_cqn">(static_cast<CompletionQueue*>(options.send_cq)->number())
        .set<"receive_cqn">(static_cast<CompletionQueue*>(options.receive_cq)->number());
    const auto number = device.run(Command::create_qp, arguments);
    if (!number)
        return std::unexpected(number.error());
    qp->number_ = *number;
    qp->exists_ = true;
    device.enter(qp->number_, qp.get());
    return qp;
}

/// Room for all that it may complete.
Result<void> QueuePair::reserve() {
    for (auto [queue, entries, reserved] :
         {std::tuple{options_.send_cq, options_.max_send, &reserved_sends_},
          std::tuple{options_.receive_cq, options_.max_receive, &reserved_receives_}}) {
        auto& cq = static_cast<CompletionQueue&>(*queue);
        if (!cq.reserve(entries))
            return failure(ENOMEM, fmt::format("completion queue {} has room for {} entries more, and {} are needed",
                                               cq.number(), cq.unreserved(), entries));
        *reserved = entries;
    }
    return {};
}

QueuePair::~QueuePair() {
    auto& send_cq = static_cast<CompletionQueue&>(*options_.send_cq);
    auto& receive_cq = static_cast<CompletionQueue&>(*options_.receive_cq);
    if (exists_) {
        abi::Block<OneNumber> arguments;
        arguments.view().set<"number">(number_);
        (void)device_.run(Command::destroy_qp, arguments);
        send_cq.forget(number_);
        receive_cq.forget(number_);
        device_.enter(number_, nullptr);
    }
    send_cq.give_back(reserved_sends_);
    receive_cq.give_back(reserved_receives_);
}

Result<void> QueuePair::refuse_send(const verbs::SendRequest& request) const {
    const auto refuse = [&](int code, std::string why) {
        return failure(code, fmt::format("QP {:#x}: {}", number_, why));
    };
    if (!operation_of(request.operation))
        return refuse(EOPNOTSUPP, "this device has no atomics");
    if ((request.flags & verbs::send_flag::inline_data) != 0)
        return refuse(EOPNOTSUPP, "this device has no inline data");
    if (request.sge_count > 1)
        return refuse(EINVAL, fmt::format("{} send elements, this device has one", request.sge_count));
    return refuse(ENOMEM, fmt::format("send queue full, all {} posted", options_.max_send));
}

Result<void> QueuePair::post_send(const verbs::SendRequest* list, const verbs::SendRequest** bad) {
    using namespace verbs::send_flag;
    Result<void> result;
    const auto before = send_head_;
    for (; list != nullptr; list = list->next) {
        const auto operation = operation_of(list->operation);
        if (!operation || (list->flags & inline_data) != 0 || list->sge_count > 1 ||
            send_head_ - send_tail_ == options_.max_send) [[unlikely]] {
            result = refuse_send(*list);
            break;
        }
        const auto into = place(sends_, send_head_++ & (send_places_ - 1));
        abi::Block<Descriptor> made;
        made.view()
            .set<"cookie">(list->wr_id)
            .set<"operation">(*operation)
            .set<"is_signaled">((list->flags & signaled) != 0)
            .set<"is_solicited">((list->flags & solicited) != 0)
            .set<"is_fenced">((list->flags & (fence | small_fence)) != 0)
            .set<"immediate">(list->immediate)
            .set<"remote_address">(list->remote_address)
            .set<"remote_key">(list->rkey);
        if (list->sge_count != 0)
            made.view().set<"address">(list->sge->address).set<"key">(list->sge->lkey).set<"length">(list->sge->length);
        std::ranges::copy(made.bytes, into.begin());
    }
    if (list != nullptr && bad != nullptr) [[unlikely]]
        *bad = list;
    if (send_head_ != before) {
        device_.transport().spend(transport::Work::post, send_head_ - before);
        base::mmio_wmb(); // descriptors before doorbell: the device fetches up to what it is told
        device_.ring_send(number_, send_head_);
    }
    return result;
}

Result<void> QueuePair::post_receive(const verbs::ReceiveRequest* list, const verbs::ReceiveRequest** bad) {
    Result<void> result;
    const auto before = receive_head_;
    for (; list != nullptr; list = list->next) {
        if (list->sge_count > 1) {
            result = failure(
                EINVAL, fmt::format("QP {:#x}: {} receive elements, this device has one", number_, list->sge_count));
            break;
        }
        if (receive_head_ - receive_tail_ == options_.max_receive) {
            result = failure(ENOMEM,
                             fmt::format("QP {:#x}: receive queue full, all {} posted", number_, options_.max_receive));
            break;
        }
        const auto into = place(receives_, receive_head_++ & (receive_places_ - 1));
        abi::Block<Descriptor> made;
        made.view().set<"cookie">(list->wr_id);
        if (list->sge_count != 0)
            made.view().set<"address">(list->sge->address).set<"key">(list->sge->lkey).set<"length">(list->sge->length);
        std::ranges::copy(made.bytes, into.begin());
    }
    if (list != nullptr && bad != nullptr) [[unlikely]]
        *bad = list;
    if (receive_head_ != before) {
        device_.transport().spend(transport::Work::post, receive_head_ - before);
        base::mmio_wmb(); // descriptors before doorbell: a message may be waiting for them
        device_.ring_receive(number_, receive_head_);
    }
    return result;
}

} // namespace sw::simple
