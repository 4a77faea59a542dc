#include "testbench/hcasim/explore.h"

#include "testbench/hcasim/explore_fences.h"
#include "testbench/hcasim/explore_points.h"
#include "testbench/hcasim/explore_pool.h"
#include "testbench/hcasim/explore_report.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/scenario/race.h"
#include "traces/monitor/monitor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <expected>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace hcasim {
namespace {

namespace race = scenario::race;
using platform::topology::Config;
using race::Actions;
using race::Outcome;
using race::Subject;

/// The rows of these names; "all" and an empty wish stand for all of them.
template <class R>
std::expected<std::vector<const R*>, std::string> choose(std::string_view what, const std::vector<std::string>& wanted,
                                                         std::span<const R* const> rows) {
    std::vector<const R*> chosen;
    for (const auto& wish : wanted) {
        if (wish == "all")
            return std::vector<const R*>(rows.begin(), rows.end());
        const auto row = std::ranges::find(rows, wish, &R::name);
        if (row == rows.end()) {
            std::string names;
            for (const auto* one : rows)
                names.append(" ").append(one->name());
            return std::unexpected(fmt::format("unknown {} '{}', there are: all{}", what, wish, names));
        }
        chosen.push_back(*row);
    }
    return wanted.empty() ? std::vector<const R*>(rows.begin(), rows.end()) : chosen;
}

/// Whose transfers these are: of the subject that has the first one, or that is named itself.
const Subject& subject_of(const std::vector<std::string>& operations) {
    for (const auto* subject : race::subjects())
        for (const auto& wish : operations)
            if (wish == subject->name() ||
                std::ranges::find(subject->operations(), wish, &race::Operation::name) != subject->operations().end())
                return *subject;
    return *race::subjects().front();
}

/// Why these are not the transfers of one subject; empty: they are.
std::string why_none(const Subject& subject, const std::vector<std::string>& wanted) {
    const auto has = [](const Subject& one, std::string_view wish) {
        return wish == one.name() ||
               std::ranges::find(one.operations(), wish, &race::Operation::name) != one.operations().end();
    };
    for (const auto& wish : wanted) {
        if (wish == "all" || has(subject, wish))
            continue;
        std::string names;
        bool is_known = are_gpu_programs(std::vector{wish});
        for (const auto* one : race::subjects()) {
            is_known |= has(*one, wish);
            names += fmt::format(" {}", one->name());
            for (const auto* operation : one->operations())
                names += fmt::format(" {}", operation->name());
        }
        if (is_known)
            return fmt::format("'{}' is no scenario of '{}', of which others here are: explore one kind at a time, or "
                               "all",
                               wish, subject.name());
        return fmt::format("unknown scenario '{}', there are: all{}; of programs of a GPU gpu_nvme gpu_rdma gpu", wish,
                           names);
    }
    return {};
}

/// "revoke", "revoke+death", "all".
std::expected<std::vector<Actions>, std::string> choose_actions(const std::vector<std::string>& wanted,
                                                                const Subject& subject) {
    std::vector<Actions> chosen;
    const bool is_all = wanted.empty() || std::ranges::find(wanted, "all") != wanted.end();
    for (const auto& wish : is_all ? std::vector<std::string>{"all"} : wanted) {
        if (wish == "none") {
            chosen.push_back({});
            continue;
        }
        const auto plus = wish.find('+');
        const auto first = choose("action", {wish.substr(0, plus)}, subject.actions());
        if (!first)
            return std::unexpected(first.error());
        const auto second = plus == wish.npos ? first : choose("action", {wish.substr(plus + 1)}, subject.actions());
        if (!second)
            return std::unexpected(second.error());
        for (const auto* one : *first) {
            const Actions actions{one, plus == wish.npos ? nullptr : second->front()};
            if (!race::can_be_at_once(actions))
                return std::unexpected(fmt::format("'{}' cannot be: not both at once", wish));
            chosen.push_back(actions);
        }
    }
    if (is_all)
        chosen.insert(chosen.end(), subject.together().begin(), subject.together().end());
    return chosen;
}

/// Runs what is left when the choices are made.
class Exploration {
public:
    Exploration(const ExploreOptions& options, std::span<const Variant> variants, std::span<const Config> configs)
        : options_(options), configs_(configs), report_(options, variants), variants_(variants),
          pool_(configs, options.jobs != 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency()),
                options.is_monitored) {}

    /// A row for each variant in which it can be.
    void add(const race::Setup& setup) {
        for (std::size_t i = 0; i < variants_.size(); ++i)
            if (configs_[i].iommu.is_present || !race::need_unit(setup.actions)) {
                rows_.push_back({setup, i});
                rows_.back().setup.importers = variants_[i].importers;
            }
    }

    int run() {
        for (const auto& row : rows_)
            if (undisturbed_.try_emplace(transfer_of(row)).second) {
                bare_.push_back(row);
                bare_.back().setup.is_bare = true;
                bare_.back().setup.plant = nullptr;
            }
        pool_.run(bare_, [&](const Task& task, const Outcome& outcome) {
            report_.take_undisturbed(task, outcome);
            note(task, outcome);
            undisturbed_[transfer_of(task)] = outcome;
        });
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const auto& outcome = undisturbed_[transfer_of(rows_[i])];
            report_.expect(rows_[i], outcome);
            for (const auto& point : points_of(options_, outcome, i)) {
                tasks_.push_back(rows_[i]);
                tasks_.back().setup.point = point.event;
                tasks_.back().setup.is_late = point.is_late;
            }
        }
        if (const auto none = without_points(); !none.empty())
            return refuse(none);
        report_.expect_runs(tasks_.size());
        pool_.run(tasks_, [&](const Task& task, const Outcome& outcome) {
            report_.take(task, outcome);
            note(task, outcome);
        });
        const auto status = report_.print();
        if (options_.is_monitored)
            print_judgements();
        return options_.record.empty() ? status : record(status);
    }

private:
    /// Why there is nothing to run, where the one point that was asked for is behind the last of each transfer.
    std::string without_points() const {
        std::uint64_t most = 0;
        for (const auto& [transfer, outcome] : undisturbed_)
            most = std::max(most, outcome.points);
        if (!options_.at || !tasks_.empty() || most == 0)
            return {};
        return fmt::format("--at {}: this run has points 0 to {}", *options_.at, most - 1);
    }

    void note(const Task& task, const Outcome& outcome) {
        if (!outcome.violations.empty() && !first_violation_)
            first_violation_ = task;
        judgements_.resize(std::max(judgements_.size(), outcome.judgements.size()));
        for (std::size_t i = 0; i < outcome.judgements.size(); ++i)
            judgements_[i] += outcome.judgements[i];
    }

    void print_judgements() const {
        fmt::print("\nthe monitor has judged, in all runs:\n");
        const auto rules = traces::monitor::Monitor(traces::codec::Head{}).verdicts();
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const auto count = i < judgements_.size() ? judgements_[i] : 0;
            fmt::print("  {:<26} {}\n", rules[i].rule.name,
                       count == 0 ? fmt::format("nothing: no {} that it can follow", rules[i].rule.subject)
                                  : fmt::format("{} {}", count, rules[i].rule.subject));
        }
    }

    /// Returns the exit status.
    int record(int status) {
        if (!first_violation_) {
            fmt::print("\nnothing is recorded: no run has a violation\n");
            return status;
        }
        const auto recorded = pool_.record(*first_violation_, options_.record);
        if (!recorded) {
            refuse(recorded.error());
            return status::output_lost;
        }
        fmt::print("\nrecorded in {}: {}\n", options_.record,
                   recorded->violations.empty()
                       ? std::string("the first run with a violation, which does not have it when it is recorded")
                       : recorded->violations.front());
        return status;
    }

    /// Rows whose transfer is the same without their actions.
    using Transfer = std::tuple<const race::Operation*, const race::Victim*, race::MemoryKind, std::size_t>;
    static Transfer transfer_of(const Task& task) {
        return {task.setup.operation, task.setup.victim, race::kind_of(task.setup.actions), task.variant};
    }

    const ExploreOptions& options_;
    std::span<const Config> configs_;
    ExploreReport report_;
    std::span<const Variant> variants_;
    Pool pool_;
    std::vector<Task> rows_, bare_, tasks_;
    std::optional<Task> first_violation_;
    std::vector<std::uint64_t> judgements_; ///< of each rule of the monitor
    std::map<Transfer, Outcome> undisturbed_;
};

/// What is asked for of one subject.
struct Choice {
    const Subject* subject = nullptr;
    std::vector<const race::Operation*> operations;
    std::vector<const race::Victim*> victims;
    std::vector<Actions> actions;
    const race::Plant* plant = nullptr;
};

std::expected<Choice, std::string> choose(const Subject& subject, const ExploreOptions& options) {
    if (const auto why = why_none(subject, options.operations); !why.empty())
        return std::unexpected(why);
    const bool is_named = std::ranges::find(options.operations, subject.name()) != options.operations.end();
    const auto operations =
        choose("scenario", is_named ? std::vector<std::string>{} : options.operations, subject.operations());
    const auto victims = choose("side", options.victims, subject.victims());
    std::expected<std::vector<const race::Plant*>, std::string> plants{{nullptr}};
    if (!options.plant.empty() && options.plant != "none")
        plants = choose("mistake", {options.plant}, subject.plants());
    const auto actions = choose_actions(options.actions, subject);
    if (!operations)
        return std::unexpected(operations.error());
    if (!victims)
        return std::unexpected(victims.error());
    if (!plants)
        return std::unexpected(plants.error());
    if (plants->size() != 1)
        return std::unexpected("one mistake at a time");
    if (!actions)
        return std::unexpected(actions.error());
    return Choice{&subject, *operations, *victims, *actions, plants->front()};
}

int explore(const Choice& choice, const ExploreOptions& options) {
    const auto& subject = *choice.subject;
    const auto* plant = choice.plant;
    if (options.importers != 0 && !subject.can_share())
        return refuse(fmt::format("--importers {}: of memory that HCAs register; '{}' has no such", options.importers,
                                  subject.name()));
    const auto all = variants(subject, options.sweep, options.overrides, options.importers);
    std::vector<Variant> chosen;
    std::vector<Config> configs;
    for (const auto& variant : all) {
        auto config = explored(subject, variant, options.overrides, options.bytes);
        if (!config)
            return refuse(config.error());
        if (plant != nullptr && plant->needs_unit() && !config->iommu.is_present)
            continue;
        chosen.push_back(variant);
        configs.push_back(std::move(*config));
    }
    // What only a remapping unit can stop or get wrong.
    const bool has_unit = std::ranges::any_of(configs, [](const Config& config) { return config.iommu.is_present; });
    if (!has_unit && plant != nullptr && plant->needs_unit())
        return refuse(fmt::format("--plant {}: is a mistake only with a remapping unit; add --set iommu.present=true",
                                  plant->name()));
    if (!has_unit && !options.actions.empty() && std::ranges::all_of(choice.actions, race::need_unit))
        return refuse(fmt::format("--inject {}: only a remapping unit can stop accesses to memory that is gone then; "
                                  "add --set iommu.present=true",
                                  fmt::join(options.actions, ",")));

    Exploration exploration(options, chosen, configs);
    for (const auto* operation : choice.operations)
        for (const auto* victim : choice.victims)
            for (const auto& one : choice.actions)
                if (subject.can_be(*victim, one))
                    exploration.add({.subject = &subject,
                                     .operation = operation,
                                     .actions = one,
                                     .victim = victim,
                                     .plant = plant,
                                     .bytes = options.bytes,
                                     .has_alike_owner = options.has_alike_owner});
    return exploration.run();
}

/// Those of `wanted` that the subject has; nothing where there were some, and it has none of them.
template <class Has>
std::optional<std::vector<std::string>> those_of(const std::vector<std::string>& wanted, Has&& has) {
    std::vector<std::string> known;
    std::ranges::copy_if(wanted, std::back_inserter(known), has);
    return known.empty() && !wanted.empty() ? std::nullopt : std::optional(std::move(known));
}

/// Every subject that has something of what is named. The error is of the first one where none has.
int explore_all(ExploreOptions options) {
    int status = status::good;
    bool has_run = false;
    std::string error;
    for (const auto* subject : race::subjects()) {
        auto mine = options;
        const auto actions = those_of(
            options.actions, [&](const std::string& wish) { return choose_actions({wish}, *subject).has_value(); });
        const auto victims = those_of(options.victims, [&](const std::string& wish) {
            return choose("side", {wish}, subject->victims()).has_value();
        });
        mine.actions = actions.value_or(options.actions);
        mine.victims = victims.value_or(options.victims);
        mine.importers = subject->can_share() ? options.importers : 0;
        const auto choice = choose(*subject, mine);
        if (!choice) {
            error = error.empty() ? choice.error() : error;
            continue;
        }
        const auto outcome = explore(*choice, mine);
        if (outcome == status::refused && !has_run)
            return outcome;
        has_run = true;
        if (outcome == status::refused) // and it has said why
            continue;
        if (outcome != status::good && status != status::failed)
            status = outcome;
        if (status == status::failed)
            options.record.clear(); // the first violation is
    }
    return has_run ? status : refuse(error);
}

} // namespace

int explore(const ExploreOptions& options) {
    if (are_gpu_programs(options.operations))
        return explore_fences(options);
    if (options.is_late && !options.at && options.every == 0)
        return refuse("--late: says how the points of --at or --every are meant, and neither is there; without them "
                      "some points of each row are late");
    if (options.operations == std::vector<std::string>{"all"})
        return explore_all(options);
    const auto choice = choose(subject_of(options.operations), options);
    return choice ? explore(*choice, options) : refuse(choice.error());
}

} // namespace hcasim
