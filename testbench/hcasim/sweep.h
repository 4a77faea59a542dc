// `hcasim sweep STUDY.toml`: many runs of one platform with some of its keys varied, into one results file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hcasim {

struct SweepOptions {
    std::string study;
    std::string output{}; ///< empty: the study's name with .sqlite, where the program was started
    unsigned jobs = 0;    ///< 0: one a processor, or as many as Slurm has room for
    enum class Engine : std::uint8_t { local, slurm } engine = Engine::local;
    std::string partition{};                  ///< of slurm; empty: its default
    std::vector<std::string> slurm_options{}; ///< for sbatch, as they are
    bool retries = false;                     ///< points that are not done are run again
    bool only_checks = false;
    bool only_digest = false; ///< the study is a results file
    bool is_task = false;     ///< of an array of slurm, whose directory is the study
};

/// The command of that name with its options, which parsing fills.
CLI::App* add_sweep(CLI::App& app, SweepOptions& options);

/// Returns the exit status (status.h): failed when a point is not done, that of a signal when one has stopped it.
int sweep(const SweepOptions& options);

} // namespace hcasim
