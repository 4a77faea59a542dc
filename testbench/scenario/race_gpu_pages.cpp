#include "testbench/scenario/race_gpu_pages.h"

#include "testbench/scenario/race_gpu_pages_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace scenario::race {

namespace {

const PagesOperation store{"gpu_store", true, false}, load{"gpu_load", false, false},
    copy_in{"gpu_copy_in", true, true}, copy_out{"gpu_copy_out", false, true};
const Victim host{"host"};

/// The pages lead nowhere any more, and the memory is somebody else's.
class Unmap final : public PagesAction {
public:
    using PagesAction::PagesAction;
    void perform(GpuPagesRace& race) const override { race.unmap(); }
};
/// From VRAM to memory of the host or back, at the same address; who only reads does not notice.
class Move final : public PagesAction {
public:
    using PagesAction::PagesAction;
    void perform(GpuPagesRace& race) const override { race.move(); }
};

const Unmap unmap_row{"unmap", {.is_alone = true}};
const Move move_row{"move", {.is_alone = true}};

class GpuPages final : public Subject {
public:
    std::string_view name() const override { return "gpu_pages"; }
    std::span<const Operation* const> operations() const override {
        static const std::array<const Operation*, 4> all{&store, &load, &copy_in, &copy_out};
        return all;
    }
    std::span<const Victim* const> victims() const override {
        static const std::array<const Victim*, 2> all{&host, &pages_rows::vram};
        return all;
    }
    std::span<const Action* const> actions() const override {
        static const std::array<const Action*, 2> all{&unmap_row, &move_row};
        return all;
    }
    std::span<const Actions> together() const override { return {}; }
    std::span<const Plant* const> plants() const override { return gpu_plants(); }

    std::string_view platform() const override {
        return R"(
[[hosts]]
name = "A"
parts = [{ path = "root0.gpu0", kind = "caching_gpu" }]
)";
    }
    /// The smallest steps: an engine reads a piece when the one before is written.
    std::vector<std::string> keys(std::uint64_t bytes) const override {
        return {"A.gpu0.copy_outstanding=1", "A.gpu0.copy_piece=64",
                fmt::format("A.gpu0.vram={}", std::bit_ceil(std::max<std::uint64_t>(4 << 20, 8 * bytes)))};
    }
    std::span<const Axis> axes() const override { return gpu_axes(); }

    Outcome run(const platform::topology::Config& config, const Setup& setup,
                platform::record::Recording* recording) const override {
        return run_on_platform(config, recording, [&](const Ground& ground, Outcome& outcome) {
            GpuPagesRace(ground, setup, outcome).run();
        });
    }
};

} // namespace

const PagesAction &pages_rows::unmap = unmap_row, &pages_rows::move = move_row;
const Victim pages_rows::vram{"vram"};

const Subject& gpu_pages() {
    static const GpuPages one;
    return one;
}

} // namespace scenario::race
