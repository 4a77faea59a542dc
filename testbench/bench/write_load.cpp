#include "testbench/bench/write_load.h"

#include "platform/bridge/in_process.h"
#include "platform/record/recording.h"
#include "platform/topology/platform_module.h"
#include "sw/gpu/gpu.h"
#include "sw/mlx/verbs.h"
#include "testbench/bench/sampling.h"
#include "testbench/scenario/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace bench {

using platform::bridge::InProcessTransport;
using platform::topology::Platform;

namespace {

constexpr std::uint64_t span_bytes = 32 << 20;
/// Bytes that the messages walk through on each side: what small messages touch stays in the processor's cache, so that
/// their own cost shows and not the machine's memory; large ones walk through more than that.
std::uint64_t walk_bytes(const Load& load) { return load.message_bytes < 4096 ? 1 << 20 : span_bytes; }

struct Side {
    Side(const platform::topology::Seat& seat, const Load& load, std::uint32_t ipv4)
        : hca(*seat.machine.host, seat.hca.bdf()), gpu_bus(*seat.machine.host, seat.gpu.bdf()),
          context(must(sw::mlx::Context::open(hca))), gpu(must(sw::gpu::Gpu::open(gpu_bus))),
          pd(must(context->alloc_pd())),
          cq(must(context->create_cq({.entries = std::max(64u, load.depth * load.queue_pairs)}))),
          vram(must(gpu.allocate(span_bytes))),
          region(must(context->reg_vram_mr(pd, must(gpu.export_buffer(vram)), 0, span_bytes,
                                           {.access = sw::mlx::all_access}))) {
        for (std::uint32_t i = 0; i < load.queue_pairs; ++i)
            qps.push_back(must(context->create_qp(
                {.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get(), .max_send = load.depth, .max_receive = 1})));
        const auto mac = must(context->query_port()).mac;
        const auto gid = sw::mlx::gid_of_ipv4(ipv4);
        must(context->set_roce_address(0, {.gid = gid, .mac = mac}));
        path = {.remote_gid = gid, .remote_mac = mac};
        bytes = seat.gpu.vram().bytes().subspan(vram.ranges().front().offset, span_bytes);
        std::memset(bytes.data(), 1, bytes.size()); // pages exist before anything is measured
        std::mt19937_64 random(ipv4);
        for (std::size_t at = 0; load.is_all_different && at != bytes.size(); at += sizeof(std::uint64_t)) {
            const auto value = random();
            std::memcpy(bytes.data() + at, &value, sizeof value);
        }
    }
    void connect(const Side& peer) {
        for (std::size_t i = 0; i < qps.size(); ++i)
            must(context->connect(*qps[i], {.path = peer.path, .qpn = peer.qps[i]->number(), .psn = abi::Psn{1}},
                                  abi::Psn{1}));
    }

    InProcessTransport hca, gpu_bus;
    std::unique_ptr<sw::mlx::Context> context;
    sw::gpu::Gpu gpu;
    abi::Pd pd;
    std::unique_ptr<sw::mlx::CompletionQueue> cq;
    sw::gpu::VramBuffer vram;
    sw::mlx::MemoryRegion region;
    std::vector<std::unique_ptr<sw::mlx::QueuePair>> qps;
    sw::mlx::AddressPath path{};
    std::span<std::byte> bytes;
};

/// Posts and polls rounds of depth messages on each queue pair.
class Loop {
public:
    Loop(Side& from, const Side& to, const Load& load)
        : from_(from), load_(load), requests_(load.depth), sges_(load.depth) {
        for (std::uint32_t i = 0; i < load.depth; ++i) {
            sges_[i] = {.address = 0, .length = load.message_bytes, .lkey = from.region.lkey()};
            requests_[i] = {.wr_id = i,
                            .next = i + 1 < load.depth ? &requests_[i + 1] : nullptr,
                            .sge = &sges_[i],
                            .sge_count = 1,
                            .operation = sw::mlx::SendOperation::write,
                            .flags = sw::mlx::send_flag::signaled,
                            .rkey = to.region.rkey()};
        }
        local_ = from.region.iova().value;
        remote_ = to.region.iova().value;
    }
    std::uint64_t stride() const { return std::max<std::uint64_t>(64, load_.message_bytes); }
    /// Offset of the next message; walks through the span.
    std::uint64_t next_offset() {
        const auto offset = offset_;
        offset_ = offset_ + 2 * stride() > walk_bytes(load_) ? 0 : offset_ + stride();
        return offset;
    }
    std::uint64_t round() {
        for (auto& qp : from_.qps) {
            for (std::uint32_t i = 0; i < load_.depth; ++i) {
                const auto offset = next_offset();
                sges_[i].address = local_ + offset;
                requests_[i].remote_address = remote_ + offset;
            }
            must(qp->post_send(requests_.data()));
        }
        const auto all = std::uint64_t{load_.depth} * load_.queue_pairs;
        for (std::uint64_t done = 0; done != all;) {
            const auto found = from_.cq->poll(completions_);
            for (const auto& completion : std::span(completions_).first(found))
                if (completion.status != sw::mlx::CompletionStatus::success)
                    give_up(fmt::format("a WRITE failed: {}", name(completion.status)));
            done += found;
            if (found == 0)
                from_.hca.relax();
        }
        return all;
    }

private:
    Side& from_;
    const Load& load_;
    std::vector<sw::mlx::SendRequest> requests_;
    std::vector<sw::mlx::Sge> sges_;
    std::array<sw::mlx::Completion, 64> completions_;
    std::uint64_t local_ = 0, remote_ = 0, offset_ = 0;
};

struct Sample {
    double messages_per_s = 0, memcpy_messages_per_s = 0, sim_messages_per_s = 0;
};

Sample sample(Loop& loop, Side& from, Side& to, const Load& load) {
    Sample result;
    const auto sim_begin = from.hca.now();
    const auto begin = Clock::now();
    std::uint64_t messages = 0;
    while (seconds_since(begin) < load.seconds)
        for (int i = 0; i < 16; ++i)
            messages += loop.round();
    result.messages_per_s = static_cast<double>(messages) / seconds_since(begin);
    if (const auto sim = from.hca.now() - sim_begin; sim.count() > 0)
        result.sim_messages_per_s = static_cast<double>(messages) / std::chrono::duration<double>(sim).count();

    const auto copy_begin = Clock::now();
    std::uint64_t copies = 0;
    while (seconds_since(copy_begin) < load.seconds / 2)
        for (int i = 0; i < 256; ++i, ++copies) {
            const auto offset = loop.next_offset();
            std::memcpy(to.bytes.data() + offset, from.bytes.data() + offset, load.message_bytes);
            asm volatile("" ::: "memory"); // every copy is carried out
        }
    result.memcpy_messages_per_s = static_cast<double>(copies) / seconds_since(copy_begin);
    return result;
}

template <class Body> void on_platform(const Load& load, traces::Sink* sink, Body&& body) {
    platform::topology::Config config;
    config.timed = load.timed;
    platform::observe::Sources sources;
    Platform platform(config, sink, sources, platform::topology::Served::as_described, load.recording);
    scenario::Programs programs;
    programs.add("bench", [&] {
        Side a(platform.seat("A.hca", "A.gpu"), load, 0x0a000001), b(platform.seat("B.hca", "B.gpu"), load, 0x0a000002);
        a.connect(b);
        b.connect(a);
        Loop loop(a, b, load);
        const auto warm = Clock::now();
        while (seconds_since(warm) < load.seconds / 4)
            loop.round();
        body(platform, loop, a, b);
        // The process ends here: what it holds goes with it.
    });
    programs.run();
}

} // namespace

Measured measure(const Load& load) {
    Measured measured;
    auto* events = load.recording != nullptr ? load.recording->events() : nullptr;
    on_platform(load, events, [&](Platform& platform, Loop& loop, Side& a, Side& b) {
        const auto before = platform.card("A.hca").hca().counters();
        const auto acks_before = platform.card("B.hca").hca().counters().acks_sent;
        std::vector<double> rates, copies, ratios, simulated;
        for (unsigned i = 0; i < load.samples; ++i) {
            const auto one = sample(loop, a, b, load);
            rates.push_back(one.messages_per_s);
            copies.push_back(one.memcpy_messages_per_s);
            ratios.push_back(one.messages_per_s / one.memcpy_messages_per_s);
            simulated.push_back(one.sim_messages_per_s);
        }
        const auto& after = platform.card("A.hca").hca().counters();
        const auto messages = static_cast<double>(after.messages_completed - before.messages_completed);
        measured.messages_per_s = median(rates);
        measured.bytes_per_s = measured.messages_per_s * load.message_bytes;
        measured.memcpy_bytes_per_s = median(copies) * load.message_bytes;
        measured.over_memcpy = median(ratios);
        measured.sim_bytes_per_s = median(simulated) * load.message_bytes;
        measured.messages = static_cast<double>(after.messages_completed);
        measured.packets_per_message = static_cast<double>(after.packets_sent - before.packets_sent) / messages;
        measured.acks_per_message =
            static_cast<double>(platform.card("B.hca").hca().counters().acks_sent - acks_before) / messages;
    });
    return measured;
}

RoomCosts measure_rooms(const Load& load) {
    RoomCosts costs;
    RoomCost clock;
    on_platform(load, &clock, [&](Platform&, Loop& loop, Side&, Side&) {
        clock.restart();
        std::uint64_t messages = 0;
        for (const auto begin = Clock::now(); seconds_since(begin) < load.seconds;)
            messages += loop.round();
        costs = clock.result(messages);
    });
    return costs;
}

} // namespace bench
