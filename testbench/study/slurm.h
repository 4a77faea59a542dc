// The commands of Slurm, as far as a sweep needs them: sbatch, squeue, scancel, scontrol, sacct. Each is a process;
// none may keep the sweep waiting for long.
#pragma once

#include "testbench/study/commands.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace study {

class Slurm {
public:
    /// Finds the commands, and asks the controller for its limits. The error says what is missing, and what to do.
    static std::expected<Slurm, std::string> find();

    std::size_t most_tasks() const { return most_tasks_; } ///< of one array

    struct Array {
        std::string name{};   ///< of the job, by which it is found again
        std::string script{}; ///< a file
        std::string output{}; ///< of each task, where %a is its number
        std::string directory{};
        std::size_t tasks = 0, at_a_time = 0; ///< 0: as many as there is room for
        std::uint64_t minutes = 0;            ///< of wall time, for a task
    };
    struct Refusal {
        std::string why{};
        bool is_silence = false; ///< the controller does not answer: it may have taken the job
    };
    /// The job's number. `options` are the user's, for sbatch.
    std::expected<std::string, Refusal> submit(const Array& array, const std::vector<std::string>& options) const;

    struct Task {
        bool is_waiting = false;
        std::string reason{}; ///< why it waits
    };
    /// Tasks that wait or run, by number; nothing: the controller does not answer.
    std::optional<std::map<std::size_t, Task>> active(const std::string& job) const;
    /// The job of that name; empty: there is none. Nothing: the controller does not answer.
    std::optional<std::string> find_job(const std::string& name) const;
    /// Takes back what waits.
    void cancel_waiting(const std::string& job, const std::string& name) const;
    /// All of it. A number alone, of a file that may come from anywhere, could be of any job.
    void cancel(const std::string& job, const std::string& name) const;

    struct Fate {
        bool is_preempted = false;
        std::string text{}; ///< "OUT_OF_MEMORY (exit code 0:125) on n1"
    };
    /// What became of a task that neither waits nor runs.
    Fate fate(const std::string& job, std::size_t task) const;

private:
    Slurm() = default;
    Ended call(const std::string& program, std::vector<std::string> words) const;

    std::string sbatch_, squeue_, scancel_, scontrol_, sacct_;
    std::size_t most_tasks_ = 0;
};

} // namespace study
