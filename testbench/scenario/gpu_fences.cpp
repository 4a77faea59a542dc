#include "testbench/scenario/gpu_fences.h"

#include "testbench/scenario/gpu_nvme_run.h"
#include "testbench/scenario/gpu_rdma_fit.h"
#include "testbench/scenario/gpu_rdma_run.h"

#include <array>
#include <cstddef>
#include <random>

namespace scenario::fences {

using sw::gpu::Fence;

namespace {

constexpr std::uint32_t as_observed = 0, coherent = 1, worst = 2; // of the setting `profile`
constexpr std::size_t payload_bytes = 32 << 10;

constexpr std::array<World, 10> all_worlds{World{"as observed", as_observed, false, false},
                                           World{"as observed, plain reads", as_observed, false, true},
                                           World{"as observed, stores reordered", as_observed, true, false},
                                           World{"as observed, stores reordered, plain reads", as_observed, true, true},
                                           World{"coherent", coherent, false, false},
                                           World{"coherent, plain reads", coherent, false, true},
                                           World{"coherent, stores reordered", coherent, true, false},
                                           World{"coherent, stores reordered, plain reads", coherent, true, true},
                                           World{"the worst", worst, true, false},
                                           World{"the worst, plain reads", worst, true, true}};

constexpr std::string_view moot_of(Fence fence) {
    return fence == Fence::phase_before_entry
               ? "the poll of the phase has glc, and takes the line of the entry out of GL0 and GL1"
               : "";
}
/// Nothing, each fence, and the flush.
template <std::size_t N> constexpr std::array<Removal, N + 2> removals_of(const std::array<Fence, N>& fences) {
    std::array<Removal, N + 2> removals{Removal{.name = "nothing"}};
    for (std::size_t i = 0; i < N; ++i)
        removals[i + 1] = {.name = sw::gpu::name(fences[i]), .fence = fences[i], .moot = moot_of(fences[i])};
    removals.back() = {.name = "flush", .is_flush = true};
    return removals;
}

std::vector<std::byte> make_payload(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> made(payload_bytes);
    for (auto& byte : made)
        byte = static_cast<std::byte>(random());
    return made;
}

testbench::GpuQueueRules rules_of(const Setup& setup) {
    testbench::GpuQueueRules rules{.poll = model::gpu::memory::all_bits};
    if (setup.world->reads_plainly)
        rules.read = model::gpu::memory::plain;
    if (setup.removal->fence)
        rules.omitted = {*setup.removal->fence};
    rules.pause = std::chrono::microseconds{2};
    return rules;
}

Flush flush_of(const Setup& setup) { return setup.removal->is_flush ? Flush::none : Flush::heavy; }

bool has_met(const Removal& removal, const Resistance& met) {
    if (removal.is_flush)
        return met.gl2_hits != 0;
    if (!removal.fence)
        return true;
    return sw::gpu::rule(*removal.fence).is_release ? met.overtakes != 0 : met.upper_hits + met.early_loads != 0;
}

/// What a run takes: nobody listens, and the payload is drawn.
class Occasion {
public:
    Occasion(const platform::topology::Config& config, std::uint64_t seed)
        : payload_(make_payload(seed)), source_(payload_), context_{config, source_, sources_} {}
    const Context& context() const { return context_; }

private:
    std::vector<std::byte> payload_;
    PayloadSource source_;
    platform::observe::Sources sources_;
    Context context_;
};

class GpuNvmeProgram final : public Program {
public:
    std::string_view name() const override { return "gpu_nvme"; }
    std::span<const Removal> removals() const override {
        static constexpr auto all = removals_of(nvme_fences);
        return all;
    }
    std::string_view platform() const override {
        return R"(
[scenario]
name = "gpu_nvme"
message = "4 KiB"
queue_depth = 3
qps = 2
[iommu]
present = true
[[hosts]]
name = "A"
parts = [{ path = "root0.gpu0", kind = "caching_gpu", vram = "16 MiB" }, "root1.nvme0"]
)";
    }
    std::span<const std::string_view> gpus() const override {
        static constexpr std::array<std::string_view, 1> all{"A.gpu0"};
        return all;
    }
    Outcome run(const platform::topology::Config& config, const Setup& setup) const override {
        const Occasion occasion(config, setup.seed);
        const auto report = run_gpu_nvme_program(
            occasion.context(),
            {.rules = rules_of(setup), .flush = flush_of(setup), .reorders_stores = setup.world->reorders_stores});
        if (!report)
            return {.end = "failed", .explanation = report.error(), .has_met = true};
        return {.end = report->errors != 0 ? "error" : std::string(scenario::name(report->verdict)),
                .explanation = report->explanation,
                .has_met = has_met(*setup.removal, report->met)};
    }
};

class GpuRdmaProgram final : public Program {
public:
    std::string_view name() const override { return "gpu_rdma"; }
    std::span<const Removal> removals() const override {
        static constexpr auto all = removals_of(rdma_fences);
        return all;
    }
    std::string_view platform() const override {
        return R"(
[scenario]
name = "gpu_rdma"
message = "4 KiB"
queue_depth = 4
qps = 2
[[hosts]]
name = "A..B"
parts = [{ path = "root0.sw0.gpu0", kind = "caching_gpu", vram = "16 MiB" }, "root0.sw0.hca0"]
[fabric]
cables = ["A.hca0 -- B.hca0"]
)";
    }
    std::span<const std::string_view> gpus() const override {
        static constexpr std::array<std::string_view, 2> all{"A.gpu0", "B.gpu0"};
        return all;
    }
    Outcome run(const platform::topology::Config& config, const Setup& setup) const override {
        const Occasion occasion(config, setup.seed);
        RdmaRun run{.rules = rules_of(setup),
                    .flush = flush_of(setup),
                    .reorders_stores = setup.world->reorders_stores,
                    .has_bystanders = setup.world->reads_plainly};
        const auto result = run_gpu_rdma(occasion.context(), run);
        if (!result)
            return {.end = "failed", .explanation = result.error(), .has_met = true};
        Outcome outcome{.end = run.errors != 0 ? "error" : std::string(scenario::name(run.verdict)),
                        .explanation = result->failure,
                        .has_met = has_met(*setup.removal, run.met)};
        if (outcome.is_correct() && !result->verified)
            outcome.end = "failed";
        return outcome;
    }
};

} // namespace

std::span<const World> worlds() { return all_worlds; }

std::span<const Program* const> programs() {
    static const GpuNvmeProgram nvme;
    static const GpuRdmaProgram rdma;
    static const std::array<const Program*, 2> all{&nvme, &rdma};
    return all;
}

std::string_view why_redundant(const Removal& removal, const World& world) {
    if (removal.is_flush)
        return world.profile == coherent ? "what PCIe writes is probed for in the caches"
               : world.profile == worst  ? "loads of UC pages go to memory"
                                         : "";
    if (!removal.fence)
        return "";
    if (!removal.moot.empty() && !world.reorders_stores)
        return removal.moot;
    if (!world.reorders_stores && sw::gpu::rule(*removal.fence).is_release)
        return "stores of a thread arrive in their order";
    if (removal.fence == Fence::request_before_record)
        return "the fence before the doorbell orders it, too, unless the HCA is fetching already";
    if (sw::gpu::rule(*removal.fence).is_release)
        return "";
    return world.reads_plainly || world.reorders_stores
               ? ""
               : "the loads behind it have glc, and pass GL0 and GL1 by themselves";
}

} // namespace scenario::fences
