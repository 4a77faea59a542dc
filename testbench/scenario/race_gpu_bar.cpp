#include "testbench/scenario/race_gpu_bar.h"

#include "testbench/scenario/race_gpu_bar_run.h"

#include <array>

namespace scenario::race {

namespace {

const Operation doorbell{"gpu_doorbell"};
const Victim drive{"drive"};

/// Its exporter takes it back, and goes on with the drive itself.
class Revoke final : public BarAction {
public:
    using BarAction::BarAction;
    void perform(GpuBarRace& race) const override { race.revoke(); }
};
/// Memory space of the function is off for a while.
class Disable final : public BarAction {
public:
    using BarAction::BarAction;
    void perform(GpuBarRace& race) const override { race.disable(); }
};
class ResetFunction final : public BarAction {
public:
    using BarAction::BarAction;
    void perform(GpuBarRace& race) const override { race.reset_function(); }
};

const Revoke revoke_row{"revoke", {.is_alone = true}};
const Disable disable_row{"disable", {.is_alone = true}};
const ResetFunction flr_row{"flr", {.is_alone = true}};

class GpuBar final : public Subject {
public:
    std::string_view name() const override { return "gpu_bar"; }
    std::span<const Operation* const> operations() const override {
        static const std::array<const Operation*, 1> all{&doorbell};
        return all;
    }
    std::span<const Victim* const> victims() const override {
        static const std::array<const Victim*, 1> all{&drive};
        return all;
    }
    std::span<const Action* const> actions() const override {
        static const std::array<const Action*, 3> all{&revoke_row, &disable_row, &flr_row};
        return all;
    }
    std::span<const Actions> together() const override { return {}; }
    std::span<const Plant* const> plants() const override { return gpu_plants(); }

    std::string_view platform() const override {
        return R"(
[[hosts]]
name = "A"
parts = [{ path = "root0.gpu0", kind = "caching_gpu", vram = "4 MiB" }, "root1.nvme0"]
)";
    }
    std::vector<std::string> keys(std::uint64_t) const override { return {}; }
    std::span<const Axis> axes() const override { return gpu_axes(); }

    Outcome run(const platform::topology::Config& config, const Setup& setup,
                platform::record::Recording* recording) const override {
        return run_on_platform(config, recording, [&](const Ground& ground, Outcome& outcome) {
            GpuBarRace(ground, setup, outcome).run();
        });
    }
};

} // namespace

const BarAction& bar_rows::flr = flr_row;

const Subject& gpu_bar() {
    static const GpuBar one;
    return one;
}

} // namespace scenario::race
