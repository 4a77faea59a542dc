#include "sw/mlx/memory/umr.h"

#include "abi/prm/uar_pd.h"
#include "sw/mlx/command/command.h"
#include "sw/mlx/device/device.h"
#include "sw/mlx/memory/memory_region.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <initializer_list>
#include <vector>

namespace sw::mlx {

using namespace abi::prm;

namespace {

constexpr std::uint32_t depth = 16;
constexpr std::size_t entries_per_list = 4096; ///< 32 KiB

constexpr std::uint64_t mask_of(std::initializer_list<MkeyMask> fields) {
    std::uint64_t mask = 0;
    for (const auto field : fields)
        mask |= static_cast<std::uint64_t>(field);
    return mask;
}

} // namespace

void write_access(const Capabilities& capabilities, Access access, abi::View<Mkc> context) {
    context.set<"lr">(1)
        .set<"lw">(has(access, Access::local_write))
        .set<"rr">(has(access, Access::remote_read))
        .set<"rw">(has(access, Access::remote_write))
        .set<"a">(has(access, Access::remote_atomic));
    if (has(access, Access::relaxed_ordering)) // a hint: without the capability it is dropped
        context.set<"relaxed_ordering_write">(capabilities.get<"relaxed_ordering_write">())
            .set<"relaxed_ordering_read">(capabilities.get<"relaxed_ordering_read">());
}

UmrQueue::UmrQueue(Device& device) : device_(device) {}

Result<std::unique_ptr<UmrQueue>> UmrQueue::create(Device& device) {
    std::unique_ptr<UmrQueue> queue(new UmrQueue(device));
    const auto pd = run<AllocPdOut>(device.commands(), Input<AllocPdIn>(Opcode::alloc_pd));
    if (!pd)
        return std::unexpected(pd.error());
    queue->pd_ = abi::Pd{pd->get<"pd">()};
    queue->has_pd_ = true;
    auto cq = CompletionQueue::create(device, {.entries = 2 * depth});
    if (!cq)
        return std::unexpected(std::move(cq.error()));
    queue->cq_ = std::move(*cq);
    auto qp = QueuePair::create(device, {.type = QpType::reg_umr,
                                         .pd = queue->pd_,
                                         .send_cq = queue->cq_.get(),
                                         .receive_cq = queue->cq_.get(),
                                         .max_send = depth,
                                         .max_receive = 0,
                                         .max_inline = WqeUmrCtrl::size + Mkc::size + WqeData::size});
    if (!qp)
        return std::unexpected(std::move(qp.error()));
    queue->qp_ = std::move(*qp);
    if (auto started = queue->start(); !started)
        return std::unexpected(std::move(started.error()));
    return queue;
}

/// From RST to RTS. The queue pair has no peer and so no path, but the command needs an MTU all the same.
Result<void> UmrQueue::start() {
    if (auto done = qp_->modify(QpState::init, {.pkey_index = 0, .port = 1}); !done)
        return done;
    if (auto done = qp_->modify(QpState::rtr, {.path_mtu = Mtu::bytes_256}); !done)
        return done;
    return qp_->modify(QpState::rts);
}

UmrQueue::~UmrQueue() { (void)destroy(); }

Result<void> UmrQueue::destroy() {
    Result<void> first;
    const auto note = [&](Result<void> done) {
        if (!done && first)
            first = std::move(done);
    };
    if (qp_)
        note(qp_->destroy());
    qp_.reset();
    lists_.clear();
    if (memory_)
        note(memory_->destroy());
    memory_.reset();
    if (cq_)
        note(cq_->destroy());
    cq_.reset();
    if (std::exchange(has_pd_, false)) {
        Input<DeallocPdIn> in(Opcode::dealloc_pd);
        in.view().set<"pd">(pd_.value);
        if (const auto out = run<DeallocPdOut>(device_.commands(), in); !out)
            note(std::unexpected(out.error()));
    }
    return first;
}

Result<void> UmrQueue::revoke(abi::Key key) {
    if (missing_revocations_ != 0) {
        --missing_revocations_;
        return {};
    }
    Change change;
    change.control.view().set<"inline">(1).set<"mkey_mask">(mask_of({MkeyMask::free, MkeyMask::pd}));
    change.context.view().set<"free">(1).set<"pd">(pd_.value).set<"qpn">(mkey_any_qpn).set<"mkey_7_0">(key.variant());
    return execute(key, change);
}

Result<void> UmrQueue::change_access(abi::Key key, abi::Pd pd, Access access) {
    const auto& capabilities = device_.capabilities();
    auto fields = mask_of({MkeyMask::lr, MkeyMask::lw, MkeyMask::rr, MkeyMask::rw, MkeyMask::pd});
    if (capabilities.has_atomics())
        fields |= mask_of({MkeyMask::a});
    if (capabilities.get<"relaxed_ordering_write_umr">())
        fields |= mask_of({MkeyMask::relaxed_ordering_write});
    if (capabilities.get<"relaxed_ordering_read_umr">())
        fields |= mask_of({MkeyMask::relaxed_ordering_read});
    Change change;
    change.control.view().set<"inline">(1).set<"check_free">(1).set<"mkey_mask">(fields);
    write_access(capabilities, access, change.context.view());
    change.context.view().set<"pd">(pd.value).set<"qpn">(mkey_any_qpn).set<"mkey_7_0">(key.variant());
    return execute(key, change);
}

Result<void> UmrQueue::make_memory_key() {
    if (memory_)
        return {};
    auto made = MemoryRegion::physical(device_, pd_, Access::local_write);
    if (!made)
        return std::unexpected(std::move(made.error()));
    if (memory_)
        return made->destroy(); // another thread was faster
    memory_ = std::make_unique<MemoryRegion>(std::move(*made));
    return {};
}

Result<UmrQueue::List*> UmrQueue::take_list() {
    auto free = std::ranges::find(lists_, false, &List::is_taken);
    if (free == lists_.end()) {
        auto memory = memory::Buffer::allocate(device_.transport(), entries_per_list * sizeof(std::uint64_t));
        if (!memory)
            return std::unexpected(std::move(memory.error()));
        free = lists_.insert(lists_.end(), {std::move(*memory), false});
    }
    free->is_taken = true;
    return &*free;
}

Result<void> UmrQueue::write_pages(abi::Key key, std::uint64_t first, std::span<const std::uint64_t> entries) {
    if (first % entries_per_unit != 0 || entries.size() % entries_per_unit != 0)
        return failure(EINVAL, fmt::format("UMR of key {:#x}: translations {} to {} are not whole units of {}",
                                           key.value, first, first + entries.size(), entries_per_unit));
    if (auto made = make_memory_key(); !made)
        return made;
    const auto list = take_list();
    if (!list)
        return std::unexpected(list.error());
    Result<void> result;
    while (result && !entries.empty()) {
        const auto part = entries.first(std::min<std::size_t>(entries.size(), entries_per_list));
        for (std::size_t i = 0; i < part.size(); ++i)
            abi::store<std::uint64_t, abi::Endian::big>((*list)->memory.data() + i * sizeof(std::uint64_t), part[i]);
        Change change;
        const auto octowords = first / 2; // two page addresses each
        change.control.view()
            .set<"xlt_octowords">(static_cast<std::uint16_t>(part.size() / 2))
            .set<"xlt_offset_en">(1)
            .set<"xlt_offset">(static_cast<std::uint16_t>(octowords & 0xffff))
            .set<"xlt_offset_47_16">(static_cast<std::uint32_t>(octowords >> 16));
        change.context.view().set<"qpn">(mkey_any_qpn).set<"mkey_7_0">(key.variant());
        change.list.emplace();
        change.list->view()
            .set<"byte_count">(static_cast<std::uint32_t>(part.size() * sizeof(std::uint64_t)))
            .set<"lkey">(memory_->lkey())
            .set<"addr">((*list)->memory.bus());
        result = execute(key, change);
        first += part.size();
        entries = entries.subspan(part.size());
    }
    // A request that did not complete in time may still read its list.
    (*list)->is_taken = !result && result.error().code == ETIMEDOUT;
    return result;
}

Result<void> UmrQueue::clear_pages(abi::Key key, std::uint64_t first, std::uint64_t count) {
    if (missing_revocations_ != 0) {
        --missing_revocations_;
        return {};
    }
    const std::vector<std::uint64_t> nothing(count);
    return write_pages(key, first, nothing);
}

Result<std::uint64_t> UmrQueue::post(abi::Key key, const Change& change) {
    std::vector<std::byte> segments(change.control.bytes.begin(), change.control.bytes.end());
    segments.insert(segments.end(), change.context.bytes.begin(), change.context.bytes.end());
    if (change.list)
        segments.insert(segments.end(), change.list->bytes.begin(), change.list->bytes.end());
    const auto id = next_id_++;
    if (auto posted = qp_->post_segments(id, WqeOpcode::umr, key.value, segments); !posted)
        return std::unexpected(std::move(posted.error()));
    return id;
}

/// Polls until the completion of `wr_id` is there. Those of others are kept for them.
Result<Completion> UmrQueue::wait(std::uint64_t wr_id) {
    const auto look = [&] {
        std::array<Completion, depth> batch;
        for (const auto& completion : std::span(batch).first(cq_->poll(batch)))
            finished_.emplace(completion.wr_id, completion);
        return finished_.contains(wr_id);
    };
    if (!transport::poll_until(device_.transport(), device_patience, look))
        return failure(ETIMEDOUT,
                       fmt::format("UMR on QP {:#x}: no completion within {} s", qp_->number().value,
                                   std::chrono::duration_cast<std::chrono::seconds>(device_patience).count()));
    return finished_.extract(wr_id).mapped();
}

/// Waits while another thread brings the queue back, or for room in it.
Result<void> UmrQueue::ready() {
    const auto is_ready = [&] { return is_broken_ || (!is_recovering_ && in_flight_ < depth); };
    if (!transport::poll_until(device_.transport(), device_patience, is_ready))
        return failure(ETIMEDOUT, "UMR: the queue did not become free");
    if (is_broken_)
        return failure(EIO, "UMR: the queue is in error and did not recover");
    return {};
}

Result<void> UmrQueue::execute(abi::Key key, const Change& change) {
    for (;;) {
        if (auto free = ready(); !free)
            return free;
        const auto id = post(key, change);
        if (!id)
            return std::unexpected(id.error());
        ++in_flight_;
        const auto completion = wait(*id);
        --in_flight_;
        if (!completion) {
            is_broken_ = true; // the device may still carry out the request, at any time
            return std::unexpected(completion.error());
        }
        ++executed_;
        if (completion->status == CompletionStatus::success)
            return {};
        if (completion->status == CompletionStatus::flushed)
            continue; // another one failed, and whoever posted that brings the queue back
        const auto why = fmt::format("UMR of key {:#x}: {} (vendor syndrome {:#x})", key.value,
                                     name(completion->status), completion->vendor_syndrome);
        if (auto recovered = recover(key, change); !recovered)
            return failure(EIO, why + "; " + recovered.error().what);
        return failure(EIO, why);
    }
}

/// The queue pair is in ERR. One more request is posted, and when it comes back flushed so has everything before it;
/// then the queue pair is brought from RST to RTS again.
Result<void> UmrQueue::recover(abi::Key key, const Change& change) {
    is_recovering_ = true;
    ++recoveries_;
    const auto result = [&]() -> Result<void> {
        if (const auto barrier = post(key, change); !barrier)
            return std::unexpected(barrier.error());
        else if (const auto flushed = wait(*barrier); !flushed)
            return std::unexpected(flushed.error());
        if (auto reset = qp_->modify(QpState::rst); !reset)
            return reset;
        return start();
    }();
    is_recovering_ = false;
    is_broken_ = !result;
    return result;
}

} // namespace sw::mlx
