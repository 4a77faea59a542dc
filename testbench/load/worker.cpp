#include "testbench/load/worker.h"

#include "model/tlm/kernel_clock.h"
#include "testbench/harness/must.h"
#include "testbench/load/arrivals.h"

#include <fmt/format.h>

#include <algorithm>

namespace load {

using harness::must;
using model::port::Time;
using model::tlm::kernel_now;
using platform::topology::TrafficOrder;
using sw::verbs::SendOperation;

Worker::Worker(Node& node, std::size_t number, std::uint32_t core, Shared& shared)
    : node_(node), number_(number), core_(node.cores()[core]), shared_(shared), work_(shared.work),
      messages_(node, shared), begun_(kernel_now()), requests_(work_.how.batch), sges_(work_.how.batch) {
    for (auto* end : core_.ends) {
        if (!end->flow)
            continue;
        const auto& flow = shared_.flows[*end->flow];
        end->leaves = flow.leaves == model::port::never ? flow.leaves : begun_ + flow.leaves;
        if (work_.is_open_loop()) {
            expect(*end);
            continue;
        }
        if (flow.joins == Time{})
            make_ready(*end);
        else
            await(*end, begun_ + flow.joins);
    }
}

void Worker::run() {
    while (shared_.failure.empty()) {
        const auto begin = kernel_now();
        if (!arrivals_.empty() && !shared_.is_over())
            arrive();
        bool has_posted = false;
        if (!shared_.is_over())
            has_posted = post_all();
        else if (!is_flushed_)
            flush();
        const auto found = poll_sent() + poll_received();
        shared_.ledger.add_work(number_, kernel_now() - begin);
        if (shared_.is_over() && is_flushed_ && shared_.under_way == 0)
            return;
        if (has_posted || found != 0)
            shared_.last_progress = kernel_now();
        else
            wait();
    }
}

void Worker::make_ready(End& end) {
    if (std::exchange(end.is_ready, true))
        return;
    ready_.push_back(&end);
}

/// Requests that have arrived by now, of an open loop; flows that have joined.
void Worker::arrive() {
    for (const auto now = kernel_now(); !arrivals_.empty() && arrivals_.top().first <= now;) {
        auto& end = *core_.ends[arrivals_.top().second];
        arrivals_.pop();
        --shared_.awaited;
        if (!work_.is_open_loop()) {
            make_ready(end);
            continue;
        }
        if (work_.is_listed) {
            auto request = shared_.flows[*end.flow].requests[end.turn + end.arrived * work_.queue_pairs];
            request.at = end.next_arrival;
            end.backlog.push_back(request);
        } else {
            end.backlog.push_back(messages_.draw_request(end, end.arrived, end.next_arrival));
        }
        ++end.arrived;
        expect(end);
        make_ready(end);
    }
}

/// When the next one comes; of a list there may be none, nor of a flow that has left by then.
void Worker::expect(End& end) {
    const auto& flow = shared_.flows[*end.flow];
    if (work_.is_listed) {
        const auto& requests = flow.requests;
        const auto next = end.turn + end.arrived * work_.queue_pairs;
        if (next >= requests.size())
            return;
        end.next_arrival = begun_ + requests[next].at;
    } else {
        end.next_arrival = end.arrived == 0 ? begun_ + flow.joins + first_gap(work_, end.random, end.turn)
                                            : end.next_arrival + next_gap(work_, end.random);
    }
    if (end.next_arrival < end.leaves)
        await(end, end.next_arrival);
}

void Worker::await(End& end, Time at) {
    arrivals_.emplace(at, end.index);
    ++shared_.awaited;
}

bool Worker::has_something(const End& end) const {
    if (work_.is_open_loop())
        return !end.backlog.empty();
    return end.leaves == model::port::never || kernel_now() < end.leaves;
}

/// A burst begins when half of the queue is free.
bool Worker::has_room(const End& end) const {
    const auto free = work_.depth - (end.posted - end.done);
    return free >= (work_.how.order == TrafficOrder::bursts ? std::max(work_.how.batch, work_.depth / 2)
                                                            : std::uint32_t{batch_of(end)});
}

std::uint32_t Worker::batch_of(const End& end) const {
    return work_.is_open_loop()
               ? static_cast<std::uint32_t>(std::clamp<std::uint64_t>(end.backlog.size(), 1, work_.how.batch))
               : work_.how.batch;
}

/// Once over those that may have room; those that still have it stay.
bool Worker::post_all() {
    bool has_posted = false;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
        auto& end = *ready_[i];
        if (!shared_.is_over())
            has_posted |= post_on(end);
        end.is_ready = has_something(end) && has_room(end);
        if (end.is_ready)
            ready_[kept++] = &end;
        else if (is_spent(end))
            flush(end);
    }
    ready_.resize(kept);
    return has_posted;
}

bool Worker::post_on(End& end) {
    if (!has_something(end) || !has_room(end))
        return false;
    do {
        post(end, batch_of(end));
    } while (work_.how.order == TrafficOrder::bursts && has_something(end) &&
             end.posted - end.done + batch_of(end) <= work_.depth);
    return true;
}

void Worker::post(End& end, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i, ++end.posted) {
        auto& message = end.under_way[end.posted % work_.depth];
        const auto request =
            work_.is_open_loop() ? end.backlog.front() : messages_.draw_request(end, end.posted, kernel_now());
        if (work_.is_open_loop())
            end.backlog.pop_front();
        message = {.since = request.at, .number = end.posted, .verb = request.verb, .bytes = request.bytes};
        requests_[i] = {.wr_id = end.index, .next = i + 1 < count ? &requests_[i + 1] : nullptr};
        messages_.compose(end, message, requests_[i], sges_[i]);
    }
    must(end.qp->post_send(requests_.data()));
}

std::size_t Worker::poll_sent() {
    const auto completions = node_.poll(core_, *core_.sent);
    const auto now = kernel_now();
    done_.clear();
    for (const auto& completion : completions) {
        auto& end = *core_.ends[completion.wr_id & 0xffff'ffff];
        if (completion.status != sw::verbs::CompletionStatus::success) {
            shared_.fail(fmt::format("{}: a request to {} has ended with: {}", node_.planned().name,
                                     end.peer->node->planned().name, name(completion.status)));
            return completions.size();
        }
        // One that has a completion ends those before it that have none.
        const bool is_flush = completion.wr_id > 0xffff'ffff;
        const auto until =
            is_flush ? end.posted : end.done / work_.how.signal_every * work_.how.signal_every + work_.how.signal_every;
        for (; end.done < until; ++end.done) {
            const auto& message = end.under_way[end.done % work_.depth];
            messages_.finish(end, message);
            done_.push_back({*end.flow, message.verb, message.bytes, message.since, now});
        }
        make_ready(end);
    }
    if (!done_.empty())
        shared_.ledger.add(done_);
    return completions.size();
}

std::size_t Worker::poll_received() {
    const auto completions = node_.poll(core_, *core_.received);
    for (const auto& completion : completions) {
        auto& end = *core_.ends[completion.wr_id];
        if (completion.status != sw::verbs::CompletionStatus::success || end.expected.empty()) {
            shared_.fail(fmt::format("{}: a receive from {} has ended with: {}", node_.planned().name,
                                     end.peer->node->planned().name,
                                     end.expected.empty() ? "nobody has sent that" : name(completion.status)));
            return completions.size();
        }
        messages_.receive(end, completion.byte_count);
        node_.give_receive(end);
    }
    return completions.size();
}

void Worker::flush() {
    is_flushed_ = true;
    for (auto* end : core_.ends) {
        shared_.unposted += end->backlog.size();
        if (end->flow)
            flush(*end);
    }
}

/// The last messages may have no completion of their own: a request that moves nothing has one, and ends them.
void Worker::flush(End& end) {
    if (std::exchange(end.is_flushed, true) || end.posted % work_.how.signal_every == 0)
        return;
    must(end.qp->post_send({.wr_id = end.index | std::uint64_t{1} << 32,
                            .operation = SendOperation::nop,
                            .flags = sw::verbs::send_flag::signaled}));
}

bool Worker::is_spent(const End& end) const {
    if (!end.backlog.empty())
        return false;
    if (work_.is_listed)
        return end.turn + end.arrived * work_.queue_pairs >= shared_.flows[*end.flow].requests.size();
    return end.leaves <= kernel_now();
}

/// Nothing of this core is held up, and somebody has something to do later, however far off that is. What is under way
/// may be messages that are done, and are told together with later ones.
bool Worker::waits_for_its_time() const {
    return shared_.awaited != 0 && std::ranges::all_of(core_.ends, [](const End* end) { return end->backlog.empty(); });
}

void Worker::wait() {
    if (shared_.is_stalled(work_) && !waits_for_its_time())
        shared_.look_for_progress();
    if (arrivals_.empty() || shared_.is_over())
        core_.eyes->relax();
    else
        core_.eyes->relax_until(arrivals_.top().first);
}

} // namespace load
