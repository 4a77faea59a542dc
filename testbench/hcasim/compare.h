// `hcasim compare`: results of runs held against each other, or against a baseline. Runs nothing.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hcasim {

struct CompareOptions {
    std::vector<std::string> files{};      ///< two results; or a baseline and results
    std::vector<std::string> tolerances{}; ///< "NAME=5%"
    std::string junit{};                   ///< file to write; "-": standard output; empty: none
    bool updates = false;                  ///< the first of the files is the baseline to write
    bool shows_all = false;
};

/// The command of that name with its options, which parsing fills.
CLI::App* add_compare(CLI::App& app, CompareOptions& options);

/// Returns the exit status (status.h): failed when something differs.
int compare(const CompareOptions& options);

} // namespace hcasim
