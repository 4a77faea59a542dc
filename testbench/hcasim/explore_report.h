// What an exploration has found so far, by row (scenario, side, actions) and variant, and how it is told.
#pragma once

#include "testbench/hcasim/explore.h"
#include "testbench/hcasim/explore_pool.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hcasim {

class ExploreReport {
public:
    ExploreReport(const ExploreOptions& options, std::span<const Variant> variants)
        : options_(options), variants_(variants) {}

    /// A row of a variant, whose transfer was run without the actions.
    void expect(const Task& task, const scenario::race::Outcome& undisturbed);
    void expect_runs(std::uint64_t runs) { all_ += runs; }
    void take(const Task& task, const scenario::race::Outcome& outcome);
    /// A violation without any action.
    void take_undisturbed(const Task& task, const scenario::race::Outcome& outcome);
    /// Everything; the exit status.
    int print() const;

private:
    struct Met {
        std::uint64_t runs = 0, overlapped = 0, violations = 0;
    };
    struct Tally {
        std::uint64_t points = 0, runs = 0, overlapped = 0, overlapped_end = 0, violations = 0;
        std::set<std::uint64_t> instants; ///< at which the actions began
        std::map<std::string, std::uint64_t> completions;
        std::map<std::string, Met> behind; ///< by the event at which the actions began
        void add(const Tally& other);
    };
    struct Cell {
        std::vector<std::string> name; ///< of the row: scenario, side, actions
        scenario::race::Touches undisturbed;
        Tally tally;
    };
    using Row = std::array<std::size_t, 4>; ///< operation, victim, both actions, by their places in the tables
    using Key = std::pair<Row, std::size_t>;
    static Row row_of(const scenario::race::Setup& setup);
    static std::vector<std::string> name(const scenario::race::Setup& setup);
    static std::vector<std::string> cells_of(const Tally& tally);
    std::string command(const Task& task, bool is_bare) const;
    void progress();

    const ExploreOptions& options_;
    std::span<const Variant> variants_;
    std::map<Key, Cell> cells_;
    std::vector<std::string> told_; ///< violations
    std::uint64_t done_ = 0, all_ = 0;
    std::chrono::steady_clock::time_point last_{};
};

} // namespace hcasim
