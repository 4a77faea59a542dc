#include "sw/mlx/queue/qp.h"

#include "sw/base/barrier.h"
#include "sw/memory/umem.h"
#include "sw/mlx/queue/send_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

namespace sw::mlx {

using namespace abi::prm;

namespace {

constexpr std::uint32_t max_blocks = 16; // of one WQE

} // namespace

Result<std::unique_ptr<QueuePair>> QueuePair::create(Device& device, const QpOptions& options) {
    std::unique_ptr<QueuePair> qp(new QueuePair(device, options));
    qp->uar_ = options.uar != nullptr ? options.uar : &device.uar();
    for (const auto step : {&QueuePair::choose_sizes, &QueuePair::allocate, &QueuePair::create_in_device})
        if (auto done = (*qp.*step)(); !done)
            return failure(done.error().code, "create queue pair: " + done.error().what);
    return qp;
}

Result<void> QueuePair::choose_sizes() {
    const auto& capabilities = device_.capabilities();
    if (!options_.send_cq || !options_.receive_cq)
        return failure(EINVAL, "a completion queue is missing");
    if (options_.max_send == 0)
        return failure(EINVAL, "no send queue: every queue pair of this driver has one");
    const auto send_limit = std::min<std::uint64_t>(capabilities.get<"max_wqe_sz_sq">(), max_blocks * wqe_bb_bytes);
    const auto wqe_bytes = send_wqe_bytes(options_.max_send_sge, options_.max_inline);
    if (wqe_bytes > send_limit)
        return failure(
            EINVAL,
            fmt::format("{} send elements and {} inline bytes make a WQE of {} bytes, the device has at most {}",
                        options_.max_send_sge, options_.max_inline, wqe_bytes, send_limit));
    const auto blocks = send_queue_blocks(options_.max_send, wqe_bytes);
    const auto queue_limit = std::uint64_t{1} << std::min<unsigned>(capabilities.get<"log_max_qp_sz">(), 15);
    if (blocks > queue_limit)
        return failure(EINVAL, fmt::format("{} sends of {} bytes need {} blocks, the device has at most {}",
                                           options_.max_send, wqe_bytes, blocks, queue_limit));
    ring_.blocks = static_cast<std::uint32_t>(blocks);
    if (options_.max_receive == 0)
        return {};
    const auto stride =
        std::bit_ceil(std::max<std::uint64_t>(std::uint64_t{options_.max_receive_sge} * WqeData::size, WqeData::size));
    if (stride > capabilities.get<"max_wqe_sz_rq">())
        return failure(EINVAL, fmt::format("{} receive elements make a WQE of {} bytes, the device has at most {}",
                                           options_.max_receive_sge, stride, capabilities.get<"max_wqe_sz_rq">()));
    const auto count = std::bit_ceil(std::uint64_t{options_.max_receive});
    if (count > queue_limit)
        return failure(EINVAL,
                       fmt::format("{} receives, the device has at most {}", options_.max_receive, queue_limit));
    receive_count_ = static_cast<std::uint32_t>(count);
    receive_stride_ = static_cast<std::uint32_t>(stride);
    return {};
}

Result<void> QueuePair::allocate() {
    if (options_.place.is_given())
        return {};
    const auto receive_bytes = this->receive_bytes();
    auto buffer = memory::Buffer::allocate(device_.transport(), receive_bytes + ring_.blocks * wqe_bb_bytes);
    if (!buffer)
        return std::unexpected(std::move(buffer.error()));
    buffer_ = std::move(*buffer);
    receive_ring_ = buffer_.data();
    ring_.base = buffer_.data() + receive_bytes;
    sent_ = std::make_unique<Sent[]>(ring_.blocks);
    received_ = std::make_unique<std::uint64_t[]>(receive_count_);
    const auto record = device_.doorbell_records().take();
    if (!record)
        return std::unexpected(record.error());
    record_ = *record;
    return {};
}

std::size_t QueuePair::receive_bytes() const {
    return (std::size_t{receive_count_} * receive_stride_ + wqe_bb_bytes - 1) / wqe_bb_bytes * wqe_bb_bytes;
}

/// The pages of the rings, which begin at one: page_offset stays 0. Sets the size of each.
Result<std::vector<std::uint64_t>> QueuePair::ring_pages(unsigned& log_page) const {
    if (options_.place.is_given()) {
        log_page = 12;
        return options_.place.pages(receive_bytes() + ring_.blocks * wqe_bb_bytes, "this queue pair");
    }
    const auto umem = memory::Umem::from_host(buffer_.memory(), 0, buffer_.size());
    if (!umem)
        return std::unexpected(umem.error());
    log_page = *umem->best_page_size(abi::Iova{0});
    return umem->pages(log_page);
}

Result<void> QueuePair::create_in_device() {
    unsigned log_page = 0;
    const auto listed = ring_pages(log_page);
    if (!listed)
        return std::unexpected(listed.error());
    const auto& pages = *listed;
    Input<CreateQpIn> in(Opcode::create_qp, 0, pages.size() * sizeof(std::uint64_t));
    const auto context = in.view().sub<"qpc">();
    context.set<"st">(options_.type)
        .set<"pm_state">(PathMigrationState::migrated)
        .set<"pd">(options_.pd.value)
        .set<"log_sq_size">(static_cast<std::uint32_t>(std::countr_zero(ring_.blocks)))
        .set<"counter_set_id">(options_.counter_set)
        .set<"uar_page">(uar_->index())
        .set<"user_index">(no_user_index) // completions are found by queue pair number
        .set<"log_page_size">(log_page - 12)
        .set<"cqn_snd">(options_.send_cq->number().value)
        .set<"cqn_rcv">(options_.receive_cq->number().value)
        .set<"dbr_addr">(options_.place.is_given() ? options_.place.record : record_.bus);
    if (receive_count_) {
        context.set<"rq_type">(ReceiveQueueType::regular)
            .set<"log_rq_size">(static_cast<std::uint32_t>(std::countr_zero(receive_count_)))
            .set<"log_rq_stride">(static_cast<std::uint32_t>(std::countr_zero(receive_stride_)) - log_least_rq_stride);
    } else {
        context.set<"rq_type">(ReceiveQueueType::none);
    }
    for (std::size_t i = 0; i < pages.size(); ++i)
        in.set_tail64(i, pages[i]);
    const auto out = run<CreateQpOut>(device_.commands(), in);
    if (!out)
        return std::unexpected(out.error());
    number_ = abi::Qpn{out->get<"qpn">()};
    exists_ = true;
    device_.qps().insert(number_.value, this);
    return {};
}

QueuePair::~QueuePair() {
    if (!destroy()) { // the device is gone or refuses: our tables forget the queue pair, and memory that it may still
                      // reach stays
        device_.qps().erase(number_.value);
        device_.keep_until_closed(std::move(buffer_));
    }
    if (record_.data)
        device_.doorbell_records().give_back(record_);
}

Result<void> QueuePair::destroy() {
    if (!exists_)
        return {};
    if (state_ != QpState::rst) // so that the device lets go of the rings before they go away
        if (auto reset_done = modify(QpState::rst); !reset_done)
            return reset_done;
    Input<DestroyQpIn> in(Opcode::destroy_qp);
    in.view().set<"qpn">(number_.value);
    if (const auto out = run<DestroyQpOut>(device_.commands(), in); !out)
        return std::unexpected(out.error());
    exists_ = false;
    options_.send_cq->forget(number_);
    options_.receive_cq->forget(number_);
    device_.qps().erase(number_.value);
    return {};
}

void QueuePair::reset() {
    // Unpolled completions speak of WQEs that no longer exist.
    options_.send_cq->forget(number_);
    options_.receive_cq->forget(number_);
    send_head_ = send_tail_ = receive_head_ = receive_tail_ = 0;
    if (record_.data == nullptr) // of somebody else
        return;
    record_.set_first(0);
    record_.set_second(0);
}

Result<void> QueuePair::refuse_send(const SendRequest& request, std::uint32_t units) const {
    if (options_.place.is_given())
        return failure(EINVAL,
                       fmt::format("QP {:#x}: post_send, and its rings belong to somebody else", number_.value));
    if (!can_send_)
        return failure(EINVAL, fmt::format("QP {:#x}: post_send in state {}", number_.value, name(state_)));
    if (static_cast<std::size_t>(request.operation) >= send_shapes.size())
        return failure(EINVAL, fmt::format("QP {:#x}: unknown operation {}", number_.value,
                                           static_cast<unsigned>(request.operation)));
    const auto& shape = send_shapes[static_cast<std::size_t>(request.operation)];
    if (request.flags & send_flag::inline_data) {
        if (!shape.can_inline)
            return failure(EINVAL,
                           fmt::format("QP {:#x}: {} cannot carry inline data", number_.value, name(shape.opcode)));
        if (total_length(request) > options_.max_inline)
            return failure(EINVAL, fmt::format("QP {:#x}: {} inline bytes, at most {} were asked for", number_.value,
                                               total_length(request), options_.max_inline));
    } else if (request.sge_count > options_.max_send_sge) {
        return failure(EINVAL, fmt::format("QP {:#x}: {} send elements, at most {} were asked for", number_.value,
                                           request.sge_count, options_.max_send_sge));
    }
    return failure(ENOMEM,
                   fmt::format("QP {:#x}: send queue full, {} of {} blocks are free and {} wanted", number_.value,
                               ring_.blocks - (send_head_ - send_tail_), ring_.blocks, blocks_of(units)));
}

Result<void> QueuePair::post_send(const SendRequest* list, const SendRequest** bad) {
    Result<void> result;
    std::size_t posted = 0;
    std::uint32_t last = send_head_;
    for (; list; list = list->next, ++posted) {
        const auto& request = *list;
        const auto inlined = (request.flags & send_flag::inline_data) != 0;
        if (!can_send_ || static_cast<std::size_t>(request.operation) >= send_shapes.size() ||
            (inlined ? !send_shapes[static_cast<std::size_t>(request.operation)].can_inline ||
                           total_length(request) > options_.max_inline
                     : request.sge_count > options_.max_send_sge)) [[unlikely]] {
            result = refuse_send(request, 0);
            break;
        }
        const auto units = segments_of(request);
        const auto blocks = blocks_of(units);
        if (blocks > ring_.blocks - (send_head_ - send_tail_)) [[unlikely]] {
            result = refuse_send(request, units);
            break;
        }
        write_send(ring_, send_head_, number_, request, units,
                   options_.signal_all || (request.flags & send_flag::signaled));
        last = send_head_;
        auto& slot = sent_[send_head_ & (ring_.blocks - 1)];
        send_head_ += blocks;
        slot = {request.wr_id, send_head_};
    }
    if (list && bad) [[unlikely]]
        *bad = list;
    if (posted != 0) {
        device_.transport().spend(transport::Work::post, posted);
        base::dma_wmb(); // WQEs before record: the device fetches up to what the record says
        record_.set_second(send_head_ & 0xffff);
        ring(last, posted == 1);
    }
    return result;
}

/// Rings for what has been posted, the last of it from block `last` on; with BlueFlame it goes along where it is
/// `alone`. Others would have to be read from the ring before it.
void QueuePair::ring(std::uint32_t last, bool alone) {
    base::mmio_wmb(); // record before doorbell: the device reads the record when it is rung
    const auto* const start = ring_.block(last);
    const auto style = options_.doorbell;
    if (style != DoorbellStyle::blueflame || !alone) [[likely]]
        return uar_->ring_send({start, wqe_bb_bytes},
                               style == DoorbellStyle::two_stores ? style : DoorbellStyle::one_store);
    const auto bytes = std::size_t{send_head_ - last} * wqe_bb_bytes;
    const auto before_end = std::min(bytes, static_cast<std::size_t>(ring_.end() - start));
    if (before_end == bytes)
        return uar_->ring_send({start, bytes}, style);
    std::array<std::byte, std::size_t{max_blocks} * wqe_bb_bytes> whole; // it goes on at the start of the ring
    std::memcpy(whole.data(), start, before_end);
    std::memcpy(whole.data() + before_end, ring_.base, bytes - before_end);
    uar_->ring_send(std::span(whole).first(bytes), style);
}

Result<void> QueuePair::post_segments(std::uint64_t wr_id, WqeOpcode opcode, std::uint32_t immediate,
                                      std::span<const std::byte> segments) {
    const auto units = static_cast<std::uint32_t>(1 + (segments.size() + wqe_ds_bytes - 1) / wqe_ds_bytes);
    const auto blocks = blocks_of(units);
    if (!can_send_)
        return failure(EINVAL, fmt::format("QP {:#x}: post {} in state {}", number_.value, name(opcode), name(state_)));
    if (blocks > ring_.blocks - (send_head_ - send_tail_) || blocks > max_blocks)
        return failure(ENOMEM, fmt::format("QP {:#x}: post {}: {} blocks wanted, {} are free", number_.value,
                                           name(opcode), blocks, ring_.blocks - (send_head_ - send_tail_)));
    abi::Block<WqeCtrl> ctrl;
    ctrl.view()
        .set<"opcode">(opcode)
        .set<"wqe_index">(send_head_)
        .set<"qpn">(number_.value)
        .set<"ds">(units)
        .set<"fm">(FenceMode::initiator_small)
        .set<"ce">(CompletionEvent::always)
        .set<"imm">(immediate);
    const auto start = send_head_;
    SegmentWriter writer(ring_, ring_.block(start));
    writer.put(ctrl);
    writer.put_bytes(segments);
    sent_[send_head_ & (ring_.blocks - 1)] = {wr_id, send_head_ + blocks};
    send_head_ += blocks;
    device_.transport().spend(transport::Work::post, 1);
    base::dma_wmb(); // WQE before record: the device fetches up to what the record says
    record_.set_second(send_head_ & 0xffff);
    ring(start, true);
    return {};
}

Result<void> QueuePair::refuse_receive(const ReceiveRequest& request) const {
    if (!can_receive_)
        return failure(EINVAL, fmt::format("QP {:#x}: post_receive in state {} with a receive queue of {}",
                                           number_.value, name(state_), receive_count_));
    if (request.sge_count > options_.max_receive_sge)
        return failure(EINVAL, fmt::format("QP {:#x}: {} receive elements, at most {} were asked for", number_.value,
                                           request.sge_count, options_.max_receive_sge));
    return failure(ENOMEM, fmt::format("QP {:#x}: receive queue full, all {} posted", number_.value, receive_count_));
}

Result<void> QueuePair::post_receive(const ReceiveRequest* list, const ReceiveRequest** bad) {
    Result<void> result;
    const auto before = receive_head_;
    for (; list; list = list->next) {
        if (!can_receive_ || list->sge_count > options_.max_receive_sge ||
            receive_head_ - receive_tail_ == receive_count_) [[unlikely]] {
            result = refuse_receive(*list);
            break;
        }
        const auto index = receive_head_ & (receive_count_ - 1);
        write_receive(receive_ring_ + std::size_t{index} * receive_stride_, receive_stride_, *list);
        received_[index] = list->wr_id;
        ++receive_head_;
    }
    if (list && bad) [[unlikely]]
        *bad = list;
    if (receive_head_ != before) {
        device_.transport().spend(transport::Work::post, receive_head_ - before);
        base::dma_wmb(); // WQEs before record: a message may be waiting for them
        record_.set_first(receive_head_ & 0xffff);
    }
    return result;
}

} // namespace sw::mlx
