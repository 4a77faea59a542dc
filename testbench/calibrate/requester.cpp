#include "testbench/calibrate/requester.h"

#include "model/tlm/kernel_clock.h"
#include "testbench/harness/must.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace calibrate {

using harness::must;
using model::port::Time;
using model::tlm::kernel_now;
using sw::mlx::SendOperation;

namespace {

SendOperation operation_of(Verb verb) {
    switch (verb) {
    case Verb::write: return SendOperation::write;
    case Verb::read: return SendOperation::read;
    case Verb::send: return SendOperation::send;
    case Verb::fetch_add: return SendOperation::fetch_add;
    }
    return SendOperation::nop;
}

void expect_success(const sw::mlx::Completion& completion) {
    if (completion.status != sw::mlx::CompletionStatus::success)
        throw std::runtime_error(fmt::format("a request failed: {}", name(completion.status)));
}

std::uint64_t stride_of(const Traffic& traffic) { return std::max<std::uint64_t>(64, traffic.bytes); }

} // namespace

Requester::Requester(Side& own, const Side& peer, const Traffic& traffic, std::uint32_t core, Meter& meter)
    : core_(own.cores()[core]), own_(own), peer_(peer), traffic_(traffic), meter_(meter), queues_(core_.qps.size()),
      requests_(traffic.batch), sges_(traffic.batch), offset_(core * stride_of(traffic)), random_(core + 1) {
    for (auto& queue : queues_)
        queue.since.resize(traffic.depth);
}

void Requester::run() {
    while (!meter_.is_over()) {
        const auto begin = kernel_now();
        bool has_posted = false;
        for (std::size_t i = 0; i < queues_.size() && !meter_.is_over(); ++i) {
            if (!has_room(queues_[i]))
                continue;
            do {
                post(i);
                has_posted = true;
            } while (traffic_.order == Order::bursts &&
                     queues_[i].posted - queues_[i].done + traffic_.batch <= traffic_.depth);
        }
        const auto found = poll();
        meter_.add_work(kernel_now() - begin);
        if (!has_posted && found == 0)
            core_.eyes->relax();
    }
}

/// A burst begins when half of the queue is free.
bool Requester::has_room(const Queue& queue) const {
    const auto free = traffic_.depth - (queue.posted - queue.done);
    return free >= (traffic_.order == Order::bursts ? std::max(traffic_.batch, traffic_.depth / 2) : traffic_.batch);
}

void Requester::post(std::size_t number) {
    auto& queue = queues_[number];
    for (std::uint32_t i = 0; i < traffic_.batch; ++i, ++queue.posted) {
        requests_[i] = {.wr_id = number, .next = i + 1 < traffic_.batch ? &requests_[i + 1] : nullptr};
        fill(requests_[i], sges_[i], queue.posted);
        queue.since[queue.posted % traffic_.depth] = kernel_now();
    }
    must(core_.qps[number]->post_send(requests_.data()));
}

void Requester::fill(sw::mlx::SendRequest& request, sw::mlx::Sge& sge, std::uint64_t id) {
    const auto offset = next_offset();
    sge = {.address = own_.region().iova().value + offset, .length = traffic_.bytes, .lkey = own_.region().lkey()};
    request.sge = &sge;
    request.sge_count = 1;
    request.operation = operation_of(traffic_.verb);
    request.flags = (id + 1) % traffic_.signal_every == 0 ? sw::mlx::send_flag::signaled : 0;
    request.rkey = peer_.region().rkey();
    request.remote_address = peer_.region().iova().value + offset;
    request.swap_or_add = 1;
    if (traffic_.is_inline) {
        request.flags |= sw::mlx::send_flag::inline_data;
        sge.address = reinterpret_cast<std::uint64_t>(own_.bytes().data()) + offset;
    }
    if (traffic_.verb == Verb::fetch_add)
        sge.address = own_.region().iova().value; // what it was: nobody looks
}

std::uint64_t Requester::next_offset() {
    if (traffic_.verb == Verb::fetch_add)
        return random_() % traffic_.counters * traffic_.counter_stride;
    const auto stride = stride_of(traffic_);
    const auto places = std::max<std::uint64_t>(1, traffic_.span / stride);
    if (traffic_.is_random)
        return random_() % places * stride;
    offset_ += traffic_.cores * stride;
    return offset_ / stride % places * stride;
}

std::size_t Requester::poll() {
    std::array<sw::mlx::Completion, 32> completions;
    const auto found = own_.poll(*core_.sent, completions);
    const auto now = kernel_now();
    for (const auto& completion : std::span(completions).first(found)) {
        expect_success(completion);
        auto& queue = queues_[completion.wr_id];
        Time took{};
        for (std::uint32_t i = 0; i < traffic_.signal_every; ++i, ++queue.done)
            took += now - queue.since[queue.done % traffic_.depth];
        meter_.add(traffic_.signal_every, took);
    }
    return found;
}

void give_receives(Side& side, const Traffic& traffic) {
    const sw::mlx::Sge sge{
        .address = side.region().iova().value, .length = traffic.bytes, .lkey = side.region().lkey()};
    for (auto& core : side.cores())
        for (std::size_t i = 0; i < core.qps.size(); ++i)
            for (std::uint32_t n = 0; n < 2 * traffic.depth; ++n)
                must(core.qps[i]->post_receive({.wr_id = i, .sge = &sge, .sge_count = 1}));
}

void serve_receives(Side& own, const Traffic& traffic, std::uint32_t core, Meter& meter) {
    auto& mine = own.cores()[core];
    const sw::mlx::Sge sge{.address = own.region().iova().value, .length = traffic.bytes, .lkey = own.region().lkey()};
    std::array<sw::mlx::Completion, 32> completions;
    while (!meter.is_over()) {
        const auto found = own.poll(*mine.received, completions);
        for (const auto& completion : std::span(completions).first(found)) {
            expect_success(completion);
            must(mine.qps[completion.wr_id]->post_receive({.wr_id = completion.wr_id, .sge = &sge, .sge_count = 1}));
        }
        if (found == 0)
            mine.eyes->relax();
    }
}

// A message is a WRITE with immediate, whose completion the other side polls. Programs that measure poll the payload
// itself, but that shows in our hosts' memory when the packet has arrived, and not only when it has crossed PCIe.
void play(Side& own, const Side& peer, const Traffic& traffic, bool begins, Meter& meter) {
    auto& core = own.cores().front();
    auto& qp = *core.qps.front();
    sw::mlx::Sge sge{.address = own.region().iova().value, .length = traffic.bytes, .lkey = own.region().lkey()};
    const sw::mlx::Sge receive = sge;
    sw::mlx::SendRequest request{.sge = &sge,
                                 .sge_count = 1,
                                 .operation = SendOperation::write_imm,
                                 .flags = sw::mlx::send_flag::signaled,
                                 .rkey = peer.region().rkey(),
                                 .remote_address = peer.region().iova().value};
    if (traffic.is_inline) {
        request.flags |= sw::mlx::send_flag::inline_data;
        sge.address = reinterpret_cast<std::uint64_t>(own.bytes().data());
    }
    std::array<sw::mlx::Completion, 1> completions;
    const auto wait = [&](sw::mlx::CompletionQueue& queue) {
        while (own.poll(queue, completions) == 0) {
            if (meter.is_over())
                return;
            core.eyes->relax();
        }
        expect_success(completions.front());
    };
    for (auto since = kernel_now(); !meter.is_over(); since = kernel_now()) {
        if (!begins)
            wait(*core.received);
        must(qp.post_send(request));
        wait(*core.sent); // long before the answer is there
        if (begins) {
            wait(*core.received);
            meter.add(1, (kernel_now() - since) / 2);
        }
        if (!meter.is_over())
            must(qp.post_receive({.sge = &receive, .sge_count = 1}));
    }
}

} // namespace calibrate
