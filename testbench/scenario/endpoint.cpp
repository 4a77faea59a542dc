#include "testbench/scenario/endpoint.h"

#include "testbench/scenario/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace scenario {

using sw::failure;
using sw::mlx::SendOperation;

namespace {

/// A step that makes no progress for so long has failed.
constexpr std::chrono::nanoseconds patience = std::chrono::seconds{60};
constexpr std::uint32_t first_psn = 0xffff00; // the sequence numbers wrap early in every run

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

} // namespace

Endpoint::Needed Endpoint::needed(const GpuDirectOptions& options) {
    constexpr std::uint64_t least_depth = 32; // costs the one page that any ring costs
    constexpr std::uint64_t least_completions = 64;
    const std::uint64_t asked = options.queue_depth, qps = options.queue_pairs;
    if (options.payload.size() == 0) // the caller moves what it likes
        return {options.queue_depth, std::max(least_completions, asked * qps)};
    const auto messages = options.most_messages();
    const auto depth = std::min(asked, std::max(least_depth, (messages + qps - 1) / qps));
    return {static_cast<std::uint32_t>(depth), std::max(least_completions, std::min(messages, depth * qps))};
}

sw::Result<std::unique_ptr<Endpoint>> Endpoint::open(const Machine& machine, const GpuDirectOptions& options) {
    std::unique_ptr<Endpoint> endpoint{new Endpoint(machine, options)};
    TRY(endpoint->bring_up());
    return endpoint;
}

sw::Result<void> Endpoint::bring_up() {
    auto context = sw::mlx::Context::open(machine_.hca, {.page_faults = static_cast<bool>(machine_.serve_pages)});
    if (!context)
        return std::unexpected(context.error());
    context_ = std::move(*context);
    if (context_->device().pager() != nullptr)
        page_service_ = machine_.serve_pages(context_->device());
    auto gpu = sw::gpu::Gpu::open(machine_.gpu, {}, options_.vram_layout);
    if (!gpu)
        return std::unexpected(gpu.error());
    gpu_ = std::make_unique<sw::gpu::Gpu>(std::move(*gpu));
    const auto pd = context_->alloc_pd();
    if (!pd)
        return std::unexpected(pd.error());
    pd_ = *pd;
    const auto needs = needed(options_);
    for (auto* cq : {&send_cq_, &receive_cq_}) {
        auto made = context_->create_cq({.entries = static_cast<std::uint32_t>(needs.completions)});
        if (!made)
            return std::unexpected(made.error());
        *cq = std::move(*made);
    }
    for (std::uint32_t i = 0; i < options_.queue_pairs; ++i) {
        auto qp = context_->create_qp({.pd = pd_,
                                       .send_cq = send_cq_.get(),
                                       .receive_cq = receive_cq_.get(),
                                       .max_send = needs.depth,
                                       .max_receive = needs.depth});
        if (!qp)
            return std::unexpected(qp.error());
        qps_.push_back(std::move(*qp));
    }
    const auto path = context_->open_port(machine_.gid);
    if (!path)
        return std::unexpected(path.error());
    own_path_ = *path;
    return {};
}

sw::Result<RegisteredVram> Endpoint::make_vram(std::uint64_t bytes) {
    auto buffer = gpu_->allocate(bytes);
    if (!buffer)
        return std::unexpected(buffer.error());
    auto handle = gpu_->export_buffer(*buffer);
    if (!handle)
        return std::unexpected(handle.error());
    auto region = context_->reg_vram_mr(pd_, std::move(*handle), 0, bytes, {.access = sw::mlx::all_access});
    if (!region)
        return std::unexpected(region.error());
    return RegisteredVram{std::move(*buffer), std::move(*region)};
}

sw::Result<void> Endpoint::connect(const RegisteredVram& vram) {
    return connect(
        Hello{.address = vram.region.iova().value, .length = vram.region.length(), .rkey = vram.region.rkey()});
}

sw::Result<void> Endpoint::connect(Hello hello) {
    hello.path = own_path_;
    hello.reads = context_->reads_answered();
    hello.queue_pairs = options_.queue_pairs;
    machine_.peer.send_value(hello);
    std::vector<std::uint32_t> numbers;
    for (const auto& qp : qps_)
        numbers.push_back(qp->number().value);
    machine_.peer.send(std::as_bytes(std::span(numbers)));
    if (!machine_.peer.receive_value(remote_) || remote_.queue_pairs != options_.queue_pairs)
        return failure(EPROTO, machine_.name + ": the peer does not run the same scenario");
    const auto list = machine_.peer.receive();
    if (list.size() != numbers.size() * sizeof(std::uint32_t))
        return failure(EPROTO, machine_.name + ": the peer sent no list of queue pairs");
    std::memcpy(numbers.data(), list.data(), list.size());
    const sw::mlx::ConnectOptions options{.path_mtu =
                                              static_cast<abi::prm::Mtu>(std::countr_zero(options_.mtu_bytes) - 7)};
    for (std::uint32_t i = 0; i < options_.queue_pairs; ++i)
        TRY(context_->connect(
            *qps_[i],
            {.path = remote_.path, .qpn = abi::Qpn{numbers[i]}, .psn = abi::Psn{first_psn}, .reads = remote_.reads},
            abi::Psn{first_psn}, options));
    // Both sides are ready to receive before either sends.
    machine_.peer.send_value('C');
    char go = 0;
    if (!machine_.peer.receive_value(go))
        return failure(EPIPE, machine_.name + ": the peer has gone");
    return {};
}

sw::Result<void> Endpoint::reset() {
    for (auto& qp : qps_)
        TRY(qp->modify(abi::prm::QpState::rst));
    return {};
}

sw::Result<std::optional<sw::mlx::Completion>> Endpoint::carry_out(const sw::mlx::SendRequest& request,
                                                                   std::chrono::nanoseconds timeout) {
    send_cq_->request_notification();
    TRY(qps_.front()->post_send(request));
    std::array<sw::mlx::Completion, 1> found;
    (void)context_->get_cq_event(timeout);
    if (send_cq_->poll(found) != 0)
        return found.front();
    TRY(context_->device().health().look());
    return std::nullopt;
}

void Endpoint::let(std::chrono::nanoseconds time) {
    for (const auto until = now() + time; now() < until;)
        machine_.hca.relax();
}

std::pair<std::uint64_t, std::uint32_t> Endpoint::extent(const Piece& piece, std::uint64_t i) const {
    const auto offset = i * options_.message_bytes;
    return {offset, static_cast<std::uint32_t>(std::min(options_.message_bytes, piece.bytes - offset))};
}

/// Posts message `first` and every queue_pairs-th after it, `count` in all, on one queue pair with one doorbell.
sw::Result<void> Endpoint::post(SendOperation operation, const RegisteredVram& local, const Piece& piece,
                                std::uint64_t first, std::uint32_t count) {
    std::vector<sw::mlx::SendRequest> requests(count);
    std::vector<sw::mlx::Sge> sges(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto number = first + std::uint64_t{i} * options_.queue_pairs;
        const auto [offset, length] = extent(piece, number);
        sges[i] = {.address = local.region.iova().value + offset, .length = length, .lkey = local.region.lkey()};
        requests[i] = {.wr_id = number,
                       .next = i + 1 < count ? &requests[i + 1] : nullptr,
                       .sge = &sges[i],
                       .sge_count = 1,
                       .operation = operation,
                       .flags = sw::mlx::send_flag::signaled,
                       .rkey = remote_.rkey,
                       .remote_address = remote_.address + offset};
    }
    return qps_[first % options_.queue_pairs]->post_send(requests.data());
}

/// Between two looks at a queue. A device that is gone is noticed here.
sw::Result<void> Endpoint::rest() {
    machine_.hca.relax();
    auto alive = context_->device().health().look_now_and_then();
    if (!alive)
        alive.error().what = fmt::format("{}: {}", machine_.name, alive.error().what);
    return alive;
}

/// Waits for the event of the first completion: the way a program sleeps.
sw::Result<void> Endpoint::wait_first() {
    if (context_->get_cq_event(patience) == send_cq_.get())
        return {};
    if (const auto alive = context_->device().health().look(); !alive)
        return failure(alive.error().code, fmt::format("{}: {}", machine_.name, alive.error().what));
    return failure(ETIMEDOUT, machine_.name + ": no completion event for the first message");
}

sw::Result<std::uint64_t> Endpoint::move(SendOperation operation, const RegisteredVram& local, std::string_view step,
                                         const Piece& piece) {
    const auto all = messages(piece);
    const auto qps = options_.queue_pairs;
    std::vector<std::uint32_t> under_way(qps);
    std::vector<std::uint64_t> next(qps);
    for (std::uint32_t i = 0; i < qps; ++i)
        next[i] = i;
    const auto post_more = [&](std::uint32_t i, std::uint32_t most) -> sw::Result<void> {
        const auto left = next[i] < all ? (all - next[i] + qps - 1) / qps : 0;
        const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, most));
        if (count == 0)
            return {};
        TRY(post(operation, local, piece, next[i], count));
        next[i] += std::uint64_t{count} * qps;
        under_way[i] += count;
        return {};
    };
    send_cq_->request_notification();
    TRY(post_more(0, 1));
    TRY(wait_first());
    for (std::uint32_t i = 0; i < qps; ++i)
        TRY(post_more(i, options_.queue_depth - under_way[i]));
    std::uint64_t done = 0, bytes = 0;
    auto deadline = now() + patience;
    std::array<sw::mlx::Completion, 32> completions;
    while (done != all) {
        const auto found = send_cq_->poll(completions);
        for (const auto& completion : std::span(completions).first(found)) {
            if (completion.status != sw::mlx::CompletionStatus::success)
                return failure(EIO, fmt::format("{}: {} message {}: {} (vendor syndrome {:#04x})", machine_.name, step,
                                                completion.wr_id, name(completion.status), completion.vendor_syndrome));
            ++done;
            --under_way[completion.wr_id % qps];
            bytes += extent(piece, completion.wr_id).second;
        }
        for (const auto& completion : std::span(completions).first(found)) {
            // What there is room for, at once: who waits for half a queue is faster or slower by chance.
            const auto i = static_cast<std::uint32_t>(completion.wr_id % qps);
            if (const auto room = options_.queue_depth - under_way[i]; room != 0)
                TRY(post_more(i, room));
        }
        if (found != 0) {
            deadline = now() + patience;
            if (options_.progress)
                options_.progress(step, piece.offset + bytes, options_.payload.size());
        } else {
            if (now() > deadline)
                return failure(ETIMEDOUT,
                               fmt::format("{}: {} stopped after {} of {} messages", machine_.name, step, done, all));
            TRY(rest());
        }
    }
    return done;
}

sw::Result<void> Endpoint::receive(const RegisteredVram& local, const Piece& piece,
                                   const std::function<void()>& ready) {
    const auto all = messages(piece);
    const auto qps = options_.queue_pairs;
    std::vector<std::uint64_t> next(qps);
    const auto post_one = [&](std::uint32_t i) -> sw::Result<void> {
        const auto number = next[i];
        const auto [offset, length] = extent(piece, number);
        const sw::mlx::Sge sge{
            .address = local.region.iova().value + offset, .length = length, .lkey = local.region.lkey()};
        next[i] += qps;
        return qps_[i]->post_receive({.wr_id = number, .sge = &sge, .sge_count = 1});
    };
    for (std::uint32_t i = 0; i < qps; ++i) {
        next[i] = i;
        for (std::uint32_t n = 0; n < options_.queue_depth && next[i] < all; ++n)
            TRY(post_one(i));
    }
    ready();
    auto deadline = now() + patience;
    std::array<sw::mlx::Completion, 32> completions;
    for (std::uint64_t done = 0; done != all;) {
        const auto found = receive_cq_->poll(completions);
        for (const auto& completion : std::span(completions).first(found)) {
            if (completion.status != sw::mlx::CompletionStatus::success)
                return failure(
                    EIO, fmt::format("{}: receive {}: {}", machine_.name, completion.wr_id, name(completion.status)));
            if (completion.byte_count != extent(piece, completion.wr_id).second)
                return failure(EIO, fmt::format("{}: receive {} got {} bytes", machine_.name, completion.wr_id,
                                                completion.byte_count));
            ++done;
            if (const auto i = static_cast<std::uint32_t>(completion.wr_id % qps); next[i] < all)
                TRY(post_one(i));
        }
        if (found != 0) {
            deadline = now() + patience;
        } else {
            if (now() > deadline)
                return failure(ETIMEDOUT, fmt::format("{}: received {} of {} messages", machine_.name, done, all));
            TRY(rest());
        }
    }
    return {};
}

/// Calls `f(bytes, position)` for the GPU's own view of the buffer, in order; it fills them, or looks at them.
template <class F>
void Endpoint::each_own_piece(const RegisteredVram& vram, std::uint64_t bytes, bool is_filled, F&& f) {
    std::uint64_t done = 0;
    for (const auto& range : vram.buffer.ranges()) {
        const auto length = std::min(range.size, bytes - done);
        if (length == 0)
            break;
        f(machine_.vram(range.offset).first(length), done);
        if (is_filled && machine_.filled)
            machine_.filled(range.offset, length);
        done += length;
    }
}

/// Calls `f(scratch bytes, position)`: what is copied through the BAR is copied piece by piece.
template <class F> void Endpoint::each_bar_piece(std::uint64_t bytes, F&& f) {
    constexpr std::uint64_t piece_bytes = 1 << 20;
    std::vector<std::byte> scratch(std::min(bytes, piece_bytes));
    for (std::uint64_t done = 0; done != bytes;) {
        const auto piece = std::span(scratch).first(std::min(bytes - done, piece_bytes));
        f(piece, done);
        done += piece.size();
    }
}

sw::Result<void> Endpoint::fill(const RegisteredVram& vram, const PayloadSource& source, const Piece& piece) {
    PayloadSource::Outcome outcome;
    const auto read = [&](std::span<std::byte> part, std::uint64_t at) {
        if (outcome)
            outcome = source.read(piece.offset + at, part);
    };
    if (machine_.vram)
        each_own_piece(vram, piece.bytes, true, read);
    else
        each_bar_piece(piece.bytes, [&](std::span<std::byte> part, std::uint64_t at) {
            read(part, at);
            (void)gpu_->upload(vram.buffer, at, part);
        });
    return outcome ? sw::Result<void>{} : failure(EIO, outcome.error());
}

void Endpoint::clear(const RegisteredVram& vram) {
    const auto bytes = vram.buffer.size();
    if (machine_.vram)
        each_own_piece(vram, bytes, true,
                       [](std::span<std::byte> piece, std::uint64_t) { std::ranges::fill(piece, std::byte{}); });
    else
        each_bar_piece(
            bytes, [&](std::span<std::byte> zeroes, std::uint64_t at) { (void)gpu_->upload(vram.buffer, at, zeroes); });
}

void Endpoint::hash(const RegisteredVram& vram, std::uint64_t bytes, Sha256& into) {
    if (machine_.vram)
        each_own_piece(vram, bytes, false, [&](std::span<const std::byte> piece, std::uint64_t) { into.add(piece); });
    else
        each_bar_piece(bytes, [&](std::span<std::byte> piece, std::uint64_t at) {
            (void)gpu_->download(vram.buffer, at, piece);
            into.add(piece);
        });
}

sw::Result<void> Endpoint::close() {
    for (auto& qp : qps_)
        TRY(qp->destroy());
    qps_.clear();
    for (auto* cq : {&send_cq_, &receive_cq_}) {
        TRY((*cq)->destroy());
        cq->reset();
    }
    TRY(context_->dealloc_pd(pd_));
    page_service_.reset();
    return context_->close();
}

} // namespace scenario
