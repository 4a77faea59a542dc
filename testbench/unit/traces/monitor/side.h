// One end of a cable for recordings: a host, its driver, and what a program makes with it.
#pragma once

#include "sw/mlx/memory/pager.h"
#include "sw/mlx/verbs.h"
#include "testbench/harness/direct_host.h"

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace monitor_bench {

using harness::DirectHost;
using sw::mlx::SendOperation;

/// The value of a Result, or the end of the test with its error.
template <class T> T must(sw::Result<T> result) {
    if (!result)
        FAIL(result.error().what);
    return std::move(*result);
}
inline void must(sw::Result<void> result) {
    if (!result)
        FAIL(result.error().what);
}

struct Side {
    using Status = sw::mlx::CompletionStatus;

    DirectHost& host;
    std::unique_ptr<sw::mlx::Context> context;
    abi::Pd pd;
    std::unique_ptr<sw::mlx::CompletionQueue> cq;
    sw::memory::Buffer buffer;
    sw::mlx::MemoryRegion region;
    std::vector<std::unique_ptr<sw::mlx::QueuePair>> qps;
    sw::mlx::Peer address{}; ///< without a queue pair
    Side* other = nullptr;   ///< whose pages are to be brought, too

    Side(DirectHost& on, std::uint32_t ipv4, sw::mlx::DeviceOptions options = {})
        : host(on), context(must(sw::mlx::Context::open(on, options))), pd(must(context->alloc_pd())),
          cq(must(context->create_cq({.entries = 64}))), buffer(must(context->allocate(1 << 16))),
          region(must(context->reg_mr(pd, buffer, sw::mlx::all_access))) {
        const auto gid = sw::mlx::gid_of_ipv4(ipv4);
        const auto mac = must(context->query_port()).mac;
        must(context->set_roce_address(0, {.gid = gid, .mac = mac}));
        address = {.path = {.remote_gid = gid, .remote_mac = mac}, .psn = {}, .reads = context->reads_answered()};
    }
    void close() {
        for (auto& qp : qps)
            must(qp->destroy());
        qps.clear();
        must(cq->destroy());
        must(region.destroy());
        must(context->dealloc_pd(pd));
        must(context->close());
    }
    /// Of `length` bytes, off the beginning of a page, so that most pieces cross one.
    void post(std::size_t qp, SendOperation operation, std::uint32_t length, std::uint32_t rkey, std::uint64_t to) {
        const sw::mlx::Sge sge{region.iova().value + 0x100, length, region.lkey()};
        must(qps.at(qp)->post_send({.sge = &sge,
                                    .sge_count = 1,
                                    .operation = operation,
                                    .flags = sw::mlx::send_flag::signaled,
                                    .rkey = rkey,
                                    .remote_address = to,
                                    .swap_or_add = 3}));
    }
    void post(const Side& to, SendOperation operation, std::uint32_t length, std::size_t qp = 0) {
        post(qp, operation, length, to.region.rkey(), to.region.iova().value + 0x200);
    }
    void receive(std::uint32_t length, std::size_t qp = 0) {
        const sw::mlx::Sge sge{region.iova().value + 0x8100, length, region.lkey()};
        must(qps.at(qp)->post_receive({.sge = &sge, .sge_count = 1}));
    }
    void bring_pages() {
        if (auto* pager = context->device().pager())
            pager->wait(std::chrono::nanoseconds{0});
    }
    /// Waits for so many completions; each has one of the two statuses.
    void take(unsigned completions = 1, Status expected = Status::success, std::optional<Status> or_this = {}) {
        for (const auto deadline = host.now() + std::chrono::seconds{1}; completions != 0;) {
            sw::mlx::Completion completion;
            REQUIRE(host.now() < deadline);
            if (cq->poll({&completion, 1}) == 0) {
                host.relax();
                bring_pages();
                if (other != nullptr)
                    other->bring_pages();
                continue;
            }
            if (completion.status != or_this)
                REQUIRE(completion.status == expected);
            --completions;
        }
    }
    std::size_t make_qp() {
        qps.push_back(must(context->create_qp({.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get()})));
        return qps.size() - 1;
    }
};

/// A queue pair more at each end; both have the same place in their lists.
inline std::size_t connect(Side& left, Side& right, std::uint32_t psn, const sw::mlx::ConnectOptions& options = {}) {
    const auto number = left.make_qp();
    REQUIRE(right.make_qp() == number);
    for (auto* side : {&left, &right}) {
        const auto& far = side == &left ? right : left;
        auto peer = far.address;
        peer.qpn = far.qps[number]->number();
        peer.psn = abi::Psn{psn};
        must(side->context->connect(*side->qps[number], peer, abi::Psn{psn}, options));
    }
    return number;
}

} // namespace monitor_bench
