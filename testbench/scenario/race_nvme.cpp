#include "testbench/scenario/race_nvme.h"

#include "testbench/scenario/race_nvme_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace scenario::race {

namespace {

const NvmeOperation read{"nvme_read", true}, write{"nvme_write", false};
const Victim host{"host"};

/// Host memory is given back while the drive has it: behind a remapping unit, which then leads nowhere.
class Release final : public NvmeAction {
public:
    using NvmeAction::NvmeAction;
    void perform(NvmeRace& race) const override { race.release_memory(); }
};
/// The exporter of VRAM takes it back.
class Revoke final : public NvmeAction {
public:
    using NvmeAction::NvmeAction;
    void perform(NvmeRace& race) const override { race.revoke_buffer(); }
};
/// Delete I/O queues, and then the memory.
class DeleteQueue final : public NvmeAction {
public:
    using NvmeAction::NvmeAction;
    void perform(NvmeRace& race) const override { race.delete_queue(); }
};
/// Controller Reset.
class ResetController final : public NvmeAction {
public:
    using NvmeAction::NvmeAction;
    void perform(NvmeRace& race) const override { race.reset_controller(); }
};
class ResetFunction final : public NvmeAction {
public:
    using NvmeAction::NvmeAction;
    void perform(NvmeRace& race) const override { race.reset_function(); }
};

const Release release_row{"release", {.memory = MemoryKind::host, .needs_unit = true, .is_alone = true}};
const Revoke revoke_row{"revoke", {.memory = MemoryKind::revocable, .needs_unit = true, .is_alone = true}};
const DeleteQueue delete_row{"delete_queue", {.is_alone = true}};
const ResetController reset_row{"reset", {.is_alone = true}};
const ResetFunction flr_row{"flr", {.is_alone = true}};

class Nvme final : public Subject {
public:
    std::string_view name() const override { return "nvme"; }
    std::span<const Operation* const> operations() const override {
        static const std::array<const Operation*, 2> all{&read, &write};
        return all;
    }
    std::span<const Victim* const> victims() const override {
        static const std::array<const Victim*, 2> all{&host, &nvme_rows::vram};
        return all;
    }
    std::span<const Action* const> actions() const override {
        static const std::array<const Action*, 5> all{&release_row, &revoke_row, &delete_row, &reset_row, &flr_row};
        return all;
    }
    std::span<const Actions> together() const override { return {}; }
    std::span<const Plant* const> plants() const override {
        static const std::array<const Plant*, 2> all{&nvme_rows::missing_invalidation, &nvme_rows::missing_drain};
        return all;
    }
    bool can_be(const Victim& victim, const Actions& actions) const override {
        return std::ranges::all_of(actions, [&](const Action* action) {
            return action == nullptr || !action->traits().memory ||
                   (*action->traits().memory == MemoryKind::host) == (&victim == &host);
        });
    }

    std::string_view platform() const override {
        return R"(
[[hosts]]
name = "A"
parts = ["root0.gpu0", "root1.nvme0"]
)";
    }
    std::vector<std::string> keys(std::uint64_t bytes) const override {
        return {fmt::format("gpu.vram={}", std::bit_ceil(std::max<std::uint64_t>(1 << 20, 8 * bytes)))};
    }
    std::span<const Axis> axes() const override {
        static const std::array<Axis, 2> all{
            Axis{{"5 us a read", {"A.nvme0.read_latency_ns=5000"}},
                 {"300 us a read", {"A.nvme0.read_latency_ns=300000"}}},
            Axis{{"physical", {"iommu.present=false"}}, {"remapping", {"iommu.present=true"}}}};
        return all;
    }

    Outcome run(const platform::topology::Config& config, const Setup& setup,
                platform::record::Recording* recording) const override {
        return run_on_platform(config, recording,
                               [&](const Ground& ground, Outcome& outcome) { NvmeRace(ground, setup, outcome).run(); });
    }
};

} // namespace

const NvmeAction& nvme_rows::flr = flr_row;
const Victim nvme_rows::vram{"vram"};
/// The remapping unit is not told that a mapping went.
const Plant nvme_rows::missing_invalidation{"missing_invalidation", true};
/// Data that are under way when their queue goes, or the controller is reset, still land.
const Plant nvme_rows::missing_drain{"missing_drain"};

const Subject& nvme() {
    static const Nvme one;
    return one;
}

} // namespace scenario::race
