#include "testbench/scenario/gpu_rdma_run.h"

#include "model/gpu/memory/explain.h"
#include "model/tlm/time.h"
#include "platform/topology/description.h"
#include "platform/topology/platform_module.h"
#include "testbench/harness/cable_address.h"
#include "testbench/harness/host_functions.h"
#include "testbench/scenario/counting.h"
#include "testbench/scenario/gpu_kernel.h"
#include "testbench/scenario/gpu_nvme_flush.h"
#include "testbench/scenario/gpu_rdma.h"
#include "testbench/scenario/gpu_rdma_explain.h"
#include "testbench/scenario/gpu_rdma_fit.h"
#include "testbench/scenario/programs.h"
#include "testbench/scenario/roles.h"
#include "testbench/scenario/runs.h"
#include "testbench/scenario/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <optional>

namespace scenario {

using model::gpu::wave::End;
using model::gpu::wave::Grid;
using platform::topology::Description;
using platform::topology::Platform;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

/// For so long nobody may find anything new: a packet that is lost comes again.
model::port::Time longest_silence(const Description& described) {
    const bool loses = std::ranges::any_of(described.cables, [](const platform::topology::Cable& cable) {
        return cable.link.loss > 0 || cable.link.corrupt > 0 || cable.link.reorder > 0;
    });
    return loses ? std::chrono::milliseconds{100} : std::chrono::milliseconds{10};
}

testbench::GpuQueueRules rules_of(const platform::topology::ScenarioConfig& scenario) {
    testbench::GpuQueueRules rules{.poll = model::gpu::memory::all_bits};
    // What stands behind an acquire needs no bits of its own, and who has rung need not wait: with either one would not
    // see what fences are there for.
    if (scenario.has_adversary)
        rules.read = model::gpu::memory::plain, rules.awaits_ring = false;
    if (const auto omitted = sw::gpu::find_fence(scenario.omit))
        rules.omitted = {*omitted};
    return rules;
}

/// Whether the order in which memory was reached may be what a failure comes of.
bool asks_for_order(const Context& context, const RdmaRun& how) {
    return context.config.scenario.has_adversary || !how.rules.omitted.is_empty();
}

class Ring {
public:
    Ring(const Context& context, Platform& platform, const std::vector<RdmaNodeParts>& parts,
         std::deque<Flusher>& flushers, const HcaWatch& watch, RdmaRun& how, Result& result)
        : context_(context), platform_(platform), parts_(parts), how_(how), result_(result), flushers_(flushers),
          watch_(watch) {}

    sw::Result<void> run() {
        TRY(open());
        fill();
        TRY(launch());
        TRY(verify());
        if (!result_.failure.empty())
            explain_all();
        for (auto& node : nodes_)
            TRY(node->close());
        return {};
    }
    /// While the programs ran, and not what the drivers did before.
    const MovedPayload& payload() const { return moved_; }

private:
    std::string name_of(std::size_t node) const { return platform_.description().name_of(parts_[node].gpu); }
    std::size_t next(std::size_t node) const { return (node + 1) % parts_.size(); }

    sw::Result<void> open() {
        const auto& scenario = context_.config.scenario;
        layout_ = ArenaLayout::of(context_.payload.size(), static_cast<unsigned>(parts_.size()), scenario.queue_pairs);
        for (const auto& part : parts_) {
            auto functions = harness::HostFunctions::open(*platform_.machines()[part.gpu.host].host);
            if (!functions)
                return std::unexpected(functions.error());
            hosts_.push_back(std::move(*functions));
            auto& hca = platform_.card(part.hca);
            auto& gpu = platform_.card(part.gpu);
            for (const auto bdf : {gpu.bdf(), hca.bdf()}) {
                auto function = hosts_.back()->function(bdf);
                if (!function)
                    return std::unexpected(function.error());
                functions_.push_back(std::move(*function));
            }
            auto node = GpuRdmaNode::open({.name = gpu.name,
                                           .gpu = **(functions_.end() - 2),
                                           .hca = *functions_.back(),
                                           .device = gpu.module->as<model::gpu::Gpu>(),
                                           .gid = harness::cable_address(static_cast<unsigned>(hca.number),
                                                                         is_ipv6(platform_.description(), part.hca))},
                                          layout_, scenario.queue_depth);
            if (!node)
                return std::unexpected(node.error());
            nodes_.push_back(std::move(*node));
        }
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            TRY(nodes_[i]->connect(*nodes_[next(i)], scenario.mtu_bytes));
        return {};
    }

    /// The tensor of node k is the payload's numbers times k + 1.
    void fill() {
        payload_.resize(layout_.tensor_bytes);
        if (const auto read = context_.payload.read(0, std::span(payload_).first(context_.payload.size())); !read)
            result_.failure = read.error();
        result_.sha256_source = sha256(std::span(payload_).first(context_.payload.size()));
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            scale(static_cast<std::uint32_t>(i + 1), nodes_[i]->arena().subspan(layout_.tensor, layout_.tensor_bytes));
    }
    void scale(std::uint32_t factor, std::span<std::byte> into) const {
        for (std::size_t at = 0; at < into.size(); at += sizeof factor)
            abi::store<std::uint32_t, abi::Endian::little>(
                &into[at], factor * abi::load<std::uint32_t, abi::Endian::little>(&payload_[at]));
    }

    sw::Result<void> launch() {
        const auto& scenario = context_.config.scenario;
        const auto wall = std::chrono::steady_clock::now();
        const auto silence = longest_silence(platform_.description());
        auto& plans = plans_;
        auto& views = views_;
        auto& grids = grids_;
        std::vector<Grid*> running;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            auto& device = nodes_[i]->parts().device;
            const auto& config = device.block().config();
            auto& plan = plans.emplace_back(nodes_[i]->plan(
                static_cast<unsigned>(i), *nodes_[next(i)],
                static_cast<std::uint32_t>(std::min<std::uint64_t>(scenario.message_bytes, 1u << 30)), how_.rules));
            const auto pointers = views.emplace_back(device.block(), nodes_[i]->vmid()).pointers();
            // Where UC loads pass GL2, old bytes in the caches above are a matter of fences alone.
            const bool has_bystanders = how_.has_bystanders.value_or(scenario.has_adversary) &&
                                        config.mechanism == model::gpu::memory::Mechanism::m2;
            running.push_back(&grids.emplace_back(
                model::gpu::wave::GridConfig{
                    .threads = layout_.threads + (has_bystanders ? static_cast<unsigned>(pointers.size()) : 0),
                    .wave_size = 1,
                    .seed = config.seed + i + std::uint64_t{scenario.seed} * nodes_.size(),
                    .stuck_after = 2 * (scenario.has_adversary ? silence : config.hold_max + silence),
                    .stores = {.is_adversarial =
                                   how_.reorders_stores.value_or(scenario.has_adversary || config.is_adversarial)}},
                pointers, [&plan](model::gpu::wave::Thread& thread) { return exchange_and_reduce(thread, plan); }));
        }
        const auto before = moved_payload(platform_);
        begun_ = model::tlm::kernel_now();
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            flushers_[i].begin(how_.flush, nodes_[i]->parts().gpu, nodes_[i]->parts().device);
        run_grids(running);
        for (auto& flusher : flushers_)
            flusher.end();
        took_ = model::tlm::kernel_now() - begun_;
        wall_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
        moved_ = moved_payload(platform_) - before;
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            how_.met += resistance(grids[i], nodes_[i]->parts().device.block());
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            TRY(judge(i, grids[i], plans[i]));
        return {};
    }

    /// Every thread has come to its end, and no request has failed.
    sw::Result<void> judge(std::size_t number, const Grid& grid, const RdmaPlan& plan) {
        auto& device = nodes_[number]->parts().device;
        for (unsigned i = 0; i < layout_.threads; ++i) {
            const auto& record = grid.record(i);
            how_.errors += plan.tallies[i].errors;
            if (plan.tallies[i].errors != 0)
                return sw::failure(EIO,
                                   fmt::format("{}, thread {}: a request has ended with {}{}", name_of(number), i,
                                               abi::prm::name(plan.tallies[i].first_error.syndrome), order_of(number)));
            if (record.end == End::page_fault) {
                how_.verdict = Verdict::page_fault;
                return sw::failure(
                    EFAULT, fmt::format("{}, thread {}: page fault at {:#x}", name_of(number), i, record.address));
            }
            if (record.end == End::stuck) {
                how_.verdict = Verdict::stuck;
                const auto why = model::gpu::memory::explain(record.poll.outcome, device.block().config());
                auto order = orders();
                return sw::failure(
                    ETIMEDOUT,
                    fmt::format("{}, thread {}: polls {:#x} and has found {:#x} {} times; {}{}", name_of(number), i,
                                record.poll.address, record.poll.value, record.poll.count,
                                why.empty() ? "memory has nothing else: nobody has written it" : why, order));
            }
            if (record.end != End::returned) {
                how_.verdict = Verdict::gpu_reset;
                return sw::failure(EIO, fmt::format("{}, thread {}: the GPU was reset", name_of(number), i));
            }
        }
        return {};
    }

    /// What has come of the order in which memory was reached, on one GPU; empty: nothing.
    std::string order_of(std::size_t number) const {
        if (!asks_for_order(context_, how_))
            return {};
        const auto text = explain_order({.grid = grids_[number],
                                         .rings = plans_[number].rings,
                                         .watch = watch_,
                                         .hca = platform_.description().name_of(parts_[number].hca),
                                         .data = plans_[number].arena,
                                         .data_bytes = layout_.flags,
                                         .omitted = how_.rules.omitted,
                                         .config = nodes_[number]->parts().device.block().config()});
        return text.empty() ? text : fmt::format("; {}, {}", name_of(number), text);
    }
    /// On the first GPU of which there is something to say: whoever is stuck may wait for another one.
    std::string orders() const {
        for (std::size_t i = 0; i < grids_.size(); ++i)
            if (auto text = order_of(i); !text.empty())
                return text;
        return {};
    }
    void explain_all() { result_.failure += orders(); }

    /// Requests that a node has made of one kind, each of which was completed, and how long they took.
    struct Work {
        std::uint64_t requests = 0;
        model::port::Time took{};
    };
    Work exchanges(std::size_t number) const {
        Work work;
        for (const auto& tally : plans_[number].tallies)
            work.requests += tally.exchanged;
        for (const auto& tally : plans_[next(number)].tallies)
            work.took = std::max(work.took, tally.exchanged_at - begun_);
        return work;
    }
    /// A thread goes on to them when it has its part of the tensor.
    Work additions(std::size_t number) const {
        Work work;
        auto from = model::port::never;
        for (const auto& tally : plans_[number].tallies) {
            work.requests += tally.requests - tally.exchanged;
            from = std::min(from, tally.exchanged_at);
        }
        work.took = begun_ + took_ - from;
        return work;
    }

    sw::Result<void> verify() {
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            sum += static_cast<std::uint32_t>(i + 1);
        std::vector<std::byte> expected(layout_.tensor_bytes);
        const auto add = [&](std::string name, std::uint64_t bytes, const Work& work, bool is_equal,
                             std::span<const std::byte> found) {
            result_.transfers.push_back({.name = std::move(name),
                                         .verified = is_equal,
                                         .sha256_target = sha256(found.first(context_.payload.size())),
                                         .bytes = bytes,
                                         .messages = work.requests,
                                         .completions_ok = work.requests,
                                         .sim_time_ps = work.took.count(),
                                         .wall_seconds = wall_});
            if (!is_equal)
                how_.verdict = Verdict::wrong_data;
            if (!is_equal && result_.failure.empty())
                result_.failure = fmt::format("{}: what arrived differs", result_.transfers.back().name);
        };
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            nodes_[next(i)]->settle();
            scale(static_cast<std::uint32_t>(i + 1), expected);
            const auto found = nodes_[next(i)]->arena().subspan(layout_.received, layout_.tensor_bytes);
            add(fmt::format("tensor {} -> {}", name_of(i), name_of(next(i))), layout_.tensor_bytes, exchanges(i),
                std::ranges::equal(found, expected), found);
            if (i == 0)
                result_.sha256_target = result_.transfers.back().sha256_target;
        }
        scale(sum, expected);
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const auto found = nodes_[i]->arena().subspan(layout_.tensor, layout_.tensor_bytes);
            add(fmt::format("all-reduce at {}", name_of(i)),
                2 * (layout_.tensor_bytes - layout_.tensor_bytes / nodes_.size()), additions(i),
                std::ranges::equal(found, expected), found);
        }
        return {};
    }

    const Context& context_;
    Platform& platform_;
    const std::vector<RdmaNodeParts>& parts_;
    RdmaRun& how_;
    Result& result_;
    std::deque<Flusher>& flushers_;
    const HcaWatch& watch_;
    ArenaLayout layout_;
    std::vector<std::byte> payload_;
    // In the order in which they need each other.
    std::vector<std::unique_ptr<harness::HostFunctions>> hosts_;
    std::vector<std::unique_ptr<sw::transport::Transport>> functions_;
    std::vector<std::unique_ptr<GpuRdmaNode>> nodes_;
    std::deque<RdmaPlan> plans_;
    std::deque<Views> views_;
    std::deque<Grid> grids_;
    MovedPayload moved_;
    model::port::Time begun_{}, took_{};
    double wall_ = 0;
};

} // namespace

std::expected<Result, std::string> run_gpu_rdma(const Context& context) {
    RdmaRun run{.rules = rules_of(context.config.scenario)};
    return run_gpu_rdma(context, run);
}

std::expected<Result, std::string> run_gpu_rdma(const Context& context, RdmaRun& run) {
    const auto& config = context.config;
    if (const auto fit = gpu_rdma_fits(config, context.payload.size()); !fit)
        return std::unexpected(fit.error());
    const auto wall_begin = std::chrono::steady_clock::now();
    const auto nodes = gpu_rdma_nodes(platform::topology::describe(config).value());
    HcaWatch watch(context.events, context.sources);
    std::optional<Platform> built;
    // Who explains the order of stores wants to know what the HCAs saw of them.
    auto* events = asks_for_order(context, run) ? &watch : context.events;
    if (const auto done = build(built, context, events); !done)
        return std::unexpected(done.error());
    Result result;
    result.scenario = config.scenario.name;
    result.payload_bytes = context.payload.size();
    std::deque<Flusher> flushers(nodes.size());
    MovedPayload moved;
    Programs programs;
    programs.add("ring", [&] {
        { // drivers are let go by the thread that has used them, which may wait for devices
            Ring ring(context, *built, nodes, flushers, watch, run, result);
            if (const auto done = ring.run(); !done && result.failure.empty())
                result.failure = done.error().what;
            moved = ring.payload();
        }
        for (auto& flusher : flushers)
            flusher.close();
    });
    for (std::size_t i = 0; i < nodes.size(); ++i)
        programs.add(fmt::format("flusher{}", i), [&, i] { flushers[i].run(); });
    if (const auto ended = programs.run(context.stop); !ended && result.failure.empty())
        result.failure = ended.error();
    if (context.stop != nullptr)
        result.stopped = context.stop->why();
    count(*built, result);
    moved.show(result);
    result.verified = result.failure.empty();
    result.sim_time_ps = model::tlm::kernel_now().count();
    result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
    return result;
}

} // namespace scenario
