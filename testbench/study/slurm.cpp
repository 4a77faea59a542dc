#include "testbench/study/slurm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace study {
namespace {

constexpr unsigned patience_s = 60; ///< of wall time, for one command

/// As a shell finds it; empty: it does not.
std::string find_command(std::string_view name) {
    const auto* const path = std::getenv("PATH");
    std::string_view left = path == nullptr ? "" : path;
    while (!left.empty()) {
        const auto directory = left.substr(0, left.find(':'));
        left.remove_prefix(std::min(left.size(), directory.size() + 1));
        auto file = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
        if (::access(file.c_str(), X_OK) == 0)
            return file;
    }
    return {};
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::string why(const Ended& ended) {
    if (ended.way == Ended::Way::late)
        return fmt::format("no answer within {} s", patience_s);
    return ended.errors.empty() ? fmt::format("status {}", ended.number) : first_line(ended.errors);
}

bool is_good(const Ended& ended) { return ended.way == Ended::Way::status && ended.number == 0; }

/// What it says of jobs that it has forgotten, and of nothing else.
bool is_unknown_job(const Ended& ended) { return ended.errors.contains("Invalid job id"); }

bool is_silent(const Ended& ended) {
    constexpr std::array<std::string_view, 6> signs{"Unable to contact", "connect failure",    "Socket timed out",
                                                    "timed out",         "Connection refused", "Zero Bytes were"};
    return ended.way != Ended::Way::status ||
           std::ranges::any_of(signs, [&](auto sign) { return ended.errors.contains(sign); });
}

std::optional<std::size_t> number_of(std::string_view text) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Of "MaxArraySize            = 1001" the number; nothing: there is no such line.
std::optional<std::size_t> setting(std::string_view text, std::string_view name) {
    for (std::size_t at = 0; at < text.size();) {
        const auto line = text.substr(at, text.find('\n', at) - at);
        at += line.size() + 1;
        const auto equals = line.find('=');
        if (!line.starts_with(name) || equals == std::string_view::npos || line[name.size()] != ' ')
            continue;
        return number_of(line.substr(std::min(line.size(), line.find_first_not_of(" =", name.size()))));
    }
    return {};
}

/// Of "JobId=5 JobState=FAILED ExitCode=1:0" the word behind "JobState=".
std::string word(std::string_view text, std::string_view name) {
    const auto key = fmt::format(" {}=", name);
    const auto at = text.find(key);
    if (at == std::string_view::npos)
        return {};
    const auto begin = at + key.size();
    return std::string(text.substr(begin, text.find_first_of(" \n", begin) - begin));
}

std::vector<std::string_view> split(std::string_view text, char by) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        parts.push_back(text.substr(0, text.find(by)));
        text.remove_prefix(std::min(text.size(), parts.back().size() + 1));
    }
    return parts;
}

Slurm::Fate print_fate(std::string_view state, std::string_view code, std::string_view nodes) {
    Slurm::Fate fate{.is_preempted = state.starts_with("PREEMPTED"), .text = std::string(state)};
    if (!code.empty() && code != "0:0")
        fate.text += fmt::format(" (exit code {})", code);
    if (!nodes.empty() && nodes != "(null)" && nodes != "None assigned")
        fate.text += fmt::format(" on {}", nodes);
    return fate;
}

} // namespace

std::expected<Slurm, std::string> Slurm::find() {
    // Whoever has set how squeue looks to a person has not set it for us.
    for (const auto* name :
         {"SQUEUE_ACCOUNT", "SQUEUE_ARRAY", "SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SQUEUE_LICENSES", "SQUEUE_NAMES",
          "SQUEUE_PARTITION", "SQUEUE_QOS", "SQUEUE_SORT", "SQUEUE_STATES", "SQUEUE_USERS"})
        ::unsetenv(name);
    Slurm slurm;
    for (const auto& [name, path] : {std::pair{"sbatch", &slurm.sbatch_}, std::pair{"squeue", &slurm.squeue_},
                                     std::pair{"scancel", &slurm.scancel_}, std::pair{"scontrol", &slurm.scontrol_}}) {
        *path = find_command(name);
        if (path->empty())
            return std::unexpected(fmt::format("--engine slurm: there is no {} in PATH: start this where Slurm's "
                                               "commands are, or run it here with --engine local",
                                               name));
    }
    slurm.sacct_ = find_command("sacct");
    const auto asked = slurm.call(slurm.scontrol_, {"show", "config"});
    const auto array = setting(asked.output, "MaxArraySize"), jobs = setting(asked.output, "MaxJobCount");
    if (!is_good(asked) || !array || !jobs)
        return std::unexpected(fmt::format("--engine slurm: the controller does not answer: scontrol show config: {}; "
                                           "`scontrol ping` says whether it is up",
                                           is_good(asked) ? "has no MaxArraySize" : why(asked)));
    if (*array < 2)
        return std::unexpected(
            fmt::format("--engine slurm: this cluster has no job arrays (MaxArraySize = {})", *array));
    // Jobs that have ended count for a while, and we are not alone.
    slurm.most_tasks_ = std::max<std::size_t>(1, std::min(*array, *jobs / 4));
    return slurm;
}

Ended Slurm::call(const std::string& program, std::vector<std::string> words) const {
    words.insert(words.begin(), program);
    Ended said;
    Commands(1, patience_s)
        .run(
            1, [&](std::size_t) { return words; }, [&](std::size_t, const Ended& ended) { said = ended; },
            [] { return true; });
    return said;
}

std::expected<std::string, Slurm::Refusal> Slurm::submit(const Array& array,
                                                         const std::vector<std::string>& options) const {
    std::vector<std::string> words{
        "--parsable",
        "--no-requeue", // who is lost is sent again by the sweep, which counts
        "--nodes=1",
        "--ntasks=1",
        "--cpus-per-task=1",
        "--open-mode=append",
        "--job-name=" + array.name,
        "--output=" + array.output,
        "--chdir=" + array.directory,
        fmt::format("--time={}", array.minutes),
        fmt::format("--array=0-{}{}", array.tasks - 1,
                    array.at_a_time != 0 ? fmt::format("%{}", array.at_a_time) : std::string())};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(array.script);
    const auto said = call(sbatch_, words);
    const auto job = first_line(said.output).substr(0, said.output.find_first_of(";\n"));
    if (!is_good(said) || !number_of(job))
        return std::unexpected(Refusal{.why = why(said), .is_silence = is_silent(said)});
    return job;
}

std::optional<std::map<std::size_t, Slurm::Task>> Slurm::active(const std::string& job) const {
    const auto said = call(squeue_, {"--noheader", "--array", "--jobs=" + job, "--format=%K|%T|%r"});
    std::map<std::size_t, Task> tasks;
    if (is_unknown_job(said) || !number_of(job))
        return tasks;
    if (!is_good(said))
        return {};
    for (const auto line : split(said.output, '\n')) {
        const auto parts = split(line, '|');
        if (parts.size() < 2)
            continue;
        if (const auto number = number_of(parts[0]))
            tasks[*number] = {.is_waiting = parts[1] == "PENDING", .reason = std::string(parts.back())};
    }
    return tasks;
}

std::optional<std::string> Slurm::find_job(const std::string& name) const {
    const auto said = call(squeue_, {"--noheader", "--states=all", "--name=" + name, "--format=%F"});
    if (!is_good(said))
        return {};
    return first_line(said.output);
}

void Slurm::cancel_waiting(const std::string& job, const std::string& name) const {
    if (number_of(job))
        call(scancel_, {"--state=PENDING", "--name=" + name, job});
}
void Slurm::cancel(const std::string& job, const std::string& name) const {
    if (number_of(job))
        call(scancel_, {"--name=" + name, job});
}

Slurm::Fate Slurm::fate(const std::string& job, std::size_t task) const {
    const auto name = fmt::format("{}_{}", job, task);
    const auto said = call(scontrol_, {"--oneliner", "show", "job", name});
    if (const auto state = word(said.output, "JobState"); is_good(said) && !state.empty())
        return print_fate(state, word(said.output, "ExitCode"), word(said.output, "NodeList"));
    if (!sacct_.empty()) {
        const auto told = call(sacct_, {"--noheader", "--allocations", "--parsable2", "--jobs=" + name,
                                        "--format=State,ExitCode,NodeList"});
        if (const auto parts = split(first_line(told.output), '|'); is_good(told) && parts.size() == 3)
            return print_fate(parts[0], parts[1], parts[2]);
    }
    return {.text = "a job that Slurm does not know any more"};
}

} // namespace study
